"""Ops on variables: their memory belongs to the variable, not to the step."""

from __future__ import annotations

from graphmem.ops.registry import Rule, register
from graphmem.ops.views import FIRST

_KERNELS = "resource_variable_ops.cc, training_op_helpers.h"

register("ReadVariableOp", Rule(variable="read", source=_KERNELS))
register("AssignVariableOp", Rule(variable="assign", source=_KERNELS))
register("AssignAddVariableOp AssignSubVariableOp", Rule(variable="update", source=_KERNELS))
register(
    "ResourceApplyAdaMax ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdagradDA ResourceApplyAdagradV2"
    " ResourceApplyAdam ResourceApplyAdamWithAmsgrad ResourceApplyAddSign ResourceApplyCenteredRMSProp"
    " ResourceApplyFtrl ResourceApplyFtrlV2 ResourceApplyGradientDescent ResourceApplyKerasMomentum"
    " ResourceApplyMomentum ResourceApplyPowerSign ResourceApplyProximalAdagrad"
    " ResourceApplyProximalGradientDescent ResourceApplyRMSProp",
    Rule(variable="update", source="training_ops.cc"),
)
register(
    "ResourceScatterAdd ResourceScatterDiv ResourceScatterMax ResourceScatterMin ResourceScatterMul"
    " ResourceScatterSub ResourceScatterUpdate ResourceScatterNdAdd ResourceScatterNdMax ResourceScatterNdMin"
    " ResourceScatterNdSub ResourceScatterNdUpdate ResourceStridedSliceAssign ResourceGather ResourceGatherNd",
    Rule(variable="sparse", source=_KERNELS),
)
register(
    "ResourceSparseApplyAdadelta ResourceSparseApplyAdagrad ResourceSparseApplyAdagradDA"
    " ResourceSparseApplyAdagradV2 ResourceSparseApplyCenteredRMSProp ResourceSparseApplyFtrl"
    " ResourceSparseApplyFtrlV2 ResourceSparseApplyKerasMomentum ResourceSparseApplyMomentum"
    " ResourceSparseApplyProximalAdagrad ResourceSparseApplyProximalGradientDescent ResourceSparseApplyRMSProp",
    Rule(variable="sparse", source="training_ops.cc"),
)
register(
    "VariableShape VarIsInitializedOp VarHandleOp _VarHandlesOp _ReadVariablesOp DestroyResourceOp",
    Rule(source=_KERNELS),
)
register("TemporaryVariable", Rule(source="state_ops.h: one buffer for a sum that Grappler unrolled"))
register("Assign AssignAdd AssignSub DestroyTemporaryVariable", Rule(view=FIRST, source="assign_op.h: in place"))
