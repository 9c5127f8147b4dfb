"""Checks for one environment of each family: seeding, rendering and human players."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from arenas.arena_lane import ArenaLane
from mosaic_contract import pack
from mosaic_contract.fastlane import FrameReader
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab.arenas.action_text import action_text
from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.workers import WorkerEnvironment

STEPS = 200


def environment_ids(worker: WorkerEnvironment) -> list[str]:
    """Return the environment ids that a worker lists."""
    done = subprocess.run([*worker.command(), "--describe"], check=True, capture_output=True, timeout=120)
    ids: list[str] = json.loads(done.stdout)["environments"]
    return ids


def check_seeds(worker: WorkerEnvironment, env_id: str, folder: Path, steps: int = STEPS) -> None:
    """Check that a seed determines the episode: in two processes, after another episode, and served to a
    training; another seed gives another episode."""
    played = []
    for number in range(2):
        with ArenaLane(worker.command(), folder / str(number)) as lane:
            lane.open(env_id)
            if number:
                lane.play(5, 10)
            played.append(lane.play(4, steps))
            if number:
                assert lane.play(5, steps) != played[0], "seeds 4 and 5 give the same episode"
    first, second = played
    assert len(first) > 1 and first == second
    assert_served_alike(worker, lane, seed=5)


def assert_served_alike(worker: WorkerEnvironment, lane: ArenaLane, seed: int) -> None:
    """Check that an environment served to a training repeats the arena's latest episode, given its seed and
    actions."""
    seen, rewards, _ = _served(worker, lane, seed)
    assert len(rewards) > 1
    assert (seen, rewards) == (lane.seen, lane.rewards)


def check_later_episodes(worker: WorkerEnvironment, env_id: str, folder: Path) -> None:
    """Check that the seed of a training's first reset also determines its later episodes."""
    with ArenaLane(worker.command(), folder / "arena") as lane:
        lane.open(env_id)
        lane.play(4, STEPS)
    first, second = (_served(worker, lane, seed=4, later=3)[2] for _ in range(2))
    assert first == second and len(set(first)) == 3


def _served(worker: WorkerEnvironment, lane: ArenaLane, seed: int, later: int = 0) -> list[Any]:
    about = {"env_id": lane.opened["env_id"], "command": worker.command(), "seed": seed, "later": later}
    done = subprocess.run(
        [str(worker.python), str(Path(__file__).with_name("served_episode.py"))],
        input=json.dumps({**about, "actions": pack(lane.actions)}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=300,
        cwd=lane.folder,
        env=compose_variables(os.environ),
    )
    answer: list[Any] = json.loads(done.stdout)
    return answer


def check_comparison(lab: mosaic.Lab, env_id: str, key: str, seat: str | None = None, **options: Any) -> str:
    """Compare a random operator with a human player who presses `key`; return the card's text for the
    player's action. `seat`: the player's agent, if random operators play the others."""
    before = set(Path.cwd().iterdir())
    person_plays: Any = mosaic.operators.human()
    if seat is not None:
        person_plays = {seat: person_plays, "*": mosaic.operators.random()}
    lanes = {"random": mosaic.operators.random(), "person": person_plays}
    comparison = lab.compare(env=env_id, operators=lanes, seeds=[7], **options)
    try:
        person = comparison.lanes[1]
        assert person.folder is not None
        assert_drawn(person.folder)
        comparison.step(timeout=0)
        request = wait_until(lambda: comparison.view()["lanes"][1]["requests"])[0]
        action = comparison.view()["lanes"][1]["keys"][request["agent"]][key]
        assert comparison.act("person", request["agent"], action)
        comparison.wait(60)
        view = comparison.view()["lanes"][1]
        move = next(move for move in view["moves"] if move["agent"] == request["agent"])
        shown = action_text(move["action"], view["action_meanings"][request["agent"]])
        assert [lane.step for lane in comparison.lanes] == [1, 1]
    finally:
        comparison.stop()
    new = set(Path.cwd().iterdir()) - before
    assert {path.name for path in new} <= {"mosaic_runs"}, "files were written outside the runs' folders"
    return shown


def assert_drawn(folder: Path) -> None:
    """Check that the newest frame in a lane's folder is not blank."""
    reader = FrameReader(folder)
    frame = wait_until(lambda: reader.watch(60) or reader.read() or reader.notice, timeout=60)
    assert not isinstance(frame, str), frame
    pixels = np.frombuffer(frame.pixels, np.uint8)
    assert pixels.max() > 40 and pixels.std() > 3, "the frame is blank"


def first_picture(lane: ArenaLane) -> Any:
    """Return the pixels of an opened environment's first frame."""
    lane.do("ready", "reset", seed=1, episode_index=0)
    reader = lane.watched()
    frame = wait_until(lambda: reader.watch(60) or reader.read())
    return np.frombuffer(frame.pixels, np.uint8).reshape(frame.shape)
