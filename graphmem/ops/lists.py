"""TensorLists: host objects that hold references to tensors; what their ops do is a matter of the runtime's lists.

So are the stacks and TensorArrays of TensorFlow 1, which are objects behind a handle: they change where they are.
"""

from __future__ import annotations

from graphmem.ops.registry import Rule, register

_LISTS = {
    "reserve": "EmptyTensorList TensorListReserve",
    "push": "TensorListPushBack",
    "pop": "TensorListPopBack",
    "set": "TensorListSetItem",
    "get": "TensorListGetItem",
    "resize": "TensorListResize",
    "stack": "TensorListStack TensorListConcat TensorListConcatV2 TensorListGather",
    "from_tensor": "TensorListFromTensor TensorListScatter TensorListScatterV2",
    "scatter": "TensorListScatterIntoExistingList",
    "split": "TensorListSplit",
    "join": "TensorListConcatLists",
    "length": "TensorListLength TensorListElementShape",
    "pack": "OptionalFromValue OptionalNone",
    "fetch": "IteratorGetNextAsOptional",
    "unpack": "OptionalGetValue",
    "object": "StackV2 TensorArrayV3",
    "gradient_object": "TensorArrayGradV3 TensorArrayGradWithShape",
    "object_push": "StackPushV2",
    "object_pop": "StackPopV2",
    "object_set": "TensorArrayWriteV3",
    "object_get": "TensorArrayReadV3",
    "object_stack": "TensorArrayGatherV3 TensorArrayConcatV3",
    "object_scatter": "TensorArrayScatterV3 TensorArraySplitV3",
    "object_size": "TensorArraySizeV3",
    "object_close": "StackCloseV2 TensorArrayCloseV3",
}

#: The input that tells a list op where, or how much: an index, indices, a size, lengths.
INDEX_INPUTS = {
    "TensorListSetItem": 1,
    "TensorListGetItem": 1,
    "TensorListResize": 1,
    "TensorListScatter": 1,
    "TensorListScatterV2": 1,
    "TensorListScatterIntoExistingList": 2,
    "TensorListSplit": 2,
    "TensorArrayWriteV3": 1,
    "TensorArrayReadV3": 1,
    "TensorArrayScatterV3": 1,
    "TensorArraySplitV3": 2,
}

for _what, _types in _LISTS.items():
    _file = "optional_ops.cc" if "pack" in _what or _what == "fetch" else "list_kernels.cc"
    _file = "tensor_array_ops.cc, stack.cc" if "object" in _what else _file
    register(_types, Rule(list_op=_what, source=_file))
