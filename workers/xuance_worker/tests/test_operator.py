"""Policies act from their checkpoints as upstream's own would, a team's in one process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mosaic_lab as mosaic

UPSTREAM = Path(__file__).with_name("upstream_acts.py")
TEAM = ["agent_0", "agent_1", "agent_2"]


def begin(operators: Any, checkpoint: Path, agent: str, **settings: Any) -> None:
    settings = {"checkpoint": str(checkpoint), **settings}
    answer = operators.ask("init_agent", player_id=agent, seed=5, settings=settings)
    assert answer["type"] == "agent_ready", answer


def test_actions_are_those_of_upstreams_own_policy(worker: Any, operators: Any, tmp_path: Path) -> None:
    """The best ones, of each agent for itself, although upstream asks for the whole team."""
    checkpoints = {name: worker.trained(name).checkpoints[-1] for name in worker.small}
    pairs = [f"{name}={path}" for name, path in checkpoints.items()]
    upstream = worker.output_of(str(UPSTREAM), str(tmp_path), *pairs)
    for name, checkpoint in checkpoints.items():
        agents, size = (["agent_0"], 4) if name == "dqn" else (TEAM, 18)
        for agent in agents:
            begin(operators, checkpoint, agent)
        chance = np.random.default_rng(3)
        for expected in upstream[name]:
            seen = {agent: chance.normal(size=size).astype(np.float32) for agent in agents}
            found = [operators.act(seen[agent], player_id=agent)["action"] for agent in agents]
            assert np.asarray(found).tolist() == expected, name
        assert len({str(actions) for actions in upstream[name]}) > 1, name


def test_what_an_agent_draws_follows_from_its_seed(worker: Any, operators: Any) -> None:
    seen = [np.zeros(18, np.float32)] * 100
    for name in ("mappo", "qmix", "coma", "maddpg"):
        checkpoint = worker.trained(name).checkpoints[-1]
        drawn = []
        for _ in range(2):
            begin(operators, checkpoint, "agent_1", deterministic=False)
            drawn.append([str(operators.act(one, player_id="agent_1")["action"]) for one in seen])
        assert drawn[0] == drawn[1]
        assert len(set(drawn[0])) > 1


def test_what_cannot_be_acted_from_is_refused(worker: Any, operators: Any, tmp_path: Path) -> None:
    checkpoint = worker.trained("mappo").checkpoints[-1]

    def told(player_id: str = "agent_0", **setup: Any) -> str:
        answer = operators.ask("init_agent", player_id=player_id, **setup)
        assert answer["error_type"] == "ConfigError", answer
        return str(answer["message"])

    def copy(name: str, data: bytes, **changes: Any) -> dict[str, str]:
        path = tmp_path / f"{name}.pt"
        path.write_bytes(data)
        described = json.loads(checkpoint.with_suffix(".json").read_text())
        path.with_suffix(".json").write_text(json.dumps({**described, **changes}))
        return {"checkpoint": str(path)}

    mine, whole = {"checkpoint": str(checkpoint)}, checkpoint.read_bytes()
    nobody = "mappo of simple_spread_v3 has no policy for red_0; it has those of agent_0, agent_1, agent_2"
    assert nobody in told("red_0", settings=mine)
    three = {"type": "Discrete", "n": 3}
    misfit = "actions are Discrete(3), the policy was trained for Discrete(5)"
    assert misfit in told(settings=mine, action_space=three)
    assert 'give "checkpoint"' in told(settings={})
    assert "cannot be loaded" in told(settings=copy("pickle", b"cos\nsystem\n(S'true'\ntR."))
    assert "is of the format 'theirs/1'" in told(settings=copy("foreign", whole, format="theirs/1"))
    assert "does not tell the spaces" in told(settings=copy("mute", whole, agents={"agent_0": {}}))


def test_a_team_is_told_which_environment_it_was_trained_on(worker: Any, tmp_path: Path) -> None:
    """Its actions are continuous, the world's own are not."""
    lab = mosaic.Lab(tmp_path / "runs")
    team = {"team": mosaic.operators.rl(worker.trained("maddpg").checkpoints[-1])}
    given = {"continuous_actions": True}
    with pytest.raises(mosaic.MosaicError, match=r"its actions are Discrete\(5\)") as refused:
        lab.compare("simple_spread_v3", team, seeds=[7])
    told = (
        f"maddpg was trained with continuous_actions=True: give the environment the same (settings={given})"
    )
    assert str(refused.value).count(told) == 1
    comparison = lab.compare("simple_spread_v3", team, seeds=[7], settings=given)
    comparison.play()
    comparison.wait(300)
    length = comparison.results()["length"]
    comparison.stop()
    assert list(length) == [25]


def test_a_team_is_one_operator_in_a_comparison(worker: Any, tmp_path: Path) -> None:
    """A link group: one process for all agents of a checkpoint, beside a team of which one is random."""
    lab = mosaic.Lab(tmp_path / "runs")
    team = mosaic.operators.rl(worker.trained("mappo").checkpoints[-1])
    mixed = {"agent_0": mosaic.operators.random(), "*": team}
    comparison = lab.compare("simple_spread_v3", {"team": team, "mixed": mixed}, seeds=[7])
    comparison.play()
    comparison.wait(300)
    results = comparison.results().set_index("lane")
    lanes = [lane["operators"] for lane in comparison.view()["lanes"]]
    team_only, with_chance = ([one["agents"] for one in operators] for operators in lanes)
    comparison.stop()
    assert list(results["length"]) == [25, 25]
    assert results.loc["team", "return"] != pytest.approx(results.loc["mixed", "return"])
    assert team_only == [TEAM]
    assert sorted(with_chance) == [TEAM[:1], TEAM[1:]]
