"""`python -m mosaic_contract.discovery`: list the workers of its Python environment as one line of JSON.

The result is a list with one object for each entry point of the group `mosaic.workers`: name, program,
folder, metadata, capabilities and imports (foreign packages imported by reading the metadata), or name and
error. `program` is the module that starts the worker: the entry point's module, or `cli` of its package.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import sysconfig
from importlib import metadata
from pathlib import Path
from typing import Any

from mosaic_contract.stdio import reserve_standard_streams

GROUP = "mosaic.workers"


def discover() -> list[dict[str, Any]]:
    """Load every worker's metadata in this process. Failures are reported, not raised."""
    return [_describe(name, value) for name, value in sorted(_entry_points())]


def _entry_points() -> set[tuple[str, str]]:
    entry_points: Any = metadata.entry_points()
    can_select = hasattr(entry_points, "select")  # Python 3.10 and newer
    group = entry_points.select(group=GROUP) if can_select else entry_points.get(GROUP, ())
    return {(point.name, point.value) for point in group}


def _describe(name: str, value: str) -> dict[str, Any]:
    module = value.partition(":")[0].strip()
    before = set(sys.modules)
    try:
        worker_metadata, capabilities = metadata.EntryPoint(name, value, GROUP).load()()
        return {
            "name": name,
            "program": f"{module}.cli" if hasattr(sys.modules[module], "__path__") else module,
            "folder": str(_folder(module)),
            "metadata": _document(worker_metadata),
            "capabilities": _document(capabilities),
            "imports": _foreign(set(sys.modules) - before, module),
        }
    except BaseException as error:  # a worker may even call sys.exit; report the others
        return {"name": name, "error": f"{type(error).__name__}: {error}"}


def _document(description: Any) -> dict[str, Any]:
    """Return the fields of a metadata object of any class, without None values."""
    fields = description.to_dict() if hasattr(description, "to_dict") else vars(description)
    return {name: value for name, value in fields.items() if value is not None}


def _jsonable(value: Any) -> Any:
    """Convert an enumeration, a set or a path in a worker's metadata for JSON."""
    return (
        sorted(value) if isinstance(value, (set, frozenset)) else getattr(value, "value", None) or str(value)
    )


def _folder(module: str) -> Path:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ImportError(f"the module {module} has no file")
    return Path(spec.origin).parent


def _foreign(names: set[str], module: str) -> list[str]:
    tops = {name.partition(".")[0] for name in names} - {module.partition(".")[0], "mosaic_contract"}
    return sorted(filter(_is_installed, tops))


def _is_installed(top: str) -> bool:
    """Return whether a module belongs to an installed package rather than the standard library."""
    file = getattr(sys.modules.get(top), "__file__", None)
    standard = sysconfig.get_path("stdlib")
    return file is not None and ("-packages" in file or not file.startswith(standard))


def _main() -> None:
    reserve_standard_streams()
    stdout = os.dup(1)  # imports of a worker may print; the answer must be one clean line
    os.dup2(2, 1)
    with os.fdopen(stdout, "w", encoding="utf-8") as answer:
        answer.write(json.dumps(discover(), default=_jsonable) + "\n")


if __name__ == "__main__":
    _main()
