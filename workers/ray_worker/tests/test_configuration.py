"""Invalid configurations are refused before training starts, with the reason and a remedy."""

from __future__ import annotations

import socket
import threading
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer
from typing import Any

import pytest
from shim_kit.promise_checks import (  # noqa: F401
    assert_a_changing_team_is_trained,
    assert_environments_are_checked,
    assert_keyword_arguments_are_passed,
    promises,
)
from shim_kit.training_worker import assert_refused

TAG = "simple_tag_v3"
BAD = {
    "algorithm": ({"algorithm": "impalla"}, "did you mean 'impala'?"),
    "environment": ({"env_id": "NoSuch-v0"}, "environment 'NoSuch-v0' cannot be made here"),
    "keywords": ({"env_config": {"wind": 1}}, "cannot be made here with env_kwargs={'wind': 1}"),
    "turns": (
        {"algorithm": "dqn", "env_id": "classic/connect_four_v3"},
        "dqn cannot mask illegal moves; for turn-based games train ppo, impala, appo",
    ),
    "vectors": (
        {"env_id": "classic/tictactoe_v3", "wrappers": ["flat"]},
        "a game in turns is observed as a vector already",
    ),
    "team of one agent's": (
        {"env_id": TAG, "policies": "each", "wrappers": [{"frame_stack": 2}]},
        "only for environments of one agent",
    ),
    "continuous": (
        {"algorithm": "dqn", "env_id": "Pendulum-v1"},
        "dqn needs discrete actions; Pendulum-v1 has Box(-2.0, 2.0, (1,), float32); for these actions use",
    ),
    "observations": ({"env_id": "FrozenLake-v1"}, "needs vectors (a Box of one dimension) as observations"),
    "pictures": (
        {"algorithm": "sac", "env_id": "CarRacing-v3"},
        "'flat'] or ['flat']; for convolutional networks train ppo, ",
    ),
    "shared": (
        {"env_id": TAG},
        "agent_0 and adversary_0 of simple_tag_v3 have different spaces and cannot share the policy 'shared'",
    ),
    "policies": ({"env_id": TAG, "policies": "own"}, 'policies must be "shared", "each" or a mapping'),
    "agent": (
        {"env_id": TAG, "policies": {"agent_1": "a", "*": "b"}},
        "has no agent 'agent_1'; did you mean",
    ),
    "rest": (
        {"env_id": TAG, "policies": {"agent_0": "a"}},
        "adversary_0, adversary_1, adversary_2 have none",
    ),
    "names": ({"env_id": TAG, "policies": {"*": ["x"]}}, "policies: ['x'] is not a valid name of a policy"),
    "one agent": (
        {"policies": "each"},
        "policies is for environments of several agents; CartPole-v1 has one",
    ),
    "range": ({"gamma": 1.5}, "hyperparameter 'gamma': 1.5 is more than 1"),
    "widths": ({"fcnet_hiddens": [0]}, "'fcnet_hiddens' must be a list of widths, such as [64, 64]"),
    "schedule": (
        {"algorithm": "dqn", "epsilon": [[5, 1.0]]},
        "'epsilon' must be a list of [step, value] from step 0 on",
    ),
    "minibatch": ({"minibatch_size": 5000}, "minibatch_size=5000 is more than train_batch_size_per_learner"),
    "short": ({"total_timesteps": 500}, "total_timesteps=500 ends before the first update"),
    "older names": ({"num_workers": 1, "num_env_runners": 2}, "are the same and disagree"),
    "address": ({"address": "head"}, "address must be host:port of a Ray cluster"),
}
DEFAULTS = """
import importlib, json
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray_worker.algorithms import ALGORITHMS, MODEL, SETTINGS
found = {}
for name, algorithm in ALGORITHMS.items():
    module, kind = algorithm.config_class
    config = getattr(importlib.import_module(module), kind)()
    names = [*algorithm.training, *(one for names in SETTINGS.values() for one in names)]
    model = {**vars(DefaultModelConfig()), **config.model_config}
    found[name] = {one: getattr(config, one) for one in names} | {one: model[one] for one in MODEL}
print(json.dumps(found))
"""


def test_bad_configurations(worker: Any, subtests: pytest.Subtests) -> None:
    assert_refused(worker, BAD, subtests, algorithm="ppo", env_id="CartPole-v1")


def test_a_cluster_that_does_not_answer_is_reported_before_anything_starts(worker: Any) -> None:
    def answer(port: int) -> str:
        address = f"127.0.0.1:{port}"
        error: str = worker.error(algorithm="ppo", env_id="CartPole-v1", address=address)
        begin = f"address: no Ray cluster answers at {address} ("
        assert error.startswith(begin)
        return error.removeprefix(begin)

    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        assert "refused" in answer(port)
        server.listen()  # and never answers
        assert answer(port).startswith("timed out")
    with TCPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as page:
        threading.Thread(target=page.serve_forever, daemon=True).start()
        assert answer(page.server_address[1]).startswith("the server there does not speak gRPC")
        page.shutdown()


@pytest.mark.extended  # rarely changes: upstream is pinned
def test_hyperparameters_are_upstreams_by_name_and_default(worker: Any) -> None:
    """The listing only parses upstream's source; the reference is its configuration objects."""
    upstream = worker.output_of("-c", DEFAULTS)
    ours = {"policies", "address", "framework", "env_kwargs"}
    for algorithm, defaults in upstream.items():
        known = worker.hyperparameters[algorithm].items()
        listed = {name: one["default"] for name, one in known if name not in ours}
        assert listed == {key: value for key, value in defaults.items() if key in listed}
        assert {"gamma", "num_env_runners", "fcnet_hiddens"} <= set(listed)
    assert worker.hyperparameters["ppo"]["clip_param"]["help"] == "The PPO clip parameter"


def test_the_platforms_own_example_is_understood(worker: Any) -> None:
    example = {"algorithm": "PPO", "num_workers": 8, "num_envs_per_worker": 4, "framework": "torch"}
    resolved = worker.resolved(env_id="CartPole-v1", total_timesteps=10_000, **example)
    assert resolved["algorithm"] == "ppo"
    assert resolved["hyperparameters"]["num_env_runners"] == 8
    assert resolved["hyperparameters"]["num_envs_per_env_runner"] == 4
    assert resolved["cpus"] == 8


@pytest.mark.extended
@pytest.mark.usefixtures("promises")
def test_a_team_whose_agents_leave_and_come_later_is_trained(worker: Any, operators: Any) -> None:
    small = {"algorithm": "ppo", "train_batch_size_per_learner": 64, "minibatch_size": 32, "policies": "each"}
    assert_a_changing_team_is_trained(
        worker, operators, env_id="leaving_v0:Leaving", **small, num_env_runners=0
    )
