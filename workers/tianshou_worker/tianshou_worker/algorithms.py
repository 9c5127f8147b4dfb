"""The algorithms: their classes in upstream, and the defaults of upstream's own examples.

Upstream is not imported here. A hyperparameter's default is its value in upstream's example of the algorithm
(such as `test/discrete/test_dqn.py` in upstream's repository, on CartPole or Pendulum), else the default of
upstream's signature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

from mosaic_contract import Parameter
from mosaic_contract.environment_spec import CONTINUOUS, DISCRETE
from mosaic_contract.metadata import Algorithm

VALUE, ON_POLICY, ACTOR_CRITIC, OFFLINE = "value", "on_policy", "actor_critic", "offline"

_BOUND = dict.fromkeys(
    ("hidden_sizes", "num_atoms", "v_min", "v_max", "num_quantiles", "num_cosines", "noisy_std",
     "ensemble_size", "auto_alpha", "vae_hidden_sizes", "layer_num", "hidden_layer_size"),
    "the networks are built by it, and the weights of a checkpoint fit no others",
)  # fmt: skip

_ALWAYS = (
    Parameter("hidden_sizes", list, [64, 64], "widths of the networks' hidden layers"),
    Parameter(
        "device", str, "auto", "where the networks are; auto: a GPU if there is one", ("auto", "cpu", "cuda")
    ),
)
_ONLINE = (*_ALWAYS, Parameter("num_training_envs", int, 8, "environments that are stepped together"))
_OFF_POLICY = (
    Parameter("buffer_size", int, 20_000, "transitions that the replay buffer holds"),
    Parameter("start_timesteps", int, 0, "steps with random actions before the first update; they count"),
    Parameter(
        "save_buffer", bool, False, "leave the replay buffer at the end as dataset.hdf5 in the run's folder"
    ),
    *_ONLINE,
)
_LR = Parameter("lr", float, 1e-3, "learning rate of Adam")
_ACTOR_CRITIC_LR = (
    Parameter("actor_lr", float, 1e-4, "learning rate of Adam for the actor"),
    Parameter("critic_lr", float, 1e-3, "learning rate of Adam for the critics"),
)
_DATASET = Parameter(
    "dataset", str, None, "path of a recorded dataset.hdf5 or of a Minari dataset, which is learned from"
)
_PRIORITIZED = Parameter("prioritized_replay", bool, False, "sample by priority (alpha 0.6, beta 0.4)")
ADDED: Mapping[str, tuple[Parameter, ...]] = {
    VALUE: (_LR, _PRIORITIZED, *_OFF_POLICY),
    ON_POLICY: (_LR, *_ONLINE),
    ACTOR_CRITIC: (*_ACTOR_CRITIC_LR, *_OFF_POLICY),
    OFFLINE: (_DATASET, *_ALWAYS),
}
"""Hyperparameters that replace object arguments of upstream's signatures: networks, optimizers, buffers."""

_RECURRENT = (
    Parameter("layer_num", int, 0, "layers of an LSTM, instead of hidden_sizes; 0: no LSTM"),
    Parameter("hidden_layer_size", int, 128, "width of the LSTM"),
    Parameter("stack_num", int, 4, "observations that each update of the LSTM begins with"),
)
_NOISY_STD = Parameter("noisy_std", float, 0.1, "initial deviation of the noise in the weights")
_NUM_COSINES = Parameter("num_cosines", int, 64, "cosines that a quantile is embedded by")
_EXPLORATION = Parameter(
    "exploration_noise", float, 0.1, "deviation of the noise on actions, which reach from -1 to 1 here"
)
_ALPHA = (
    Parameter("auto_alpha", bool, False, "tune alpha by the entropy; alpha is not used then"),
    Parameter("alpha_lr", float, 3e-4, "learning rate of alpha, where it is tuned"),
)
_BCQ = (
    Parameter("vae_lr", float, 1e-3, "learning rate of Adam for the autoencoder of actions"),
    Parameter("vae_hidden_sizes", list, [32, 32], "widths of the autoencoder's hidden layers"),
    Parameter("phi", float, 0.05, "how far actions are moved at most, which reach from -1 to 1 here"),
)
_DISC_LR = Parameter("disc_lr", float, 5e-4, "learning rate of Adam for the discriminator")


@dataclass(frozen=True)
class TianshouAlgorithm(Algorithm):
    """One algorithm. `upstream` is its class, in its `module` in a folder of `tianshou.algorithm`, `policy`
    the (module, class) of a policy; their signatures define its hyperparameters. `extra` are additional ones,
    `defaults` the values of upstream's example."""

    name: str
    family: str
    upstream: str
    policy: tuple[str, str] | None
    actions: tuple[str, ...]
    extra: tuple[Parameter, ...]
    defaults: Mapping[str, Any]

    @property
    def bound(self) -> Mapping[str, str]:
        return _BOUND

    @property
    def on_policy(self) -> bool:  # type: ignore[override]
        return self.family == ON_POLICY

    @property
    def module(self) -> str:
        """The module of its class in upstream."""
        return _MODULES.get(self.name, self.name)

    @property
    def sees_pictures(self) -> bool:
        """Whether upstream has convolutional networks for it."""
        return self.family == VALUE or self.name == "il" or (self.on_policy and self.name != "gail")

    @property
    def offline(self) -> bool:
        """Whether it learns from a dataset: environments are stepped for evaluation only, and steps are
        gradient steps."""
        return self.family == OFFLINE

    @property
    def resumes_elsewhere(self) -> bool:
        return not self.offline

    @property
    def learning(self) -> str:
        if self.offline:
            return "offline"
        family = "on-policy" if self.on_policy else "off-policy"
        return f"{family}, imitates a dataset" if _DATASET in self.extra else family


_MODULES = {"il": "imitation_base"}
_Q, _C51 = ("dqn", "DiscreteQLearningPolicy"), ("c51", "C51Policy")
_ANY_ACTIONS = (DISCRETE, CONTINUOUS)
_FAMILY_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    VALUE: {
        "gamma": 0.9, "n_step_return_horizon": 3, "target_update_freq": 320, "eps_training": 0.1,
        "hidden_sizes": [128, 128, 128, 128],
    },
    ON_POLICY: {},
    ACTOR_CRITIC: {"n_step_return_horizon": 3, "hidden_sizes": [128, 128], "batch_size": 128},
    OFFLINE: {"epoch_num_steps": 500, "test_step_num_episodes": 10},
}  # fmt: skip
_TRUST_REGION = {
    "gamma": 0.95, "return_scaling": True, "batch_size": 99_999, "update_step_num_repetitions": 2,
    "num_training_envs": 16,
}  # fmt: skip


def _value(
    name: str, upstream: str, policy: tuple[str, str], *extra: Parameter, **defaults_given: Any
) -> TianshouAlgorithm:
    envs = defaults_given.setdefault("num_training_envs", 10)
    defaults = {"start_timesteps": 64 * envs, **_every_step(envs), **defaults_given}
    return _algorithm(VALUE, name, upstream, policy, (DISCRETE,), *extra, **defaults)


def _actor_critic(name: str, upstream: str, *extra: Parameter, **defaults_given: Any) -> TianshouAlgorithm:
    defaults = {**_every_step(defaults_given.setdefault("num_training_envs", 8)), **defaults_given}
    return _algorithm(ACTOR_CRITIC, name, upstream, None, (CONTINUOUS,), *extra, **defaults)


def _every_step(envs: int) -> dict[str, Any]:
    """Return defaults with one gradient step after each step of all environments."""
    return {"collection_step_num_env_steps": envs, "update_step_num_gradient_steps_per_sample": 1 / envs}


def _algorithm(
    family: str,
    name: str,
    upstream: str,
    policy: tuple[str, str] | None,
    actions: tuple[str, ...],
    *extra: Parameter,
    **defaults: Any,
) -> TianshouAlgorithm:
    return TianshouAlgorithm(
        name, family, upstream, policy, actions, extra, {**_FAMILY_DEFAULTS[family], **defaults}
    )


ALGORITHMS: Mapping[str, TianshouAlgorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        _value("dqn", "DQN", _Q, *_RECURRENT),
        _value("c51", "C51", _C51, num_training_envs=8),
        _value("rainbow", "RainbowDQN", _C51, _NOISY_STD, num_training_envs=8),
        _value("iqn", "IQN", ("iqn", "IQNPolicy"), _NUM_COSINES, lr=3e-3, hidden_sizes=[64, 64, 64]),
        _value("qrdqn", "QRDQN", _Q),
        _algorithm(
            ON_POLICY, "ppo", "PPO", None, _ANY_ACTIONS,
            lr=3e-4, ent_coef=0.0, max_grad_norm=0.5, advantage_normalization=False,
            collection_step_num_env_steps=2000, update_step_num_repetitions=10, num_training_envs=20,
        ),
        _algorithm(
            ON_POLICY, "a2c", "A2C", None, _ANY_ACTIONS,
            gamma=0.9, ent_coef=0.0, gae_lambda=1.0, collection_step_num_env_steps=80, num_training_envs=16,
        ),
        _algorithm(ON_POLICY, "trpo", "TRPO", None, _ANY_ACTIONS, **_TRUST_REGION, max_kl=0.005),
        _algorithm(ON_POLICY, "npg", "NPG", None, _ANY_ACTIONS, **_TRUST_REGION),
        _actor_critic("ddpg", "DDPG", _EXPLORATION),
        _actor_critic("td3", "TD3", _EXPLORATION),
        _actor_critic("sac", "SAC", *_ALPHA, num_training_envs=10, actor_lr=1e-3, auto_alpha=True),
        _actor_critic(
            "redq", "REDQ", *_ALPHA,
            ensemble_size=4, actor_delay=3, n_step_return_horizon=1, hidden_sizes=[64, 64], batch_size=64,
            start_timesteps=1000, update_step_num_gradient_steps_per_sample=3.0,
        ),
        _algorithm(
            ON_POLICY, "gail", "GAIL", None, (CONTINUOUS,), _DATASET, _DISC_LR,
            gamma=0.95, vf_coef=0.25, ent_coef=0.0, max_grad_norm=0.5, return_scaling=True, value_clip=True,
            disc_update_num=2, batch_size=128, collection_step_num_env_steps=3200,
            update_step_num_repetitions=2, num_training_envs=16,
        ),
        _algorithm(
            OFFLINE, "il", "OfflineImitationLearning", None, _ANY_ACTIONS, _LR,
            hidden_sizes=[128, 128], batch_size=64,
        ),
        _algorithm(
            OFFLINE, "bcq", "BCQ", ("bcq", "BCQPolicy"), (CONTINUOUS,), *_ACTOR_CRITIC_LR, *_BCQ,
            actor_lr=1e-3, hidden_sizes=[64], batch_size=32,
        ),
        _algorithm(
            OFFLINE, "cql", "CQL", None, (CONTINUOUS,), *_ACTOR_CRITIC_LR, *_ALPHA,
            actor_lr=1e-3, auto_alpha=True, alpha_lr=1e-3, cql_alpha_lr=1e-3,
        ),
        _algorithm(
            OFFLINE, "discrete_bcq", "DiscreteBCQ", ("discrete_bcq", "DiscreteBCQPolicy"), (DISCRETE,), _LR,
            lr=3e-4, n_step_return_horizon=3, target_update_freq=320, unlikely_action_threshold=0.6,
            epoch_num_steps=2000,
        ),
        _algorithm(
            OFFLINE, "discrete_cql", "DiscreteCQL", None, (DISCRETE,), _LR,
            lr=3e-3, n_step_return_horizon=3, target_update_freq=500, hidden_sizes=[64], batch_size=32,
            epoch_num_steps=1000,
        ),
    )
}  # fmt: skip
