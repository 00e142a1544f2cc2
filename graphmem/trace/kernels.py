"""What TensorFlow's own registry says of kernels: which device has one, which arguments it keeps in host memory.

The registry of the installed wheel lists GPU kernels on machines without a GPU as well. The rules restated here are
those of TensorFlow's `FindKernelDef` and `MemoryTypesForNode` (core/framework/op_kernel.cc, memory_types.cc).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import kernels, op_def_registry

from graphmem.errors import TargetError

_ALWAYS_ON_HOST = (types_pb2.DT_STRING, types_pb2.DT_RESOURCE)
_FUNCTION_CALLS = frozenset(
    {"PartitionedCall", "StatefulPartitionedCall", "SymbolicGradient", "While", "StatelessWhile"}
)
_LABEL = "_kernel"


@dataclass(frozen=True, slots=True)
class Signature:
    """What the registry says of one op type with given attributes.

    Attributes:
        input_types, output_types: TensorFlow's DataType numbers, one a tensor.
        on_cpu: whether it has a kernel for the CPU, or one for any device.
        on_gpu: whether TensorFlow would run it on a GPU device (a GPU kernel, or one for any device).
        inputs_on_host, outputs_on_host: per tensor, whether that GPU kernel keeps it in host memory.
    """

    input_types: tuple[int, ...]
    output_types: tuple[int, ...]
    on_cpu: bool
    on_gpu: bool
    inputs_on_host: tuple[bool, ...]
    outputs_on_host: tuple[bool, ...]


def signature(node: Any) -> Signature | None:
    """The signature of a NodeDef; `None` if its op is not registered (a call of a graph function by its name)."""
    names = _deciding_attrs(node.op)
    if names is None:
        return None
    attrs = node.attr
    return _signature(node.op, tuple(_plain(attrs[name]) if name in attrs else None for name in names))


def require_gpu_kernels() -> None:
    """Raise TargetError if the installed TensorFlow was built without GPU kernels (as on macOS)."""
    if not any(kernel.device_type == "GPU" for kernel in _kernels("MatMul")):
        raise TargetError(
            "this build of TensorFlow lists no GPU kernels, so it cannot say what a GPU would run; "
            "use --device cpu, or analyse on Linux"
        )


@cache
def _signature(op: str, values: tuple[Hashable, ...]) -> Signature:
    names = _deciding_attrs(op) or ()
    definition = op_def_registry.get(op)
    attrs = {name: value for name, value in zip(names, values, strict=True) if value is not None}
    defaults = {attr.name: _plain(attr.default_value) for attr in definition.attr if attr.HasField("default_value")}
    attrs = defaults | attrs
    inputs = _expand(definition.input_arg, attrs)
    outputs = _expand(definition.output_arg, attrs)
    cpu, gpu = _find(op, "CPU", attrs), _find(op, "GPU", attrs)
    by_type_only = gpu is None or op in _FUNCTION_CALLS
    host_args = frozenset() if gpu is None else frozenset(gpu.host_memory_arg)

    def on_host(tensors: list[tuple[str, int]]) -> tuple[bool, ...]:
        return tuple(
            dtype in _ALWAYS_ON_HOST or (dtype == types_pb2.DT_INT32 if by_type_only else name in host_args)
            for name, dtype in tensors
        )

    return Signature(
        input_types=tuple(dtype for _, dtype in inputs),
        output_types=tuple(dtype for _, dtype in outputs),
        on_cpu=cpu is not None,
        on_gpu=gpu is not None and (cpu is None or cpu.priority <= gpu.priority),
        inputs_on_host=on_host(inputs),
        outputs_on_host=on_host(outputs),
    )


@cache
def _deciding_attrs(op: str) -> tuple[str, ...] | None:
    """The attributes that decide an op's tensors and kernel; `None` if the op is not registered."""
    definition = op_def_registry.get(op)
    if definition is None:
        return None
    names = {_LABEL}
    for arg in (*definition.input_arg, *definition.output_arg):
        names.update((arg.type_attr, arg.number_attr, arg.type_list_attr))
    for kernel in _kernels(op):
        names.update(constraint.name for constraint in kernel.constraint)
    return tuple(sorted(names - {""}))


@cache
def _kernels(op: str) -> tuple[Any, ...]:
    return tuple(kernels.get_registered_kernels_for_op(op).kernel)


def _find(op: str, device_type: str, attrs: Mapping[str, Any]) -> Any | None:
    """The kernel of a device type whose constraints hold, else one registered for every device type."""
    for wanted in (device_type, "DEFAULT"):
        for kernel in _kernels(op):
            if kernel.device_type == wanted and kernel.label == (attrs.get(_LABEL) or b"").decode():
                if all(_allows(constraint, attrs.get(constraint.name)) for constraint in kernel.constraint):
                    return kernel
    return None


def _allows(constraint: Any, value: Hashable) -> bool:
    allowed = constraint.allowed_values.list
    choices = {*allowed.type, *allowed.s, *allowed.i, *allowed.b}
    return all(item in choices for item in (value if isinstance(value, tuple) else (value,)))


def _expand(args: Iterable[Any], attrs: Mapping[str, Any]) -> list[tuple[str, int]]:
    """(argument name, DataType) of each tensor that an op's argument list stands for."""
    tensors: list[tuple[str, int]] = []
    for arg in args:
        if arg.type_list_attr:
            tensors += [(arg.name, dtype) for dtype in attrs.get(arg.type_list_attr) or ()]
        else:
            dtype = arg.type or attrs.get(arg.type_attr) or types_pb2.DT_INVALID
            tensors += [(arg.name, dtype)] * (attrs[arg.number_attr] if arg.number_attr else 1)
    return tensors


def _plain(value: Any) -> Hashable:
    """A hashable form of an AttrValue of the kinds that decide kernels: a number, bytes, or a tuple of types."""
    kind = value.WhichOneof("value")
    if kind == "list":
        return (*value.list.type, *value.list.s, *value.list.i, *value.list.b)
    return getattr(value, kind) if kind in ("type", "i", "s", "b") else None
