"""Which CPU kernels are never expensive: the executor runs them as soon as they are ready."""

from __future__ import annotations

from graphmem.ops.registry import amend

NEVER_EXPENSIVE = (
    "Const NoOp Identity IdentityN Reshape Squeeze ExpandDims StopGradient PreventGradient Shape ShapeN Rank Size"
    " Switch Merge Enter Exit NextIteration LoopCond ReadVariableOp _Arg _Retval _DeviceArg _DeviceRetval"
    " BroadcastGradientArgs VarHandleOp"
)
"""Ops whose kernels override `IsExpensive`."""


def apply() -> None:
    """Mark the rows. Runs after all rows are there."""
    amend(NEVER_EXPENSIVE, inline=True)
