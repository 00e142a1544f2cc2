"""Views and what looks like one."""

from __future__ import annotations

from tests.ops.allocator import Case
from tests.ops.cases.make import f32

VIEWS = [
    Case("Reshape", {"tensor": f32(32, 48)}, {"shape": [-1]}),
    Case("ExpandDims", {"input": f32(32, 48)}, {"axis": 1}),
    Case("Squeeze", {"input": f32(32, 1, 48)}),
    Case("Bitcast", {"input": f32(32, 48)}, {}, {"type": "int32"}),
    Case("EnsureShape", {"input": f32(32, 48)}, {}, {"shape": [32, 48]}),
    Case("CheckNumerics", {"tensor": f32(32, 48)}, {}, {"message": ""}),
    Case("IdentityN", {"input": [f32(32, 48), f32(16, 48)]}),
    *[
        Case("Slice", {"input": f32(*shape)}, {"begin": begin, "size": size})
        for shape, begin, size in [
            ((32, 48), [0, 0], [32, 48]),
            ((32, 48), [0, 0], [-1, -1]),
            ((32, 48), [3, 0], [16, 48]),
            ((32, 50), [3, 0], [16, 50]),
            ((32, 48), [0, 1], [32, 32]),
            ((1024,), [16], [512]),
            ((1024,), [16], [500]),
            ((1024,), [5], [512]),
            ((64, 4, 16), [8, 0, 0], [32, 4, 16]),
        ]
    ],
    *[
        Case("StridedSlice", {"input": f32(*shape)}, {"begin": begin, "end": end, "strides": strides}, masks)
        for shape, begin, end, strides, masks in [
            ((32, 48), [0, 0], [32, 48], [1, 1], {}),
            ((32, 48), [0], [16], [1], {}),
            ((32, 48), [4], [30], [1], {}),
            ((32, 48), [4], [30], [2], {}),
            ((32, 50), [4], [30], [1], {}),
            ((1024,), [16], [512], [1], {}),
            ((1024,), [16], [500], [1], {}),
            ((32, 48), [0, 0], [0, 32], [1, 1], {"begin_mask": 3, "end_mask": 1}),
            ((4, 16, 48), [2], [3], [1], {"shrink_axis_mask": 1}),
            ((4, 16, 48), [-1], [0], [1], {"shrink_axis_mask": 1}),
            ((4, 16, 47), [2], [3], [1], {"shrink_axis_mask": 1}),
            ((16, 4, 48), [0, 2], [0, 3], [1, 1], {"begin_mask": 1, "end_mask": 1, "shrink_axis_mask": 2}),
            ((32, 48), [0, 0], [0, 0], [1, 1], {"ellipsis_mask": 1, "new_axis_mask": 2}),
            ((32, 48), [0, 0, 0], [0, 0, 16], [1, 1, 1], {"new_axis_mask": 1, "begin_mask": 7, "end_mask": 3}),
            ((32, 48), [-8], [-1], [1], {}),
            ((32, 48), [0], [-1], [1], {"begin_mask": 1}),
            ((32, 48), [-1], [0], [-1], {"begin_mask": 1, "end_mask": 1}),
        ]
    ],
    *[
        Case("Slice", {"input": f32(*shape)}, {"size": size}, {}, {"begin": begin})
        for shape, begin, size in [
            ((32, 48), [3, 0], [16, 48]),
            ((32, 50), [3, 0], [16, 50]),
            ((32, 48), [0, 1], [32, 32]),
            ((1024,), [15], [512]),
        ]
    ],
    *[
        Case("StridedSlice", {"input": f32(*shape)}, {"strides": strides}, masks, {"begin": begin, "end": end})
        for shape, begin, end, strides, masks in [
            ((32, 48), [4], [30], [1], {}),
            ((32, 50), [4], [30], [1], {}),
            ((32, 48), [4], [30], [2], {}),
            ((1024,), [15], [512], [1], {}),
            ((4, 16, 48), [2], [3], [1], {"shrink_axis_mask": 1}),
            ((4, 16, 48), [2, 0], [3, 0], [1, 1], {"shrink_axis_mask": 1, "begin_mask": 2, "end_mask": 2}),
            ((4, 16, 48), [2, 5], [3, 6], [1, 1], {"shrink_axis_mask": 3}),
            ((16, 4, 48), [0, 2], [0, 3], [1, 1], {"begin_mask": 1, "end_mask": 1, "shrink_axis_mask": 2}),
        ]
    ],
    *[
        Case("Split", {"value": f32(*shape)}, {"axis": axis}, {"num_split": parts})
        for shape, axis, parts in [
            ((32, 48), 0, 2),
            ((32, 50), 0, 2),
            ((32, 48), 1, 2),
            ((32, 48), 1, 1),
            ((32, 48), -2, 2),
            ((1024,), 0, 2),
            ((1000,), 0, 2),
        ]
    ],
    Case("SplitV", {"value": f32(32, 48)}, {"size_splits": [8, 24], "axis": 0}, {"num_split": 2}),
    Case("SplitV", {"value": f32(32, 50)}, {"size_splits": [8, 24], "axis": 0}, {"num_split": 2}),
    Case("SplitV", {"value": f32(32, 48)}, {"size_splits": [16, 32], "axis": 1}, {"num_split": 2}),
    Case("SplitV", {"value": f32(32, 48)}, {"size_splits": [32], "axis": 0}, {"num_split": 1}),
    Case("SplitV", {"value": f32(1024)}, {"size_splits": [500, 524], "axis": 0}, {"num_split": 2}),
    Case("Unpack", {"value": f32(4, 16, 48)}, {}, {"num": 4}),
    Case("Unpack", {"value": f32(4, 513)}, {}, {"num": 4}),
    Case("Unpack", {"value": f32(512, 4)}, {}, {"num": 4, "axis": 1}),
    Case("Unpack", {"value": f32(1, 513)}, {}, {"num": 1}),
    *[
        Case("Transpose", {"x": f32(*shape)}, {"perm": perm})
        for shape, perm in [
            ((32, 48), [1, 0]),
            ((32, 48), [0, 1]),
            ((32, 1, 48), [1, 0, 2]),
            ((1, 32, 48), [1, 2, 0]),
            ((1, 32, 48), [2, 0, 1]),
            ((512,), [0]),
        ]
    ],
    Case("BroadcastTo", {"input": f32(32, 48)}, {"shape": [32, 48]}),
    Case("BroadcastTo", {"input": f32(1, 48)}, {"shape": [32, 48]}),
    Case("Tile", {"input": f32(32, 48)}, {"multiples": [1, 1]}),
    Case("Tile", {"input": f32(32, 48)}, {"multiples": [2, 1]}),
    Case("ConcatV2", {"values": [f32(32, 48), f32(16, 48)]}, {"axis": 0}),
    Case("ConcatV2", {"values": [f32(32, 48), f32(0, 48)]}, {"axis": 0}),
    Case("ConcatV2", {"values": [f32(16, 48), f32(16, 24)]}, {"axis": -1}),
    Case("Pack", {"values": [f32(32, 48), f32(32, 48)]}),
    Case("Pack", {"values": [f32(32, 48)]}),
    Case("Pad", {"input": f32(32, 48)}, {"paddings": [[1, 1], [0, 0]]}),
    Case("Pad", {"input": f32(32, 48)}, {"paddings": [[0, 0], [0, 0]]}),
    Case("MirrorPad", {"input": f32(32, 48)}, {"paddings": [[1, 1], [0, 0]]}, {"mode": "REFLECT"}),
]
