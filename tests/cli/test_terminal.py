"""What a terminal, a pipe and Ctrl-C see of a whole process."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graphmem.cli.terminal import Terminal

PROGRAM = """
import os, sys, time, types
from graphmem.cli.main import main
from tests.example_reports import resnet50

def analyze_target(target, options, settings, progress):
    progress("importing TensorFlow")
    os.write(2, b"NOISE\\n")
    progress("tracing")
    if target == "slow.py":
        open("ready", "w").close()
        time.sleep(60)
    time.sleep(0.3)
    return resnet50()

module = types.ModuleType("graphmem.api")
module.analyze_target = analyze_target
sys.modules["graphmem.api"] = module
sys.exit(main(sys.argv[1:]))
"""
ROOT = Path(__file__).parents[2]


def start(*argv: str, cwd: Path, **changes: object) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}
    environment |= {key: str(value) for key, value in changes.pop("env", {}).items()}  # type: ignore[union-attr]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | changes
    return subprocess.Popen([sys.executable, "-c", PROGRAM, *argv], cwd=cwd, env=environment, **pipes)  # type: ignore[call-overload]


def read_all(descriptor: int) -> bytes:
    parts = []
    while True:
        try:
            part = os.read(descriptor, 65536)
        except OSError:  # the other end of a pseudo-terminal is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(descriptor)
    return b"".join(parts)


def test_a_terminal_sees_progress_and_no_noise(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = start("peak", "x.py", cwd=tmp_path, stderr=theirs)
    os.close(theirs)
    out = process.stdout.read()
    err = read_all(ours)
    assert process.wait() == 0
    assert out.startswith(b"ResNet50 train step, batch 8: peak 889 MiB")
    assert b"graphmem: tracing" in err
    assert b"NOISE" not in err


def test_no_progress_without_a_terminal(tmp_path: Path) -> None:
    out, err = start("peak", "x.py", cwd=tmp_path).communicate()
    assert err == b""
    assert b"\x1b" not in out


@pytest.mark.parametrize("on_a_terminal", [False, True])
def test_ctrl_c_stops_at_once_and_writes_nothing(tmp_path: Path, on_a_terminal: bool) -> None:
    ours, theirs = pty.openpty() if on_a_terminal else os.pipe()
    process = start("peak", "slow.py", "-o", "peak.json", cwd=tmp_path, stderr=theirs)
    os.close(theirs)
    deadline = time.monotonic() + 30
    while not (tmp_path / "ready").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out = process.stdout.read()
    err = read_all(ours).decode()
    assert process.wait() == 130
    assert time.monotonic() - began < 5
    assert out == b""
    assert "graphmem: stopped while tracing; nothing was written." in err
    assert "Traceback" not in err
    assert os.listdir(tmp_path) == ["ready"]


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    process = start("peak", "x.py", "--json", cwd=tmp_path)
    process.stdout.close()
    err = process.stderr.read()
    assert (process.wait(), err) == (0, b"")


def test_a_terminal_without_unicode_gets_plain_characters(tmp_path: Path) -> None:
    env = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    out, err = start("peak", "x.py", cwd=tmp_path, env=env).communicate()
    assert (err, b"?" in out) == (b"", False)
    assert out.decode("ascii").splitlines()[0] == "ResNet50 train step, batch 8: peak 889 MiB (887 - 902 over 8 orders)"
    assert b"8x112x112x64" in out


def test_how_far_a_phase_is_makes_no_phase_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()
    terminal.verbose = True
    for phase in ("compiling, 1 s", "compiling, 2 s", "reading", ""):
        terminal.progress(phase)
    assert [line.rpartition(":")[0] for line in capsys.readouterr().err.splitlines()] == [
        "graphmem: compiling",
        "graphmem: reading",
    ]
