"""Which CPU kernels are never expensive: the executor runs them as soon as they are ready, all others through its pool.

The list is that of the kernels whose class overrides `OpKernel::IsExpensive` in TensorFlow 2.21's binary. Reads of
variables, `Bitcast` and handles are not among them.
"""

from __future__ import annotations

from graphmem.ops.registry import amend

NEVER_EXPENSIVE = (
    "Const ImmutableConst HostConst NoOp ControlTrigger _Arg _Retval _DeviceArg _DeviceRetval Identity IdentityN"
    " RefIdentity StopGradient PreventGradient PlaceholderWithDefault Reshape Squeeze ExpandDims EnsureShape Shape"
    " ShapeN Rank Size BroadcastArgs BroadcastGradientArgs ConcatOffset Switch Merge Enter Exit NextIteration"
    " LoopCond _SwitchN RefSwitch RefMerge RefEnter RefExit RefNextIteration DebugIdentity DebugIdentityV2"
    " DebugIdentityV3 DebugGradientIdentity _VarHandlesOp _ReadVariablesOp StackPush StackPushV2 StackPop"
    " StackPopV2 StackClose StackCloseV2"
)


def apply() -> None:
    """Mark the rows. Runs after all rows are there."""
    amend(NEVER_EXPENSIVE, inline=True)
