"""An HDF5 file inside a zip archive as a file object that HDF5 can jump about in without reading it all."""

from __future__ import annotations

import io
import struct
import tempfile
import zipfile
from typing import IO, cast

_LOCAL_HEADER = 30
"""Bytes of a zip member's header before its name; two lengths end it: of the name, and of the extra field."""


def seekable_member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    """A member of an archive for reading: where it stands if it is not compressed, else unpacked to a temporary file.

    `ZipFile.open` would read all that lies before the place each time that a reader goes back.
    """
    entry = archive.getinfo(name)
    if entry.compress_type == zipfile.ZIP_STORED and archive.filename:
        file = open(archive.filename, "rb")
        file.seek(entry.header_offset)
        name_length, extra_length = struct.unpack("<HH", file.read(_LOCAL_HEADER)[26:])
        start = entry.header_offset + _LOCAL_HEADER + name_length + extra_length
        return cast("IO[bytes]", io.BufferedReader(_Window(file, start, entry.file_size)))
    unpacked = tempfile.TemporaryFile()
    with archive.open(name) as member:
        while block := member.read(1 << 20):
            unpacked.write(block)
    unpacked.seek(0)
    return unpacked


class _Window(io.RawIOBase):
    """A range of an open file, read as if it were a file; closes it."""

    def __init__(self, file: IO[bytes], start: int, size: int) -> None:
        self._file, self._start, self._size, self._at = file, start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self._file.seek(self._start + self._at)
        wanted = max(0, min(len(buffer), self._size - self._at))
        data = self._file.read(wanted)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()
