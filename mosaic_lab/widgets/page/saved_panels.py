"""Descriptions of panels in a saved notebook, from which a later kernel shows them again.

A notebook may come from an untrusted source: a description can name only runs of the announced store, and no
other file is opened for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mosaic_lab.runs import Run
from mosaic_lab.runs.run_names import latest_root

MOST_RUNS = 256


def describe_panel(kind: str, paths: Iterable[Path], **settings: Any) -> dict[str, Any] | None:
    """Describe a panel of the runs in ``paths`` for a saved output; None if their store belongs to no Lab."""
    root, paths = latest_root(), list(paths)
    if root is None or not all(path.is_relative_to(root) for path in paths):
        return None
    return {"kind": kind, "runs": [path.relative_to(root).as_posix() for path in paths], **settings}


def described_runs(names: object) -> list[Run]:
    """Return the runs that a description names; empty if one of them is not in the store."""
    root = latest_root()
    if root is None or not isinstance(names, list) or len(names) > MOST_RUNS:
        return []
    paths = [(root / name).resolve() for name in names if isinstance(name, str)]
    runs = [Run(path) for path in paths if root in path.parents and (path / "state.json").is_file()]
    return runs if len(runs) == len(names) else []
