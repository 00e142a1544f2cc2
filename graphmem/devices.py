"""What `--device` names: this machine's CPU, a GPU that need not be there, or a card by name."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphmem.errors import TargetError

if TYPE_CHECKING:
    from graphmem.xla.gpus import Gpu

TYPICAL_GPU = "A100 80GB"
"""The card that `--device gpu` stands for, as far as one is needed: kernels, layouts and XLA's choices depend on it."""


@dataclass(frozen=True)
class Device:
    """What the step is modelled on.

    Attributes:
        kind: "cpu" or "gpu".
        card: the GPU's card; `None` for a CPU.
        named: whether the user, or this machine, told which card: its memory then is the limit.
        why: how it was chosen, "" if it was just said.
    """

    kind: str
    card: Gpu | None = None
    named: bool = False
    why: str = ""

    @property
    def name(self) -> str:
        """As the report names it."""
        return self.card.name if self.card is not None and self.named else self.kind


def find_device(name: str, more: Mapping[str, Any] | None = None) -> Device:
    """The device that a name stands for.

    Args:
        name: "cpu", "gpu", "auto" (a GPU of this machine, else its CPU), or a card.
        more: the user's own cards, of `[tool.graphmem.gpus]`.

    Raises:
        TargetError: no card is called so, or several.
    """
    if name == "cpu":
        return Device("cpu")
    if name == "auto":
        return _here(more)
    from graphmem.xla.cards import find_gpu, user_table

    tables = [user_table(), more or {}]
    if name == "gpu":
        return Device("gpu", find_gpu(TYPICAL_GPU, tables))
    try:
        return Device("gpu", find_gpu(name, tables), named=True)
    except TargetError as error:
        raise TargetError(f"device must be cpu, gpu, auto, or a card, and {error}") from error


def _here(more: Mapping[str, Any] | None) -> Device:
    """The GPU that TensorFlow would use on this machine, else the CPU."""
    found = _first_nvidia_gpu()
    if found is None:
        return Device("cpu", why="this machine has no GPU")
    try:
        device = find_device(found, more)
    except TargetError:
        unknown = f"this machine has a {found}, which graphmem's list lacks"
        return Device("gpu", find_device("gpu", more).card, why=unknown)
    return Device("gpu", device.card, named=True, why=f"this machine has a {found}")


def _first_nvidia_gpu() -> str | None:
    """The name of this machine's first GPU; its driver's tool tells it without TensorFlow."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    try:
        query = [tool, "--query-gpu=name", "--format=csv,noheader"]
        told = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    lines = told.splitlines()
    return lines[0].strip() or None if lines else None
