"""ViZDoom, Crafter, MiniWorld and highway-env in arenas: seeds, frames, human keys, states as text."""

from __future__ import annotations

import pytest
from arenas.arena_lane import ArenaLane
from shim_kit.environment_checks import assert_drawn
from shim_kit.family_tests import (  # noqa: F401
    pytest_generate_tests,
    test_a_person_plays_beside_a_random_operator,
    test_a_state_reads_as_text,
    test_the_same_seed_gives_the_same_episode,
    test_wrong_ids_and_settings_are_refused,
)

pytestmark = pytest.mark.extended  # the worker's environment takes 0.5 GB

KEYS = [
    ("VizdoomBasic-v1", " ", "attack"),
    ("CrafterReward-v1", " ", "do"),
    ("MiniWorld-Hallway-v0", "ArrowUp", "move forward"),
    ("highway-fast-v0", "ArrowRight", "faster"),
]
SEEDED = [
    *(env_id for env_id, *_ in KEYS),
    *("VizdoomDeathmatch-v1", "VizdoomHealthGathering-MultiBinary-v1", "VizdoomFreedoom1E1M1-S3-v0"),
    *("MiniWorld-PickupObjects-v0", "parking-parked-v0", "racetrack-v0", "intersection-v0"),
]
TEXTS = [
    ("VizdoomBasic-v1", "ammo2: 50"),
    ("CrafterReward-v1", "You have: health 9, food 9, drink 9, energy 9."),
]
REFUSED = [  # upstream ignores unknown settings, and Doom's own maps are not included
    ("VizdoomBasic-v1", {"frameskip": 4}, "no setting 'frameskip': did you mean 'frame_skip'"),
    ("VizdoomBasic-v1", {"dom_skill": 4}, "no setting 'dom_skill': did you mean 'doom_skill'"),
    ("highway-fast-v0", {"config": {"lane_count": 1}}, "'lane_count': did you mean 'lanes_count'"),
    ("VizdoomDoomE1M1-S3-v0", {}, "VizdoomFreedoom1E1M1-S3-v0"),
]


def test_a_class_without_a_render_mode_is_drawn_too(lane: ArenaLane) -> None:
    assert lane.open("parking-parked-v0")["renders"]
    lane.do("ready", "reset", seed=1, episode_index=0)
    assert_drawn(lane.folder)


def test_several_buttons_are_pressed_by_one_key_each(lane: ArenaLane) -> None:
    opened = lane.open("VizdoomHealthGathering-MultiBinary-v1")
    assert opened["action_meanings"]["agent_0"] == ["turn left", "turn right", "move forward"]
    assert opened["keys"]["agent_0"]["ArrowUp"] == [0, 0, 1]


def test_settings_of_upstream_are_taken(lane: ArenaLane) -> None:
    assert lane.open("VizdoomBasic-v1", frame_skip=4, doom_skill=2, render_hud=True)["renders"]
