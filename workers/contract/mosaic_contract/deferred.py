"""Functions whose module is imported when they are called, so that a command line starts without upstream."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any, Callable


def deferred(name: str) -> Callable[..., Any]:
    """Return a function that imports and calls the function or class of this name, "package.module:name"."""
    return lambda *args, **kwargs: resolve_name(name)(*args, **kwargs)
