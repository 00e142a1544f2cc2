"""How much memory this machine, or this container, has left."""

from __future__ import annotations

from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
_LIMITS = (
    ("memory.max", "memory.current", "memory.stat", "inactive_file"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"),
)
"""Limit, usage, statistics and the row of them that counts what can be reclaimed: of cgroups version 2 and 1."""


def free_bytes(meminfo: Path = Path("/proc/meminfo"), cgroup: Path = _CGROUP) -> int | None:
    """Bytes that a new process can take before something is swapped or killed; `None` where the system does not say."""
    known = [left for left in (_available(meminfo), _left_in_group(cgroup)) if left is not None]
    return min(known) if known else None


def _available(meminfo: Path) -> int | None:
    try:
        rows = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
        return int(rows["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None


def _left_in_group(cgroup: Path) -> int | None:
    for limit, usage, statistics, reclaimable in _LIMITS:
        try:
            most, used = int((cgroup / limit).read_text()), int((cgroup / usage).read_text())
            rows = dict(line.split() for line in (cgroup / statistics).read_text().splitlines())
        except (OSError, ValueError):  # no such file, or "max": no limit
            continue
        return max(0, most - used + int(rows.get(reclaimable, 0)))
    return None
