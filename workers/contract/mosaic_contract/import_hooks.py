"""Hooks on the imports of an unmodified library: run code around one, or defer modules that the library
imports but a worker does not use."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable, ContextManager, Iterator, Optional


def defer_imports(importer: str, *names: str) -> None:
    """Keep the module `importer` from importing these modules when it is imported: each is imported when the
    importer uses it.

    While the importer is executed, every attribute of these modules is `object`, which suffices for
    annotations. All other code imports them as usual.
    """

    @contextmanager
    def deferred(module: Any) -> Iterator[None]:
        absent = [name for name in names if name not in sys.modules]
        sys.modules.update({name: _DeferredModule(name) for name in absent})
        try:
            yield
        finally:
            for name in absent:
                del sys.modules[name]

    around_import(importer, deferred)


class _DeferredModule(ModuleType):
    """The placeholder of a module: its attributes are `object` while the importer is executed; later lookups
    import the real module."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            return sys.modules.get(f"{self.__name__}.{name}", object)
        return getattr(import_module(self.__name__), name)


def after_import(name: str, callback: Callable[[Any], None]) -> None:
    """Call `callback(module)` once `name` has been imported; immediately if it already is."""

    @contextmanager
    def run_callback(module: Any) -> Iterator[None]:
        yield
        callback(module)

    if name in sys.modules:
        callback(sys.modules[name])
    else:
        around_import(name, run_callback)


def around_import(name: str, context: Callable[[Any], ContextManager[None]]) -> None:
    """Run the code of the module `name` in `context(module)`, when it is imported."""
    sys.meta_path.insert(0, _AroundImport(name, context))


class _AroundImport(MetaPathFinder):
    def __init__(self, name: str, context: Callable[[Any], ContextManager[None]]) -> None:
        self._name = name
        self._context = context

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        if name != self._name:
            return None
        remaining = sys.meta_path[sys.meta_path.index(self) + 1 :]
        finders = (finder for finder in remaining if hasattr(finder, "find_spec"))
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in finders)), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                sys.meta_path.remove(self)
                with self._context(module):
                    execute(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
