"""Pooling and what surrounds it in image models."""

from __future__ import annotations

from graphmem.graph.model import Op, Tensor
from graphmem.ops.registry import Env, Rule, register
from graphmem.ops.sizes import copy_of


def max_pool_grad(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """The pooled output again (in its own buffer if nobody else holds that), and where each maximum was (int64)."""
    return [copy_of(inputs[1]), copy_of(inputs[1], "int64")]


register("AvgPool AvgPool3D AvgPoolGrad AvgPool3DGrad", Rule(source="avgpooling_op.cc, pooling_ops_3d.cc"))
register("MaxPool MaxPoolV2 MaxPool3D MaxPoolWithArgmax", Rule(source="maxpooling_op.cc, pooling_ops_3d.cc"))
register(
    "MaxPoolGrad MaxPoolGradV2",
    Rule(
        forward=((0, (0,)),),
        cpu_scratch=max_pool_grad,
        scratch_over=((0, 1),),
        scratch_first=True,
        source="maxpooling_op.cc",
    ),
)
register("MaxPool3DGrad MaxPool3DGradGrad MaxPoolGradGrad MaxPoolGradWithArgmax", Rule(source="pooling_ops_3d.cc"))
register(
    "FractionalMaxPool FractionalAvgPool FractionalMaxPoolGrad FractionalAvgPoolGrad",
    Rule(source="fractional_max_pool_op.cc"),
)
