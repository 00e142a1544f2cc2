"""Traces on disk: `.graphmem` files are plain data, bounded before they are read, and checked field by field.

One header line, `graphmem-trace VERSION OPS BYTES`, then zlib-compressed JSON of that many bytes. A hostile file can
neither run code (there is only JSON) nor exhaust memory (the bytes and the values that it may hold are limited before
anything is parsed). See `docs/trace-format.md`.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from typing import Any, BinaryIO

from graphmem.collector import collection_paused
from graphmem.errors import InternalError, TargetError
from graphmem.graph.columns import from_columns, to_columns
from graphmem.graph.model import StepGraph
from graphmem.graph.verify import verify

MAGIC = b"graphmem-trace"
VERSION = 1

MAX_BYTES = 256 * 2**20
"""Most bytes of JSON in a trace; 100,000 ops are about 15 MiB."""

MAX_VALUES = 20_000_000
"""Most JSON values in a trace: one takes up to 72 bytes once read. 100,000 ops are about 2 million."""

_CHUNK = 2**16


def is_trace(path: str) -> bool:
    """Whether a file begins as a saved trace does; never raises."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC) + 1) == MAGIC + b" "
    except (OSError, ValueError):
        return False


def save_trace(graph: StepGraph, path: str, *, force: bool = False) -> None:
    """Write a trace; the same graph gives the same bytes. Nothing half-written is left behind.

    Args:
        graph: a legal graph whose attributes and info are plain data (lists, tuples, dicts, numbers, texts, `None`).
        path: where to, usually ending in `.graphmem`.
        force: whether an existing file is replaced.

    Raises:
        TargetError: the file exists and `force` is not given, or it cannot be written.
        InternalError: the graph breaks a law, or holds what a trace cannot hold.
    """
    if os.path.exists(path) and not force:
        raise TargetError(f"{path} exists; choose another name, or pass --force to replace it.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise TargetError(f"{path} is not a regular file; choose another name.")
    _replace(path, to_bytes(graph))


def to_bytes(graph: StepGraph) -> bytes:
    """What `save_trace` writes.

    Raises:
        InternalError: the graph breaks a law, or holds what a trace cannot hold.
    """
    verify(graph)
    try:
        text = json.dumps(to_columns(graph), separators=(",", ":"), allow_nan=False).encode("ascii")
    except (ValueError, TypeError, RecursionError) as error:
        raise InternalError(f"the trace cannot be saved: {error}") from error
    if len(text) > MAX_BYTES or _count_values(text) > MAX_VALUES:
        raise InternalError(f"the trace of {len(graph)} ops is too large to be saved")
    return b"%s %d %d %d\n" % (MAGIC, VERSION, len(graph), len(text)) + zlib.compress(text)


def load_trace(path: str) -> StepGraph:
    """Read a trace.

    Raises:
        TargetError: there is no such file, it is no trace, is damaged, or was written by a newer version.
    """
    try:
        with open(path, "rb") as file:
            ops, text = _read(file, path)
        with collection_paused():
            graph = from_columns(json.loads(text, parse_constant=_refuse, parse_float=_finite))
            if len(graph) != ops:
                raise ValueError(f"its header promises {ops} ops, it holds {len(graph)}")
            verify(graph)
    except OSError as error:
        raise TargetError(f"{path} cannot be read: {error.strerror or error}.") from error
    except RecursionError as error:
        raise TargetError(f"{path} is damaged: its data is nested too deeply.") from error
    except (ValueError, zlib.error, InternalError) as error:
        raise TargetError(f"{path} is damaged: {error!s:.300}.") from error
    return graph


def _read(file: BinaryIO, path: str) -> tuple[int, str]:
    """The number of ops of the header, and the JSON text."""
    header = file.readline(100)
    if not header.startswith(MAGIC + b" "):
        raise TargetError(f"{path} is not a trace that graphmem saved.")
    fields = header.split()[1:]
    if not header.endswith(b"\n") or not fields or not all(field.isdigit() and len(field) < 12 for field in fields):
        raise ValueError("its header cannot be read")
    version, *counts = map(int, fields)
    if version != VERSION:
        raise TargetError(
            f"{path} is a trace of format {version}, this version of graphmem reads format {VERSION}: "
            "upgrade graphmem, or trace the target again."
        )
    if len(counts) != 2:
        raise ValueError("its header cannot be read")
    ops, size = counts
    if size > MAX_BYTES:
        raise ValueError(f"it claims {size} bytes of data, more than a trace may hold")
    text = _inflate(file, size)
    if _count_values(text) > MAX_VALUES:
        raise ValueError("it holds more values than a trace may")
    return ops, text.decode("ascii")


def _inflate(file: BinaryIO, size: int) -> bytearray:
    """Decompress exactly `size` bytes, never holding more than that and a chunk."""
    inflater = zlib.decompressobj()
    text = bytearray()
    chunk = b""
    while not inflater.eof:
        chunk = inflater.unconsumed_tail or file.read(_CHUNK)
        if not chunk:
            raise ValueError("it ends too early")
        text += inflater.decompress(chunk, _CHUNK * 16)
        if len(text) > size:
            raise ValueError(f"it holds more than the {size} bytes that its header promises")
    if len(text) < size:
        raise ValueError(f"it holds {len(text)} bytes, its header promises {size}")
    if inflater.unused_data or file.read(1):
        raise ValueError("something follows its end")
    return text


def _count_values(text: bytes | bytearray) -> int:
    """At least the number of values in JSON text: each one follows a bracket, a brace, a comma or a colon."""
    return sum(text.count(mark) for mark in b"[{,:")


def _refuse(constant: str) -> Any:
    raise ValueError(f"it holds {constant}, which is no JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("it holds a number that is out of range")
    return value


def _replace(path: str, data: bytes) -> None:
    """Write a file beside the path, then put it in its place at once."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "xb") as file:
            try:
                file.write(data)
                file.close()
                os.replace(temporary, path)
            except BaseException:
                os.unlink(temporary)
                raise
    except OSError as error:
        raise TargetError(f"{path} cannot be written: {error.strerror or error}.") from error
