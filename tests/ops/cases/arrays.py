"""Moving, making and looking up elements; random numbers."""

from __future__ import annotations

from tests.ops.allocator import Case
from tests.ops.cases.make import boolean, f16, f32, i32

ARRAYS = [
    Case("GatherV2", {"params": f32(64, 32), "indices": i32(128)}, {"axis": 0}),
    Case("GatherV2", {"params": f16(64, 32), "indices": i32(128)}, {"axis": 1}),
    Case("GatherNd", {"params": f32(64, 32), "indices": i32(128, 1)}),
    Case("ScatterNd", {"indices": i32(16, 1), "updates": f32(16, 64)}, {"shape": [64, 64]}),
    Case("TensorScatterUpdate", {"tensor": f32(64, 64), "indices": i32(2, 1), "updates": f32(2, 64)}),
    Case("TensorScatterAdd", {"tensor": f32(64, 64), "indices": i32(2, 1), "updates": f32(2, 64)}),
    Case("StridedSliceGrad", {"dy": f32(16, 64)}, {"shape": [32, 64], "begin": [0], "end": [16], "strides": [1]}),
    Case("StridedSliceGrad", {"dy": f32(32, 64)}, {"shape": [32, 64], "begin": [0], "end": [32], "strides": [1]}),
    Case(
        "TensorStridedSliceUpdate",
        {"input": f32(32, 64), "value": f32(16, 64)},
        {"begin": [0], "end": [16], "strides": [1]},
    ),
    Case("ReverseV2", {"tensor": f32(32, 48)}, {"axis": [0]}),
    Case("ReverseV2", {"tensor": f32(32, 48)}, {"axis": []}),
    Case("ReverseV2", {"tensor": f32(1, 1024)}, {"axis": [0]}),
    Case("ReverseSequence", {"input": f32(32, 48), "seq_lengths": i32(32)}, {}, {"seq_dim": 1}),
    Case("Roll", {"input": f32(32, 48)}, {"shift": [3], "axis": [0]}),
    Case("Fill", {"value": f32()}, {"dims": [32, 48]}),
    Case("OneHot", {"indices": i32(64), "on_value": f32(), "off_value": f32()}, {"depth": 32}),
    Case(
        "StatelessRandomUniformV2",
        {"key": ("uint64", (1,)), "counter": ("uint64", (2,))},
        {"shape": [32, 48], "alg": 1},
    ),
    Case(
        "StatelessRandomNormalV2", {"key": ("uint64", (1,)), "counter": ("uint64", (2,))}, {"shape": [32, 48], "alg": 1}
    ),
    Case("Where", {"condition": boolean(64, 64)}),
    Case("Unique", {"x": i32(4000)}),
    Case("InvertPermutation", {}, {}, {}, {"x": list(range(1000))}),
    Case("SpaceToBatchND", {"input": f32(4, 16, 16, 8)}, {"block_shape": [2, 2], "paddings": [[0, 0], [0, 0]]}),
    Case("BatchToSpaceND", {"input": f32(4, 16, 16, 8)}, {"block_shape": [2, 2], "crops": [[0, 0], [0, 0]]}),
    Case("SpaceToBatchND", {"input": f32(4, 16, 1, 64)}, {"block_shape": [2], "paddings": [[0, 0]]}),
    Case("DynamicStitch", {"indices": [i32(3), i32(3)], "data": [f32(3, 512), f32(3, 512)]}, top=1),
    Case("DynamicPartition", {"data": f32(16, 64), "partitions": i32(16)}, {}, {"num_partitions": 3}),
    Case("ScatterNdNonAliasingAdd", {"input": f32(64, 64), "indices": i32(2, 1), "updates": f32(2, 64)}),
    Case("LinSpace", {"start": f32(), "stop": f32()}, {}, {}, {"num": 1000}),
    Case("MirrorPadGrad", {"input": f32(34, 48)}, {"paddings": [[1, 1], [0, 0]]}, {"mode": "REFLECT"}),
    Case("DenseBincount", {"input": i32(1000), "weights": f32(0)}, {"size": 1000}),
    Case("Bucketize", {"input": f32(64, 64)}, {}, {"boundaries": [0.1, 0.5]}),
    Case("RandomUniform", {}, {"shape": [32, 48]}, {"dtype": "float32"}),
    Case("RandomStandardNormal", {}, {"shape": [32, 48]}, {"dtype": "float32"}),
    Case("TruncatedNormal", {}, {"shape": [32, 48]}, {"dtype": "float32"}),
    Case("RandomUniform", {}, {"shape": [32, 48]}, {"dtype": "float16"}),
    Case("RandomShuffle", {"value": f32(64, 32)}),
    Case("StatelessRandomUniform", {}, {"shape": [32, 48]}, {}, {"seed": [1, 2]}),
    Case("StatelessRandomNormal", {}, {"shape": [32, 48]}, {}, {"seed": [1, 2]}),
    Case("StatelessTruncatedNormal", {}, {"shape": [32, 48]}, {}, {"seed": [1, 2]}),
    Case("Multinomial", {"logits": f32(16, 64)}, {"num_samples": 100}),
    Case("StatelessMultinomial", {"logits": f32(16, 64)}, {"num_samples": 100, "seed": [1, 2]}),
    Case("RandomGamma", {"alpha": f32(8)}, {"shape": [100]}),
]
