"""Invalid configurations are refused before training starts, with the reason and a remedy."""

from __future__ import annotations

from typing import Any

import pytest
from shim_kit.training_worker import assert_refused

BAD = {
    "algorithm": ({"algorithm": "a2d"}, "did you mean 'a2c'?"),
    "environment": (
        {"env_id": "Snaek-v1"},
        "Jumanji has no environment 'Snaek-v1'; did you mean 'Snake-v1'?",
    ),
    "version": ({"env_id": "Snake-v0"}, "no environment 'Snake-v0'; did you mean 'Snake-v1'?"),
    "another library's": ({"env_id": "CartPole-v1"}, "no environment 'CartPole-v1'; it has BinPack-v2, "),
    "held only": (
        {"env_id": "Sokoban-v0"},
        "Sokoban-v0 can be compared and evaluated on here, not trained on; a2c trains on Snake-v1",
    ),
    "another's": ({"algorithm": "ppo", "l_en": 0.1}, "unknown hyperparameter 'l_en'"),
    "another environment's": ({"transformer_num_heads": 2}, "unknown hyperparameter 'transformer_num_heads'"),
    "list": ({"env_id": "Maze-v0", "num_channels": 4}, "'num_channels': expected list, got int 4"),
    "widths": ({"policy_layers": [0]}, "'policy_layers' must be a list of widths, such as [64, 64], got [0]"),
    "range": ({"discount_factor": 1.5}, "hyperparameter 'discount_factor': 1.5 is more than 1"),
    "batch": ({"algorithm": "ppo", "batch_size": 1}, "hyperparameter 'batch_size': 1 is less than 2"),
    "keywords": ({"env_kwargs": {"rows": 6}}, "Snake-v1 has no setting 'rows': did you mean 'num_rows'?"),
    "short": (
        {"total_timesteps": 300},
        "total_timesteps=300 ends before the first update, which takes n_steps=20 steps of 128 environments",
    ),
}


def test_bad_configurations(worker: Any, subtests: pytest.Subtests) -> None:
    assert_refused(worker, BAD, subtests, algorithm="a2c", env_id="Snake-v1")


@pytest.mark.extended  # rarely changes: upstream is pinned
def test_hyperparameters_are_upstreams_by_name_type_and_default(worker: Any) -> None:
    """A2C: upstream's configuration files, as Hydra reads them. PPO: upstream's signature."""
    script = """
import inspect, json
import hydra, jumanji
from sbx import PPO
with hydra.initialize_config_dir(jumanji.__path__[0] + "/training/configs", version_base=None):
    env = hydra.compose("config.yaml", overrides=["env=tsp", "agent=a2c"]).env
signature = inspect.signature(PPO.__init__).parameters
a2c = {**env.network, **env.a2c, "n_steps": env.training.n_steps}
print(json.dumps({
    "a2c": {name: list(v) if hasattr(v, "__iter__") else v for name, v in a2c.items()},
    "ppo": {name: p.default for name, p in signature.items() if isinstance(p.default, (int, float))},
}))
"""
    upstream = worker.output_of("-c", script)
    show = "import json; from jumanji_worker.hyperparameters import parameters_of as of; "
    show += (
        "print(json.dumps({a: {n: p.default for n, p in of(a, 'TSP-v1').items()} for a in ('a2c', 'ppo')}))"
    )
    ours = worker.output_of("-c", show)
    assert upstream["a2c"].items() <= ours["a2c"].items() and "learning_rate" in upstream["a2c"]
    shared = set(ours["ppo"]) - {"env_kwargs", "n_envs", "net_arch", "target_kl"}
    assert {"gamma", "clip_range", "n_steps"} <= shared
    assert {name: ours["ppo"][name] for name in shared} == {name: upstream["ppo"][name] for name in shared}


def test_the_listing_says_what_depends_on_the_environment(worker: Any) -> None:
    """The listing imports no module of upstream."""
    script = """
import json, sys
from jumanji_worker.cli import WORKER
listed = {a: [p.to_dict() for p in of] for a, of in WORKER.hyperparameters().items()}
names = WORKER.environments()
print(json.dumps([listed, names, [m for m in ("jax", "jumanji", "sbx", "torch") if m in sys.modules]]))
"""
    listed, names, imported = worker.output_of("-c", script)
    a2c = {parameter["name"]: parameter for parameter in listed["a2c"]}
    assert a2c["l_pg"]["default"] == 1.0
    assert a2c["n_steps"]["default"] is None
    assert a2c["n_steps"]["help"].startswith("by default: Snake-v1 20, Game2048-v1 50, TSP-v1 100")
    assert {"Snake-v1", "Sokoban-v0"} <= set(names) and len(names) == 26
    assert imported == []
