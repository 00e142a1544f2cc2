"""Golden files: `pytest --overwrite` writes them anew; look at the difference before you commit it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

# Read when TensorFlow is imported; graphmem models TensorFlow without oneDNN unless told otherwise.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--overwrite", action="store_true", help="write golden files instead of comparing with them")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)`: the text is what the file `golden/NAME` beside the test holds."""

    def check(name: str, text: str) -> None:
        path = Path(request.path).parent / "golden" / name
        if request.config.getoption("--overwrite"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"{path} is missing: run pytest --overwrite and look at it"
        assert text == path.read_text(encoding="utf-8")

    return check
