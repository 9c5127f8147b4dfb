"""Invalid configurations are refused before training starts, with the reason and a remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from shim_kit.promise_checks import (  # noqa: F401
    assert_environments_are_checked,
    assert_keyword_arguments_are_passed,
    promises,
)
from shim_kit.training_worker import WRAPPER_CHECKS, assert_refused

pytestmark = pytest.mark.extended

PENDULUM = {"env_id": "Pendulum-v1"}
MINIGRID = {"env_id": "MiniGrid-Empty-5x5-v0"}
BAD = {
    "algorithm": ({"algorithm": "dqnn"}, "did you mean 'dqn'?"),
    "longer algorithm": ({"algorithm": "mask"}, "did you mean 'maskable_ppo'?"),
    "environment": ({"env_id": "NoSuch-v0"}, "environment 'NoSuch-v0' cannot be made here"),
    "continuous": (
        {"algorithm": "dqn", **PENDULUM},
        "dqn needs Discrete as actions (for Box: ppo, a2c, sac, td3, ddpg",
    ),
    "discrete": ({"algorithm": "sac"}, "sac needs Box as actions (for Discrete: ppo, a2c, dqn"),
    "words": (MINIGRID, "support observations with a MissionSpace in them ('mission')"),
    "wrappers": (MINIGRID, "wrappers= makes vectors of them: ['one_hot', 'flat'] or ['flat']"),
    "masks": ({"algorithm": "maskable_ppo"}, "CartPole-v1 has neither a method action_masks() nor"),
    "images": ({"policy": "CnnPolicy"}, "policy='CnnPolicy' needs images, uint8 from 0 to 255"),
    "dict": ({"policy": "MultiInputPolicy"}, "policy='MultiInputPolicy' needs a Dict as observations"),
    "gsde": ({"use_sde": True}, "use_sde needs continuous actions; CartPole-v1 has Discrete(2)"),
    "range": ({"gamma": 1.5}, "hyperparameter 'gamma': 1.5 is more than 1"),
    "widths": ({"net_arch": [0]}, "'net_arch' must be a list of widths"),
    "critic": ({"critic_net_arch": [8]}, "critic_net_arch needs net_arch"),
    "linear": ({"algorithm": "ars", "net_arch": [8], "policy": "LinearPolicy"}, "has no hidden layers"),
    "keyword": ({"policy_kwargs": {"net_archh": [8]}}, "no 'net_archh'; did you mean 'net_arch'?"),
    "quantiles": ({"algorithm": "tqc", **PENDULUM, "n_quantiles": 2}, "must be below n_quantiles"),
    "lstm": ({"algorithm": "recurrent_ppo", "shared_lstm": True}, "needs enable_critic_lstm=False"),
    "short": (
        {"algorithm": "dqn", "total_timesteps": 50},
        "total_timesteps=50 ends before the first update, which comes after learning_starts=100 steps",
    ),
    "segment": ({"checkpoint": {"stop_at": 500}}, "checkpoint.stop_at=500 ends within the first 2048 steps"),
}


def test_bad_configurations(worker: Any, subtests: pytest.Subtests) -> None:
    assert_refused(worker, BAD, subtests, algorithm="ppo", env_id="CartPole-v1")


def test_hyperparameters_are_upstreams_by_name_and_default(worker: Any) -> None:
    """The reference is the signature of each upstream constructor."""
    script = """
import inspect, json, sb3_contrib, stable_baselines3
from sb3_worker.algorithms import ALGORITHMS
numbers = {}
for name, one in ALGORITHMS.items():
    kind = getattr({"stable_baselines3": stable_baselines3}.get(one.package, sb3_contrib), one.upstream)
    known = inspect.signature(kind.__init__).parameters.values()
    numbers[name] = {p.name: p.default for p in known if type(p.default) in (int, float)}
print(json.dumps(numbers))
"""
    upstream = worker.output_of("-c", script)
    for algorithm, numbers in upstream.items():
        found = worker.hyperparameters[algorithm]
        del numbers["verbose"]
        assert numbers == {name: found[name]["default"] for name in numbers}
        assert all(one["help"] for one in found.values()), algorithm


def test_what_upstream_writes_as_words_and_dictionaries_is_understood(worker: Any) -> None:
    sac = worker.resolved(algorithm="sac", **PENDULUM, ent_coef="auto", net_arch={"pi": [8], "qf": [16, 16]})
    values = sac["hyperparameters"]
    assert (values["ent_coef"], values["net_arch"], values["critic_net_arch"]) == (None, [8], [16, 16])


def test_a_training_ends_with_a_whole_update(worker: Any) -> None:
    """As in upstream, `total_timesteps` is the minimum."""
    ppo = worker.resolved(algorithm="ppo", env_id="CartPole-v1", num_envs=4, n_steps=300)
    assert ppo["steps"] == 10_800
    assert "steps" not in worker.resolved(algorithm="ars", env_id="CartPole-v1"), "ARS counts episodes"


def test_a_checkpoint_of_another_training_is_not_resumed(worker: Any) -> None:
    saved = str(Path(worker.trained("dqn").checkpoints[-1]))
    on = {"env_id": "CartPole-v1", "checkpoint": {"resume_from": saved}}
    expected = "step-400.zip is of dqn on CartPole-v1, this run is of qrdqn on CartPole-v1"
    assert expected in worker.error(algorithm="qrdqn", **on)
    assert "hyperparameter" not in worker.error(algorithm="ppo", **on), "only the mismatch is reported"
    assert "was trained with net_arch=[16, 16]" in worker.error(algorithm="dqn", net_arch=[8], **on)


@pytest.mark.usefixtures("promises")
def test_environments_are_checked_and_actions_from_one_are_played(worker: Any, operators: Any) -> None:
    small = {"n_steps": 64, "batch_size": 32, "total_timesteps": 128}
    assert_environments_are_checked(worker, operators, algorithm="ppo", **small)
    assert_keyword_arguments_are_passed(worker, algorithm="ppo", **small)
    nothing = worker.error(algorithm="ppo", env_id="promises:NoNumbers-v0")
    assert "the networks of sb3 need at least one number to observe; promises:NoNumbers-v0 has" in nothing
    numbers = worker.error(algorithm="ppo", env_id="promises:OneNumber-v0")
    assert (
        "support observations that are single numbers" in numbers
        and "wrappers= makes vectors of them: ['flat']" in numbers
    )


def test_wrappers_are_played_as_trained_and_wrong_ones_refused(worker: Any, tmp_path: Path) -> None:
    assert worker.output_of(str(WRAPPER_CHECKS), str(tmp_path))
