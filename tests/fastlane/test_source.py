"""Frame source of a run: newest frames, notices when there are none, on/off switch, snapshots, recordings."""

from __future__ import annotations

import json
import math
import os
import threading
import time
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mosaic_contract.fastlane import Frame, FrameWriter
from peers.painter import hud_of, painted, scenes
from PIL import Image
from support import at_work, start_painter, start_peer, store, wait_until

import mosaic_lab
from mosaic_lab.errors import ConfigurationError, MosaicError, RunTimeout
from mosaic_lab.fastlane import FrameSource, Notice, pixels_of
from mosaic_lab.fastlane.source import MAX_CACHED_BYTES, keep, newest
from mosaic_lab.keeper import locks
from mosaic_lab.keeper.run_store import write_json
from mosaic_lab.keeper.states import RunStatus, State
from mosaic_lab.runs import Run, RunGroup, Supervisor, capture
from mosaic_lab.runs.capture import next_frames


def awaited(source: FrameSource, fps: float = 60) -> Frame:
    frame = wait_until(lambda: source.poll(fps))
    assert isinstance(frame, Frame)
    return frame


def notice_with(source: FrameSource, text: str) -> Notice:
    found = wait_until(lambda: (notice := source.notice) and text in notice.text and notice)
    assert isinstance(found, Notice)
    return found


def held_run(folder: Path, state: State, place: str = "", since: float = 0.0) -> int:
    """Write the state of a run and hold its keeper's lock, which is returned, in this process."""
    folder.mkdir()
    write_json(folder / "state.json", RunStatus(state, "as told", since, place=place).to_dict())
    lock = locks.take(folder / "keeper.lock")
    assert lock is not None
    return lock


def rendered_no_more(run: Run) -> float:
    """Return the number of published frames; assert that it has stopped growing."""

    def reports() -> list[float]:
        return list(run.metrics("published")["value"])

    seen = len(reports())
    wait_until(lambda: len(reports()) >= seen + 3)
    assert reports()[seen + 2] == reports()[seen + 1]
    return reports()[-1]


# ------------------------------------------------------------------ frames


def test_new_frames_come_whole_with_their_own_hud_and_the_last_one_stays(supervisor: Supervisor) -> None:
    run = start_painter(supervisor, rate=200, sizes=[[84, 84, 3], [60, 90, 1]], change_every=7)
    source = FrameSource(run.path)
    sequences = []
    for _ in range(30):
        frame = awaited(source)
        sequences.append(frame.sequence)
        number = painted(frame.pixels, frame.shape)
        assert frame.hud == hud_of(number)
        assert pixels_of(frame).shape == frame.shape
    assert sequences == sorted(set(sequences))
    assert source.notice is None
    assert not source.finished
    run.stop()
    wait_until(lambda: source.poll(60) is None and source.finished)
    assert source.last is not None
    assert source.last.sequence >= sequences[-1]
    step, telemetry = source.last.hud.step, run.folder.telemetry_path
    started = {"event": "run_started", "payload": {"config": {"steps": 999_936}}}  # whole updates only
    telemetry.write_text(json.dumps(started) + "\n" + telemetry.read_text())
    text = f"the run was cancelled; the last frame seen here is of step {step:,} of 999,936"
    assert source.notice == Notice("info", text)
    assert source.poll(60) is None


def test_frames_published_just_before_the_end_are_seen(supervisor: Supervisor) -> None:
    run = start_painter(supervisor, rate=500, free=True, frames=1000)
    source = FrameSource(run.path)
    awaited(source)
    run.wait(60)
    wait_until(lambda: source.poll(60) is None and source.finished)
    assert source.last is not None
    assert painted(source.last.pixels, source.last.shape) == 999


def test_a_worker_renders_for_those_who_look_only(supervisor: Supervisor) -> None:
    run = start_painter(supervisor, rate=200)
    source = FrameSource(run.path)

    awaited(source)
    source.pause()
    before = rendered_no_more(run)
    frame = awaited(source)
    assert painted(frame.pixels, frame.shape) >= before - 1


def test_frames_are_switched_on_and_off_while_the_run_goes(supervisor: Supervisor) -> None:
    run = start_painter(supervisor, enabled=False)
    source = FrameSource(run.path)
    at_work(run)
    notice_with(source, "frames are off: run.enable_frames() turns them on")
    run.enable_frames()
    awaited(source)
    run.enable_frames(False)
    notice_with(source, "frames are off")
    source.poll(60)
    rendered_no_more(run)


# ------------------------------------------------------------------ notices


def test_a_queued_run_says_what_it_waits_for(tmp_path: Path) -> None:
    with store(tmp_path / "runs", max_running=1) as supervisor:
        start_peer(supervisor, "silent")
        run = start_painter(supervisor)
        source = FrameSource(run.path)
        assert source.poll(30) is None
        notice_with(source, "queued: ")
        with pytest.raises(MosaicError, match=r"cannot be turned on: queued: [^;]*$"):
            run.enable_frames()
        with pytest.raises(MosaicError, match=r"off: queued: .*; lab\.train\(\.\.\., frames=False\)"):
            run.enable_frames(False)
        with pytest.raises(RunTimeout, match=r"within 0.1 s: queued: "):
            run.snapshot(timeout=0.1)


def test_a_worker_without_frames_differs_from_one_that_has_not_begun(supervisor: Supervisor) -> None:
    source = FrameSource(at_work(start_peer(supervisor, "train", total_timesteps=1_000_000)).path)
    assert notice_with(source, "publishes no frames").level == "info"


def test_what_the_worker_says_of_its_frames_is_passed_on(tmp_path: Path) -> None:
    held_run(tmp_path / "run", State.RUNNING)
    writer = FrameWriter(tmp_path / "run")
    source = FrameSource(tmp_path / "run")
    assert source.notice == Notice("info", "waiting for the first frame")
    writer.notice("the environment cannot be drawn: no display")
    assert source.notice == Notice("info", "the environment cannot be drawn: no display")
    writer.notice("")
    writer.publish(bytes(12), shape=(2, 2, 3))
    awaited(source)
    assert source.notice is None
    writer.close()
    notice_with(source, "the worker publishes no more frames")


def test_a_worker_that_loads_its_libraries_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held_run(tmp_path / "run", State.RUNNING, since=time.time())
    source = FrameSource(tmp_path / "run")
    assert source.notice == Notice("info", "waiting for the worker to start")
    assert source.patience == math.inf
    monkeypatch.setattr("mosaic_lab.fastlane.source.BEGIN_SECONDS", 0.0)
    notice_with(source, "publishes no frames")


def test_why_there_were_no_frames_is_said_after_the_end_too(tmp_path: Path) -> None:
    lock = held_run(tmp_path / "run", State.RUNNING)
    writer = FrameWriter(tmp_path / "run")
    source = FrameSource(tmp_path / "run")
    writer.end("the environment cannot be drawn: no display")
    assert source.poll(30) is None
    write_json(tmp_path / "run" / "state.json", RunStatus(State.COMPLETED, "as told", 0.0).to_dict())
    writer.close()
    os.close(lock)
    wait_until(lambda: source.poll(30) is None and source.finished)
    assert source.notice == Notice(
        "info", "the run has completed; the environment cannot be drawn: no display"
    )


def test_a_long_silence_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held_run(tmp_path / "run", State.RUNNING)
    writer = FrameWriter(tmp_path / "run")
    source = FrameSource(tmp_path / "run")
    writer.publish(bytes(12), shape=(2, 2, 3))
    awaited(source)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 27)
    assert source.notice == Notice("info", "no new frame for 20 s")
    source.pause()  # no viewer, so no complaint
    assert source.notice is None
    writer.close()


def test_a_run_on_another_machine_keeps_its_frames_there(tmp_path: Path) -> None:
    held_run(tmp_path / "run", State.RUNNING, place="elsewhere")
    notice = FrameSource(tmp_path / "run").notice
    assert notice is not None
    assert "on another machine" in notice.text
    with pytest.raises(MosaicError, match=r"there is no frame of run run: .* on another machine"):
        Run(tmp_path / "run").snapshot()


@pytest.mark.parametrize(
    ("behaviour", "level", "text"),
    [
        ("play", "info", "the run has completed; this process has seen no frame of it"),
        ("exit_1", "error", "the run has failed; this process has seen no frame of it"),
    ],
)
def test_an_ended_run_says_how_it_ended(
    supervisor: Supervisor, behaviour: str, level: str, text: str
) -> None:
    run = start_peer(supervisor, behaviour)
    wait_until(lambda: run.finished)
    source = FrameSource(run.path)
    assert source.finished
    assert source.poll(30) is None
    assert source.notice == (level, text)
    with pytest.raises(MosaicError, match=rf"cannot be turned on: {text.partition(';')[0]}$"):
        run.enable_frames()


def test_a_folder_that_is_none_of_a_run_raises_nothing(tmp_path: Path) -> None:
    source = FrameSource(tmp_path / "nothing")
    assert source.poll(30) is None
    assert source.notice == Notice("error", "the run is lost; this process has seen no frame of it")


def test_a_state_that_cannot_be_read_for_a_moment_ends_no_frames(tmp_path: Path) -> None:
    held_run(tmp_path / "run", State.RUNNING)
    writer = FrameWriter(tmp_path / "run")
    writer.publish(bytes(12), shape=(2, 2, 3))
    source = FrameSource(tmp_path / "run")
    awaited(source)
    state = tmp_path / "run" / "state.json"
    state.rename(tmp_path / "elsewhere")
    writer.publish(bytes(12), shape=(2, 2, 3))
    awaited(source)
    assert source.notice is None and not source.finished
    (tmp_path / "elsewhere").rename(state)
    writer.close()
    notice_with(source, "the worker publishes no more frames")


# ------------------------------------------------------------------ snapshots and recordings


def test_a_snapshot_is_a_frame_pixel_by_pixel(supervisor: Supervisor, tmp_path: Path) -> None:
    run = start_painter(supervisor, rate=200, pattern="noise", sizes=[[48, 64, 3]])
    pixels = np.asarray(Image.open(BytesIO(run.snapshot())))
    assert painted(pixels.tobytes(), (48, 64, 3)) >= 0
    path = run.snapshot(tmp_path / "frame.png")
    assert path == tmp_path / "frame.png"
    assert Image.open(path).size == (64, 48)


def test_a_groups_snapshot_shows_its_runs_side_by_side(supervisor: Supervisor, tmp_path: Path) -> None:
    mosaic_lab.Lab(supervisor.store.root)
    runs = [start_painter(supervisor, sizes=[[30, 40, 3]], label=f"painter seed {i}") for i in (1, 2)]
    dark = start_painter(supervisor, enabled=False)
    alone, all_three = (
        Image.open(BytesIO(RunGroup(some).snapshot(timeout=10))) for some in (runs[:1], [*runs, dark])
    )
    assert alone.size == (8 * 40 + 2, 8 * 30 + 2), "enlarged by a whole factor, with a border"
    assert all_three.width == 960 and all_three.height > 240, "two columns, and room for the names"
    path = RunGroup(runs).snapshot(tmp_path / "both.png")
    assert path == tmp_path / "both.png" and Image.open(path).width == 960
    with pytest.raises(MosaicError, match=r"there is no frame of run .*: frames are off"):
        RunGroup([dark]).snapshot()
    with pytest.raises(ConfigurationError, match=r"both\.jpg"):
        RunGroup(runs).snapshot(tmp_path / "both.jpg")


def test_a_snapshot_that_cannot_be_says_why_at_once(supervisor: Supervisor) -> None:
    run = start_painter(supervisor, enabled=False)
    with pytest.raises(MosaicError, match=r"there is no frame of run .*: frames are off: run.enable_frames"):
        run.snapshot()
    run.stop()
    with pytest.raises(MosaicError, match=r"there is no frame of run .*: the run was cancelled"):
        run.snapshot()


def test_an_ended_training_is_seen_in_a_comparison(supervisor: Supervisor) -> None:
    run = start_peer(supervisor, "save_checkpoints").wait(60)
    with pytest.raises(MosaicError, match=r"completed; .* no frame of it; lab\.compare\(env, .* has learned"):
        run.snapshot()


def test_a_snapshot_is_not_waited_for_once_frames_have_ended(tmp_path: Path) -> None:
    held_run(tmp_path / "run", State.RUNNING)
    writer = FrameWriter(tmp_path / "run")
    run = Run(tmp_path / "run")
    writer.notice("frames lie in a folder on a disk")
    with pytest.raises(RunTimeout, match=r"within 0.1 s: frames lie in a folder on a disk"):
        run.snapshot(timeout=0.1)
    writer.end("the environment cannot be drawn: no display")
    for wait in (run.snapshot, run.snapshot, lambda: run.record(tmp_path / "film.gif", 1)):
        with pytest.raises(MosaicError, match=r"there is no frame of run run: the environment cannot be"):
            wait()
    writer.close()


def test_a_recording_without_a_page_is_of_the_next_seconds_frame_by_frame(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    run = start_painter(supervisor, rate=200, pattern="flat", sizes=[[48, 64, 3]])
    path = run.record(tmp_path / "film.gif", seconds=1.0, fps=20)
    assert path == tmp_path / "film.gif"
    film = Image.open(path)
    numbers, seconds = [], 0.0
    for index in range(film.n_frames):
        film.seek(index)
        numbers.append(painted(film.convert("RGB").tobytes(), (48, 64, 3)))
        seconds += film.info["duration"] / 1000
    assert len(numbers) > 1
    assert numbers == sorted(set(numbers))
    assert 0 < seconds <= 2, "the requested second plus the last frame's duration"


@pytest.mark.parametrize(
    "seconds, name, problem",
    [
        (1, "film.avi", "a .gif or .mp4 file, not 'film.avi'"),
        (1, "none/film.gif", "there is no folder .*none for film.gif: create it first"),
        (0, "film.gif", "seconds=0: must be a number > 0 and ≤ 60"),
        ("3", "film.gif", "seconds='3': must be a number > 0 and ≤ 60"),
    ],
)
def test_a_recording_that_cannot_be_is_refused_before_it_begins(
    tmp_path: Path, seconds: Any, name: str, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        Run(tmp_path).record(tmp_path / name, seconds)
    assert not (tmp_path / name).exists()


def test_wrong_arguments_are_answered_with_what_is_right(tmp_path: Path) -> None:
    wrong: Any = "no"
    with pytest.raises(ConfigurationError, match=r"on='no': must be True or False"):
        Run(tmp_path).enable_frames(wrong)
    with pytest.raises(ConfigurationError, match=r"a snapshot must be a \.png file, not 'x\.bmp'"):
        Run(tmp_path).snapshot(tmp_path / "x.bmp")
    with pytest.raises(ConfigurationError, match=r"fps must be a number .* not 'no'"):
        Run(tmp_path).record(tmp_path / "film.gif", 1, fps=wrong)
    swapped: Any = 3
    with pytest.raises(
        ConfigurationError, match=r"a recording must be written to a path, such as 'cartpole.mp4'"
    ):
        Run(tmp_path).record(swapped, 5)
    with pytest.raises(ConfigurationError, match=r"there is no folder .*none for now.png: create it first"):
        Run(tmp_path).snapshot(tmp_path / "none" / "now.png")


def test_what_was_seen_of_many_runs_is_bounded(tmp_path: Path) -> None:
    side = math.isqrt(MAX_CACHED_BYTES // 2)
    frames = [Frame(1, float(at), side, side, 1, bytes(side * side), hud_of(at)) for at in range(3)]
    runs = [tmp_path / str(at) for at in range(3)]
    for run, frame in zip(runs, frames, strict=True):
        keep(run, frame)
        keep(run, frame._replace(published=-1.0))  # an older frame from a slower reader
    assert [newest(run) for run in runs] == [None, *frames[1:]]


def test_a_recording_of_more_than_is_kept_lasts_as_long_as_requested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "RECORDED_BYTES", 400_000)
    held_run(tmp_path / "run", State.RUNNING)
    shape = 240, 320, 3
    pixels = scenes("noise", shape)[0]
    writer = FrameWriter(tmp_path / "run", share=1.0)
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.002):
            if writer.due():
                writer.publish(pixels, shape=shape)

    worker = threading.Thread(target=work)
    worker.start()
    packets = next_frames(tmp_path / "run", 2.0, 30, 60)
    over.set()
    worker.join()
    writer.close()
    assert 1.5 < packets[-1].published - packets[0].published < 2.5
    assert sum(len(packet.data) for packet in packets) < 500_000
    assert {packet.encoding for packet in packets} == {"jpeg"}
