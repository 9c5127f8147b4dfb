"""Policies act from their checkpoints as upstream's own do, without Ray; one process serves a team."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shim_kit.kernel_policies import assert_answers_agree
from shim_kit.policies import Refusals, actions_of, begin, sampled_twice

UPSTREAM = Path(__file__).with_name("upstream_acts.py")
AGENTS = {
    "ppo": {"agent_0": 4},
    "impala": {"agent_0": 4},
    "dqn": {"agent_0": 4},
    "sac": {"agent_0": 3},
    "team": {"adversary_0": 16, "agent_0": 14},
}


@pytest.mark.extended
@pytest.mark.parametrize("names", [("ppo", "sac", "team"), ("impala", "dqn")], ids=" ".join)
def test_actions_are_those_of_upstreams_own_policy(
    worker: Any, operators: Any, names: tuple[str, ...]
) -> None:
    """The reference is upstream's own checkpoint, loaded by upstream."""
    checkpoints = {name: worker.trained(name).checkpoints[-1] for name in names}
    folders = [f"{name}={path.with_suffix('.rllib')}" for name, path in checkpoints.items()]
    upstream = worker.output_of(str(UPSTREAM), *folders)
    for name in names:
        for agent, size in AGENTS[name].items():
            begin(operators, checkpoints[name], agent)
            generator = np.random.default_rng(3)
            seen = [generator.normal(size=size).astype(np.float32) for _ in range(20)]
            found = actions_of(operators, seen, agent)
            assert np.allclose(found, upstream[name][agent], atol=1e-6), (name, agent)


@pytest.mark.extended
def test_sampled_actions_are_determined_by_the_seed(worker: Any, operators: Any) -> None:
    checkpoint = worker.trained("team").checkpoints[-1]
    sampled_twice(operators, checkpoint, [np.zeros(14, np.float32)] * 50)


@pytest.mark.extended
def test_an_unusable_checkpoint_is_refused(worker: Any, operators: Any, tmp_path: Path) -> None:
    refused = Refusals(operators, worker.trained("team").checkpoints[-1], tmp_path)
    refused.check_all("Discrete(5)")
    assert "has no policy for red_0; it has those of" in refused.message("red_0", settings=refused.settings)
    assert "no policy can be made" in refused.of_copy("mute", refused.whole, policy_of={})


@pytest.mark.extended
@pytest.mark.parametrize("algorithm", ["dqn", "ppo"])
def test_answers_in_the_kernel_agree(worker: Any, algorithm: str) -> None:
    """Single calls, arrays and queries give the same answers."""
    provides = {"dqn": ("action_values", "value"), "ppo": ("probabilities", "logits", "value")}
    assert_answers_agree(worker.trained(algorithm).checkpoints[-1], provides[algorithm])
