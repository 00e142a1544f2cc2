"""The orders: which ready op is next, and in which order an op's readers are told."""

from __future__ import annotations

import random

import pytest

from graphmem.graph.model import Op, StepGraph, Tensor
from graphmem.runtime import queues
from graphmem.runtime.edges import SINK_EDGES, Arena, capacity, walk
from graphmem.runtime.executor import schedule
from graphmem.runtime.frames import Iteration
from graphmem.runtime.plan import make_plan
from graphmem.runtime.queues import DeterministicQueue
from graphmem.runtime.simulate import simulate
from graphmem.runtime.typical import typical

X = Tensor("float32", (4,), 16)


def _op(name: str, kind: str, *inputs: int, controls: tuple[int, ...] = ()) -> Op:
    return Op(name, kind, tuple((producer, 0) for producer in inputs), controls, (X,))


def _order(ops: list[Op], policy: str) -> list[str]:
    plan = make_plan(StepGraph(ops))
    return [ops[index].name for index in schedule(plan, policy=policy).ops]


def _forks() -> list[Op]:
    """A constant, its four expensive readers a to d, each with an expensive reader of its own, and a cheap reader e."""
    ops = [_op("root", "Const")]
    ops += [_op(name, "MatMul", 0) for name in "abcd"]
    ops += [_op("e", "Reshape", 0)]
    ops += [_op(f"{name}2", "MatMul", place) for place, name in enumerate("abcd", 1)]
    return ops


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        # e is cheap: it runs at once. The four go on the stack, the last on top; what d makes ready runs inline.
        ("default", "root e d d2 c c2 b b2 a a2"),
        ("breadth-first", "root a b c d e a2 b2 c2 d2"),
        ("graph", "root a b c d e a2 b2 c2 d2"),
        ("deterministic", "root e d d2 c c2 b b2 a a2"),
    ],
)
def test_each_order_on_a_small_fork(policy: str, expected: str) -> None:
    assert _order(_forks(), policy) == expected.split()


def test_the_last_expensive_op_runs_inline_if_nothing_cheap_waits() -> None:
    ops = [_op("root", "Const"), _op("a", "MatMul", 0, 0), _op("b", "MatMul", 0, 0), _op("b2", "Reshape", 2, 2)]
    assert _order(ops, "default") == ["root", "b", "b2", "a"]


def test_deterministic_takes_the_largest_cheap_op_first() -> None:
    ops = [_op(f"c{place}", "Const") for place in range(3)] + [_op("sum", "AddN", 0, 1, 2)]
    assert _order(ops, "deterministic") == ["c2", "c1", "c0", "sum"]
    assert _order(ops, "default") == ["c0", "c1", "c2", "sum"]


def test_deterministic_takes_the_latest_iteration_of_one_op_first() -> None:
    plan = make_plan(StepGraph([_op("shape", "Const"), _op("later", "Const")]))
    iterations = [Iteration(None, number, {}, {}) for number in range(3)]
    queue = DeterministicQueue(plan)
    queue.add([(0, iteration, False) for iteration in iterations])
    queue.add([(1, iterations[0], False)])
    taken = [queue.take() for _ in range(4)]
    assert [(item[0], item[1].number) for item in taken if item] == [(1, 0), (0, 2), (0, 1), (0, 0)]


def test_data_edges_go_before_control_edges() -> None:
    ops = [_op("root", "Const"), _op("waits", "NoOp", controls=(0,)), _op("reads", "Reshape", 0, 0)]
    assert _order(ops, "default") == ["root", "reads", "waits"]


@pytest.mark.parametrize(
    ("longest", "chunk", "expected"),
    [
        (2, 500, "root c c2 d d2 e b b2 a a2"),  # a and b fill the pool: c and d run before e
        (3, 500, "root d d2 e c c2 b b2 a a2"),
        (4, 500, "root e d d2 c c2 b b2 a a2"),
        (2, 2, "root e d d2 c c2 b b2 a a2"),  # two tasks that put two ops there each
        (1, 2, "root c c2 d d2 e b b2 a a2"),  # no room for the second task, nor for what it has
    ],
)
def test_a_task_runs_at_once_if_the_pool_has_no_room(
    monkeypatch: pytest.MonkeyPatch, longest: int, chunk: int, expected: str
) -> None:
    monkeypatch.setattr(queues, "_LONGEST", longest)
    monkeypatch.setattr(queues, "_CHUNK", chunk)
    assert _order(_forks(), "default") == expected.split()


def test_up_to_eight_edges_keep_their_order() -> None:
    for base in (0, 12_345 * 16, 1 << 20):
        assert walk([base + 32 * place for place in range(8)]) == list(range(8))


def test_edges_are_walked_as_tensorflow_walked_them() -> None:
    # The twelve edges of an argument of an unrolled LSTM: the order was read off from TensorFlow 2.21.
    start = -(-21 * 256 * 64 // 65)
    addresses = [start + 32 * place for place in range(-1, 11)]
    assert [(address + (address >> 6)) >> 8 for address in addresses] == [20] + [21] * 8 + [22] * 3
    assert walk(addresses) == [11, 7, 0, 1, 2, 9, 3, 8, 6, 4, 10, 5]


def _slow_walk(addresses: list[int], *, grown: bool) -> list[int]:
    """A hash set of pointers, written from the description of FlatRep: 80 % full at most, quadratic probing."""
    table: dict[int, int] = {}
    size = 8
    while not grown and len(addresses) >= 0.8 * size:
        size *= 2
    for position in range(len(addresses)):
        if grown and len(table) >= int(0.8 * size):
            old = [table[slot] for slot in sorted(table)]
            while len(old) + 1 >= 0.8 * size:
                size *= 2
            table = {}
            for moved in old:
                _put(table, size, addresses[moved], moved)
        _put(table, size, addresses[position], position)
    return [table[slot] for slot in sorted(table)]


def _put(table: dict[int, int], size: int, pointer: int, value: int) -> None:
    slot, step = ((pointer + pointer // 64) // 256) % size, 0
    while slot in table:
        step += 1
        slot = (slot + step) % size
    table[slot] = value


@pytest.mark.parametrize("count", [9, 12, 13, 40, 300])
@pytest.mark.parametrize("grown", [False, True])
def test_more_edges_are_walked_as_a_hash_set_of_pointers_is(count: int, grown: bool) -> None:
    rng = random.Random(count)
    orders = set()
    for draw in range(20):
        numbers = sorted(rng.sample(range(5 * count), count))
        addresses = Arena(30, 6 * count, numbers, draw).addresses(numbers)
        order = walk(addresses, grown=grown)
        assert sorted(order) == list(range(count))
        assert order == _slow_walk(addresses, grown=grown)
        orders.add(tuple(order))
    assert len(orders) > 1


@pytest.mark.parametrize(("count", "slots"), [(9, 16), (300, 512), (409, 512), (410, 1024)])
def test_draws_spread_evenly_over_the_addresses_that_turn_the_set_round(count: int, slots: int) -> None:
    assert capacity(count) == slots
    turn = slots * 256
    first = [Arena(30, count, list(range(count)), draw).addresses([0])[0] % turn for draw in range(20)]
    quarters = [address * 4 // turn for address in first]
    assert sorted(quarters.count(quarter) for quarter in range(4)) in ([5, 5, 5, 5], [4, 5, 5, 6], [4, 4, 6, 6])


@pytest.mark.parametrize(
    ("ops", "room"),
    [
        (0, (8192 - 2 * 200 - 32) // 32),  # source, sink and the edge between them
        (38, (8192 - 40 * 200 - 32) // 32),  # as many as a block holds
        (39, (8192 - 1 * 200) // 32),
        (619, (8192 - 21 * 200) // 32),
    ],
)
def test_edges_follow_the_nodes_in_blocks_of_8192_bytes(ops: int, room: int) -> None:
    for draw in range(10):
        addresses = Arena(ops, 1000, [], draw).addresses(list(range(1000)))
        jumps = [place for place in range(1, 1000) if addresses[place] - addresses[place - 1] != 32]
        assert jumps == list(range(room, 1000, 256))


def test_the_first_edge_lies_among_the_first_nodes() -> None:
    arena = Arena(10, 100, [50, 51], 3)
    first, *others = arena.from_source([50, 51])
    assert others == arena.addresses([*range(SINK_EDGES - 1), 50, 51])
    assert others[0] - first == (10 * 200) + 32
    assert len({Arena(1000, 1000, [900], draw).from_source([900])[0] for draw in range(9)}) == 9


def test_same_draw_same_order() -> None:
    graph = StepGraph([_op("root", "Const"), *(_op(f"m{place}", "MatMul", 0, 0) for place in range(30))])
    runs = [schedule(make_plan(graph), draw=draw).ops for draw in (1, 1, 2, 3, 4)]
    assert runs[0] == runs[1]
    assert len({tuple(run) for run in runs}) > 1


@pytest.mark.parametrize(
    ("peaks", "right"),
    [
        ([5], 5),
        ([159, 177, 159, 159], 159),
        ([100, 1000, 1001, 1002, 200, 300, 400], 1001),
        ([1000, 1020, 1020, 1040], 1020),
        ([1000, 1000, 1024, 1024, 1048], 1024),  # in the middle, and 2.4 % too high for 1000
        ([1000, 1000, 1000, 1050, 1050], 1000),  # most
        ([0, 0, 0], 0),
    ],
)
def test_the_typical_peak_is_right_most_often(peaks: list[int], right: int) -> None:
    assert peaks[typical(peaks)] == right


def test_the_range_covers_all_orders_drawn() -> None:
    simulation = simulate(StepGraph(_forks()), orders=4)
    assert len(simulation.peaks) == 4
    assert min(simulation.peaks) <= simulation.peak <= max(simulation.peaks)
    assert len(simulate(StepGraph(_forks()), order="graph").peaks) == 1
