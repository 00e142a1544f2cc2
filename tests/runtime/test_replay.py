"""A step under an allocator, worked out by hand: what is in use before it, at its peak, and when it does not fit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from graphmem.graph.model import Made
from graphmem.ops.registry import Env
from graphmem.runtime.allocations import replay_all
from graphmem.runtime.allocators import Exact, OutOfMemory, Stats
from graphmem.runtime.bfc import Bfc
from graphmem.runtime.replay import Allocation, Failure, replay
from graphmem.runtime.simulate import Simulation, draw, simulate
from tests import graphs
from tests.graphs import Builder
from tests.runtime.random_graphs import step_graphs

HANDLE = 200
MIB = 1 << 20


class Recorder(Exact):
    """Also keeps what was asked: the bytes of each request, and minus the bytes of what is freed."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []

    def alloc(self, buffer: int, nbytes: int) -> None:
        super().alloc(buffer, nbytes)
        self.asked.append(nbytes)

    def free(self, buffer: int) -> None:
        self.asked.append(-self.sizes[buffer])
        super().free(buffer)


def in_order(graph: graphs.StepGraph, device: str = "cpu") -> Simulation:
    return simulate(graph, order="graph", env=Env(threads=1, device=device))


def test_every_request_of_two_steps_in_order():
    """x is the caller's; a=8, b=16, c=32 and the result is dropped before the next step."""
    recorder = Recorder()
    replay(in_order(graphs.chain()), recorder)
    step = [8, 16, -8, 32, -16, -32]
    assert recorder.asked == [4, *step, *step]


def test_a_variable_keeps_the_last_tensor_of_its_initial_value():
    """A matrix that is trained is drawn, scaled and shifted; other variables are filled in. All have handles."""
    b = Builder()
    b.variable("moment", 32, role="optimizer state", trainable=False)
    b.variable("kernel", 64)
    b.graph.variables[1].shape = (4, 4)
    b.variable("bias", 16)
    recorder = Recorder()
    replay(in_order(b.returns()), recorder)
    kernel, bias, moment = [8] * 4 + [64, 8, 64, -8, 64, -64, -64] + [-8] * 4, [8, 16, -8], [8, 32, -8]
    assert recorder.asked == [*kernel, HANDLE, *bias, HANDLE, *moment, HANDLE]


def test_small_variables_that_the_step_lacks_stay_and_constants_that_tracing_keeps_come_after_all():
    b = Builder()
    b.argument("x", 64)
    b.graph.made = [Made(-1, 16, "given"), Made(-1, 0, "batch")]
    b.graph.kept_constants = 2
    asked = {}
    for device in ("cpu", "gpu"):
        recorder = Recorder()
        replay(in_order(b.returns(), device), recorder)
        asked[device] = recorder.asked
    assert asked == {"cpu": [16, HANDLE, 64, 8, 8], "gpu": [16, 64]}


def test_an_accumulator_is_filled_and_scaled():
    b = Builder()
    b.variable("adagrad/kernel_accumulator", 64, role="optimizer state", trainable=False)
    recorder = Recorder()
    replay(in_order(b.returns()), recorder)
    assert recorder.asked == [8, 64, 64, -64, -8, HANDLE]


def test_variables_are_made_in_the_order_of_the_program_and_the_batch_comes_before_the_optimizers():
    b = Builder()
    b.argument("x", 1024)
    for name, nbytes, role in (("m", 32, "optimizer state"), ("b", 16, "weight"), ("a", 64, "weight")):
        b.variable(name, nbytes, role=role)
    b.graph.made = [Made(2, 64, "given"), Made(-1, 4, "filled", until=3), Made(1, 16, "scaled"), Made(0, 32, "filled")]
    recorder = Recorder()
    replay(in_order(b.returns()), recorder)
    a, dropped, bias = [64, HANDLE], [8, 4, -8, HANDLE], [8, 16, 16, -16, -8, HANDLE]
    assert recorder.asked == [*a, *dropped, *bias, -4, -HANDLE, 1024, 8, 32, -8, HANDLE]


def test_the_batch_is_made_when_the_program_makes_it_or_last():
    for place, made in ((0, [Made(-1, 0, "batch"), Made(0, 64, "given")]), (2, [Made(0, 64, "given")])):
        b = Builder()
        b.argument("x", 1024)
        b.variable("w", 64)
        b.graph.made = made
        recorder = Recorder()
        replay(in_order(b.returns()), recorder)
        assert recorder.asked.index(1024) == place


def test_an_orthogonal_matrix_takes_its_factors():
    b = Builder()
    b.variable("recurrent", 96)
    b.graph.variables[0].shape = (4, 6)
    b.graph.made = [Made(0, 96, "orthogonal")]
    recorder = Recorder()
    replay(in_order(b.returns()), recorder)
    q_r_diagonal_sign = [96, 64, 16, 16]
    signed_turned_value = [96, -16, -96, 96, -96, 96]
    assert recorder.asked[15:] == [*q_r_diagonal_sign, *signed_turned_value, -96, -96, -64, -16, HANDLE]


def emptied_by_a_branch(other: bool) -> graphs.StepGraph:
    """A step that sets the variable m to a constant if a condition holds, and else updates it if `other` says so."""
    b = Builder()
    b.argument("x", 4096)
    b.variable("m", 4096, role="optimizer state")
    b.op("zeros", "Const", writes=4096)
    b.op("when", "Greater", ["x", "x"], outputs=(graphs.Tensor("bool", (), 1),))
    b.op("handle", "Switch", ["m", "when"], outputs=b.graph.ops[1].outputs * 2)
    b.op("value", "Switch", ["x", "when"], writes=[4096, 4096])
    b.op("large", "Exp", [("value", 1)], writes=4096)
    b.op("set", "AssignVariableOp", [("handle", 1), "zeros"], after=["large"])
    if other:
        b.op("add", "AssignAddVariableOp", [("handle", 0), ("value", 0)])
    return b.returns("large")


@pytest.mark.parametrize("other", [True, False])
def test_a_variable_that_a_branch_empties_has_memory_if_the_other_writes_it(other: bool):
    allocation = replay(in_order(emptied_by_a_branch(other)), Exact())
    constant, variable = 4096, 4096 if other else 0
    assert allocation.base_bytes == 4096 + constant + variable + HANDLE


def test_a_constant_is_made_once_and_stays():
    recorder = Recorder()
    allocation = replay(in_order(graphs.constant()), recorder)
    constant = sum(t.nbytes or 0 for op in graphs.constant().ops if op.type == "Const" for t in op.outputs)
    assert recorder.asked.count(constant) == 1
    assert -constant not in recorder.asked
    assert allocation.base_bytes == 4 + constant


def test_a_copied_variable_moves_to_its_copy_from_step_to_step():
    """The update copies the variable, as its old value is still read: the old buffer is freed in that step."""
    simulation = in_order(graphs.update_with_pending_reader())
    lives = simulation.lifetimes
    (number, before), (_, after) = next(iter(lives.before.items())), next(iter(lives.after.items()))
    assert before != after
    assert (lives.resident[before], lives.resident[after], lives.freed[after]) == (True, False, len(simulation.total))
    recorder = Recorder()
    allocation = replay(simulation, recorder)
    size = simulation.graph.variables[number].nbytes
    assert size is not None
    arguments = sum(argument.nbytes or 0 for argument in simulation.graph.arguments)
    assert allocation.base_bytes == size + HANDLE + arguments
    assert allocation.peak.bytes_in_use == allocation.base_bytes + simulation.peak
    assert recorder.in_use == allocation.base_bytes


def test_a_16_bit_product_comes_before_the_float32_copies_that_it_is_made_of():
    b = Builder()
    b.argument("x", 4096)
    b.argument("y", 2048)
    halves = graphs.Tensor("float16", (64, 32), 4096), graphs.Tensor("float16", (32, 32), 2048)
    for op, tensor in zip(b.graph.ops, halves, strict=True):
        op.outputs = (tensor,)
    b.op("product", "MatMul", ["x", "y"], outputs=(halves[0],))
    recorder = Recorder()
    replay(in_order(b.returns("product")), recorder)
    assert recorder.asked[2:6] == [4096, 8192, 4096, 8192]


def test_scratch_comes_after_the_output_but_in_losses():
    b = Builder()
    for name in ("x", "y"):
        b.argument(name, 4096)
    four = graphs.Tensor("float32", (1, 8, 8, 16), 4096)
    sizes = graphs.Tensor("int32", (4,), 16)
    for op in b.graph.ops:
        op.outputs = (four,)
    b.op("sizes", "Const", outputs=(sizes,), attrs={"_value": [3, 3, 16, 16]})
    attrs = {"strides": [1, 1, 1, 1], "dilations": [1, 1, 1, 1], "padding": "SAME", "data_format": "NHWC"}
    attrs["_const_inputs"] = {"1": [3, 3, 16, 16]}
    filters = graphs.Tensor("float32", (3, 3, 16, 16), 9216)
    b.op("dw", "Conv2DBackpropFilter", ["x", "sizes", "y"], outputs=(filters,), attrs=attrs)
    logits, labels = graphs.Tensor("float32", (4, 8), 128), graphs.Tensor("int32", (4,), 16)
    b.op("logits", "MatMul", ["x", "y"], outputs=(logits,))
    b.op("labels", "Const", outputs=(labels,), attrs={"_value": [0, 1, 2, 3]})
    loss = (graphs.Tensor("float32", (4,), 16), logits)
    b.op("loss", "SparseSoftmaxCrossEntropyWithLogits", ["logits", "labels"], outputs=loss)
    simulation = in_order(b.returns("dw", ("loss", 0)))
    lives = simulation.lifetimes
    scratch = {simulation.graph.ops[op].name: lives.nbytes[i] for i, op in enumerate(lives.op) if lives.slot[i] == -1}
    assert set(scratch) == {"dw", "loss"}
    recorder = Recorder()
    replay(simulation, recorder)
    asked = recorder.asked[recorder.asked.index(9216) :]
    assert asked[:2] == [9216, scratch["dw"]]
    at_loss = [size for size in asked[2:] if size > 0][1:3]
    assert at_loss == [scratch["loss"], 16]


def test_the_peak_is_the_first_moment_at_which_the_most_is_in_use():
    """Rounded, x, a and b take as much at b as x, b and c do at c."""
    allocation = replay(in_order(graphs.chain()), Bfc())
    peak = Stats(bytes_in_use=768, peak_bytes_in_use=768, pool_bytes=2 * MIB, largest_free=2 * MIB - 768)
    assert allocation == Allocation("bfc", base_bytes=256, peak=peak, position=2, fails=None)


# --- limits


def test_a_step_that_does_not_fit_fails_at_the_op_that_asks():
    """x=4, top=8, left=16, right=32, join=64: the last does not fit beside left and right."""
    simulation = in_order(graphs.diamond())
    join = next(index for index, op in enumerate(simulation.graph.ops) if op.name == "join")
    allocation = replay(simulation, Exact(limit=115))
    assert allocation.fails == Failure(step=1, op=join, requested=64, free=115 - 4 - 16 - 32, largest_free=63)
    assert replay(simulation, Exact(limit=116)).fails is None


def test_variables_that_do_not_fit_fail_before_the_step():
    simulation = in_order(graphs.inplace_update())
    fails = replay(simulation, Exact(limit=10)).fails
    assert fails is not None
    assert (fails.step, fails.op, fails.requested) == (0, None, 64)


def test_a_pool_may_be_too_much_in_pieces():
    """In units of 256 bytes: x takes 1, a 4, b 1, and c needs 5 when a is gone: 4 are free before b and 3 after it."""
    b = Builder()
    b.argument("x", 256)
    b.op("a", "MatMul", ["x", "x"], 4 * 256)
    b.op("b", "MatMul", ["a", "a"], 256)
    b.op("c", "MatMul", ["b", "b"], 5 * 256)
    simulation = in_order(b.returns("c"))
    fails = replay(simulation, Bfc(9 * 256, growth=False)).fails
    assert fails is not None
    assert (fails.requested, fails.free, fails.largest_free) == (5 * 256, 7 * 256, 4 * 256)
    assert replay(simulation, Bfc(11 * 256, growth=False)).fails is None


def test_all_orders_are_replayed_and_the_most_frequent_outcome_is_typical():
    drawn = draw(graphs.two_weights(), orders=4, env=Env(threads=1))
    made = replay_all(drawn, "exact")
    resident = 2 * HANDLE + sum(v.nbytes or 0 for v in drawn[0].graph.variables)
    resident += sum(a.nbytes or 0 for a in drawn[0].graph.arguments)
    peaks = [resident + one.peak for one in drawn]
    assert made.typical.peak.bytes_in_use in peaks
    assert made.range_bytes == (min(peaks), max(peaks))
    assert (made.orders, made.failing, made.limit) == (4, 0, None)


def test_failing_orders_are_counted():
    drawn = draw(graphs.two_weights(), orders=4, env=Env(threads=1))
    least = replay_all(drawn, "exact").range_bytes[0]
    made = replay_all(drawn, "exact", least - 1)
    assert (made.failing, made.limit) == (4, least - 1)
    assert made.typical.fails is not None


def test_a_gpu_gets_one_region_of_the_whole_limit():
    drawn = draw(graphs.chain(), env=Env(threads=1, device="gpu"))
    assert replay_all(drawn, "bfc", 64 * MIB).typical.peak.pool_bytes == 64 * MIB
    assert replay_all(drawn, "bfc").typical.peak.pool_bytes in (0, 2 * MIB)


@settings(derandomize=True, deadline=None, max_examples=50)
@given(step_graphs())
def test_what_is_in_use_covers_what_is_alive(graph):
    simulation = in_order(graph)
    exact, bfc = Exact(), Bfc()
    counted = replay(simulation, exact)
    rounded = replay(simulation, bfc)
    assert counted.base_bytes <= counted.peak.bytes_in_use <= counted.base_bytes + simulation.peak
    assert rounded.base_bytes >= counted.base_bytes
    assert rounded.peak.bytes_in_use >= counted.peak.bytes_in_use
    assert exact.in_use == counted.base_bytes


def test_the_peak_is_the_smallest_limit_that_is_enough():
    simulation = in_order(graphs.two_weights())
    enough = replay(simulation, Exact()).peak.bytes_in_use
    assert replay(simulation, Exact(limit=enough)).fails is None
    assert replay(simulation, Exact(limit=enough - 1)).fails is not None
    with pytest.raises(OutOfMemory):
        Exact(limit=1).alloc(0, 2)
