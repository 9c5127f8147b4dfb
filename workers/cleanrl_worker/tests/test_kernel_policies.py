"""Kernel policies from this worker's checkpoints."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shim_kit.kernel_policies import assert_answers_agree

import mosaic_lab as mosaic

PROVIDES = {
    "ppo": ("probabilities", "logits", "value"),
    "dqn": ("action_values", "value"),
    "ppo_continuous": ("value",),
    "c51": ("action_values", "value"),
    "sac": ("value",),
    "td3": ("value",),
}


@pytest.mark.parametrize(
    "algorithm",
    [name if name == "ppo" else pytest.param(name, marks=pytest.mark.extended) for name in PROVIDES],
)
def test_single_calls_arrays_and_queries_agree(algorithm: str, worker: Any) -> None:
    assert_answers_agree(worker.trained(algorithm).checkpoints[-1], PROVIDES[algorithm])


def test_recorded_wrappers_are_applied_to_single_calls_and_arrays(worker: Any, tmp_path: Path) -> None:
    checkpoint = worker.trained("ppo").checkpoints[-1]
    wrapped = Path(shutil.copy(checkpoint, tmp_path / checkpoint.name))
    described = json.loads(checkpoint.with_suffix(".json").read_text())
    described["wrappers"] = ["normalize_observation"]
    described["wrapper_statistics"] = {
        "normalize_observation": {"mean": [1.0] * 4, "var": [4.0] * 4, "count": 100}
    }
    wrapped.with_suffix(".json").write_text(json.dumps(described))
    seen = np.random.default_rng(3).normal(size=(20, 4)).astype(np.float32)
    with mosaic.policy(checkpoint) as bare, mosaic.policy(wrapped) as policy:
        expected = bare.probabilities((seen - 1) / 2)
        np.testing.assert_allclose(policy.probabilities(seen), expected, atol=1e-5)
        np.testing.assert_allclose(policy.probabilities(seen[3]), expected[3], atol=1e-5)
        assert [policy(one) for one in seen] == expected.argmax(1).tolist()
