"""graphmem: how much memory a TensorFlow/Keras training step needs, before anyone runs it, and what holds it.

>>> import graphmem
>>> report = graphmem.analyze(model, batch=32)        # doctest: +SKIP
>>> report.peak_bytes, report.render("peak.svg")      # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphmem.api import analyze, load
from graphmem.errors import CheckFailed, GraphmemError, InternalError, TargetError, UserCodeError
from graphmem.report.report import Report
from graphmem.version import __version__

if TYPE_CHECKING:
    from graphmem.answers.advise.advice import Advice
    from graphmem.answers.advise.advising import advise
    from graphmem.answers.check import check
    from graphmem.answers.compare import Comparison
    from graphmem.answers.comparing import compare
    from graphmem.answers.diff import diff
    from graphmem.answers.fit import Fit, fit
    from graphmem.answers.sweep import Sweep, sweep

#: Where the rest is; a module is imported when it is first asked for.
_LATER = {
    "Advice": "advise.advice",
    "advise": "advise.advising",
    "check": "check",
    "Comparison": "compare",
    "compare": "comparing",
    "diff": "diff",
    "Fit": "fit",
    "fit": "fit",
    "Sweep": "sweep",
    "sweep": "sweep",
}

__all__ = [
    "Advice",
    "CheckFailed",
    "Comparison",
    "Fit",
    "GraphmemError",
    "InternalError",
    "Report",
    "Sweep",
    "TargetError",
    "UserCodeError",
    "__version__",
    "advise",
    "analyze",
    "check",
    "compare",
    "diff",
    "fit",
    "load",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'graphmem' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"graphmem.answers.{_LATER[name]}"), name)
    return found
