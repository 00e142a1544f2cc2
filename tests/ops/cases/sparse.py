"""Sparse and ragged tensors, and sets."""

from __future__ import annotations

from typing import Any

from tests.ops.allocator import Case
from tests.ops.cases.make import f32, i32

_ONE = [[i, i] for i in range(500)]
_OTHER = [[i, i + 1] for i in range(500)]
_SHAPE = [500, 600]
_SETS = {"set_operation": "union"}
_PAIR = {"a_indices": _ONE, "a_shape": _SHAPE, "b_indices": _OTHER, "b_shape": _SHAPE}
_SEGMENTS = {"segment_ids": [0, 0, 1, 2]}


def whole(op: str, tensors: dict[str, Any], fed: dict[str, Any], **attrs: Any) -> Case:
    """A case whose indices and shapes are int64."""
    return Case(op, tensors, {}, attrs, fed, "int64")


SPARSE = [
    whole(
        "SparseTensorDenseAdd",
        {"a_values": f32(500), "b": f32(500, 6)},
        {"a_indices": [[i, i % 6] for i in range(500)], "a_shape": [500, 6]},
    ),
    *[
        whole(op, {"a_values": f32(500), "b_values": f32(500)}, _PAIR)
        for op in ("SparseSparseMaximum", "SparseSparseMinimum")
    ],
    whole("SparseAdd", {"a_values": f32(500), "b_values": f32(500), "thresh": f32()}, _PAIR),
    *[
        whole(op, {"sp_values": f32(500), "dense": f32(*_SHAPE)}, {"sp_indices": _ONE, "sp_shape": _SHAPE})
        for op in ("SparseDenseCwiseMul", "SparseDenseCwiseAdd", "SparseDenseCwiseDiv")
    ],
    whole("SparseSoftmax", {"sp_values": f32(500)}, {"sp_indices": _ONE, "sp_shape": _SHAPE}),
    whole(
        "SparseToDense",
        {"sparse_values": f32(500), "default_value": f32()},
        {"sparse_indices": _ONE, "output_shape": _SHAPE},
    ),
    whole(
        "SparseFillEmptyRows",
        {"values": f32(500), "default_value": f32()},
        {"indices": _ONE, "dense_shape": [510, 600]},
    ),
    whole(
        "SparseToSparseSetOperation",
        {"set1_values": i32(500), "set2_values": i32(500)},
        {"set1_indices": _ONE, "set1_shape": _SHAPE, "set2_indices": _OTHER, "set2_shape": _SHAPE},
        **_SETS,
    ),
    Case("DenseToDenseSetOperation", {"set1": i32(100, 8), "set2": i32(100, 8)}, {}, _SETS, top=100),
    Case("DenseCountSparseOutput", {"values": i32(20, 50), "weights": f32(0)}, {}, {"binary_output": False}, top=40),
    *[
        Case(op, {"grad": f32(3, 512), "indices": i32(4)}, {"dense_output_dim0": 16}, {}, _SEGMENTS)
        for op in ("SparseSegmentSumGradV2", "SparseSegmentMeanGradV2", "SparseSegmentSqrtNGradV2")
    ],
    whole(
        "EditDistance",
        {"hypothesis_values": i32(500), "truth_values": i32(500)},
        {
            "hypothesis_indices": [[i, 0] for i in range(500)],
            "hypothesis_shape": [500, 3],
            "truth_indices": [[i, 0] for i in range(500)],
            "truth_shape": [500, 3],
        },
    ),
    Case("RaggedRange", {"starts": i32(500)}, {}, {}, {"limits": [10] * 500, "deltas": [1] * 500}),
]
