"""Policies act from their checkpoints as upstream's own networks do, and beside chance in a comparison."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mosaic_lab as mosaic

UPSTREAM = Path(__file__).with_name("upstream_acts.py")
SMALL_NETWORK = ("num_blocks=1", "num_heads=1", "key_size=4", "mlp_units=[8]")


def begin(operators: Any, checkpoint: Path, **settings: Any) -> None:
    settings = {"checkpoint": str(checkpoint), **settings}
    answer = operators.ask("init_agent", player_id="agent_0", seed=5, settings=settings)
    assert answer["type"] == "agent_ready", answer


@pytest.fixture(scope="module")
def upstream(worker: Any) -> Any:
    """What upstream sees and does on a tour."""
    checkpoints = [str(worker.trained(name).checkpoints[-1]) for name in ("a2c", "ppo")]
    overrides = [f"env.network.transformer_{size}" for size in SMALL_NETWORK]
    return worker.output_of(str(UPSTREAM), *checkpoints, *overrides)


@pytest.mark.parametrize("algorithm", ["a2c", "ppo"])
def test_actions_are_those_of_upstreams_own_networks(
    worker: Any, operators: Any, upstream: Any, algorithm: str
) -> None:
    begin(operators, worker.trained(algorithm).checkpoints[-1])
    found = [operators.act(seen)["action"] for seen in upstream["seen"]]
    assert found == upstream[algorithm]
    assert len(set(found)) > 1


def test_what_is_drawn_is_legal_and_follows_from_the_seed(worker: Any, operators: Any, upstream: Any) -> None:
    seen = upstream["seen"][10]
    for algorithm in ("a2c", "ppo"):
        drawn = []
        for _ in range(2):
            begin(operators, worker.trained(algorithm).checkpoints[-1], deterministic=False)
            drawn.append([operators.act(seen)["action"] for _ in range(60)])
        assert drawn[0] == drawn[1]
        assert len(set(drawn[0])) > 1
        assert all(np.array(seen["action_mask"])[drawn[0]])


def test_what_cannot_be_acted_from_is_refused(worker: Any, operators: Any, tmp_path: Path) -> None:
    checkpoint = worker.trained("ppo").checkpoints[-1]

    def told(**setup: Any) -> str:
        answer = operators.ask("init_agent", player_id="agent_0", **setup)
        assert answer["error_type"] == "ConfigError", answer
        return str(answer["message"])

    def copy(name: str, data: bytes, **changes: Any) -> dict[str, str]:
        path = tmp_path / f"{name}.npz"
        path.write_bytes(data)
        described = json.loads(checkpoint.with_suffix(".json").read_text())
        path.with_suffix(".json").write_text(json.dumps({**described, **changes}))
        return {"checkpoint": str(path)}

    mine, whole = {"checkpoint": str(checkpoint)}, checkpoint.read_bytes()
    three = {"type": "Discrete", "n": 3}
    misfit = "actions are Discrete(3), the policy was trained for Discrete(20)"
    assert misfit in told(settings=mine, action_space=three)
    assert 'give "checkpoint"' in told(settings={})
    assert "cannot be loaded" in told(settings=copy("torn", whole[:900]))
    assert "cannot be loaded" in told(settings=copy("pickle", b"cos\nsystem\n(S'true'\ntR."))
    assert "is of the format 'theirs/1'" in told(settings=copy("foreign", whole, format="theirs/1"))
    wider = {**worker.small["ppo"], "net_arch": [16]}
    assert "and (16,) is expected" in told(settings=copy("other", whole, hyperparameters=wider))


def test_a_policy_beside_chance_in_a_comparison(worker: Any, tmp_path: Path) -> None:
    lab = mosaic.Lab(tmp_path / "runs")
    policy = mosaic.operators.rl(worker.trained("a2c").checkpoints[-1])
    comparison = lab.compare("TSP-v1", {"A2C": policy, "random": mosaic.operators.random()}, seeds=[7])
    comparison.play()
    comparison.wait(300)
    results = comparison.results().set_index("lane")
    comparison.stop()
    assert list(results["length"]) == [20, 20]  # whole tours: chance keeps to the mask
    assert results.loc["A2C", "return"] != pytest.approx(results.loc["random", "return"])
