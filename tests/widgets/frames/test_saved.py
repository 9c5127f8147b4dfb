"""Frames in a saved notebook: the last one as a picture, even if no browser ever displayed them."""

from __future__ import annotations

import base64
import html
import math
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import numpy as np
import pytest
from mosaic_contract.fastlane import Frame, Hud
from peers.painter import hud_of, paint, painted, scenes
from PIL import Image
from support import rings_open, start_painter, start_peer, wait_until

from mosaic_lab import notebooks
from mosaic_lab.errors import ConfigurationError, MosaicError, UnknownRun
from mosaic_lab.fastlane.montage import SIDE, WIDTH, MontageTile, hud_line, montage
from mosaic_lab.runs import Run, RunGroup, Supervisor
from mosaic_lab.widgets.frames import saved_frames
from mosaic_lab.widgets.frames.saved_frames import SavedFrames
from mosaic_lab.widgets.frames.viewer import FrameFeed
from mosaic_lab.widgets.frames.wall import FrameWall, frame_wall

Shape = tuple[int, int, int]
TESTS = Path(__file__).parents[2]


def frame(number: int = 0, shape: Shape = (84, 84, 3)) -> Frame:
    pixels = scenes("flat", shape)[0]
    paint(pixels, shape, number)
    return Frame(number + 1, 1000.0 + number, *shape, bytes(pixels), hud_of(number))


def opened(png: bytes | None) -> Image.Image:
    assert png is not None
    return Image.open(BytesIO(png))


# ------------------------------------------------------------------ the picture


def test_a_small_frame_is_enlarged_by_a_whole_factor_and_a_large_one_reduced() -> None:
    small = opened(montage([MontageTile("run", frame(5))]))
    assert small.size == (254, 254), "not enlarged by 3 with a border"
    assert {small.getpixel(corner) for corner in ((0, 0), (253, 0), (253, 253))} == {(0xB4, 0xB8, 0xBF)}
    exact = np.asarray(small)[2:-1:3, 2:-1:3]
    assert painted(exact.tobytes(), (84, 84, 3)) == 5
    assert opened(montage([MontageTile("run", frame(0, (400, 600, 3)))])).size == (602, 402)
    assert opened(montage([MontageTile("run", frame(0, (2160, 3840, 3)))])).size == (SIDE, 361)


@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 3000, 1), (84, 84, 1), (30, 20, 4)])
def test_frames_of_every_kind_make_a_picture(shape: Shape) -> None:
    pixels = bytes(range(256)) * (math.prod(shape) // 256 + 1)
    odd = Frame(1, 0.0, *shape, pixels[: math.prod(shape)], Hud())
    assert max(opened(montage([MontageTile("run", odd)])).size) <= SIDE
    assert opened(montage([MontageTile("a", odd), MontageTile("b", None)])).size[0] <= WIDTH


@pytest.mark.parametrize(("count", "columns"), [(2, None), (5, None), (50, None), (3, 1), (3, 9)])
def test_many_frames_make_one_picture_of_bounded_width(count: int, columns: int | None) -> None:
    tiles = [MontageTile(f"seed {n} " * 9, None if n == 1 else frame(n)) for n in range(count)]
    assert opened(montage(tiles, columns)).width <= WIDTH


def test_numbers_beside_a_frame() -> None:
    hud = Hud(episode=12, step=3456, reward=1.0, episode_return=33.0, agent="left", text="4 environments")
    assert hud_line(hud) == "episode 12 · step 3,456 · return 33 · left · 4 environments"
    assert hud_line(Hud()) == ""


# ------------------------------------------------------------------ when it is drawn


class Notebook:
    """Displayed outputs by display id, and the number of updates of pictures."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.outputs: dict[str, dict[str, Any]] = {}
        self.updates = 0
        monkeypatch.setattr("mosaic_lab.widgets.page.saved_form.publish_display_data", self._publish)

    def _publish(
        self, data: dict[str, Any], metadata: dict[str, Any], transient: dict[str, str], update: bool
    ) -> None:
        self.outputs[transient["display_id"]] = data
        self.updates += update and "image/png" in data

    @property
    def bundles(self) -> list[dict[str, Any]]:
        return list(self.outputs.values())


class Page:
    """Stand-in for a page that shows runs: the feeds of its frame stream, and a clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.feeds: dict[Path, SimpleNamespace] = {}
        self.now = 1000.0
        monkeypatch.setattr(saved_frames, "frame_stream", lambda: SimpleNamespace(feed=self.feeds.get))
        monkeypatch.setattr(saved_frames, "time", SimpleNamespace(monotonic=lambda: self.now))

    def show(self, run: Run, number: int) -> None:
        self.feeds[run.path] = SimpleNamespace(frame=frame(number), writer_notice="")


WIDGET = SimpleNamespace(_repr_mimebundle_=lambda: {notebooks.WIDGET_VIEW: {"model_id": "1"}})


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    return Notebook(monkeypatch)


@pytest.fixture
def shown_in(monkeypatch: pytest.MonkeyPatch) -> Page:
    return Page(monkeypatch)


def number_of(png: bytes) -> int:
    pixels = np.asarray(opened(png))
    return painted(pixels.tobytes(), pixels.shape)  # type: ignore[arg-type]


def number_in(bundle: dict[str, Any]) -> int:
    image = np.asarray(opened(bundle["image/png"]))
    return painted(image[2:-1:3, 2:-1:3].tobytes(), (84, 84, 3))


def test_the_picture_follows_at_first_then_seldom_and_when_frames_stop(
    supervisor: Supervisor, notebook: Notebook, shown_in: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_frames, "refresh_scheduler", lambda: SimpleNamespace(add=id, remove=id))
    run = start_peer(supervisor, "silent")
    saved = SavedFrames([run], "the title", ["the label"])
    saved.show(WIDGET)
    saved.refresh(draw=True)
    assert [set(bundle) - {"text/plain"} for bundle in notebook.bundles] == [
        {notebooks.WIDGET_VIEW, "text/html"},
        {"text/html"},
        {"text/html"},
    ]

    def drawn(number: int, updates: int) -> None:
        wait_until(lambda: notebook.updates == updates)
        assert number_in(notebook.bundles[2]) == number

    def passes(seconds: int) -> None:
        """Advance the clock this far, with a new frame every second."""
        for _ in range(seconds):
            shown_in.now += 1
            shown_in.show(run, int(shown_in.now))
            saved.refresh(draw=True)

    shown_in.show(run, 1)
    saved.refresh(draw=True)
    drawn(1, 1)
    passes(19)
    assert notebook.updates == 1
    passes(1)
    drawn(1020, 2)
    passes(3)
    shown_in.now += 1.5
    saved.refresh(draw=True)
    assert notebook.updates == 2
    shown_in.now += 1  # no new frame for 2.5 s, although the last picture is recent
    saved.refresh(draw=True)
    drawn(1023, 3)
    shown_in.now += 1000
    saved.refresh(draw=True)
    assert notebook.updates == 3
    caption = html.unescape(notebook.bundles[1]["text/html"])
    assert f'still running when this notebook was saved; lab.run("{run.id}").frames() shows' in caption

    shown_in.show(run, 7)
    run.stop()
    saved.settle()
    drawn(7, 4)
    caption = notebook.bundles[1]["text/html"]
    assert "cancelled; the last frame seen here is of step 7 of 100" in caption
    assert notebooks.WIDGET_VIEW in notebook.bundles[0]
    saved.settle()
    assert notebook.updates == 4


def test_a_wall_shown_after_the_end_says_what_it_can(supervisor: Supervisor, notebook: Notebook) -> None:
    run = start_peer(supervisor, "play").wait()
    SavedFrames([run, run], "two runs", ["a", "b"]).show(WIDGET)
    assert "2 completed · no frame was seen" in notebook.bundles[1]["text/html"]


def test_what_was_seen_of_a_run_is_the_same_whoever_asks_after_its_end(
    supervisor: Supervisor, notebook: Notebook
) -> None:
    seen, unseen = start_painter(supervisor), start_painter(supervisor)
    snapshot = number_of(seen.snapshot())
    for run in (seen, unseen):
        run.stop()
    for runs in ([seen], [seen, unseen]):
        SavedFrames(runs, "the title", ["a", "b"][: len(runs)]).show(WIDGET)
    assert f"the last frame seen here is of step {snapshot}" in notebook.bundles[1]["text/html"]
    assert number_in(notebook.bundles[2]) == snapshot
    assert "image/png" in notebook.bundles[5]
    assert number_of(seen.snapshot()) == snapshot
    feed = FrameFeed(seen.path)
    feed.poll(0.0, 30)
    assert feed.frame is not None and painted(feed.frame.pixels, feed.frame.shape) == snapshot
    with pytest.raises(MosaicError, match="this process has seen no frame of it"):
        unseen.snapshot()
    with pytest.raises(
        MosaicError, match=f"no further frame .* the last frame seen here is of step {snapshot}"
    ):
        seen.record(supervisor.store.root / "film.gif", 1)


def test_why_there_were_no_frames_is_kept(supervisor: Supervisor, notebook: Notebook, shown_in: Page) -> None:
    run = start_peer(supervisor, "silent")
    shown_in.feeds[run.path] = SimpleNamespace(frame=None, writer_notice="the environment cannot be drawn")
    SavedFrames([run], "the title", ["the label"]).show(WIDGET)
    run.stop()
    saved_frames.settle_frames(run)
    assert "cancelled · the environment cannot be drawn" in notebook.bundles[1]["text/html"]


def test_without_a_page_frames_are_requested_until_there_is_one(
    supervisor: Supervisor, notebook: Notebook, shown_in: Page
) -> None:
    run = start_painter(supervisor)
    saved = SavedFrames([run], "the title", ["the label"])
    saved.show(WIDGET)
    wait_until(lambda: notebook.updates)
    last = number_in(notebook.bundles[2])
    shown_in.show(run, 12345)
    run.stop()
    saved_frames.settle_frames(run)
    assert (last < 1000, number_in(notebook.bundles[2])) == (True, 12345)


def test_no_more_pictures_follow_their_runs_than_are_worth_it(
    supervisor: Supervisor, notebook: Notebook, shown_in: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_frames, "MAX_PICTURES", 3)
    before = rings_open()
    run = start_painter(supervisor)
    first, *others = (SavedFrames([run], "the title", ["the label"]) for _ in range(10))
    first.show(WIDGET)
    for saved in others:
        saved.show(WIDGET)
    wait_until(lambda: list(saved_frames._following) == others[-3:])
    wait_until(lambda: rings_open() <= before + 3)
    for saved in others:
        saved.close()
    wait_until(lambda: rings_open() <= before)


# ------------------------------------------------------------------ walls


def test_a_cell_executed_again_shows_the_same_wall(supervisor: Supervisor) -> None:
    runs = [start_peer(supervisor, "silent", seed=seed) for seed in (1, 2)]
    wall = frame_wall(runs)
    assert frame_wall(RunGroup(runs)) is wall
    others = [frame_wall(runs[0]), frame_wall(runs, fps=5), frame_wall(runs, columns=1)]
    assert len({wall, *others}) == 4
    wall.close()
    assert frame_wall(runs) is not wall
    for other in [*others, frame_wall(runs)]:
        other.close()


@pytest.mark.parametrize(
    "options, problem",
    [
        ({"fps": 120}, r"fps must be from 0.1 to 60 frames per second, not 120"),
        ({"fps": 0}, r"fps must be from 0.1 to 60 frames per second, not 0"),
        ({"fps": "fast"}, r"fps must be from 0.1 to 60 frames per second, not 'fast'"),
        ({"columns": 0}, r"columns must be an integer ≥ 1"),
        ({"columns": "2"}, r"columns must be an integer ≥ 1 .* not '2'"),
        ({"runs": []}, r"1 to 256 runs, not 0"),
        ({"runs": [Run(Path(str(number))) for number in range(257)]}, r"1 to 256 runs, not 257"),
        ({"runs": "abc"}, "no run 'abc'"),
        ({"runs": [None]}, r"runs, their names, or groups of runs, .* not None"),
    ],
)
def test_a_wall_that_cannot_be_says_what_can(tmp_path: Path, options: dict[str, Any], problem: str) -> None:
    with pytest.raises((ConfigurationError, UnknownRun), match=problem):
        frame_wall(**{"runs": Run(tmp_path), **options})


def test_what_a_wall_does_not_have_is_an_error(supervisor: Supervisor, tmp_path: Path) -> None:
    run = start_painter(supervisor)
    wall = FrameWall(run)
    with pytest.raises(ConfigurationError, match=r"no tile 1: this wall has 1"):
        wall.snapshot(tile=1)
    with pytest.raises(MosaicError, match=r"no view shows it now; run.record\(\) records the next seconds"):
        wall.record(tmp_path / "film.gif", seconds=5)
    assert wall.snapshot(tmp_path / "now.png").exists()
    wall.close()


# ------------------------------------------------------------------ a notebook without a browser

START = f"""import sys
sys.path.insert(0, {str(TESTS)!r})
import mosaic_lab as mosaic
from support import start_painter
lab = mosaic.Lab()
run = start_painter(lab.supervisor, frames=300, free=True, rate=50)"""


def test_a_notebook_that_no_browser_showed_keeps_the_last_frame(tmp_path: Path) -> None:
    cells = [nbformat.v4.new_code_cell(c) for c in (START, "run.frames()", "_ = run.wait()")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "source.ipynb")
    notebooks.execute(tmp_path / "source.ipynb", tmp_path / "work.ipynb")
    outputs = nbformat.read(tmp_path / "work.ipynb", as_version=4).cells[1].outputs
    live, caption, picture = (output.data for output in outputs)
    assert notebooks.WIDGET_VIEW not in live  # no browser displayed the widget
    assert "completed" in caption["text/html"]
    assert number_in({"image/png": base64.b64decode(picture["image/png"])}) == 299
