"""Policies act from their checkpoints as upstream's own do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shim_kit.kernel_policies import assert_answers_agree, assert_remembers_until_reset
from shim_kit.policies import Refusals, actions, sampled_twice

UPSTREAM = Path(__file__).with_name("upstream_acts.py")
CARTPOLE = ("dqn", "c51", "ppo", "trpo", "discrete_cql")


@pytest.mark.extended
def test_actions_are_those_of_upstreams_own_policy(worker: Any, operators: Any) -> None:
    """Best actions, and actions sampled from a distribution."""
    algorithms = [*worker.small, "bcq", "cql", "discrete_cql"]
    checkpoints = {algorithm: worker.trained(algorithm).checkpoints[-1] for algorithm in algorithms}
    pairs = [f"{name}={path}" for name, path in checkpoints.items()]
    upstream = dict(zip(checkpoints, worker.output_of(str(UPSTREAM), *pairs), strict=True))
    for algorithm, checkpoint in checkpoints.items():
        seen = (
            np.random.default_rng(3).normal(size=(20, 4 if algorithm in CARTPOLE else 3)).astype(np.float32)
        )
        best, drawn = upstream[algorithm]
        assert actions(operators, checkpoint, seen) == best, algorithm
        if algorithm in ("ppo", "trpo", "sac", "cql"):
            assert actions(operators, checkpoint, seen, deterministic=False) == drawn, algorithm
            assert drawn != best


def test_sampled_actions_are_determined_by_the_seed(worker: Any, operators: Any) -> None:
    """Checked with a value-based policy, which samples by taking occasional random actions."""
    checkpoint = worker.trained("dqn").checkpoints[-1]
    seen = [np.zeros(4, np.float32)] * 100
    assert len(set(sampled_twice(operators, checkpoint, seen))) == 2
    assert len(set(actions(operators, checkpoint, seen))) == 1


def test_an_unusable_checkpoint_is_refused(worker: Any, operators: Any, tmp_path: Path) -> None:
    refused = Refusals(operators, worker.trained("ppo").checkpoints[-1], tmp_path)
    refused.check_all("Discrete(2)")
    three = {"type": "Discrete", "n": 3}
    assert "no policy can be made" in refused.of_copy("other", refused.whole, action_space=three)


def test_a_recurrent_policy_remembers_until_it_is_reset(worker: Any) -> None:
    small = {**worker.small["dqn"], "save_buffer": False, "hidden_sizes": [128, 128, 128, 128]}
    run = worker.train(algorithm="dqn", **small, layer_num=1, hidden_layer_size=8)
    assert run.code == 0, run.log
    assert_remembers_until_reset(run.checkpoints[-1], "action_values")


@pytest.mark.extended
@pytest.mark.parametrize("algorithm", ["dqn", "ppo", "sac"])
def test_answers_in_the_kernel_agree(worker: Any, algorithm: str) -> None:
    """Single calls, arrays and queries give the same answers."""
    provides = {"dqn": ("action_values", "value"), "ppo": ("probabilities", "logits", "value"), "sac": ()}
    assert_answers_agree(worker.trained(algorithm).checkpoints[-1], provides[algorithm])
