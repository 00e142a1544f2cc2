"""Settings are checked when they are made."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.errors import TargetError
from graphmem.settings import ORDERS, Settings


@pytest.mark.parametrize("device", ["cpu", "gpu", "auto", "RTX 3060 12GB"])
@pytest.mark.parametrize("order", ORDERS)
def test_every_device_and_order_is_accepted(device: str, order: str) -> None:
    assert Settings(device=device, order=order, orders=1, threads=64, rewrite=False).order == order


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"device": "tpu"}, "device must be cpu, gpu, auto, or a card, and no card is called 'tpu'"),
        (
            {"order": "random"},
            "order must be one of 'default', 'deterministic', 'graph', 'breadth-first', not 'random'.",
        ),
        ({"runtime": "eager"}, "runtime must be one of 'auto', 'graph', 'xla', not 'eager'."),
        ({"allocator": "best"}, "allocator must be one of 'exact', 'bfc', 'async', not 'best'."),
        ({"allocator": "async"}, 'allocator "async" is cudaMallocAsync, which only a GPU has'),
        ({"memory": 0}, "memory must be a whole number of 1 or more, not 0."),
        ({"orders": 0}, "orders must be a whole number of 1 or more, not 0."),
        ({"orders": True}, "orders must be a whole number of 1 or more, not True."),
        ({"threads": 1.5}, "threads must be a whole number of 1 or more, not 1.5."),
        ({"rewrite": 1}, "rewrite must be true or false, not 1."),
    ],
)
def test_a_wrong_value_is_named(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(TargetError) as caught:
        Settings(**wrong)
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize(
    ("given", "replayed"),
    [
        ({}, None),
        ({"allocator": "exact"}, None),
        ({"allocator": "bfc"}, "bfc"),
        ({"memory": 1 << 30}, "bfc"),
        ({"memory": 1 << 30, "allocator": "exact"}, "exact"),
        ({"device": "gpu", "allocator": "async"}, "async"),
    ],
)
def test_an_allocator_is_simulated_where_it_says_something_new(given: dict[str, Any], replayed: str | None) -> None:
    assert Settings(**given).replayed == replayed
