"""How much memory is left, from the files in which Linux says so."""

from __future__ import annotations

from pathlib import Path

from graphmem.measure.machine import free_bytes

KIB = 1024


def meminfo(folder: Path, available: int) -> Path:
    path = folder / "meminfo"
    path.write_text(f"MemTotal:  99999 kB\nMemAvailable:   {available} kB\nHugePages_Total:  0\n")
    return path


def test_what_the_system_has_available(tmp_path: Path) -> None:
    assert free_bytes(meminfo(tmp_path, 5000), tmp_path / "none") == 5000 * KIB


def test_a_container_has_less(tmp_path: Path) -> None:
    for name, text in {
        "memory.max": "4096000\n", "memory.current": "3096000\n", "memory.stat": "anon 1\ninactive_file 96000\n",
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text)
    assert free_bytes(meminfo(tmp_path, 5000), tmp_path) == 4_096_000 - 3_096_000 + 96_000


def test_a_container_of_the_first_version(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    for name, text in {
        "limit_in_bytes": "4096000", "usage_in_bytes": "3096000", "stat": "cache 5\ntotal_inactive_file 6000\n",
    }.items():  # fmt: skip
        (tmp_path / "memory" / f"memory.{name}").write_text(text)
    assert free_bytes(meminfo(tmp_path, 5000), tmp_path) == 1_006_000


def test_a_container_without_a_limit(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("3096000\n")
    assert free_bytes(meminfo(tmp_path, 5000), tmp_path) == 5000 * KIB


def test_a_system_that_does_not_say(tmp_path: Path) -> None:
    assert free_bytes(tmp_path / "none", tmp_path / "none") is None
    (tmp_path / "meminfo").write_text("MemTotal: 1 kB\n")
    assert free_bytes(tmp_path / "meminfo", tmp_path / "none") is None
