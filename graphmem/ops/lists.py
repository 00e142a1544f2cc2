"""TensorLists: host objects that hold references to tensors; what their ops do is a matter of the runtime's lists."""

from __future__ import annotations

from graphmem.ops.registry import Rule, register

_LISTS = {
    "reserve": "EmptyTensorList TensorListReserve",
    "push": "TensorListPushBack",
    "pop": "TensorListPopBack",
    "set": "TensorListSetItem",
    "get": "TensorListGetItem",
    "stack": "TensorListStack TensorListConcat TensorListConcatV2 TensorListGather",
    "from_tensor": "TensorListFromTensor TensorListScatter TensorListScatterV2 TensorListSplit",
    "length": "TensorListLength TensorListElementShape",
    "pack": "OptionalFromValue",
    "unpack": "OptionalGetValue",
}

for _what, _types in _LISTS.items():
    register(_types, Rule(list_op=_what, source="optional_ops.cc" if "pack" in _what else "list_kernels.cc"))
