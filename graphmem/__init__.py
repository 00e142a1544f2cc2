"""graphmem: how much memory a TensorFlow/Keras training step needs, before anyone runs it, and what holds it.

>>> import graphmem
>>> report = graphmem.analyze(model, batch=32)        # doctest: +SKIP
>>> report.peak_bytes, report.render("peak.svg")      # doctest: +SKIP
"""

from graphmem.answers.check import check
from graphmem.answers.compare import Comparison
from graphmem.answers.comparing import compare
from graphmem.answers.diff import diff
from graphmem.answers.fit import Fit, fit
from graphmem.answers.sweep import Sweep, sweep
from graphmem.api import analyze, load
from graphmem.errors import CheckFailed, GraphmemError, InternalError, TargetError, UserCodeError
from graphmem.report.report import Report
from graphmem.version import __version__

__all__ = [
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
    "analyze",
    "check",
    "compare",
    "diff",
    "fit",
    "load",
    "sweep",
]
