"""Keyword arguments of an environment: searched by a sweep, and applied wherever the trained policy plays."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from arenas.comparison_fixtures import Compare

import mosaic_lab as mosaic
from mosaic_lab import ConfigurationError, operators

LAKE = "FrozenLake-v1"
TINY: dict[str, Any] = {"algorithm": "ppo", "num_envs": 1, "n_steps": 32, "batch_size": 32, "n_epochs": 1}


def test_a_sweep_searches_keyword_arguments_with_which_its_policies_then_play(
    tmp_path: Path, start_comparison: Compare
) -> None:
    lab = mosaic.Lab(tmp_path / "runs")
    shared: dict[str, Any] = {"env": LAKE, "env_kwargs": {"map_name": "8x8"}, "total_timesteps": 32, **TINY}
    searched = {"env_kwargs.success_rate": [0.5, 1.0]}
    with pytest.raises(
        ConfigurationError, match=r"'env_kwargs.map_name'\] and env_kwargs.map_name=: give one"
    ):
        lab.sweep("sb3", search={"env_kwargs.map_name": ["4x4"]}, trials=1, **shared)
    with pytest.raises(ConfigurationError, match="unexpected keyword argument 'sucess_rate'"):
        lab.sweep("sb3", search={"env_kwargs.sucess_rate": [0.5]}, trials=1, **shared)
    sweep = lab.sweep("sb3", search=searched, sampler="grid", pruner="none", trials=2, **shared).wait(300)
    trained = sorted(sweep.trial_runs, key=lambda run: run.hyperparameters["env_kwargs"]["success_rate"])
    kwargs = [{"map_name": "8x8", "success_rate": rate} for rate in (0.5, 1.0)]
    assert [run.hyperparameters["env_kwargs"] for run in trained] == kwargs
    assert sweep.best is not None and set(sweep.best.parameters) == set(searched)

    slippery, steady = (operators.rl(run, name=name) for run, name in zip(trained, ("a", "b"), strict=True))
    with pytest.warns(
        UserWarning, match=r"is made with env_kwargs=\{'map_name': '8x8', 'success_rate': 0.5\}, as"
    ):
        start_comparison(LAKE, {"a": slippery, "random": operators.random()}, [1])
    with pytest.raises(ConfigurationError, match="trained with different keyword arguments of FrozenLake-v1"):
        start_comparison(LAKE, {"a": slippery, "b": steady}, [1])
    with pytest.raises(ConfigurationError, match=r"observations are Discrete\(16\)"):
        start_comparison(LAKE, {"a": slippery}, [1], env_kwargs={})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        start_comparison(LAKE, {"a": slippery, "b": steady}, [1], env_kwargs={"map_name": "8x8"})
