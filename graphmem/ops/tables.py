"""All modules that fill the table, in one place."""

from graphmem.ops import control, elementwise, linalg, shapes, variables  # noqa: F401
