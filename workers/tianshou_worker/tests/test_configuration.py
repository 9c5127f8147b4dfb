"""Invalid configurations are refused before training starts, with the reason and a remedy."""

from __future__ import annotations

import subprocess
import textwrap
from typing import Any

import pytest
from shim_kit.promise_checks import (  # noqa: F401
    assert_environments_are_checked,
    assert_keyword_arguments_are_passed,
    promises,
)
from shim_kit.training_worker import assert_refused
from support import PEERS

BAD = {
    "algorithm": ({"algorithm": "dqnn"}, "did you mean 'dqn'?"),
    "environment": ({"env_id": "NoSuch-v0"}, "environment 'NoSuch-v0' cannot be made here"),
    "continuous": (
        {"algorithm": "dqn", "env_id": "Pendulum-v1"},
        "dqn needs discrete actions; Pendulum-v1 has Box",
    ),
    "discrete": (
        {"algorithm": "sac"},
        "sac needs continuous actions; CartPole-v1 has Discrete(2); for these actions use dqn, c51",
    ),
    "observations": ({"env_id": "FrozenLake-v1"}, "ppo needs vectors (a Box of one dimension)"),
    "pictures": (
        {"env_id": "CarRacing-v3"},
        "'flat'] or ['flat']; [{'resize': [32, 32]}] makes images for its convolutions",
    ),
    "range": ({"gamma": 1.5}, "hyperparameter 'gamma': 1.5 is more than 1"),
    "widths": ({"hidden_sizes": []}, "'hidden_sizes' must be a list of widths, such as [64, 64], got []"),
    "lstm": ({"algorithm": "dqn", "layer_num": 1, "save_buffer": True}, "the buffer of an LSTM has no next"),
    "support": ({"algorithm": "c51", "v_min": 3.0, "v_max": 2.0}, "v_min must be below v_max"),
    "short": ({"total_timesteps": 500}, "total_timesteps=500 ends before the first update"),
    "gradient": (
        {"algorithm": "dqn", "update_step_num_gradient_steps_per_sample": 0.01},
        "gives no gradient step",
    ),
    "moves": (
        {"env_id": "tictactoe_v3"},
        "ppo cannot mask illegal moves; for turn-based games train dqn, c51, rainbow, iqn, qrdqn",
    ),
    "team": (
        {"env_id": "unruly_v0:Unruly", "env_kwargs": {"how": "Breaks"}},
        "unruly_v0:Unruly has several agents (red, blue): this worker does not train them. Train teams with",
    ),
    "game": ({"algorithm": "dqn", "env_id": "texas_holdem_v4"}, "'texas_holdem_v4' cannot be made here"),
    "vectors": (
        {"algorithm": "dqn", "env_id": "tictactoe_v3", "wrappers": ["flat"]},
        "a turn-based game is observed as a vector already",
    ),
}


def test_bad_configurations(worker: Any, subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(PEERS))
    assert_refused(worker, BAD, subtests, algorithm="ppo", env_id="CartPole-v1")


@pytest.mark.extended  # rarely changes: upstream is pinned
def test_hyperparameters_are_upstreams_by_name_type_and_default(worker: Any) -> None:
    """The reference is upstream's signature, or the worker's default where upstream's examples differ."""
    script = """
import inspect, json
from tianshou.algorithm import QRDQN
from tianshou_worker.algorithms import ALGORITHMS
known = inspect.signature(QRDQN.__init__).parameters.values()
known = {p.name: p.default for p in known if p.name not in ("self", "policy", "optim")}
print(json.dumps({name: ALGORITHMS["qrdqn"].defaults.get(name, known[name]) for name in known}))
"""
    upstream, listed = worker.output_of("-c", script), worker.hyperparameters["qrdqn"]
    assert upstream == {name: listed[name]["default"] for name in upstream}
    assert listed["num_quantiles"]["type"] == "int"
    assert listed["gamma"]["help"] == "the discount factor in [0, 1] for future rewards"


def test_a_checkpoint_of_another_training_is_not_resumed(worker: Any, subtests: pytest.Subtests) -> None:
    saved = str(worker.trained("dqn").checkpoints[-1])
    expected = "step-400.pt is of dqn on CartPole-v1, this run is of c51 on CartPole-v1"
    bad = {
        "algorithm": ({"algorithm": "c51"}, expected),
        "bound": ({"hidden_sizes": [8]}, "was trained with hidden_sizes=[16, 16]"),
        "late": ({"total_timesteps": 400}, "was saved at step 400; total_timesteps"),
    }
    on = {"algorithm": "dqn", "env_id": "CartPole-v1", "checkpoint": {"resume_from": saved}}
    assert_refused(worker, bad, subtests, **on)


def test_a_game_that_always_ends_before_the_learner_moves_is_an_error(worker: Any) -> None:
    code = """
    from collections import defaultdict
    from types import SimpleNamespace
    from gymnasium.spaces import Discrete
    from mosaic_contract.errors import EnvironmentFault
    from tianshou_worker.self_play import SelfPlay

    two, ended = (lambda agent: Discrete(2)), defaultdict(lambda: True)
    game = SimpleNamespace(
        possible_agents=["a", "b"], observation_space=two, action_space=two, metadata={},
        reset=lambda seed: None, terminations=ended, truncations=ended,
    )
    try:
        SelfPlay(game, lambda seen: 0).reset(seed=1)
    except EnvironmentFault as fault:
        print(fault)
    """
    done = subprocess.run([worker.python, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    expected = "1,000 games in a row have ended before the learner's first move: there is nothing to learn"
    assert done.stdout.strip() == expected, done.stderr
