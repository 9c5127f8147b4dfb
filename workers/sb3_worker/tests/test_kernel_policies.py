"""Kernel policies from this worker's checkpoints and from zips of other origin."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shim_kit.kernel_policies import assert_answers_agree, assert_remembers_until_reset

import mosaic_lab as mosaic

OF_DISTRIBUTION = ("probabilities", "logits")
PROVIDES = {
    "ppo": (*OF_DISTRIBUTION, "value"),
    "sac": ("value",),
    "dqn": ("action_values", "value"),
    "recurrent_ppo": OF_DISTRIBUTION,
    "a2c": ("value",),
    "tqc": ("value",),
    "qrdqn": ("action_values", "value"),
    "ars": (),
}


@pytest.mark.parametrize(
    "algorithm",
    [name if name == "ppo" else pytest.param(name, marks=pytest.mark.extended) for name in PROVIDES],
)
def test_single_calls_arrays_and_queries_agree(algorithm: str, worker: Any) -> None:
    assert_answers_agree(worker.trained(algorithm).checkpoints[-1], PROVIDES[algorithm])


def test_a_zip_from_elsewhere_describes_its_own_space(worker: Any, tmp_path: Path) -> None:
    """The zip's answers equal those of the checkpoint from which it was copied."""
    checkpoint = worker.trained("sac").checkpoints[-1]
    seen = np.random.default_rng(3).uniform(-1, 1, (50, 3))
    with mosaic.policy(checkpoint) as policy:
        expected = policy(seen), policy.value(seen)
    with mosaic.policy(shutil.copy(checkpoint, tmp_path / "sac.zip")) as policy:
        assert "observes Box(3)" in repr(policy)
        np.testing.assert_allclose(policy(seen), expected[0], atol=1e-6)
        np.testing.assert_allclose(policy.value(seen), expected[1], atol=1e-4)


@pytest.mark.extended
def test_a_recurrent_policy_remembers_until_it_is_reset(worker: Any) -> None:
    assert_remembers_until_reset(worker.trained("recurrent_ppo").checkpoints[-1], "probabilities")
