"""Which layer is which: by hand-made scope trees in which names, numbers and weights differ."""

from __future__ import annotations

import pytest

from graphmem.answers.align import align, base
from graphmem.report.report import PeakPoint, Report
from tests.example_reports import buffer, report_of


def layers(text: str) -> Report:
    """A report of layers written `net/fc=4`: each with so many bytes of weights, or, without a number, a buffer."""
    sizes = dict(item.partition("=")[::2] for item in text.split())
    frontier = [buffer(8, (2,), "activation", "forward", name, "Relu") for name, size in sizes.items() if not size]
    kept = {name: {"weight": int(size)} for name, size in sizes.items() if size}
    return report_of(frontier, variables_by_scope=kept, peak=PeakPoint("", "", "", "forward", 0, 1))


CASES = {
    "a layer that grew keeps its name": ("a=4 b=8", "a=4 b=800", "a:a b:b"),
    "counters went on": ("fc=4 fc_1=8 fc_2=16", "fc_3=4 fc_4=8 fc_5=16", "fc:fc_3 fc_1:fc_4 fc_2:fc_5"),
    "counters went on and all grew": ("fc=4 fc_1=8", "fc_2=40 fc_3=80", "fc:fc_2 fc_1:fc_3"),
    "counters are one off": ("fc=4 fc_1=8 fc_2=16", "fc_1=4 fc_2=8 fc_3=16", "fc:fc_1 fc_1:fc_2 fc_2:fc_3"),
    "one in between is new": ("fc=4 fc_1=8 fc_2=16", "fc=4 fc_1=99 fc_2=8 fc_3=16", "fc:fc fc_1:fc_2 fc_2:fc_3"),
    "one in between is gone": ("fc=4 fc_1=99 fc_2=16", "fc=4 fc_1=16", "fc:fc fc_2:fc_1"),
    "of equal ones the last is new": ("fc=4 fc_1=4", "fc=4 fc_1=4 fc_2=4", "fc:fc fc_1:fc_1"),
    "without weights numbers decide": ("drop_2 drop_3", "drop_1 drop_2 drop_3", "drop_2:drop_2 drop_3:drop_3"),
    "the model has another name": ("net/fc=4 net/out=8", "model/fc=4 model/out=9",
                                   "net:model net/fc:model/fc net/out:model/out"),
    "a layer is renamed": ("first=123 out=8", "stem=123 out=8", "first:stem out:out"),
    "another layer in its place": ("first=123 out=8", "stem=124 out=8", "out:out"),
    "blocks below one scope": ("net/block_1/fc=4 net/block_2/fc=8", "net/block_2/fc=4 net/block_3/fc=8",
                               "net:net net/block_1:net/block_2 net/block_1/fc:net/block_2/fc "
                               "net/block_2:net/block_3 net/block_2/fc:net/block_3/fc"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "pairs"), CASES.values(), ids=CASES)
def test_the_same_layer_is_found(before: str, after: str, pairs: str) -> None:
    found = {was: now for now, was in align(layers(before), layers(after)).items()}
    assert found == {"": ""} | dict(pair.split(":") for pair in pairs.split())


def test_optimizer_state_does_not_tell_layers_apart() -> None:
    before, after = layers("fc=4 fc_1=8"), layers("fc=4 fc_1=8")
    after.variables_by_scope["fc"]["optimizer state"] = 1000
    assert align(before, after) == {"": "", "fc": "fc", "fc_1": "fc_1"}


@pytest.mark.parametrize(("name", "said"), [("fc", "fc"), ("fc_12", "fc"), ("fc_0", "fc_0"), ("a_01", "a_01")])
def test_only_counters_that_keras_makes_are_left_out(name: str, said: str) -> None:
    assert base(name) == said
