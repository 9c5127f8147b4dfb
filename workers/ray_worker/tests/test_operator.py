"""Policies act from their checkpoints as upstream's own would, without Ray, a team's in one process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import mosaic_lab as mosaic

UPSTREAM = Path(__file__).with_name("upstream_acts.py")
AGENTS = {
    "ppo": {"agent_0": 4},
    "impala": {"agent_0": 4},
    "dqn": {"agent_0": 4},
    "sac": {"agent_0": 3},
    "team": {"adversary_0": 16, "agent_0": 14},
}


def begin(operators: Any, checkpoint: Path, agent: str, **settings: Any) -> None:
    settings = {"checkpoint": str(checkpoint), **settings}
    answer = operators.ask("init_agent", player_id=agent, seed=5, settings=settings)
    assert answer["type"] == "agent_ready", answer


def test_actions_are_those_of_upstreams_own_policy(worker: Any, operators: Any) -> None:
    """That of upstream's own checkpoint, read by upstream."""
    checkpoints = {name: worker.trained(name).checkpoints[-1] for name in AGENTS}
    folders = [f"{name}={path.with_suffix('.rllib')}" for name, path in checkpoints.items()]
    upstream = worker.output_of(str(UPSTREAM), *folders)
    for name, agents in AGENTS.items():
        for agent, size in agents.items():
            begin(operators, checkpoints[name], agent)
            chance = np.random.default_rng(3)
            seen = [chance.normal(size=size).astype(np.float32) for _ in range(20)]
            found = [np.asarray(operators.act(one, player_id=agent)["action"]).tolist() for one in seen]
            assert np.allclose(found, upstream[name][agent], atol=1e-6), (name, agent)


def test_what_an_agent_draws_follows_from_its_seed(worker: Any, operators: Any) -> None:
    checkpoint = worker.trained("team").checkpoints[-1]
    drawn = []
    for _ in range(2):
        begin(operators, checkpoint, "agent_0", deterministic=False)
        seen = [np.zeros(14, np.float32)] * 50
        drawn.append([operators.act(one, player_id="agent_0")["action"] for one in seen])
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) > 1


def test_what_cannot_be_acted_from_is_refused(worker: Any, operators: Any, tmp_path: Path) -> None:
    checkpoint = worker.trained("team").checkpoints[-1]

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

    mine = {"checkpoint": str(checkpoint)}
    assert "has no policy for red_0; it has those of" in told("red_0", settings=mine)
    three = {"type": "Discrete", "n": 3}
    misfit = "actions are Discrete(3), the policy was trained for Discrete(5)"
    assert misfit in told(settings=mine, action_space=three)
    assert 'give "checkpoint"' in told(settings={})
    assert "cannot be loaded" in told(settings=copy("pickle", b"cos\nsystem\n(S'true'\ntR."))
    whole = checkpoint.read_bytes()
    assert "is of the format 'theirs/1'" in told(settings=copy("foreign", whole, format="theirs/1"))
    assert "no policy can be made" in told(settings=copy("mute", whole, policy_of={}))


def test_a_team_is_one_operator_in_a_comparison(worker: Any, tmp_path: Path) -> None:
    """A link group: one process for all agents of a checkpoint."""
    lab = mosaic.Lab(tmp_path / "runs")
    team = mosaic.operators.rl(worker.trained("team").checkpoints[-1])
    comparison = lab.compare("simple_tag_v3", {"team": team}, seeds=[7])
    comparison.play()
    comparison.wait(300)
    results = comparison.results()
    (lane,) = comparison.view()["lanes"]
    comparison.stop()
    assert list(results["length"]) == [25]
    assert [len(operator["agents"]) for operator in lane["operators"]] == [4]
