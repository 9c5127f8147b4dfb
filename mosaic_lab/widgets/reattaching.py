"""Panels of a former kernel, shown again by this one where they stand in the page.

What crosses this boundary: `described`, what a saved output says of the panel that it holds, and `reattach`,
which makes the panel of it. A notebook may come from anywhere: it names runs of the announced store, and
nothing else is opened for it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mosaic_lab.runs import Run
from mosaic_lab.widgets.page.outputs import Place

MOST_RUNS = 256

logger = logging.getLogger(__name__)

_root: Path | None = None
"""The run store of the latest Lab."""


def use_store(root: Path) -> None:
    """Have saved outputs name the runs of the store at ``root`` from now on."""
    global _root
    _root = root


def described(kind: str, paths: Iterable[Path], **settings: Any) -> dict[str, Any] | None:
    """What to save of a panel of the runs in ``paths``; None where no Lab has their store."""
    root, paths = _root, list(paths)
    if root is None or not all(path.is_relative_to(root) for path in paths):
        return None
    runs = [path.relative_to(root).as_posix() for path in paths]
    return {"kind": kind, "runs": runs, **settings}


def reattach(panel: Mapping[str, Any], place: Place) -> None:
    """Show the panel that a saved caption describes at its place; nothing where its runs are gone."""
    shows = panel.get("shows")
    if not isinstance(shows, Mapping):
        return
    runs = _runs(shows.get("runs"))
    if not runs:
        return
    try:
        _reattach(shows, runs, place)
    except Exception:  # of whatever a notebook holds; the other panels come back all the same
        logger.exception("A panel could not be shown again.")


def _reattach(shows: Mapping[str, Any], runs: list[Run], place: Place) -> None:
    kind = shows.get("kind")
    if kind == "runs":
        from mosaic_lab.widgets.runs.display import show_runs

        metric = shows.get("metric")
        show_runs(
            runs,
            alone=shows.get("alone") is True and len(runs) == 1,
            metric=metric if isinstance(metric, str) else None,
            interval=shows.get("interval") is True,
            place=place,
        )
    elif kind == "evaluation":
        from mosaic_lab.widgets.evaluation import show_evaluation

        show_evaluation(runs[0], place)
    elif kind == "frames":
        from mosaic_lab.widgets.frames.wall import frame_wall

        frame_wall(runs, shows.get("fps", 30.0), shows.get("columns")).show(place)


def _runs(names: object) -> list[Run]:
    """The runs of these names; none where one of them is not in the store."""
    if _root is None or not isinstance(names, list) or len(names) > MOST_RUNS:
        return []
    paths = [(_root / name).resolve() for name in names if isinstance(name, str)]
    found = [Run(path) for path in paths if _root in path.parents and (path / "state.json").is_file()]
    return found if len(found) == len(names) else []
