"""The process in which a compiler works: what comes of it, and that nothing of it is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from graphmem.errors import CompilerError, UserCodeError
from graphmem.xla.child import is_complete, scheduled_program, users_flags
from tests.xla.children import WHOLE

ROOT = str(Path(__file__).parents[2])


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run one of the stand-ins; afterwards neither a process nor a file of it may be left."""
    monkeypatch.setenv("PYTHONPATH", ROOT)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("GRAPHMEM_TEST_PIDS", str(tmp_path / "pids"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.delenv("XLA_FLAGS", raising=False)

    def run(what: str, flags=(), timeout=30.0, progress=lambda text: None):
        return scheduled_program(
            "tests.xla.children", {"what": what.encode()}, flags, "after.pb", timeout=timeout, progress=progress
        )

    yield run
    assert_nothing_left(tmp_path)


def assert_nothing_left(folder: Path) -> None:
    pids = [int(pid) for pid in (folder / "pids").read_text().split()] if (folder / "pids").exists() else []
    until = time.monotonic() + 5
    while time.monotonic() < until and (list(folder.glob("graphmem-xla-*")) or any(map(is_running, pids))):
        time.sleep(0.05)
    assert list(folder.glob("graphmem-xla-*")) == []
    assert [pid for pid in pids if is_running(pid)] == []


def is_running(pid: int) -> bool:
    """Whether there is such a process that is no orphan which only waits for the system to reap it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_program_is_taken_when_it_is_complete_and_the_child_is_ended(run):
    told = []
    program, seconds = run("in_two_pieces", progress=told.append)
    assert program == WHOLE
    assert 0.4 < seconds < 20
    assert all(text.startswith("compiling with XLA, ") for text in told)


def test_a_program_that_was_dumped_counts_though_the_compiler_crashes_later(run):
    assert run("dumps_and_crashes")[0] == WHOLE


def test_a_crash_is_told_with_the_check_that_failed(run):
    with pytest.raises(CompilerError, match=r"\(SIGABRT\): Check failed: a == b \(1 vs. 2\) oh dear; use --run"):
        run("aborts")


def test_a_killed_compiler_most_likely_ran_out_of_memory(run):
    with pytest.raises(CompilerError, match="was killed, most likely as memory ran out"):
        run("is_killed")


def test_an_error_in_the_child_and_an_end_without_a_program_are_told(run):
    for what, code in (("raises", 1), ("does_nothing", 0)):
        with pytest.raises(CompilerError, match=rf"ended without a program \(exit code {code}\)"):
            run(what)


def test_what_the_child_tells_is_raised(run):
    with pytest.raises(UserCodeError, match=r"^the step is to blame\.$"):
        run("tells")


def test_time_out(run):
    began, told = time.monotonic(), []
    with pytest.raises(CompilerError, match=r"was not done compiling the step after 2.5 s .* --timeout"):
        run("hangs", timeout=2.5, progress=told.append)
    assert time.monotonic() - began < 10
    assert told[0] == "compiling with XLA, 1 s"


def test_an_interrupt_ends_the_child(run):
    timer = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run("hangs")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_child_ends_with_a_parent_that_is_killed(tmp_path, number):
    code = (
        "from graphmem.xla.child import scheduled_program as s\n"
        "s('tests.xla.children', {'what': b'hangs'}, (), 'x', timeout=60, progress=lambda text: None)"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": ROOT,
        "TMPDIR": str(tmp_path),
        "GRAPHMEM_TEST_PIDS": str(tmp_path / "pids"),
    }
    with subprocess.Popen([sys.executable, "-c", code], env=environment) as parent:
        until = time.monotonic() + 20
        while not (tmp_path / "pids").exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert (tmp_path / "pids").exists()
        time.sleep(0.2)
        parent.send_signal(number)
        parent.wait(10)
    assert_nothing_left(tmp_path)


def test_the_users_flags_come_first_and_none_of_them_dumps(run, monkeypatch, tmp_path):
    monkeypatch.setenv("XLA_FLAGS", "--xla_a=1 --xla_dump_to=/nowhere  --xla_b")
    assert users_flags() == ("--xla_a=1", "--xla_b")
    (tmp_path / "flags").write_text("--xla_c=2\n--xla_dump_hlo_as_text\n")
    assert users_flags({"XLA_FLAGS": str(tmp_path / "flags")}) == ("--xla_c=2",)
    assert users_flags({}) == ()
    with pytest.raises(CompilerError, match="XLA_FLAGS names the file '/no/such/file'"):
        users_flags({"XLA_FLAGS": "/no/such/file"})


def test_what_the_child_is_started_with(run):
    with pytest.raises(CompilerError) as raised:
        run("prints_environment", flags=("--xla_a=1",))
    told = json.loads(str(raised.value))
    folder = told["TMPDIR"]
    assert told["XLA_FLAGS"] == f"--xla_a=1 --xla_dump_to='{folder}/dumps' --xla_dump_hlo_as_proto"
    assert told["CUDA_VISIBLE_DEVICES"] == "-1"


@pytest.mark.parametrize("cut", range(len(WHOLE)))
def test_a_file_that_is_cut_off_is_not_complete(tmp_path, cut):
    path = tmp_path / "x.pb"
    path.write_bytes(WHOLE[:cut])
    assert not is_complete(path)


def test_complete_files(tmp_path):
    path = tmp_path / "x.pb"
    for content, complete in (
        (WHOLE, True),
        (b"\x1a\x80\x01" + b"x" * 128, True),  # a length of two bytes
        (b"\x1a\x80\x01" + b"x" * 127, False),
        (b"\x1a\x00", False),  # an empty buffer assignment
        (b"\x08\x05", False),  # a number, which HloProto has none of
    ):
        path.write_bytes(content)
        assert is_complete(path) is complete
