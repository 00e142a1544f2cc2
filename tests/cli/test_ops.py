"""`graphmem ops`, in this process: it needs no TensorFlow."""

from __future__ import annotations

import json

import pytest

from graphmem.cli.main import main

pytestmark = pytest.mark.cli


def test_one_op_with_its_formula(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "Conv2DBackpropFilter"]) == 0
    out = capsys.readouterr().out
    assert "scratch on the CPU" in out
    assert "Columns of image patches" in out
    assert "source: conv_grad_filter_ops.cc" in out


def test_pattern_ignores_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "assign*variableop", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == 1
    assert list(found["ops"]) == ["AssignAddVariableOp", "AssignSubVariableOp", "AssignVariableOp"]
    assert found["ops"]["AssignVariableOp"]["variable"] == "assign"


def test_table_fits_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) > 500


def test_misspelt_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "Conv2DBackpropFiltr"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "no op 'Conv2DBackpropFiltr'" in captured.err
    assert "did you mean Conv2DBackpropFilter" in captured.err


def test_pattern_without_match(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "zz*"]) == 2
    assert "no op matches 'zz*'" in capsys.readouterr().err


def test_bytes_are_the_same_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    main(["ops", "--json"])
    first = capsys.readouterr().out
    main(["ops", "--json"])
    assert capsys.readouterr().out == first
