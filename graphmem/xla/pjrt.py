"""The child's side of an XLA:GPU compilation: the PJRT C API of the plugin, called for a device that is not there.

The API is one C struct (xla/pjrt/c/pjrt_c_api.h): its size, a pointer to extensions, the API's version, then function
pointers. Functions are only ever appended, so that an index holds for all later minor versions. Every function takes a
pointer to a struct of its own, which begins with that struct's size and a pointer to extensions, and returns an error
or null.
"""

from __future__ import annotations

import ctypes
import json
from ctypes import POINTER, Structure, addressof, c_char, c_char_p, c_int, c_size_t, c_void_p
from pathlib import Path
from typing import Any, ClassVar

from graphmem.xla.child import FAILURE

LIBRARY, PROGRAM, TARGET = "library.txt", "program.hlo.pb", "target.txtpb"
"""What the child finds in its folder: the plugin's path, an `HloModuleProto`, a `GpuTargetConfigProto` as text."""

MAJOR, OLDEST_MINOR = 0, 90
_INDEX = {"Error_Message": 1, "Plugin_Initialize": 3, "TopologyDescription_Create": 82, "Compile": 89}
"""Which function pointer it is: checked in the headers of API 0.90, 0.96 and 0.112."""

_STRING_VALUE = 0  # PJRT_NamedValue_kString

#: A `CompileOptionsProto` whose `executable_build_options` (3) say: no device (1: -1), one replica (4) and one
#: partition (5), as TensorFlow compiles a step.
_BUILD_OPTIONS = b"\x08" + b"\xff" * 9 + b"\x01" + b"\x20\x01" + b"\x28\x01"
_COMPILE_OPTIONS = b"\x1a" + bytes([len(_BUILD_OPTIONS)]) + _BUILD_OPTIONS


class _Version(Structure):
    _fields_: ClassVar[Any] = (("struct_size", c_size_t), ("extensions", c_void_p), ("major", c_int), ("minor", c_int))


class _Api(Structure):
    _fields_: ClassVar[Any] = (("struct_size", c_size_t), ("extensions", c_void_p), ("version", _Version))


class _Arguments(Structure):
    """What all argument structs begin with."""

    _fields_: ClassVar[Any] = (("struct_size", c_size_t), ("extensions", c_void_p))

    def __init__(self, **values: Any) -> None:
        super().__init__(struct_size=ctypes.sizeof(type(self)), **values)


class _ErrorMessage(_Arguments):
    _fields_: ClassVar[Any] = (("error", c_void_p), ("message", POINTER(c_char)), ("size", c_size_t))


class _NamedValue(_Arguments):
    _fields_: ClassVar[Any] = (
        ("name", c_char_p), ("name_size", c_size_t), ("type", c_int), ("value", c_char_p), ("value_size", c_size_t),
    )  # fmt: skip


class _TopologyCreate(_Arguments):
    _fields_: ClassVar[Any] = (
        ("name", c_char_p), ("name_size", c_size_t), ("options", c_void_p), ("num_options", c_size_t),
        ("topology", c_void_p),
    )  # fmt: skip


class _Program(_Arguments):
    _fields_: ClassVar[Any] = (
        ("code", c_char_p),
        ("code_size", c_size_t),
        ("format", c_char_p),
        ("format_size", c_size_t),
    )


class _Compile(_Arguments):
    _fields_: ClassVar[Any] = (
        ("topology", c_void_p), ("program", c_void_p), ("options", c_char_p), ("options_size", c_size_t),
        ("client", c_void_p), ("executable", c_void_p),
    )  # fmt: skip


class Failed(Exception):
    """One sentence about what the plugin refused."""


class Plugin:
    """The plugin's API.

    Raises:
        Failed: the library cannot be loaded, or its API is not one that is known here.
    """

    def __init__(self, path: str) -> None:
        try:
            self._library = ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL)
            self._library.GetPjrtApi.restype = c_void_p
            self._api = self._library.GetPjrtApi()
        except (OSError, AttributeError) as error:
            raise Failed(f"the XLA compiler cannot be loaded: {str(error).rstrip('.')}.") from error
        api = _Api.from_address(self._api)
        version = api.version
        needed = ctypes.sizeof(_Api) + ctypes.sizeof(c_void_p) * (max(_INDEX.values()) + 1)
        if version.major != MAJOR or version.minor < OLDEST_MINOR or api.struct_size < needed:
            raise Failed(
                f"the installed jax-cuda12-pjrt speaks PJRT API {version.major}.{version.minor}, graphmem "
                f"{MAJOR}.{OLDEST_MINOR} or later; install its version with pip install 'graphmem[xla-gpu]'."
            )
        self.call("Plugin_Initialize", _Arguments())

    def call(self, name: str, arguments: _Arguments) -> None:
        """Call a function of the API.

        Raises:
            Failed: with the plugin's own message.
        """
        error = self._function(name)(addressof(arguments))
        if error:
            told = _ErrorMessage(error=error)
            self._function("Error_Message")(addressof(told))
            raise Failed(ctypes.string_at(told.message, told.size).decode(errors="replace"))

    def _function(self, name: str) -> Any:
        address = self._api + ctypes.sizeof(_Api) + ctypes.sizeof(c_void_p) * _INDEX[name]
        return ctypes.CFUNCTYPE(c_void_p, c_void_p)(c_void_p.from_address(address).value or 0)

    def topology(self, target: bytes) -> Any:
        """The description of one GPU of a kind given as `GpuTargetConfigProto` text."""
        options = (_NamedValue * 2)(_named(b"target_config", target), _named(b"topology", b"1x1x1"))
        made = _TopologyCreate(name=b"", name_size=0, options=addressof(options), num_options=len(options))
        self.call("TopologyDescription_Create", made)
        return made.topology

    def compile(self, program: bytes, topology: Any) -> None:
        """Compile a serialized `HloModuleProto`; what is wanted of the result are XLA's dumps."""
        code = _Program(code=program, code_size=len(program), format=b"hlo", format_size=3)
        options = _COMPILE_OPTIONS
        self.call(
            "Compile",
            _Compile(topology=topology, program=addressof(code), options=options, options_size=len(options)),
        )


def _named(name: bytes, value: bytes) -> _NamedValue:
    return _NamedValue(name=name, name_size=len(name), type=_STRING_VALUE, value=value, value_size=len(value))


def main(folder: str) -> None:
    """Compile what lies in the folder; a failure is told there."""
    files = Path(folder)
    try:
        plugin = Plugin((files / LIBRARY).read_text())
        try:
            topology = plugin.topology((files / TARGET).read_bytes())
        except Failed as error:
            raise Failed(f"XLA does not take this description of the GPU: {_line(error)}") from error
        try:
            plugin.compile((files / PROGRAM).read_bytes(), topology)
        except Failed as error:
            raise Failed(f"XLA cannot compile the step for this GPU: {_line(error)}") from error
    except Failed as error:
        (files / FAILURE).write_text(json.dumps({"error": "CompilerError", "message": str(error)}))


def _line(error: Failed) -> str:
    """The first line of what XLA said, ended with a full stop."""
    return (str(error).strip().partition("\n")[0] or "it does not say why").rstrip(".")[:500] + "."
