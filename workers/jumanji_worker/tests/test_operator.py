"""Policies act from checkpoints as upstream's own networks do, and beside random actions in a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shim_kit.policies import Refusals, actions_of, begin, sampled_twice

import mosaic_lab as mosaic

UPSTREAM = Path(__file__).with_name("upstream_acts.py")
SMALL_NETWORK = ("num_blocks=1", "num_heads=1", "key_size=4", "mlp_units=[8]")


@pytest.fixture(scope="module")
def upstream(worker: Any) -> Any:
    """Upstream's observations of a tour and its actions on them."""
    checkpoints = [str(worker.trained(name).checkpoints[-1]) for name in ("a2c", "ppo")]
    overrides = [f"env.network.transformer_{size}" for size in SMALL_NETWORK]
    return worker.output_of(str(UPSTREAM), *checkpoints, *overrides)


@pytest.mark.extended
@pytest.mark.parametrize("algorithm", ["a2c", "ppo"])
def test_actions_are_those_of_upstreams_own_networks(
    worker: Any, operators: Any, upstream: Any, algorithm: str
) -> None:
    begin(operators, worker.trained(algorithm).checkpoints[-1])
    found = actions_of(operators, upstream["seen"])
    assert found == upstream[algorithm]
    assert len(set(found)) > 1


@pytest.mark.extended
@pytest.mark.parametrize("algorithm", ["a2c", "ppo"])
def test_in_the_kernel_it_acts_on_arrays_of_observations(worker: Any, upstream: Any, algorithm: str) -> None:
    seen = upstream["seen"]
    with mosaic.policy(worker.trained(algorithm).checkpoints[-1]) as policy:
        together = policy({key: np.array([one[key] for one in seen]) for key in seen[0]})
        assert together.tolist() == upstream[algorithm]
        assert policy({key: np.array(part) for key, part in seen[3].items()}) == together[3]


@pytest.mark.extended
def test_what_is_drawn_is_legal_and_follows_from_the_seed(worker: Any, operators: Any, upstream: Any) -> None:
    seen = upstream["seen"][10]
    for algorithm in ("a2c", "ppo"):
        sampled = sampled_twice(operators, worker.trained(algorithm).checkpoints[-1], [seen] * 60)
        assert all(np.array(seen["action_mask"])[sampled])


@pytest.mark.extended
def test_an_unusable_checkpoint_is_refused(worker: Any, operators: Any, tmp_path: Path) -> None:
    refused = Refusals(operators, worker.trained("ppo").checkpoints[-1], tmp_path)
    refused.check_all("Discrete(20)")
    wider = {**worker.small["ppo"], "net_arch": [16]}
    assert "; (16,) is expected" in refused.of_copy("other", refused.whole, hyperparameters=wider)
