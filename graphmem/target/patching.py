"""Replace functions of libraries for a while, also of libraries that are imported only later."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_MISSING = object()


@dataclass(frozen=True)
class Patch:
    """One function to replace.

    Attributes:
        module: full name of the module that defines it.
        name: where it is in the module: `Class.method` or `function`. A name that this version of the library does
            not have is left out.
        replace: makes the replacement from the original.
    """

    module: str
    name: str
    replace: Callable[[Callable[..., Any]], Callable[..., Any]]


class Patches:
    """A context manager in which functions are replaced; on exit everything is as it was before."""

    def __init__(self, patches: Sequence[Patch]) -> None:
        self._waiting: dict[str, list[Patch]] = {}
        for patch in patches:
            self._waiting.setdefault(patch.module, []).append(patch)
        self._undo: list[tuple[Any, str, Any]] = []
        self._finder = _Finder(self)

    def __enter__(self) -> Patches:
        sys.meta_path.insert(0, self._finder)
        for name in list(self._waiting):
            if name in sys.modules:
                self.apply(sys.modules[name])
        return self

    def __exit__(self, *_: object) -> None:
        sys.meta_path.remove(self._finder)
        while self._undo:
            owner, name, original = self._undo.pop()
            if original is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, original)

    def waits_for(self, module: str) -> bool:
        """Whether functions of this module are to be replaced as soon as it is imported."""
        return module in self._waiting

    def apply(self, module: ModuleType) -> None:
        """Replace the functions of a module that has just been imported."""
        for patch in self._waiting.pop(module.__name__, ()):
            *path, name = patch.name.split(".")
            owner: Any = module
            for part in path:
                owner = getattr(owner, part, None)
            original = getattr(owner, name, None)
            if original is not None:
                self._undo.append((owner, name, vars(owner).get(name, _MISSING)))
                setattr(owner, name, patch.replace(original))


class _Finder(MetaPathFinder):
    """Finds modules as usual, and has their functions replaced when they have been executed."""

    def __init__(self, patches: Patches) -> None:
        self._patches = patches

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not self._patches.waits_for(fullname):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._patches)
        return spec


class _Loader(Loader):
    def __init__(self, loader: Loader, patches: Patches) -> None:
        self._loader = loader
        self._patches = patches

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._patches.apply(module)
