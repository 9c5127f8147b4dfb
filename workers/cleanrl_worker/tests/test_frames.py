"""Frames of trainings: their content, equal trainings with and without them, and removal of the ring."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from mosaic_contract.conformance.observed_process import ObservedProcess
from mosaic_contract.fastlane import LINK, Frame, FrameReader, sweep

LONG = {"algorithm": "ppo", "env_id": "CartPole-v1", "total_timesteps": 10_000_000}
TINY = {"algorithm": "ppo", "total_timesteps": 512, "num_steps": 64}
SECONDS = 120.0
ODD = str(Path(__file__).parent / "peers")


@dataclass
class Watcher:
    """Watches one run from before its training begins; pass it to `worker.train` to watch until the end."""

    fps: float = 60.0
    frames: list[Frame] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    ring: Path | None = None
    reader: FrameReader | None = None

    def __call__(self, trial: ObservedProcess, until: Callable[[], bool] = lambda: False) -> None:
        """Watch until the run ends or `until` returns True."""
        folder = trial.stdout_path.parent
        reader = self.reader = self.reader or FrameReader(folder)

        def look() -> bool:
            reader.watch(self.fps)
            if frame := reader.read():
                self.frames.append(frame)
            if reader.notice and reader.notice not in self.notices:
                self.notices.append(reader.notice)
            if self.ring is None and reader.state != "absent":
                self.ring = (folder / LINK).resolve()
            return until()

        assert trial.wait(SECONDS, look), trial.log_tail()


def picture(frame: Frame) -> np.ndarray[Any, Any]:
    return np.frombuffer(frame.pixels, np.uint8).reshape(frame.height, frame.width, frame.channels)


def is_gone(run: Any, ring: Path | None) -> bool:
    assert ring is not None, "the run had a ring"
    return not ring.exists() and not os.path.lexists(run.folder / LINK)


def course(run: Any) -> list[Any]:
    """Return a training's episodes and metrics, without timings."""
    episodes = [(e["step"], e["steps"], e["total_reward"], e["episode_seed"]) for e in run.episodes]
    measured = [
        (m["step"], name, value)
        for m in run.events("metrics")
        for name, value in sorted(m["values"].items())
        if name != "steps_per_second" and name != "charts/SPS"
    ]
    return [episodes, sorted(measured)]


def test_a_watched_training_shows_its_environment_and_how_it_does(worker: Any) -> None:
    watcher = Watcher()
    run = worker.train(watcher, algorithm="ppo", env_id="CartPole-v1", total_timesteps=8192)
    assert run.code == 0, run.log
    frames = watcher.frames
    assert len(frames) >= 2
    assert {(f.height, f.width, f.channels) for f in frames} == {(400, 600, 3)}
    assert len({f.pixels for f in frames}) > 1, "the picture changes"
    assert (picture(frames[0]) == 255).mean() > 0.9, "CartPole is drawn on white"
    assert [f.sequence for f in frames] == sorted({f.sequence for f in frames})
    huds = [f.hud for f in frames]
    assert [hud.step for hud in huds] == sorted(hud.step for hud in huds)
    assert {hud.reward for hud in huds} == {1.0}
    assert all(0 < hud.step <= 8192 and hud.step % 4 == 0 and hud.episode >= 0 for hud in huds)
    assert all(hud.episode_return <= 500 and hud.episode_return.is_integer() for hud in huds)
    assert watcher.notices == []
    assert is_gone(run, watcher.ring)
    assert run.outside == []


@pytest.mark.parametrize(
    "config",
    [
        {**TINY, "env_id": "odd_environments:Noisy-v0"},
        *(
            pytest.param(config, marks=pytest.mark.extended)
            for config in (
                {**TINY, "env_id": "LunarLander-v2", "fastlane": {"grid": 4}},
                {"algorithm": "dqn", "env_id": "CartPole-v1", "total_timesteps": 450, "learning_starts": 300},
                {"algorithm": "sac", "env_id": "Pendulum-v1", "total_timesteps": 450, "learning_starts": 300},
            )
        ),
    ],
    ids=lambda config: f"{config['algorithm']}-{config['env_id']}",
)
def test_a_training_is_the_same_watched_unwatched_and_without_frames(
    worker: Any, monkeypatch: pytest.MonkeyPatch, config: dict[str, Any]
) -> None:
    """Bit for bit, although LunarLander's `step` does more when rendered and Noisy draws random numbers."""
    monkeypatch.setenv("PYTHONPATH", ODD, prepend=os.pathsep)
    watcher = Watcher()
    watched = worker.train(watcher, **config)
    unwatched = worker.train(**config)
    off = worker.train(**{**config, "fastlane": {"enabled": False}})
    assert [run.code for run in (watched, unwatched, off)] == [0, 0, 0], watched.log
    assert watcher.frames
    assert off.episodes
    assert course(watched) == course(off)
    assert course(unwatched) == course(off)


@pytest.mark.extended
def test_the_old_gyms_own_environments_are_drawn_too(worker: Any) -> None:
    if not worker.legacy:
        pytest.skip("current upstream knows Gymnasium's environments only")
    watcher = Watcher()
    config = {"algorithm": "sac", "env_id": "InvertedPendulumBulletEnv-v0", "total_timesteps": 150}
    watched, unwatched = worker.train(watcher, **config), worker.train(**config)
    assert watched.code == 0, watched.log
    assert (watcher.frames[-1].height, watcher.frames[-1].width) == (240, 320)
    assert course(watched) == course(unwatched)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Blind", "has no render mode rgb_array; it renders ansi"),
        *(
            pytest.param(name, reason, marks=pytest.mark.extended)
            for name, reason in (
                ("Empty", "cannot be rendered here: ValueError: its render() returns None"),
                ("Complex", "complex64"),
                ("Broken", "cannot be rendered here: RuntimeError: no paint left"),
                ("Shy", "cannot be made with the render mode rgb_array: ValueError: not in public"),
            )
        ),
    ],
)
def test_what_cannot_be_drawn_trains_and_its_watchers_see_why(
    worker: Any, monkeypatch: pytest.MonkeyPatch, name: str, reason: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", ODD, prepend=os.pathsep)
    watcher = Watcher()
    run = worker.train(watcher, **TINY, env_id=f"odd_environments:{name}-v0")
    assert run.code == 0, run.log
    assert run.episodes
    assert watcher.frames == []
    (notice,) = watcher.notices
    assert f"{name}-v0" in notice
    assert reason in notice
    assert run.log.count(notice) == 1, "logged once"
    assert is_gone(run, watcher.ring)


def test_a_stop_before_training_begins_cancels_at_once_and_leaves_no_ring(worker: Any) -> None:
    watcher = Watcher()

    def during(trial: ObservedProcess) -> None:
        watcher(trial, until=lambda: watcher.ring is not None)
        trial.signal(signal.SIGTERM)
        assert trial.wait(10), "ends within the grace period"

    run = worker.train(during, **LONG)
    assert run.code == 143, run.log
    assert run.messages[-1]["event"] == "run_cancelled"
    assert run.leftovers == []
    assert is_gone(run, watcher.ring)


@pytest.mark.extended
def test_a_script_that_must_be_killed_leaves_no_ring(worker: Any) -> None:
    watcher = Watcher()

    def during(trial: ObservedProcess) -> None:
        watcher(trial, until=lambda: watcher.ring is not None)
        (script,) = psutil.Process(trial.popen.pid).children()
        script.suspend()  # so that it cannot exit in time
        trial.signal(signal.SIGTERM)
        watcher(trial)

    run = worker.train(during, **LONG)
    assert run.code == 143, run.log
    assert is_gone(run, watcher.ring)


def test_the_error_of_the_script_is_the_error_of_the_run_and_no_ring_is_left(
    worker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", ODD, prepend=os.pathsep)
    watcher = Watcher()
    run = worker.train(watcher, algorithm="ppo", env_id="odd_environments:Failing-v0", total_timesteps=8192)
    assert run.code == 1
    (failed,) = run.events("run_failed")
    assert (failed["error"], failed["error_type"]) == ("the course ends here", "ArithmeticError")
    assert failed["traceback"].startswith("Traceback") and "odd_environments.py" in failed["traceback"]
    assert "\nArithmeticError: the course ends here" in run.log
    assert "the run failed: the course ends here" in run.log
    assert watcher.frames
    assert is_gone(run, watcher.ring)


def test_a_killed_script_is_reported_and_its_ring_is_found_and_removed(worker: Any) -> None:
    watcher = Watcher()

    def during(trial: ObservedProcess) -> None:
        watcher(trial, until=lambda: bool(watcher.frames))
        (script,) = subprocess.check_output(["pgrep", "-P", str(trial.popen.pid)], text=True).split()
        os.kill(int(script), signal.SIGKILL)

    run = worker.train(during, **LONG)
    assert run.code == 1
    assert run.events("run_failed")[0]["error"] == (
        "the script was killed by signal 9 (SIGKILL) before its training was over; its output is in the log"
    )
    assert watcher.ring is not None
    sweep()
    assert not watcher.ring.exists()
