"""Policies act from their checkpoints as upstream's own would."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

UPSTREAM = Path(__file__).with_name("upstream_acts.py")
CARTPOLE = ("dqn", "c51", "ppo", "trpo", "discrete_cql")
DISCRETE = {"type": "Discrete", "n": 2}


def actions(operators: Any, checkpoint: Path, seen: Any, **settings: Any) -> list[Any]:
    """Of an operator that is made for this, with seed 5."""
    settings = {"checkpoint": str(checkpoint), **settings}
    answer = operators.ask("init_agent", player_id="agent_0", seed=5, settings=settings)
    assert answer["type"] == "agent_ready", answer
    return [np.asarray(operators.act(one)["action"]).tolist() for one in seen]


def test_actions_are_those_of_upstreams_own_policy(worker: Any, operators: Any) -> None:
    """The best ones, and those drawn from a distribution."""
    algorithms = [*worker.small, "bcq", "cql", "discrete_cql"]
    checkpoints = {algorithm: worker.trained(algorithm).checkpoints[-1] for algorithm in algorithms}
    command = [worker.python, str(UPSTREAM), *(f"{name}={path}" for name, path in checkpoints.items())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    upstream = dict(zip(checkpoints, json.loads(done.stdout.splitlines()[-1]), strict=True))
    for algorithm, checkpoint in checkpoints.items():
        seen = (
            np.random.default_rng(3).normal(size=(20, 4 if algorithm in CARTPOLE else 3)).astype(np.float32)
        )
        best, drawn = upstream[algorithm]
        assert actions(operators, checkpoint, seen) == best, algorithm
        if algorithm in ("ppo", "trpo", "sac", "cql"):
            assert actions(operators, checkpoint, seen, deterministic=False) == drawn, algorithm
            assert drawn != best


def test_what_an_agent_draws_follows_from_its_seed(worker: Any, operators: Any) -> None:
    """Of a policy by value, whose draws are random actions now and then."""
    checkpoint = worker.trained("dqn").checkpoints[-1]
    seen = [np.zeros(4, np.float32)] * 100
    first = actions(operators, checkpoint, seen, deterministic=False)
    assert actions(operators, checkpoint, seen, deterministic=False) == first
    assert len(set(first)) == 2
    assert len(set(actions(operators, checkpoint, seen))) == 1


def test_what_cannot_be_acted_from_is_refused(worker: Any, operators: Any, tmp_path: Path) -> None:
    checkpoint = worker.trained("ppo").checkpoints[-1]

    def told(**setup: Any) -> str:
        answer = operators.ask("init_agent", player_id="agent_0", **setup)
        assert answer["error_type"] == "ConfigError", answer
        return str(answer["message"])

    def copy(name: str, data: bytes, **changes: Any) -> dict[str, str]:
        path = tmp_path / f"{name}.pt"
        path.write_bytes(data)
        described = json.loads(checkpoint.with_suffix(".json").read_text())
        path.with_suffix(".json").write_text(json.dumps({**described, **changes}))
        return {"checkpoint": str(path)}

    whole = checkpoint.read_bytes()
    three = {**DISCRETE, "n": 3}
    mine = {"checkpoint": str(checkpoint)}
    assert "actions are Discrete(3), the policy was trained for Discrete(2)" in told(
        settings=mine, action_space=three
    )
    assert 'give "checkpoint"' in told(settings={})
    assert "there is no checkpoint" in told(settings={"checkpoint": str(tmp_path / "none.pt")})
    assert "cannot be loaded" in told(settings=copy("torn", whole[:900]))
    assert "cannot be loaded" in told(settings=copy("pickle", b"cos\nsystem\n(S'true'\ntR."))
    assert "is of the format 'theirs/1'" in told(settings=copy("foreign", whole, format="theirs/1"))
    assert "no policy can be made" in told(settings=copy("other", whole, action_space=three))
