"""NetHack and MiniHack in arenas: seeds across processes, frames, human keys, states as text."""

from __future__ import annotations

from pathlib import Path

import pytest
from arenas.arena_lane import ArenaLane
from shim_kit.environment_checks import check_later_episodes, environment_ids
from shim_kit.family_tests import (  # noqa: F401
    pytest_generate_tests,
    test_a_person_plays_beside_a_random_operator,
    test_the_same_seed_gives_the_same_episode,
    test_wrong_ids_and_settings_are_refused,
)

from mosaic_lab.workers import WorkerEnvironment

ROOM, SCORE = "MiniHack-Room-5x5-v0", "NetHackScore-v0"
_MORE = ("NetHackChallenge-v0", SCORE, "NetHackStaircasePet-v0", "MiniHack-Quest-Easy-v0", ROOM)
SEEDED = [
    "MiniHack-MultiRoom-N4-v0",  # uses MiniGrid's rooms
    *(pytest.param(env_id, marks=pytest.mark.extended) for env_id in _MORE),
]
KEYS = [(ROOM, "ArrowDown", "south"), pytest.param((SCORE, "j", "south"), marks=pytest.mark.extended)]
REFUSED = [("MiniHack-Romm-5x5-v0", {}, ROOM), ("MiniHack-Skill-Custom-v0", {}, 'env_kwargs={"des_file": …}')]


def test_the_first_seed_determines_later_episodes(worker: WorkerEnvironment, tmp_path: Path) -> None:
    check_later_episodes(worker, SCORE, tmp_path)


def test_a_state_reads_as_text(lane: ArenaLane) -> None:
    opened = lane.open(ROOM, needs=["description"])
    assert opened["versions"]["nle"] and opened["versions"]["minihack"]
    lane.play(1, 3)
    text = lane.described["agent_0"]["text"]
    for part in ("Message:", "Next to you (@):", "floor of a room", "Map:", "@", "hit points", "Inventory:"):
        assert part in text
    assert all(row.strip() for row in text.partition("Map:\n")[2].partition("\n\n")[0].splitlines())


@pytest.mark.extended
def test_every_environment_is_made_and_drawn(worker: WorkerEnvironment, tmp_path: Path) -> None:
    """Covers every environment that the worker lists, except the user's own levels."""
    for env_id in environment_ids(worker):
        if "-Custom-" not in env_id:
            with ArenaLane(worker.command(), tmp_path / env_id) as lane:
                assert lane.open(env_id)["renders"], env_id
                assert len(lane.play(1, 3)) > 1
