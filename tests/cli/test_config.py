"""Defaults from `[tool.graphmem]`: the nearest pyproject.toml counts, and what is wrong in it is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from graphmem.cli.options import CONFIG_KEYS, configured
from graphmem.errors import TargetError
from graphmem.settings import Settings
from graphmem.target.step import Options
from tests.cli.conftest import Analysis, Outcome

Run = Callable[..., Outcome]


def configure(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")


def test_defaults_apply_where_nothing_is_said(cli: Run, analysis: Analysis, tmp_path: Path) -> None:
    configure(tmp_path, '[tool.graphmem]\nbatch = 16\ndevice = "gpu"\nrewrite = false\norders = 4\nthreads = 2\n')
    cli("peak", "x.py", "--device", "cpu", "--orders", "2")
    settings = Settings(device="cpu", orders=2, threads=2, rewrite=False)
    assert analysis.calls == [("x.py", Options(batch=16), settings)]


def test_the_command_line_wins_even_if_it_says_the_default(cli: Run, analysis: Analysis, tmp_path: Path) -> None:
    configure(tmp_path, '[tool.graphmem]\norder = "graph"\n')
    cli("peak", "x.py", "--order", "default")
    assert analysis.calls[0][2] == Settings()


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    configure(tmp_path, "[tool.graphmem]\nbatch = 1\n")
    assert configured(inner) == {"batch": 1}
    configure(tmp_path / "a", "[project]\nname = 'x'\n")
    assert configured(inner) == {}


def test_every_key_is_an_option_of_peak() -> None:
    from graphmem.cli.peak import peak

    assert set(CONFIG_KEYS) - {"gpus", "check"} <= {parameter.name for parameter in peak.params}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[tool.graphmem]\nbacht = 1\n", "no key 'bacht'; it may have step, batch"),
        ("[tool.graphmem]\nbatch = '1'\n", "batch must be a whole number of 1 or more, not '1'"),
        ("[tool.graphmem]\nbatch = true\n", "batch must be a whole number of 1 or more, not True"),
        ("[tool.graphmem]\nbatch = 0\n", "batch must be a whole number of 1 or more, not 0"),
        ("[tool.graphmem]\nrewrite = 1\n", "rewrite must be true or false, not 1"),
        ("[tool.graphmem]\ndevice = 1\n", "device must be a text, not 1"),
        ("[tool.graphmem]\nruntime = 'tpu'\n", "runtime must be 'auto' or 'graph' or 'xla', not 'tpu'"),
        ("[tool.graphmem]\ngpus = 3\n", "gpus must be a table, not 3"),
        ("[tool]\ngraphmem = 3\n", "must be a table"),
        ("[tool.graphmem\n", "cannot be read"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, says: str) -> None:
    configure(tmp_path, text)
    with pytest.raises(TargetError) as caught:
        configured(tmp_path)
    assert says in str(caught.value)
    assert str(tmp_path / "pyproject.toml") in str(caught.value)


def test_a_wrong_file_stops_peak_but_not_its_help(cli: Run, analysis: Analysis, tmp_path: Path) -> None:
    configure(tmp_path, "[tool.graphmem]\nbacht = 1\n")
    assert cli("peak", "--help").code == 0
    done = cli("peak", "x.py")
    assert (done.code, done.out, analysis.calls) == (2, "", [])
