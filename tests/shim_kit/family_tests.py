"""Tests shared by families of environments. A test module imports the tests it needs, and
`pytest_generate_tests` to parametrize them by the module's constants: `SEEDED`: ids; `KEYS`: ids, each with
a key, a pattern of the action that the card then shows, and options of `check_comparison`; `TEXTS`: ids
with an excerpt of the state's text; `REFUSED`: ids with settings and a pattern of the error.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from arenas.arena_lane import ArenaLane

import mosaic_lab as mosaic
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.workers import WorkerEnvironment

from .environment_checks import check_comparison, check_seeds

_CONSTANTS = {"seeded": "SEEDED", "played": "KEYS", "described": "TEXTS", "refused": "REFUSED"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for argument in _CONSTANTS.keys() & set(metafunc.fixturenames):
        values = getattr(metafunc.module, _CONSTANTS[argument])
        metafunc.parametrize(argument, values, ids=lambda one: one if isinstance(one, str) else one[0])


def test_the_same_seed_gives_the_same_episode(worker: WorkerEnvironment, seeded: str, tmp_path: Path) -> None:
    check_seeds(worker, seeded, tmp_path)


def test_a_person_plays_beside_a_random_operator(lab: mosaic.Lab, played: tuple[Any, ...]) -> None:
    env_id, key, shown, *options = played
    assert re.fullmatch(shown, check_comparison(lab, env_id, key, **dict(*options)))


def test_a_state_reads_as_text(lane: ArenaLane, described: tuple[str, str]) -> None:
    env_id, part = described
    lane.open(env_id, needs=["description"])
    lane.play(1, 1)
    assert any(part in agent["text"] for agent in lane.described.values())


def test_wrong_ids_and_settings_are_refused(lab: mosaic.Lab, refused: tuple[str, Any, str]) -> None:
    env_id, settings, message = refused
    lanes = {"random": mosaic.operators.random()}
    with pytest.raises(ConfigurationError, match=message):
        lab.compare(env=env_id, operators=lanes, seeds=[1], env_kwargs=settings)
