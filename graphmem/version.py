"""The version, in one place."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("graphmem")
except PackageNotFoundError:  # used from a source tree that was never installed
    __version__ = "0+unknown"
