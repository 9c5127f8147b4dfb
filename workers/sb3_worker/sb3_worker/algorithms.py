"""The algorithms: their classes in upstream, and the supported spaces and settings.

Upstream is not imported here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping

from mosaic_contract import Parameter
from mosaic_contract.metadata import Algorithm

ON_POLICY, OFF_POLICY, EVOLUTION = "on-policy", "off-policy", "evolution"
AUTO = "auto"
EXTRACTORS = ("FlattenExtractor", "NatureCNN", "CombinedExtractor", "SmallCnn")
"""Classes of feature extractors: upstream's, and this worker's for small pictures."""
ACTIVATIONS = ("tanh", "relu", "leaky_relu", "elu", "gelu", "silu")

_USUAL = ("MlpPolicy", "CnnPolicy", "MultiInputPolicy")
_LSTM = ("MlpLstmPolicy", "CnnLstmPolicy", "MultiInputLstmPolicy")
_ANY = ("Discrete", "Box", "MultiDiscrete", "MultiBinary")
_CHOICES = ("Discrete", "MultiDiscrete", "MultiBinary")
_ACTOR = ("ortho_init", "log_std_init")
_LSTM_PARAMETERS = ("lstm_hidden_size", "n_lstm_layers", "shared_lstm", "enable_critic_lstm")

_WEIGHTS = "the networks are built by it, and the weights of a checkpoint fit no others"
_OF_NETWORKS = (
    "policy", "policy_kwargs", "net_arch", "critic_net_arch", "activation_fn", "n_critics", "n_quantiles",
    "use_sde",
    *_LSTM_PARAMETERS,
)  # fmt: skip


@dataclass(frozen=True)
class Sb3Algorithm(Algorithm):
    """One algorithm: the class `upstream`, in the file `file`, whose path begins with its package.

    `policies` are upstream's names of its policies, the default first. `policy` is the (file, class) with the
    signature that defines the hyperparameters `policy_parameters`. `critic` is upstream's name for the
    critic's part of `net_arch`, "" if there is none.
    """

    name: str
    file: str
    upstream: str
    family: str
    actions: tuple[str, ...]
    policies: tuple[str, ...] = _USUAL
    policy: tuple[str, str] = ("", "")
    policy_parameters: tuple[str, ...] = ()
    critic: str = ""

    @property
    def package(self) -> str:
        return self.file.partition("/")[0]

    @property
    def learning(self) -> str:
        return "whole episodes (evolution)" if self.family == EVOLUTION else self.family

    @property
    def bound(self) -> Mapping[str, str]:
        bound = dict.fromkeys(_OF_NETWORKS, _WEIGHTS)
        if self.family == OFF_POLICY:
            bound["num_envs"] = "the replay buffer has a column for each environment"
        return bound

    @property
    def resumes(self) -> bool:
        return self.family != EVOLUTION

    @property
    def masked(self) -> bool:
        """Whether it supports action masks."""
        return self.name == "maskable_ppo"


_ACTOR_CRITIC = ("stable_baselines3/common/policies.py", "ActorCriticPolicy")
ALGORITHMS: Mapping[str, Sb3Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        Sb3Algorithm(
            "ppo", "stable_baselines3/ppo/ppo.py", "PPO", ON_POLICY, _ANY,
            policy=_ACTOR_CRITIC, policy_parameters=_ACTOR, critic="vf",
        ),
        Sb3Algorithm(
            "a2c", "stable_baselines3/a2c/a2c.py", "A2C", ON_POLICY, _ANY,
            policy=_ACTOR_CRITIC, policy_parameters=_ACTOR, critic="vf",
        ),
        Sb3Algorithm(
            "dqn", "stable_baselines3/dqn/dqn.py", "DQN", OFF_POLICY, ("Discrete",),
            policy=("stable_baselines3/dqn/policies.py", "DQNPolicy"),
        ),
        Sb3Algorithm(
            "sac", "stable_baselines3/sac/sac.py", "SAC", OFF_POLICY, ("Box",),
            policy=("stable_baselines3/sac/policies.py", "SACPolicy"),
            policy_parameters=("log_std_init", "n_critics"), critic="qf",
        ),
        Sb3Algorithm(
            "td3", "stable_baselines3/td3/td3.py", "TD3", OFF_POLICY, ("Box",),
            policy=("stable_baselines3/td3/policies.py", "TD3Policy"),
            policy_parameters=("n_critics",), critic="qf",
        ),
        Sb3Algorithm(
            "ddpg", "stable_baselines3/ddpg/ddpg.py", "DDPG", OFF_POLICY, ("Box",),
            policy=("stable_baselines3/td3/policies.py", "TD3Policy"), critic="qf",
        ),
        Sb3Algorithm(
            "recurrent_ppo", "sb3_contrib/ppo_recurrent/ppo_recurrent.py", "RecurrentPPO", ON_POLICY, _ANY,
            policies=_LSTM,
            policy=("sb3_contrib/common/recurrent/policies.py", "RecurrentActorCriticPolicy"),
            policy_parameters=(*_LSTM_PARAMETERS, *_ACTOR), critic="vf",
        ),
        Sb3Algorithm(
            "maskable_ppo", "sb3_contrib/ppo_mask/ppo_mask.py", "MaskablePPO", ON_POLICY, _CHOICES,
            policy=("sb3_contrib/common/maskable/policies.py", "MaskableActorCriticPolicy"),
            policy_parameters=("ortho_init",), critic="vf",
        ),
        Sb3Algorithm(
            "trpo", "sb3_contrib/trpo/trpo.py", "TRPO", ON_POLICY, _ANY,
            policy=_ACTOR_CRITIC, policy_parameters=_ACTOR, critic="vf",
        ),
        Sb3Algorithm(
            "tqc", "sb3_contrib/tqc/tqc.py", "TQC", OFF_POLICY, ("Box",),
            policy=("sb3_contrib/tqc/policies.py", "TQCPolicy"),
            policy_parameters=("log_std_init", "n_quantiles", "n_critics"), critic="qf",
        ),
        Sb3Algorithm(
            "qrdqn", "sb3_contrib/qrdqn/qrdqn.py", "QRDQN", OFF_POLICY, ("Discrete",),
            policy=("sb3_contrib/qrdqn/policies.py", "QRDQNPolicy"), policy_parameters=("n_quantiles",),
        ),
        Sb3Algorithm(
            "ars", "sb3_contrib/ars/ars.py", "ARS", EVOLUTION, ("Box", "Discrete"),
            policies=("LinearPolicy", "MlpPolicy"), policy=("sb3_contrib/ars/policies.py", "ARSPolicy"),
        ),
    )
}  # fmt: skip

_DEVICE = Parameter(
    "device", str, AUTO, "where the networks are; auto: a GPU if there is one", (AUTO, "cpu", "cuda")
)
_NET_ARCH = Parameter(
    "net_arch", list, None, "widths of the hidden layers, such as [64, 64]; None: upstream's default"
)
_CRITIC_NET_ARCH = Parameter(
    "critic_net_arch", list, None, "widths of the critic's hidden layers, where they are not net_arch"
)
_POLICY_KWARGS = Parameter(
    "policy_kwargs",
    dict,
    {},
    "arguments of upstream's policy class, such as features_extractor_class (NatureCNN, SmallCnn, …)",
)
_ACTIVATION = Parameter(
    "activation_fn", str, None, "activation between layers; None: upstream's default", ACTIVATIONS
)
_TUNED = Parameter(
    "tuned", bool, False, "start from rl_zoo3's tuned hyperparameters for the algorithm and environment"
)
_NUM_ENVS = Parameter("num_envs", int, 1, "environments that are stepped together")
_RATE_SCHEDULE = Parameter(
    "learning_rate_schedule",
    str,
    "constant",
    "linear: the learning rate falls to 0 at the end of the training",
    ("constant", "linear"),
)
_CLIP_SCHEDULE = Parameter(
    "clip_range_schedule",
    str,
    "constant",
    "linear: the clip range falls to 0 at the end of the training",
    ("constant", "linear"),
)
_ACTION_NOISE = Parameter(
    "action_noise", float, 0.0, "deviation of normal noise on the actions, which reach from -1 to 1 here"
)
_SAVE_REPLAY_BUFFER = Parameter(
    "save_replay_buffer", bool, True, "keep the replay buffer beside the newest checkpoint, for a resume"
)


def own_parameters(algorithm: Sb3Algorithm) -> tuple[Parameter, ...]:
    """Return the hyperparameters that replace object arguments of upstream: policies, noise, schedules."""
    policy = Parameter("policy", str, AUTO, "auto: by the observations", (AUTO, *algorithm.policies))
    parameters = [
        policy,
        _POLICY_KWARGS,
        _TUNED,
        _NET_ARCH,
        *([_CRITIC_NET_ARCH] if algorithm.critic else []),
        _ACTIVATION,
        _DEVICE,
    ]
    if algorithm.family == EVOLUTION:
        return tuple(parameters)
    parameters += [_NUM_ENVS, _RATE_SCHEDULE]
    if algorithm.name.endswith("ppo"):
        parameters.append(_CLIP_SCHEDULE)
    if algorithm.family == OFF_POLICY:
        parameters += [*([_ACTION_NOISE] if algorithm.actions == ("Box",) else []), _SAVE_REPLAY_BUFFER]
    return tuple(parameters)
