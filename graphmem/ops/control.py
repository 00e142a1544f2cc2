"""Control flow, the step's ends, and ops that only order or check."""

from __future__ import annotations

from graphmem.ops.registry import Rule, register
from graphmem.ops.views import FIRST

register("Switch RefSwitch", Rule(view=((0, 0), (1, 0)), control="switch", source="control_flow_ops.cc"))
register(
    "_SwitchN", Rule(view=tuple((slot, 0) for slot in range(1024)), control="switch", source="control_flow_ops.cc")
)
register("Merge RefMerge", Rule(view=FIRST, control="merge", source="control_flow_ops.cc"))
register("Enter RefEnter", Rule(view=FIRST, control="enter", source="control_flow_ops.cc"))
register("Exit RefExit", Rule(view=FIRST, control="exit", source="control_flow_ops.cc"))
register("NextIteration RefNextIteration", Rule(view=FIRST, control="next", source="control_flow_ops.cc"))
register("LoopCond", Rule(view=FIRST, control="cond", source="control_flow_ops.cc"))
register("_Arg _DeviceArg", Rule(source="function_ops.cc: held by the caller"))
register("_Retval _DeviceRetval", Rule(source="function_ops.cc: holds its input until the step returns"))
register("NoOp ControlTrigger Assert Print PrintV2 Abort", Rule(source="no_op.h"))
register("Placeholder", Rule(source="placeholder: fed"))
register("Stack StackPush StackPop StackClose", Rule(source="stack.cc"))
