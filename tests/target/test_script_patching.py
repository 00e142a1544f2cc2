"""Functions are replaced for a while, and put back as they were."""

import importlib
import sys

from graphmem.target.patching import Patch, Patches


def louder(original):
    return lambda *args: original(*args) + "!"


def test_functions_are_replaced_now_and_in_modules_imported_later(tmp_path, monkeypatch):
    (tmp_path / "early_module.py").write_text("class Base:\n    def say(self): return 'base'\nclass Sub(Base): pass\n")
    (tmp_path / "late_module.py").write_text("def say(): return 'late'\n")
    monkeypatch.syspath_prepend(tmp_path)
    early = importlib.import_module("early_module")
    inherited = early.Sub.say
    patches = [
        Patch("early_module", "Sub.say", louder),
        Patch("late_module", "say", louder),
        Patch("late_module", "missing.name", louder),
        Patch("never_imported", "say", louder),
    ]
    finders = list(sys.meta_path)
    try:
        with Patches(patches):
            late = importlib.import_module("late_module")
            assert (early.Sub().say(), early.Base().say(), late.say()) == ("base!", "base", "late!")
            assert type(late.__loader__).__name__ == "SourceFileLoader"
        assert (early.Sub().say(), late.say()) == ("base", "late")
        assert "say" not in vars(early.Sub)
        assert early.Sub.say is inherited
        assert sys.meta_path == finders
    finally:
        sys.modules.pop("early_module")
        sys.modules.pop("late_module", None)
