"""Call something right after a module was imported, without importing it early."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any, Callable


def after_import(name: str, callback: Callable[[Any], None]) -> None:
    """Call `callback(module)` once `name` is imported; at once if it already is."""
    if name in sys.modules:
        callback(sys.modules[name])
    else:
        sys.meta_path.insert(0, _AfterImport(name, callback))


class _AfterImport(MetaPathFinder):
    def __init__(self, name: str, callback: Callable[[Any], None]) -> None:
        self._name = name
        self._callback = callback

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        finders = (finder for finder in sys.meta_path if hasattr(finder, "find_spec"))
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in finders)), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                execute(module)
                self._callback(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
