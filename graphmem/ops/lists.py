"""TensorLists: host objects that hold references to tensors; what their ops do is a matter of the runtime's lists."""

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
}

for _what, _types in _LISTS.items():
    _file = "optional_ops.cc" if "pack" in _what or _what == "fetch" else "list_kernels.cc"
    register(_types, Rule(list_op=_what, source=_file))
