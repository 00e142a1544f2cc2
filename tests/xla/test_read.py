"""Reading what XLA compiled: lifetimes, sums and names of tiny modules made by hand, every figure worked out here."""

from __future__ import annotations

import pytest

from graphmem.errors import InternalError
from graphmem.graph.model import Argument, Variable
from graphmem.graph.scopes import ScopePaths
from graphmem.report.build import build_report
from graphmem.report.moments import placed
from graphmem.report.report import Report
from graphmem.xla.compiled import CompiledHlo
from graphmem.xla.read import read
from graphmem.xla.step import Meaning
from tests.xla.modules import ALLOC, BYTES, FREE, SHARE, Module, loop, training_step

X = Argument("x", "float32", (32,), 128)
W = Variable("dense/kernel", "float32", (64,), 256, scope="model/dense")
PATHS = ScopePaths({"model_1/dense_1": "model/dense"})


def lives(simulation):
    """Name of the op -> (bytes, born, freed) of each buffer of temporary memory."""
    found, names = simulation.lifetimes, [op.name for op in simulation.graph.ops]
    return [
        (names[found.op[buffer]], found.slot[buffer], found.nbytes[buffer], found.born[buffer], found.freed[buffer])
        for buffer in range(len(found.nbytes))
        if not found.resident[buffer]
    ]


def test_a_training_step():
    simulation = read(training_step().compiled(), Meaning([X, W], scopes=PATHS, optimizers=["sgd"]))
    assert [op.name for op in simulation.graph.ops] == ["x", "w", "y", "dy", "dw", "loss", "new", "root"]
    assert lives(simulation) == [("y", 0, 512, 2, 6), ("dy", 0, 256, 3, 7)]
    assert simulation.total.tolist() == [0, 0, 512, 768, 768, 768, 256, 0]
    assert (simulation.peak, simulation.position, simulation.order) == (768, 3, "compiled")
    assert simulation.graph.info["xla"] | {"flags": []} == {
        "target": "a card", "compiler": "a compiler 1.0", "flags": [], "device_memory_bytes": None, "temp_bytes": 1024,
        "live_bytes": 768, "output_bytes": 20, "constant_bytes": 0, "parameter_bytes": 384, "host_temp_bytes": 0,
        "recomputed": 0, "recomputed_bytes": 0, "temp_allocations": [1024], "output_allocations": [4, 16],
        "temp_places": [[0, 0], [0, 512]],
    }  # fmt: skip


def test_names_phases_and_roles_of_a_training_step():
    graph = read(training_step().compiled(), Meaning([X, W], scopes=PATHS, optimizers=["sgd"])).graph
    assert [(op.name, op.phase, op.role, op.scope) for op in graph.ops if op.outputs] == [
        ("x", "forward", "input", ""),
        ("w", "forward", "input", ""),
        ("y", "forward", "activation", "model/dense"),
        ("dy", "backward", "gradient", "model/dense"),
        ("dw", "backward", "gradient", "model/dense"),
        ("loss", "forward", "output", "loss"),
        ("new", "update", "update", "model/dense"),
    ]
    assert (graph.arguments, graph.variables) == ([X], [W])


def test_who_reads_last():
    simulation = read(training_step().compiled())
    names = [op.name for op in simulation.graph.ops]
    assert [names[simulation.lifetimes.last[buffer]] for buffer in (0, 1)] == ["loss", "new"]


def test_parameters_without_a_meaning_are_variables_if_the_step_updates_them():
    graph = read(training_step().compiled()).graph
    assert [item.name for item in graph.variables] == ["parameter 1"]
    assert [item.name for item in graph.arguments] == ["parameter 0"]


def test_a_parameter_of_another_size_is_a_bug():
    with pytest.raises(InternalError, match="parameter 0 of the compiled step has 128 bytes, dense/kernel has 256"):
        read(training_step().compiled(), Meaning([W, X]))


def test_the_report_of_a_training_step():
    meaning = Meaning([X, W], [Variable("step", "int64", (), 8, "other state", False)], PATHS, ["sgd"])
    info = {"target": "app:Net", "step": "train", "batch": 4, "facts": {"optimizer": "SGD"}, "versions": {}}
    report = build_report(read(training_step().compiled(), meaning, info))
    assert (report.runtime, report.order, report.orders, report.ops) == ("xla", "compiled", 1, 5)
    assert (report.weight_bytes, report.other_state_bytes, report.argument_bytes) == (256, 8, 128)
    assert (report.output_bytes, report.step_peak_bytes, report.needed_bytes) == (20, 768, 256 + 8 + 128 + 20 + 768)
    assert report.needed_range_bytes == (1180, 1180)
    assert report.naive_sum_bytes == 512 + 256 + 256 + 4 + 256
    assert report.by_role == {"activation": 512, "gradient": 256}
    assert report.by_phase == {"forward": 512, "backward": 256}
    assert report.allocator["peak_in_use_bytes"] == 256 + 8 + 128 + 20 + 1024
    assert report.allocator["base_in_use_bytes"] == 256 + 8 + 128
    assert report.facts == {
        "optimizer": "SGD",
        "compiler": "a compiler 1.0",
        "compiled for": "a card",
        "device memory": "as much as it needs",
    }
    assert not report.unknown_ops
    assert not report.unknown_sizes
    assert not report.at_least
    text = str(report)
    assert text.startswith("Net train step, batch 4: peak 1.15 KiB\ncompiled by XLA for a card, SGD\n")
    assert "outputs        20 B  results, allocated before the step starts" in text
    assert Report.from_dict(report.to_dict(timeline=True)) == report


def test_lines_of_the_users_code():
    lines = {"model_1/dense_1/MatMul": "net.py:7", "loss/Sum": "net.py:9"}
    report = build_report(read(training_step().compiled(), Meaning([X, W], scopes=PATHS, lines=lines)))
    assert report.by_source == {"net.py:7": 768}  # the gradient is of the layer's line
    report = build_report(read(training_step().compiled(), Meaning(lines={"": "net.py:12"})))
    assert report.by_source == {"net.py:12": 768}


def test_the_dag_adds_up():
    dag = build_report(read(training_step().compiled())).dag
    assert dag.nodes["dw:0"]["kind"] == "shared"
    assert dag.nodes["new:0"]["kind"] == "resident"  # over the variable
    assert sum(size for _, size in dag.nodes(data="peak_bytes")) == 768
    assert ("dw:0", "new:0") in dag.edges


def test_a_loop():
    simulation = read(loop().compiled())
    order = [op.name for op in simulation.graph.ops]
    assert order[:4] == ["x", "zero", "start", "init"]
    assert order[4:7] == ["c_in", "c_count", "less"]
    assert order[7:14] == ["b_in", "b_count", "b_value", "half", "count", "value", "b_out"]
    assert order[14:] == ["loop", "last", "result"]
    # What is carried lies in one place from before the loop until its result is read; the counter until it ends.
    assert lives(simulation) == [("zero", 0, 4, 1, 15), ("start", 0, 64, 2, 17), ("half", 0, 32, 10, 13)]
    assert simulation.peak == 100
    assert "loops are in the schedule once" in build_report(simulation).notes[-1]


def test_values_of_a_loop_come_from_what_made_them():
    graph = read(loop().compiled()).graph
    made = {op.name: op for op in graph.ops}
    readers = {op.name: [graph.ops[source].name for source, _ in op.inputs] for op in graph.ops}
    assert readers["half"] == ["start"]
    assert readers["result"] == ["value"]
    assert readers["count"] == ["zero"]
    assert made["loop"].outputs == made["b_in"].outputs == ()


def test_memory_that_is_used_again_after_a_gap_is_two_lives():
    made = Module()
    made.computation("step")
    x = made.op("x", "parameter", 64, parameter_number=0)
    a = made.op("a", "negate", 64, [x])
    b = made.op("b", "negate", 32, [a])
    c = made.op("c", "negate", 64, [b])
    made.op("d", "negate", 4, [c])
    numbers = [made.buffer(item, size=size) for item, size in ((x, 64), (a, 64), (b, 32), (c, 64))]
    made.allocation(64, (numbers[0], 0, 64), is_entry_computation_parameter=True)
    made.allocation(128, (numbers[1], 0, 64), (numbers[2], 64, 32), (numbers[3], 0, 64))
    made.events((ALLOC, 2), (FREE, 2), (ALLOC, 3), (FREE, 3), (SHARE, 4, 2), (FREE, 4))
    # `a` is read at the position of `b`, but the trace frees it before: what the trace says holds.
    assert lives(read(made.compiled())) == [("a", 0, 64, 1, 2), ("b", 0, 32, 2, 3), ("c", 0, 64, 3, 5)]


def test_temporary_memory_without_a_trace_lives_until_its_last_reader():
    made = Module()
    made.computation("step")
    x = made.op("x", "parameter", 64, parameter_number=0)
    a = made.op("a", "negate", 64, [x])
    view = made.op("view", "bitcast", 64, [a])
    made.op("b", "negate", 4, [view])
    made.op("c", "negate", 4, [x])
    made.allocation(64, (made.buffer(x, size=64), 0, 64), is_entry_computation_parameter=True)
    made.allocation(64, (made.buffer(a, size=64), 0, 64))
    simulation = read(made.compiled())
    assert lives(simulation) == [("a", 0, 64, 1, 4)]
    assert build_report(simulation).dag.nodes["view:0"]["kind"] == "shared"


def library_call(read_workspace: bool) -> Module:
    made = Module()
    made.computation("step")
    x = made.op("x", "parameter", 64, parameter_number=0)
    call = made.op(
        "call", "custom-call", [64, 640], [x], custom_call_target="__cudnn$convForward", op_name="net/conv/c"
    )
    made.into.instructions[-1].shape.tuple_shapes[1].element_type = BYTES
    first = made.op("first", "get-tuple-element", 64, [call], tuple_index=0)
    if read_workspace:
        made.op("second", "get-tuple-element", 640, [call], tuple_index=1)
    made.op("end", "negate", 64, [first])
    made.buffer(call, 0, size=64), made.buffer(call, 1, size=160), made.buffer(call, size=16)
    made.allocation(1024, (1, 0, 64), (2, 64, 160), (3, 512, 16))
    made.events((ALLOC, 1), (ALLOC, 2), (FREE, 2), (FREE, 1))
    return made


def test_the_workspace_of_a_library_call_is_scratch():
    simulation = read(library_call(False).compiled())
    report = build_report(simulation)
    assert report.by_role == {"activation": 64, "scratch": 160}
    assert [row.tensor for row in report.frontier] == ["call (scratch)", "call:0"]
    assert report.frontier[0].made_by == "cudnn$convForward"
    assert not any("workspaces" in text for text in report.not_counted)
    # The table of the tuple's addresses is part of the allocation and of no buffer.
    assert simulation.graph.info["xla"]["temp_bytes"] == 1024


def test_bytes_that_are_read_are_no_workspace():
    assert build_report(read(library_call(True).compiled())).by_role == {"activation": 224}


def test_convolutions_without_a_workspace_are_told():
    made = library_call(False)
    made.assignment.heap_simulator_traces[0].events.pop(1), made.assignment.heap_simulator_traces[0].events.pop(1)
    made.assignment.buffer_allocations[0].assigned.pop(1)
    report = build_report(read(made.compiled()))
    assert any("cuDNN workspaces of 1 convolutions" in text for text in report.not_counted)


def test_branches_are_there_once_and_before_the_conditional():
    made = Module()
    one = made.computation("one")
    a = made.op("a", "parameter", [64])
    inside = made.op("a_value", "get-tuple-element", 64, [a], tuple_index=0)
    made.op("a_out", "tuple", [64], [made.op("a_new", "negate", 64, [inside])])
    other = made.computation("other")
    b = made.op("b", "parameter", [64])
    made.op("b_out", "tuple", [64], [made.op("b_value", "get-tuple-element", 64, [b], tuple_index=0)])
    made.computation("step")
    which = made.op("which", "parameter", 4, parameter_number=0)
    x = made.op("x", "parameter", 64, parameter_number=1)
    given = made.op("given", "tuple", [64], [x])
    choice = made.op("choice", "conditional", [64], [which, given, given], calls=[other, one])
    made.op("end", "negate", 4, [made.op("chosen", "get-tuple-element", 64, [choice], tuple_index=0)])
    graph = read(made.compiled()).graph
    order = [op.name for op in graph.ops]
    assert order.index("given") < order.index("b_out") < order.index("a_new") < order.index("choice")
    assert [graph.ops[source].name for source, _ in graph.ops[-1].inputs] == ["a_new"]
    assert [graph.ops[source].name for source, _ in graph.ops[order.index("a_new")].inputs] == ["x"]


def test_a_computation_that_is_called_twice_is_there_once():
    made = Module()
    inner = made.computation("inner")
    made.op("twice", "negate", 64, [made.op("p", "parameter", 64)])
    made.computation("step")
    x = made.op("x", "parameter", 64, parameter_number=0)
    first = made.op("first", "call", 64, [x], calls=[inner])
    made.op("second", "call", 64, [first], calls=[inner])
    assert [op.name for op in read(made.compiled()).graph.ops] == ["x", "p", "twice", "first", "second"]


def test_recomputed_values_are_told():
    made = training_step()
    made.hlo.computations[0].instructions[4].name = "dw.remat2"
    report = build_report(read(made.compiled()))
    assert report.notes == [
        "XLA computes 1 value again (256 B) to fit into the device's memory: with more memory the step runs faster and "
        "takes more"
    ]


def test_temporary_memory_of_the_host_is_no_part_of_the_peak():
    made = training_step()
    made.assignment.buffer_allocations[4].color = 5
    report = build_report(read(made.compiled()))
    assert report.step_peak_bytes == 0
    assert "1.00 KiB of temporary memory lie in the host's memory" in report.notes
    assert placed(report).placement.blocks == placed(report).placement.regions == ()


def overlap(made: Module) -> None:
    made.assignment.buffer_allocations[4].assigned[1].offset = 256


def leave(made: Module) -> None:
    made.assignment.buffer_allocations[4].size = 767


def free_twice(made: Module) -> None:
    made.assignment.heap_simulator_traces[0].events[0].buffer_id = 1000


def no_schedule(made: Module) -> None:
    made.hlo.schedule.Clear()


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (overlap, "logical buffer 4 and logical buffer 3 of XLA's buffer assignment overlap"),
        (leave, "logical buffer 4 of XLA's buffer assignment leaves allocation 4"),
        (free_twice, "XLA's heap trace names buffer 1000, which it has not allocated"),
        (no_schedule, "the XLA compiler handed over a module without a schedule"),
    ],
)
def test_contradictions_are_bugs(harm, sentence):
    made = training_step()
    harm(made)
    with pytest.raises(InternalError, match=sentence):
        read(made.compiled())


def test_what_is_no_program_is_a_bug():
    with pytest.raises(InternalError, match="cannot be read as an HloProto"):
        read(CompiledHlo(b"\xff\xff", "gpu", "", "", (), None, 0.0))
