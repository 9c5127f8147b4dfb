"""Several environment families in one worker: the environment's id selects the family."""

import sys
from types import ModuleType

import pytest
from mosaic_contract import ConfigError
from mosaic_contract.arena import EnvironmentFacts
from mosaic_contract.environment_families import EnvironmentFamilies


class Environment:
    def __init__(self, name):
        self.name = name


@pytest.fixture
def families(monkeypatch):
    for family, ids in {"mazes": ["Maze-v0", "Maze-v1"], "arcade": ["Arcade/Ball-v0"]}.items():
        module = ModuleType(family)
        module.ids = lambda ids=ids: ids
        module.make = lambda env_id, settings, render_mode: Environment(env_id)
        module.facts_of = lambda env, agent, family=family: EnvironmentFacts([f"{family}: {env.name}"])
        monkeypatch.setitem(sys.modules, family, module)
    return EnvironmentFamilies("guests", {"mazes": ["Maze-*"], "arcade": ["Arcade/*"], "absent": ["Other-*"]})


def test_an_environment_is_made_and_described_by_its_family(families):
    ball, maze = (families.make(env_id, {}, None) for env_id in ("Arcade/Ball-v0", "Maze-v1"))
    assert families.facts_of(maze, "agent_0").action_meanings == ["mazes: Maze-v1"]
    assert families.facts_of(ball, "agent_0").action_meanings == ["arcade: Arcade/Ball-v0"]


def test_an_unknown_id_is_refused_with_the_nearest(families, monkeypatch):
    monkeypatch.setitem(sys.modules, "absent", ModuleType("absent"))
    sys.modules["absent"].ids = list
    assert families.environment_ids() == ["Arcade/Ball-v0", "Maze-v0", "Maze-v1"]
    for unknown in ("Maze-v7", "Mazes-v1"):
        with pytest.raises(ConfigError, match=f"no environment '{unknown}'. Did you mean Maze-v"):
            families.make(unknown, {}, None)
