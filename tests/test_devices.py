"""What `--device` names, and what "auto" finds on a machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphmem.devices import Device, find_device
from graphmem.errors import TargetError
from graphmem.settings import Settings


def test_a_cpu_has_no_card() -> None:
    assert find_device("cpu") == Device("cpu")


def test_a_gpu_is_a_common_card_whose_memory_is_no_limit() -> None:
    device = find_device("gpu")
    assert (device.kind, device.named, device.name) == ("gpu", False, "gpu")
    assert device.card is not None
    assert device.card.capability == (8, 0)
    assert Settings(device="gpu").limit is None


def test_the_memory_of_a_named_card_is_the_limit_unless_another_is_given() -> None:
    settings = Settings(device="RTX 3060 12GB")
    assert settings.on.card is not None
    assert settings.on.card.capability == (8, 6)
    assert settings.limit == settings.on.card.pool_bytes < 12 << 30
    assert settings.replayed == "bfc"
    assert Settings(device="RTX 3060 12GB", memory=1 << 30).limit == 1 << 30


def test_a_card_of_the_users_own() -> None:
    cards = {"Home made": {"like": "NVIDIA GeForce RTX 3060", "memory": "5GiB"}}
    device = find_device("home made", cards)
    assert device.card is not None
    assert device.card.memory_bytes == 5 << 30


def test_an_unknown_card_is_refused() -> None:
    with pytest.raises(
        TargetError, match="device must be cpu, gpu, auto, or a card, and no card is called 'RTX 30600'"
    ):
        find_device("RTX 30600")


@pytest.mark.parametrize(
    ("tool", "kind", "name"),
    [
        ("echo 'NVIDIA GeForce RTX 3060'", "gpu", "NVIDIA GeForce RTX 3060"),
        ("echo 'NVIDIA Riva 128'", "gpu", "gpu"),
        ("echo", "cpu", "cpu"),
        ("exit 9", "cpu", "cpu"),
    ],
)
def test_auto_asks_the_driver(tool: str, kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "nvidia-smi"
    script.write_text(f"#!/bin/sh\n{tool}\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    device = find_device("auto")
    assert (device.kind, device.name) == (kind, name)
    assert device.why
