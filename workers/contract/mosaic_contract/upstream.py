"""The installation folder of the library that a shim wraps, for shims that read its source text."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from mosaic_contract.errors import ConfigError


def upstream_folder(package: str, library: str = "") -> Path:
    """Return the folder of an installed package, found without importing it. Raises `ConfigError`, which
    names the `library` (by default the package), where it is not installed.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(
            f"{library or package} is not installed in this environment: install the worker again"
        )
    return Path(next(iter(spec.submodule_search_locations)))
