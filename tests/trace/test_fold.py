"""Constants that TensorFlow folds before the executor sees the graph."""

import pytest

from graphmem.graph.model import Op, StepGraph, Tensor

pytestmark = pytest.mark.tf


def _tensor(*shape, dtype="float32"):
    count = 1
    for dim in shape:
        count *= dim
    return Tensor(dtype, shape, 4 * count)


def _graph(elements, controls=()):
    """tile = Tile(one, times); out = Mul(x, tile); `late` waits for what `controls` names."""
    tile = _tensor(elements)
    return StepGraph(
        [
            Op("x", "_Arg", (), (), (_tensor(elements),), {"index": 0, "_arg": ["argument", 0]}),
            Op("one", "Const", (), (), (_tensor(1),)),
            Op("times", "Const", (), (), (_tensor(1, dtype="int32"),)),
            Op("tile", "Tile", ((1, 0), (2, 0)), (), (tile,)),
            Op("out", "Mul", ((0, 0), (3, 0)), (), (tile,)),
            Op("late", "NoOp", (), controls, ()),
        ]
    )


def _fold(graph):
    from graphmem.trace.fold import fold_constants

    return fold_constants(graph)


def test_a_constant_expression_becomes_one_constant():
    folded = _fold(_graph(1000))
    assert [(op.name, op.type) for op in folded.ops] == [
        ("x", "_Arg"),
        ("out", "Mul"),
        ("late", "NoOp"),
        ("tile/folded", "Const"),
    ]
    assert folded.ops[1].inputs == ((0, 0), (3, 0))
    assert folded.ops[3].outputs[0].nbytes == 4000


def test_ten_mebibytes_are_the_most_that_is_folded():
    most = (10 << 20) // 4
    assert "tile/folded" in [op.name for op in _fold(_graph(most)).ops]
    assert "tile/folded" not in [op.name for op in _fold(_graph(most + 1)).ops]


def test_an_op_that_another_waits_for_still_runs():
    folded = _fold(_graph(1000, controls=(3,)))
    names = [op.name for op in folded.ops]
    assert names == ["x", "one", "times", "tile", "out", "late", "tile/folded"]
    assert folded.ops[4].inputs == ((0, 0), (6, 0))
    assert folded.ops[5].controls == (3,)


def test_a_folded_constant_waits_for_what_its_op_and_its_inputs_waited_for():
    graph = _graph(1000)
    graph.ops.append(Op("pivot", "NoOp", (), (), ()))
    graph.ops[1].controls = (6,)  # a constant in a loop's body waits for the body to begin
    folded = _fold(graph)
    names = [op.name for op in folded.ops]
    assert folded.ops[names.index("tile/folded")].controls == (names.index("pivot"),)


def test_stateful_ops_are_not_folded():
    graph = _graph(1000)
    graph.ops[3].type = "RandomUniform"
    assert _fold(graph) is graph


def test_a_folded_constant_is_resident_and_no_part_of_the_step():
    from graphmem.runtime.simulate import simulate

    simulation = simulate(_fold(_graph(1000)), order="graph")
    assert simulation.peak == 4000  # the product alone
    assert simulate(_graph(1000), order="graph").peak == 4000 + 4000 - 4000  # tile, taken over by the product
    kept = simulate(_fold(_graph(1000, controls=(3,))), order="graph")
    assert kept.peak == 4000


def test_what_stands_before_its_inputs_is_folded_too_and_constants_come_by_name():
    one, two = _tensor(10), _tensor(1, dtype="int32")
    folded = _fold(
        StepGraph(
            [
                Op("x", "_Arg", (), (), (one,), {"index": 0, "_arg": ["argument", 0]}),
                Op("z", "Tile", ((3, 0), (4, 0)), (), (one,)),
                Op("out", "AddN", ((0, 0), (1, 0), (5, 0)), (), (one,)),
                Op("one", "Const", (), (), (_tensor(1),)),
                Op("times", "Const", (), (), (two,)),
                Op("a", "Tile", ((3, 0), (4, 0)), (), (one,)),
            ]
        )
    )
    assert [op.name for op in folded.ops] == ["x", "out", "a/folded", "z/folded"]
    assert folded.ops[1].inputs == ((0, 0), (3, 0), (2, 0))


def test_constants_made_of_equal_ops_are_equal():
    graph = _graph(1000)
    again = Op("tile again", "Tile", ((1, 0), (2, 0)), (), (_tensor(1000),))
    graph.ops += [again, Op("sum", "AddV2", ((4, 0), (6, 0)), (), (_tensor(1000),))]
    for op in graph.ops:
        if op.type in ("Const", "Tile"):
            op.attrs["_signature"] = b"tile" if op.type == "Tile" else op.name.encode()
    tiles = [op for op in _fold(graph).ops if "_folded" in op.attrs]
    assert [op.name for op in tiles] == ["tile/folded", "tile again/folded"]
    assert tiles[0].attrs["_signature"] == tiles[1].attrs["_signature"]


def test_a_long_expression_of_one_constant_is_told_from_others_at_once():
    ops = [Op("one", "Const", (), (), (_tensor(10),), {"_signature": b"one"})]
    for place in range(60):  # each is read twice by the next: 2 ** 60 ways lead from the last to the first
        double = ((place, 0), (place, 0))
        ops.append(Op(f"twice {place}", "AddV2", double, (), (_tensor(10),), {"_signature": b"add"}))
    ops.append(Op("x", "_Arg", (), (), (_tensor(10),), {"index": 0, "_arg": ["argument", 0]}))
    ops.append(Op("out", "AddV2", ((60, 0), (61, 0)), (), (_tensor(10),)))
    assert [op.name for op in _fold(StepGraph(ops)).ops] == ["x", "out", "twice 59/folded"]
