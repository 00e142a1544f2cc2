"""The notebook of `examples/` runs from top to bottom, and shows what it says."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.tf

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook.ipynb"


def test_the_notebook_runs_and_shows_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(NOTEBOOK.parents[1]), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    shutil.copy(NOTEBOOK, tmp_path)
    notebook = nbformat.read(tmp_path / NOTEBOOK.name, as_version=4)
    nbformat.validate(notebook)
    assert not [cell for cell in notebook.cells if cell.get("outputs")]  # it is kept without outputs
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    results = [output["data"] for output in shown if "data" in output]
    report = next(data["text/html"] for data in results if "text/html" in data)
    assert report.count("<svg") == 2  # the timeline and the frontier
    assert "step peak" in report
    assert any("image/png" in data for data in results)
    dag = next(data["image/svg+xml"] for data in results if "image/svg+xml" in data)
    assert "peak op" in dag
    text = "".join(output["text"] for output in shown if output.get("name") == "stdout")
    assert "activation" in text
    assert "Memory alive over the schedule of one training step" in text
    assert (tmp_path / "peak.timeline.pdf").read_bytes().startswith(b"%PDF-")
