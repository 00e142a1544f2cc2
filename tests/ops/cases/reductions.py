"""Reductions, scans and segments."""

from __future__ import annotations

from tests.ops.allocator import Case
from tests.ops.cases.make import boolean, f16, f32, i32

REDUCTIONS = [
    *[
        Case(op, {"input": f32(*shape)}, {"axis": axis})
        for op, shape, axis in [
            ("Sum", (32, 48), [0]),
            ("Sum", (512, 32), [0, 1]),
            ("Sum", (512, 3), [1]),
            ("Mean", (3, 512), [0]),
            ("Mean", (16, 32, 48), [1]),
            ("Mean", (16, 32, 48), [0, 2]),
            ("Mean", (8, 4, 4, 256), [0, 1, 2]),
            ("Mean", (8, 4, 4, 256), [1, 2]),
            ("Mean", (8, 4, 4, 256), [0, 2]),
            ("Mean", (8, 4, 4, 256), [1, 3]),
            ("Mean", (8, 4, 4, 256), [-1]),
            ("Mean", (8, 1, 4, 256), [0, 2]),
            ("Sum", (32, 1, 48), [1]),
            ("Sum", (1, 1, 1), [0, 2]),
            ("Max", (512, 1), [1]),
            ("Min", (32, 48), []),
            ("Prod", (16, 32, 48), [0, 2]),
            ("EuclideanNorm", (32, 1, 48), [1]),
            ("EuclideanNorm", (16, 32, 48), [0, 2]),
        ]
    ],
    Case("Sum", {"input": f16(16, 32, 48)}, {"axis": [0, 2]}),
    Case("Sum", {"input": i32(16, 32, 48)}, {"axis": [0, 2]}),
    Case("All", {"input": boolean(16, 32, 48)}, {"axis": [0, 2]}, {}),
    Case("Any", {"input": boolean(64, 32)}, {"axis": [0, 1]}, {}),
    Case("ArgMax", {"input": f32(512, 32)}, {"dimension": 1}),
    Case("ArgMin", {"input": f32(32, 512)}, {"dimension": 0}),
    Case("Cumsum", {"x": f32(32, 48)}, {"axis": 0}),
    Case("Cumprod", {"x": f32(32, 48)}, {"axis": 1}),
    Case("CumulativeLogsumexp", {"x": f32(32, 48)}, {"axis": 1}),
    Case("SegmentSum", {"data": f32(4, 512)}, {}, {}, {"segment_ids": [0, 0, 1, 5]}),
    Case("SegmentMean", {"data": f32(4, 512)}, {}, {}, {"segment_ids": [0, 0, 1, 5]}),
    Case("SparseSegmentSum", {"data": f32(16, 512), "indices": i32(4)}, {}, {}, {"segment_ids": [0, 0, 1, 2]}),
    Case("SparseSegmentMean", {"data": f32(16, 512), "indices": i32(4)}, {}, {}, {"segment_ids": [0, 0, 1, 2]}),
    Case("UnsortedSegmentSum", {"data": f32(16, 64), "segment_ids": i32(16)}, {"num_segments": 32}),
    Case("UnsortedSegmentMax", {"data": f32(16, 64), "segment_ids": i32(16)}, {"num_segments": 32}),
]
