"""A wall of frames in a notebook: one tile per run.

The widget only describes the tiles. Each of its views opens a comm in the page (``viewer``); frames travel on
it and are drawn there into one ipycanvas `Canvas` per tile. The kernel draws nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any, overload

import anywidget
import traitlets as t
from ipycanvas import Canvas
from ipywidgets import widget_serialization

from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.runs import Run
from mosaic_lab.runs.run_labels import title_and_labels
from mosaic_lab.runs.run_names import AnyRuns, find_runs
from mosaic_lab.validation import checked_methods
from mosaic_lab.widgets.frames import register_target
from mosaic_lab.widgets.frames.frame_stream import frame_stream
from mosaic_lab.widgets.frames.saved_frames import SavedFrames
from mosaic_lab.widgets.frames.viewer import MAX_FPS, MAX_TILES
from mosaic_lab.widgets.page.page_code import page_code
from mosaic_lab.widgets.page.saved_form import PanelOutput, describe_panel
from mosaic_lab.widgets.page.widget_tree import close_widgets, widgets_stay_on_subshell

FPS = 30.0
MIN_FPS = 0.1
MAX_WALLS = 64
"""Maximum number of walls that are reused when their cells are executed again."""
_CLIENT_READY = "_send_client_ready_event"


class FrameView(anywidget.AnyWidget):
    """The part of a wall in the page."""

    _esm = page_code("frame_wall.js")
    _css = page_code("frame_wall.css")

    title = t.Unicode().tag(sync=True)
    tiles: t.List[dict[str, str]] = t.List(t.Dict()).tag(sync=True)
    canvases: t.List[Any] = t.List(t.Instance(Canvas)).tag(sync=True, **widget_serialization)
    fps = t.Float(FPS, min=MIN_FPS, max=MAX_FPS).tag(sync=True)
    columns = t.Int(0, min=0, help="0: as many as there is room for").tag(sync=True)


@checked_methods("wall")
class FrameWall:
    """Live frames of one or several runs in a notebook's output; display the wall to watch.

    ``runs``: up to 256 runs, their names, and groups of them. ``fps``: initial maximum number of frames per
    second (0.1 to 60); it can be changed in the page. ``columns``: tiles per row (default: as many as fit).
    Raises ConfigurationError (a ValueError) for no or too many runs, values out of range and objects that are
    not runs, and UnknownRun for a name without a run.
    """

    def __init__(self, runs: AnyRuns, fps: float = FPS, columns: int | None = None) -> None:
        self.runs = find_runs(runs)
        if not 0 < len(self.runs) <= MAX_TILES:
            raise ConfigurationError(f"a wall can show 1 to {MAX_TILES} runs, not {len(self.runs)}")
        if not isinstance(fps, int | float) or not MIN_FPS <= fps <= MAX_FPS:
            raise ConfigurationError(
                f"fps must be from {MIN_FPS} to {MAX_FPS:g} frames per second, not {fps!r}"
            )
        if columns is not None and (not isinstance(columns, int) or columns < 1):
            raise ConfigurationError(
                f"columns must be an integer ≥ 1 (None: as many as there is room for), not {columns!r}"
            )
        register_target()
        self.title, labels = title_and_labels(self.runs)
        self.widget = FrameView(
            title=self.title,
            tiles=[
                {"run": str(run.path), "label": label} for run, label in zip(self.runs, labels, strict=True)
            ],
            canvases=[page_canvas() for _ in self.runs],
            fps=float(fps),
            columns=columns or 0,
        )
        """The widget to display; it can be embedded in other widgets."""
        widgets_stay_on_subshell(self.widget)
        paths = [run.path for run in self.runs]
        shows = describe_panel("frames", paths, fps=float(fps), columns=columns)
        self._saved = SavedFrames(self.runs, self.title, labels, columns, shows)

    def _ipython_display_(self) -> None:
        self.show()

    def show(self, output: PanelOutput | None = None) -> None:
        """Show the wall in the running cell's output, or in the ``output`` of a former kernel."""
        self._saved.show(self.widget, output)

    @overload
    def snapshot(self, path: None = None, tile: int = 0) -> bytes: ...
    @overload
    def snapshot(self, path: Path | str, tile: int = 0) -> Path: ...
    def snapshot(self, path: Path | str | None = None, tile: int = 0) -> bytes | Path:
        """Return the next frame of a tile's run as a PNG: its bytes, or the ``path`` of the written file.

        Raises the same errors as `Run.snapshot`.
        """
        run = self._run(tile)
        return run.snapshot() if path is None else run.snapshot(path)

    def record(self, path: Path | str, seconds: float = 5.0, tile: int = 0) -> Path:
        """Write the frames that a tile showed in the *last* ``seconds`` before its newest frame, and return
        the path.

        ``path`` ends in ``.gif`` or ``.mp4``. At most the last minute is available, less for large noisy
        frames. Raises ConfigurationError for another ending, MosaicError if no view shows the tile.
        `Run.record` records the next seconds, with or without a page.
        """
        from mosaic_lab.fastlane.encoding import check_seconds
        from mosaic_lab.fastlane.pictures import film_path

        check_seconds(seconds)
        run = self._run(tile)
        file, make = film_path(path)
        feed = frame_stream().feed(run.path)
        packets = feed.recorder.last(seconds) if feed else []
        if not packets:
            raise MosaicError(
                f"nothing of run {run.id} is kept: no view shows it now; run.record() records "
                "the next seconds"
            )
        file.write_bytes(make(packets))
        return file

    def close(self) -> None:
        """Remove the wall from the page; the last frames remain as a picture. The runs continue."""
        self._saved.close()
        close_widgets([self.widget])

    def _run(self, tile: int) -> Run:
        if not 0 <= tile < len(self.runs):
            raise ConfigurationError(
                f"there is no tile {tile}: this wall has {len(self.runs)}, the first is tile 0"
            )
        return self.runs[tile]


def frame_wall(runs: AnyRuns, fps: float = FPS, columns: int | None = None) -> FrameWall:
    """Return the wall of these runs; reuse an open one of this kernel."""
    runs = find_runs(runs)
    key = tuple(run.path for run in runs), fps, columns
    with _walls_lock:
        wall = _walls.pop(key, None)
        if wall is None or wall.widget.comm is None:
            wall = FrameWall(runs, fps, columns)
        _walls[key] = wall
        if len(_walls) > MAX_WALLS:
            _walls.popitem(last=False)
    return wall


def close_removed(run: Run) -> None:
    """Close every wall that shows ``run``, which was removed, and no run that still exists."""
    with _walls_lock:
        keys = [key for key in _walls if run.path in key[0] and not any(path.exists() for path in key[0])]
        closing = [_walls.pop(key) for key in keys]
    for wall in closing:
        wall.close()


_walls: OrderedDict[tuple[tuple[Path, ...], float, int | None], FrameWall] = OrderedDict()
_walls_lock = threading.Lock()


def page_canvas() -> Canvas:
    """Return a canvas, initially one pixel, on which only the page draws.

    This uses the only private hook into ipycanvas, checked on 0.14.3. The kernel does not draw, so no view
    has to report that it is ready. If ipycanvas lacks this switch, the views report it, and the reports are
    ignored.
    """
    switches = {_CLIENT_READY: False} if Canvas.class_traits().get(_CLIENT_READY) else {}
    return Canvas(width=1, height=1, **switches)
