"""Reading what XLA's compilers wrote of real training steps, beside the simplest possible reading of the same."""

from __future__ import annotations

import gzip
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import networkx
import pytest

from graphmem.errors import TargetError
from graphmem.graph.lifetimes_csv import peak_of
from graphmem.graph.store import load_trace, save_trace
from graphmem.render.frontier import frontier_dot
from graphmem.report.build import build_report
from graphmem.report.lifetimes import graph_to_save, lifetimes_of
from graphmem.report.moments import placed
from graphmem.report.report import Report
from graphmem.runtime.compiled import from_lifetimes
from graphmem.xla.compiled import CompiledHlo
from graphmem.xla.proto import parse
from graphmem.xla.read import read

DATA = Path(__file__).parent / "data"
NAMES = ["mlp_gpu", "lstm_gpu", "unet_gpu", "mlp_cpu", "lstm_cpu"]


def program(name: str) -> bytes:
    return gzip.decompress((DATA / f"{name}.hlo.pb.gz").read_bytes())


@pytest.fixture(params=NAMES, scope="module")
def step(request):
    """(name, its HloProto, the simulation, the report)"""
    name = request.param
    data = program(name)
    simulation = read(CompiledHlo(data, name.rpartition("_")[2], "a device", "a compiler", (), None, 0.0))
    return name, parse(data), simulation, build_report(simulation)


def naive_heap_peak(proto) -> int:
    """The heap simulator's trace as a list of what is allocated; buffers that are shared are counted once."""
    size = {item.id: item.size for item in proto.buffer_assignment.logical_buffers}
    (trace,) = proto.buffer_assignment.heap_simulator_traces
    owner, users, peak = {}, {}, 0
    for event in trace.events:
        if event.kind == 1:
            users[owner[event.buffer_id]].remove(event.buffer_id)
            continue
        owner[event.buffer_id] = owner[event.share_with_canonical_id] if event.kind == 2 else event.buffer_id
        users.setdefault(owner[event.buffer_id], set()).add(event.buffer_id)
        peak = max(peak, sum(size[first] for first, held in users.items() if held))
    return peak


def test_the_peak_is_the_heap_simulators(step):
    _, proto, simulation, report = step
    assert simulation.peak == max(report.timeline.total) == report.step_peak_bytes == naive_heap_peak(proto)


def test_temporary_memory_is_the_compilers_total(step):
    _, proto, simulation, report = step
    temp = [
        item.size
        for item in proto.buffer_assignment.buffer_allocations
        if not (item.is_thread_local or item.is_entry_computation_parameter or item.is_constant or item.maybe_live_out)
    ]
    assert report.allocator["temp_bytes"] == sum(temp) >= simulation.peak


def test_the_positions_are_the_entrys_sequence_with_what_it_calls(step):
    _, proto, simulation, _ = step
    module = proto.hlo_module
    sequences = {item.key: list(item.value.instruction_ids) for item in module.schedule.sequences}
    names = {item.id: item.name for computation in module.computations for item in computation.instructions}
    entry = [names[number] for number in sequences[module.entry_computation_id]]
    inside = set(entry)
    order = [op.name for op in simulation.graph.ops]
    assert [name for name in order if name in inside] == entry
    assert len(set(order)) == len(order)


def test_nothing_is_read_before_it_is_made(step):
    _, _, simulation, _ = step
    for position, op in enumerate(simulation.graph.ops):
        assert all(source < position for source, _ in op.inputs)


def test_buffers_are_alive_while_they_are_read(step):
    _, _, simulation, _ = step
    lives, schedule = simulation.lifetimes, simulation.schedule
    for position, values in enumerate(schedule.inputs):
        for value in values:
            buffer = lives.value_buffer[value]
            if buffer >= 0:
                assert lives.born[buffer] <= position < lives.freed[buffer]


def test_the_peak_belongs_to_layers(step):
    _, _, _, report = step
    scoped = sum(row.bytes or 0 for row in report.frontier if row.scope)
    assert scoped >= 0.95 * report.step_peak_bytes


def test_every_grouping_adds_up(step):
    _, _, _, report = step
    for group in (report.by_role, report.by_phase, report.by_op_type, report.by_source):
        assert sum(group.values()) == report.step_peak_bytes
    assert report.by_scope[0].bytes == report.step_peak_bytes
    assert {"forward", "backward"} <= {phase for phase, _, _ in report.timeline.phases}


def test_what_reads_a_report_reads_this_one(step):
    name, _, simulation, report = step
    assert Report.from_dict(report.to_dict(timeline=True)) == report
    assert networkx.is_directed_acyclic_graph(report.dag)
    assert sum(size for _, size in report.dag.nodes(data="peak_bytes")) == report.step_peak_bytes
    assert peak_of(lifetimes_of(simulation)) == report.step_peak_bytes
    assert "digraph" in frontier_dot(report)
    assert ("loops are in the schedule once" in str(report)) == name.startswith("lstm")


def test_the_text(golden):
    simulation = read(
        CompiledHlo(program("unet_gpu"), "gpu", "NVIDIA A100", "jax-cuda12-pjrt 0.9.1", (), 80 << 30, 0.0),
        info={"target": "unet.py", "step": "train", "batch": 8, "facts": {"optimizer": "Adam"}, "versions": {}},
    )
    golden("unet_xla_gpu.txt", str(build_report(simulation)))


def test_reading_leaves_tensorflow_out():
    code = (
        "import gzip, sys; from graphmem.xla.read import read; from graphmem.xla.compiled import CompiledHlo;"
        "read(CompiledHlo(gzip.open(sys.argv[1]).read(), 'gpu', '', '', (), None, 0.0));"
        "print(*[name for name in ('tensorflow', 'keras') if name in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(DATA / "mlp_gpu.hlo.pb.gz")], capture_output=True, text=True, timeout=60
    )
    assert (run.stdout.strip(), run.returncode) == ("", 0), run.stderr


def test_the_map_has_every_byte_of_the_timeline_at_an_address_of_its_own(step):
    """Blocks stay in XLA's allocations, no two are at one address, and they are all that the timeline has."""
    _, proto, simulation, report = step
    placement = placed(report).placement
    temporary = [
        item.size for item in proto.buffer_assignment.buffer_allocations
        if not (item.is_thread_local or item.is_entry_computation_parameter or item.is_constant or item.maybe_live_out)
    ]  # fmt: skip
    assert [size for _, size in placement.regions] == temporary
    assert placement.pool == (sum(temporary),) * len(simulation.schedule.ops)
    for position in range(0, len(placement.in_use), 7):
        alive = sorted((b.address, b.address + b.nbytes) for b in placement.blocks if b.born <= position < b.freed)
        assert sum(high - low for low, high in alive) == placement.in_use[position] == report.timeline.total[position]
        assert all(one[1] <= other[0] for one, other in pairwise(alive))
        assert all(any(low <= one and other <= low + n for low, n in placement.regions) for one, other in alive)


def test_a_saved_trace_keeps_the_addresses(step, tmp_path):
    *_, report = step
    save_trace(graph_to_save(report.simulation), str(tmp_path / "a.graphmem"))
    again = build_report(from_lifetimes(load_trace(str(tmp_path / "a.graphmem"))))
    assert placed(again) == placed(report)
    again.simulation.graph.info["xla"].pop("temp_places")
    with pytest.raises(TargetError, match="saved without the addresses that XLA planned"):
        placed(again)
