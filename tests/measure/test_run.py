"""The process that measures, however it ends: a stand-in for it leaves a result, crashes, hangs or is killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from graphmem.errors import CheckFailed, GraphmemError, InternalError, TargetError, UserCodeError
from graphmem.graph.store import save_trace
from graphmem.measure import children
from graphmem.measure.run import Request, environment, measure
from graphmem.target.step import Options
from tests import graphs
from tests.measure.examples import AS_PREDICTED

Child = Callable[[str], None]


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Child:
    """Take this code for the child's; `folder` is where the result belongs. Temporary files are made in `tmp_path`."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)

    def take(code: str) -> None:
        begin = "import json, os, signal, sys, time\nfrom pathlib import Path\nfolder = Path(sys.argv[1])\n"
        monkeypatch.setattr(children, "_START", begin + textwrap.dedent(code))

    return take


def request(timeout: float = 30, order: str = "default") -> Request:
    return Request("model.py", Options(batch=8, inputs=("x:float32:3",)), 2, order, 1, timeout, 5 << 30)


def failure(kind: type[GraphmemError], tmp_path: Path, timeout: float = 30) -> str:
    with pytest.raises(kind) as caught:
        measure(request(timeout))
    assert type(caught.value) is kind
    assert list(tmp_path.iterdir()) == []
    return str(caught.value)


def leaves_trace(tmp_path: Path) -> str:
    """Code with which the child leaves the trace of the step."""
    trace = tmp_path.parent / f"{tmp_path.name}.graphmem"
    save_trace(graphs.chain(), str(trace))
    return f'(folder / "step.graphmem").write_bytes(Path({str(trace)!r}).read_bytes())'


def test_a_result_is_read(child: Child, tmp_path: Path) -> None:
    leave_trace = leaves_trace(tmp_path)
    child(f"""
        {leave_trace}
        asked = json.loads((folder / "request.json").read_text())
        assert (asked["target"], asked["options"]["batch"], asked["warmup"]) == ("model.py", 8, 1)
        assert os.environ["TMPDIR"] == str(folder)
        result = dict(events={[list(e) for e in AS_PREDICTED]!r}, seconds=0.5, variables_bytes=7, argument_bytes=4,
                      versions=dict(tensorflow="2.21.0"))
        (folder / "result.json").write_text(json.dumps(result))
    """)
    done = measure(request())
    assert (done.replay.peak, done.variables_bytes, done.argument_bytes, done.seconds) == (48, 7, 4, 0.5)
    assert done.graph == graphs.chain()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "kind"), [("TargetError", TargetError), ("UserCodeError", UserCodeError), ("CheckFailed", CheckFailed)]
)
def test_what_the_child_says_went_wrong(child: Child, tmp_path: Path, name: str, kind: type[GraphmemError]) -> None:
    child(f"""
        result = dict(error={name!r}, message="it broke.", excerpt="line 3")
        (folder / "result.json").write_text(json.dumps(result))
    """)
    assert failure(kind, tmp_path) == "it broke."


def test_a_kill_is_most_likely_lack_of_memory(child: Child, tmp_path: Path) -> None:
    child("os.kill(os.getpid(), signal.SIGKILL)")
    said = failure(CheckFailed, tmp_path)
    assert "killed, most likely because memory ran out (it was allowed 5.00 GiB)" in said


def test_a_crash_is_named(child: Child, tmp_path: Path) -> None:
    child("os.kill(os.getpid(), signal.SIGSEGV)")
    assert "crashed (SIGSEGV)" in failure(CheckFailed, tmp_path)


def test_an_exit_without_a_result_is_the_targets(child: Child, tmp_path: Path) -> None:
    child("os._exit(7)")
    assert "exit code 7" in failure(UserCodeError, tmp_path)


def test_an_exception_in_the_child_is_a_bug(child: Child, tmp_path: Path) -> None:
    child("raise KeyError('x')")
    assert "failed (exit code 1)" in failure(InternalError, tmp_path)


def test_a_result_cut_short_is_no_result(child: Child, tmp_path: Path) -> None:
    child('(folder / "result.json").write_text(\'{"events": [\')\nos.kill(os.getpid(), signal.SIGKILL)')
    assert "killed" in failure(CheckFailed, tmp_path)


def test_an_allocator_that_reports_nothing(child: Child, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child(f'{leaves_trace(tmp_path)}\n(folder / "result.json").write_text(\'{{"events": []}}\')')
    assert failure(CheckFailed, tmp_path) == "TensorFlow's allocator reported no allocation while the step ran."
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "1")
    assert "oneDNN" in failure(CheckFailed, tmp_path)


def test_what_takes_too_long_is_stopped_with_its_children(child: Child, tmp_path: Path) -> None:
    pids = tmp_path.parent / f"{tmp_path.name}.pids"
    child(f"""
        import subprocess
        other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        Path({str(pids)!r}).write_text(f"{{os.getpid()}} {{other.pid}}")
        time.sleep(60)
    """)
    assert "not done after 3 s" in failure(CheckFailed, tmp_path, timeout=3)
    for pid in map(int, pids.read_text().split()):
        assert gone(pid)


def gone(pid: int) -> bool:
    """Whether a process is no more, given a second to go; what nobody waits for may stay as a zombie of init."""
    for _ in range(20):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return os.getppid() != pid
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_a_child_whose_parent_is_killed_ends_and_cleans_up(tmp_path: Path) -> None:
    """The child watches its parent: here a process that starts it and is killed."""
    code = textwrap.dedent(f"""
        import os, signal, subprocess, sys
        folder = {str(tmp_path / "work")!r}
        os.mkdir(folder)
        start = "import sys, time; from graphmem.measure.children import end_with; "
        start += "end_with(int(sys.argv[1]), sys.argv[2]); time.sleep(60)"
        child = subprocess.Popen([sys.executable, "-c", start, str(os.getpid()), folder], start_new_session=True)
        print(child.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    pid = int(done.stdout)
    for _ in range(100):
        if not (tmp_path / "work").exists() and gone(pid):
            return
        time.sleep(0.1)
    raise AssertionError("the child lives on")


def test_the_environment_of_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_ENABLE_ONEDNN_OPTS", raising=False)
    made = environment(request())
    assert {name: made[name] for name in made if re.match("TF_CPU|TF_ENABLE|CUDA", name)} == {
        "TF_CPU_ALLOCATOR_USE_BFC": "true",
        "TF_CPU_BFC_MEM_LIMIT_IN_MB": "5120",
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "CUDA_VISIBLE_DEVICES": "-1",
    }
    assert made["TF_DETERMINISTIC_ORDER"] is None
    assert environment(request(order="deterministic"))["TF_DETERMINISTIC_ORDER"] == "1"
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "1")
    assert environment(request())["TF_ENABLE_ONEDNN_OPTS"] == "1"


def test_the_users_own_order_does_not_reach_the_child(
    child: Child, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_DETERMINISTIC_ORDER", "1")
    child("os._exit(9 if 'TF_DETERMINISTIC_ORDER' in os.environ else 5)")
    assert "exit code 5" in failure(UserCodeError, tmp_path)


def test_ctrl_c_ends_the_child_and_leaves_no_file(tmp_path: Path) -> None:
    """In a process of its own: the interrupt reaches it while the child, in another session, is at work."""
    (tmp_path / "work").mkdir()
    code = textwrap.dedent(f"""
        from graphmem.measure import children, run
        from graphmem.target.step import Options
        children._START = '''
        import os, pathlib, time
        pathlib.Path({str(tmp_path / "pid")!r}).write_text(str(os.getpid()))
        time.sleep(60)
        '''.replace("\\n        ", "\\n")
        run.measure(run.Request("model.py", Options(), 2, "default", 1, 60, 1 << 30))
    """)
    environment = {**os.environ, "TMPDIR": str(tmp_path / "work")}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, text=True)
    for _ in range(600):
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
            break
        time.sleep(0.05)
    child = int((tmp_path / "pid").read_text())
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in said
    assert gone(child)
    assert list((tmp_path / "work").iterdir()) == []
