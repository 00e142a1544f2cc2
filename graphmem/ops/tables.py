"""All modules that fill the table, in one place; properties that cut across families come last."""

from graphmem.ops import (  # noqa: F401
    arrays,
    control,
    convolution,
    datasets,
    einsum,
    elementwise,
    functions,
    gpu,
    gpu_convolution,
    gpu_recurrent,
    hosts,
    images,
    inline,
    linalg,
    lists,
    losses,
    pooling,
    quantized,
    recurrent,
    reductions,
    sparse,
    variables,
    views,
)

inline.apply()
gpu.apply()
