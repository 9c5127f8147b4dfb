"""Networks, policy and algorithm, assembled as in upstream's examples."""

from __future__ import annotations

import math
import warnings
from typing import Any, Mapping

import torch
from tianshou import algorithm as upstream
from tianshou.algorithm.algorithm_base import Algorithm
from tianshou.algorithm.imitation.bcq import BCQPolicy
from tianshou.algorithm.imitation.discrete_bcq import DiscreteBCQPolicy
from tianshou.algorithm.imitation.imitation_base import ImitationPolicy, OfflineImitationLearning
from tianshou.algorithm.modelfree.c51 import C51Policy
from tianshou.algorithm.modelfree.ddpg import ContinuousDeterministicPolicy
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.modelfree.iqn import IQNPolicy
from tianshou.algorithm.modelfree.qrdqn import QRDQNPolicy
from tianshou.algorithm.modelfree.redq import REDQPolicy
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy, ProbabilisticActorPolicy
from tianshou.algorithm.modelfree.sac import AutoAlpha, SACPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import ReplayBuffer
from tianshou.env.atari.atari_network import (
    C51Net,
    DQNet,
    QRDQNet,
    RainbowNet,
    ScaledObsInputActionReprNet,
    layer_init,
)
from tianshou.exploration import GaussianNoise
from tianshou.utils.net.common import MLP, ActionReprNetWithVectorOutput, EnsembleLinear, Net, Recurrent
from tianshou.utils.net.continuous import (
    VAE,
    ContinuousActorDeterministic,
    ContinuousActorProbabilistic,
    ContinuousCritic,
    Perturbation,
)
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic, ImplicitQuantileNetwork, NoisyLinear
from torch import nn
from torch.distributions import Categorical, Distribution, Independent, Normal

from .algorithms import ACTOR_CRITIC, ALGORITHMS, VALUE
from .environments import is_pictures, is_small_image
from .hyperparameters import parameters_of

# Upstream's advice that its own examples do not follow either.
warnings.filterwarnings("ignore", category=UserWarning, module=r"tianshou\.")

Values = Mapping[str, Any]

_IMAGE_FEATURES = 512  # as in upstream's examples for Atari


def make_algorithm(
    name: str, observations: Any, actions: Any, values: Values, expert: ReplayBuffer | None = None
) -> Algorithm:
    """Return upstream's algorithm with fresh weights, for a one-dimensional Box or images, and a Discrete or
    Box. `values` are all hyperparameters; GAIL imitates the `expert`, which is not needed for acting."""
    if name == "gail":
        parts = _discriminator(observations, actions, values)
        return _on_policy(name, observations, actions, values, expert_buffer=expert, **parts)
    offline = {
        "il": _imitation,
        "bcq": _bcq,
        "cql": _actor_critic,
        "discrete_bcq": _discrete_bcq,
        "discrete_cql": _value,
    }
    online = {VALUE: _value, ACTOR_CRITIC: _actor_critic}.get(ALGORITHMS[name].family, _on_policy)
    return offline.get(name, online)(name, observations, actions, values)


def gaussian(loc_scale: tuple[torch.Tensor, torch.Tensor]) -> Distribution:
    """Return the distribution of continuous actions."""
    return Independent(Normal(*loc_scale), 1)


def _assemble(name: str, values: Values, **parts: Any) -> Algorithm:
    """Return the algorithm made from these parts and from the hyperparameters in its own signature."""
    # The package does not export the algorithm of "il".
    constructor = OfflineImitationLearning if name == "il" else getattr(upstream, ALGORITHMS[name].upstream)
    names = set(constructor.__init__.__annotations__) & set(parameters_of(name)) - set(parts)
    return constructor(**parts, **{key: values[key] for key in names})


def _value(name: str, observations: Any, actions: Any, values: Values) -> Algorithm:
    net = _value_network(name, observations, int(actions.n), values)
    spaces = {"action_space": actions, "observation_space": observations}
    arguments = {**spaces, "eps_training": values.get("eps_training", 0.0)}
    policy: DiscreteQLearningPolicy[Any]
    if name == "iqn":
        quantiles = ImplicitQuantileNetwork(
            preprocess_net=net, action_shape=int(actions.n), num_cosines=values["num_cosines"]
        )
        sizes = ("sample_size", "online_sample_size", "target_sample_size")
        policy = IQNPolicy(model=quantiles, **arguments, **{size: values[size] for size in sizes})
    elif name in ("c51", "rainbow"):
        support = {key: values[key] for key in ("num_atoms", "v_min", "v_max")}
        policy = C51Policy(model=net, **arguments, **support)
    elif name in ("qrdqn", "discrete_cql"):
        policy = QRDQNPolicy(model=net, **arguments)
    else:
        policy = DiscreteQLearningPolicy(model=net, **arguments)
    return _assemble(name, values, policy=policy, optim=AdamOptimizerFactory(lr=values["lr"]))


def _value_network(name: str, observations: Any, count: int, values: Values) -> Any:
    """Return the network for the values of `count` actions; for IQN, the features for its quantiles."""
    hidden = values["hidden_sizes"]
    if values.get("layer_num"):
        return Recurrent(
            layer_num=values["layer_num"],
            state_shape=observations.shape,
            action_shape=count,
            hidden_layer_size=values["hidden_layer_size"],
        )
    if is_pictures(observations):
        if name == "iqn":
            return _image_features(observations)
        return _image_values(name, observations, count, values)
    if name == "iqn":
        return _net(observations, action_shape=hidden[-1], hidden_sizes=hidden[:-1])
    if name in ("c51", "rainbow"):
        noisy = {"linear_layer": lambda x, y: NoisyLinear(x, y, values["noisy_std"])}
        dueling = (noisy, noisy) if name == "rainbow" else None
        atoms = values["num_atoms"]
        return _net(
            observations,
            action_shape=count,
            hidden_sizes=hidden,
            softmax=True,
            num_atoms=atoms,
            dueling_param=dueling,
        )
    if name in ("qrdqn", "discrete_cql"):
        quantiles = values["num_quantiles"]
        return _net(observations, action_shape=count, hidden_sizes=hidden, num_atoms=quantiles)
    return _net(observations, action_shape=count, hidden_sizes=hidden)


class SmallImageNet(ActionReprNetWithVectorOutput[Any]):
    """Two convolutions of 3×3 before upstream's `Net`, for images that are too small for upstream's own.

    Args:
        space: the observations, (height, width, channels); bytes are divided by their upper bound.
        arguments: those of `Net` without `state_shape`.
    """

    def __init__(self, space: Any, **arguments: Any) -> None:
        height, width, channels = space.shape
        net = Net(state_shape=64 * height * width, **arguments)
        super().__init__(net.get_output_dim())
        self.convolutions = nn.Sequential(
            nn.Conv2d(channels, 32, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.net = net
        self._scale = float(space.high.max()) if space.dtype == "uint8" else 1.0

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[Any, Any]:
        weights = self.convolutions[0].weight
        images = torch.as_tensor(obs, dtype=weights.dtype, device=weights.device) / self._scale
        features, new_state = self.net(self.convolutions(images.permute(0, 3, 1, 2)), state, info)
        return features, new_state


def _net(observations: Any, **arguments: Any) -> ActionReprNetWithVectorOutput[Any]:
    """Return upstream's `Net` for vectors, with convolutions before it for small images."""
    if is_small_image(observations):
        return SmallImageNet(observations, **arguments)
    return Net(state_shape=observations.shape, **arguments)


def _image_features(observations: Any) -> ActionReprNetWithVectorOutput:
    """Return a network from images (bytes; channels, height, width) to features, for actors and critics."""
    net = DQNet(
        **_image_size(observations),
        action_shape=1,
        features_only=True,
        output_dim_added_layer=_IMAGE_FEATURES,
        layer_init=layer_init,
    )
    return ScaledObsInputActionReprNet(net)


def _image_values(name: str, observations: Any, count: int, values: Values) -> ActionReprNetWithVectorOutput:
    """Return the network for the values of `count` actions, or their distributions."""
    shape = {**_image_size(observations), "action_shape": [count]}
    if name == "c51":
        net: DQNet = C51Net(**shape, num_atoms=values["num_atoms"])
    elif name == "rainbow":
        net = RainbowNet(**shape, num_atoms=values["num_atoms"], noisy_std=values["noisy_std"])
    elif name == "qrdqn":
        net = QRDQNet(**shape, num_quantiles=values["num_quantiles"])
    else:
        net = DQNet(**shape)
    return ScaledObsInputActionReprNet(net)


def _image_size(observations: Any) -> dict[str, int]:
    return dict(zip("chw", map(int, observations.shape)))


def _on_policy(name: str, observations: Any, actions: Any, values: Values, **parts: Any) -> Algorithm:
    trust_region = name in ("trpo", "npg")
    discrete = not hasattr(actions, "high")

    def features() -> Any:
        if is_pictures(observations):
            return _image_features(observations)
        activation = nn.Tanh if trust_region else nn.ReLU
        return _net(observations, hidden_sizes=values["hidden_sizes"], activation=activation)

    net = features()
    policy: ProbabilisticActorPolicy
    critic: nn.Module
    if discrete:
        actor = DiscreteActor(preprocess_net=net, action_shape=int(actions.n))
        # Trust regions cover all weights of the actor: a critic that shares some would change them.
        critic = DiscreteCritic(preprocess_net=features() if trust_region else net)
        policy = DiscreteActorPolicy(actor=actor, dist_fn=Categorical, action_space=actions)
    else:
        wide = ContinuousActorProbabilistic(
            preprocess_net=net, action_shape=actions.shape, unbounded=name != "gail"
        )
        critic = ContinuousCritic(preprocess_net=features())
        policy = ProbabilisticActorPolicy(actor=wide, dist_fn=gaussian, action_space=actions)
    if name != "a2c":
        for module in [*policy.modules(), *critic.modules()]:
            if isinstance(module, nn.Linear):
                nn.init.orthogonal_(module.weight)
                nn.init.zeros_(module.bias)
    optim = AdamOptimizerFactory(lr=values["lr"])
    return _assemble(name, values, policy=policy, critic=critic, optim=optim, **parts)


def _discriminator(observations: Any, actions: Any, values: Values) -> dict[str, Any]:
    shape = {"state_shape": observations.shape, "action_shape": actions.shape}
    net = Net(**shape, hidden_sizes=values["hidden_sizes"], activation=nn.Tanh, concat=True)
    disc_net = ContinuousCritic(preprocess_net=net)
    for module in disc_net.modules():
        if isinstance(module, nn.Linear):
            nn.init.orthogonal_(module.weight, gain=math.sqrt(2))
            nn.init.zeros_(module.bias)
    return {"disc_net": disc_net, "disc_optim": AdamOptimizerFactory(lr=values["disc_lr"])}


def _actor_critic(name: str, observations: Any, actions: Any, values: Values) -> Algorithm:
    net = Net(state_shape=observations.shape, hidden_sizes=values["hidden_sizes"])
    parts: dict[str, Any] = {}
    if name in ("ddpg", "td3"):
        noise = GaussianNoise(sigma=values["exploration_noise"])
        actor = ContinuousActorDeterministic(preprocess_net=net, action_shape=actions.shape)
        policy: Any = ContinuousDeterministicPolicy(
            actor=actor, exploration_noise=noise, action_space=actions
        )
    else:
        stochastic_actor = ContinuousActorProbabilistic(
            preprocess_net=net, action_shape=actions.shape, unbounded=True, conditioned_sigma=True
        )
        policy = (REDQPolicy if name == "redq" else SACPolicy)(actor=stochastic_actor, action_space=actions)
        parts["alpha"] = values["alpha"]
        if values["auto_alpha"]:
            entropy = -float(actions.shape[0])
            parts["alpha"] = AutoAlpha(entropy, 0.0, AdamOptimizerFactory(lr=values["alpha_lr"]))
    if name in ("td3", "sac", "cql"):
        parts["critic2"] = _critic(observations, actions, values)
    return _assemble(
        name,
        values,
        policy=policy,
        policy_optim=AdamOptimizerFactory(lr=values["actor_lr"]),
        critic=_critic(observations, actions, values),
        critic_optim=AdamOptimizerFactory(lr=values["critic_lr"]),
        **parts,
    )


def _imitation(name: str, observations: Any, actions: Any, values: Values) -> Algorithm:
    if is_pictures(observations):
        features = _image_features(observations)
    else:
        features = _net(observations, hidden_sizes=values["hidden_sizes"])
    spaces = {"action_space": actions, "observation_space": observations}
    if hasattr(actions, "high"):
        actor: nn.Module = ContinuousActorDeterministic(preprocess_net=features, action_shape=actions.shape)
        policy = ImitationPolicy(actor=actor, **spaces, action_scaling=True)
    else:
        # The loss takes logits: a softmax, as in upstream's example, would be applied twice.
        actor = DiscreteActor(preprocess_net=features, action_shape=int(actions.n), softmax_output=False)
        policy = ImitationPolicy(actor=actor, **spaces, action_bound_method=None)
    return _assemble(name, values, policy=policy, optim=AdamOptimizerFactory(lr=values["lr"]))


def _bcq(name: str, observations: Any, actions: Any, values: Values) -> Algorithm:
    size, count = observations.shape[0], actions.shape[0]
    hidden, latent = values["vae_hidden_sizes"], 2 * count
    vae = VAE(
        encoder=MLP(input_dim=size + count, hidden_sizes=hidden),
        decoder=MLP(input_dim=size + latent, output_dim=count, hidden_sizes=hidden),
        hidden_dim=hidden[-1],
        latent_dim=latent,
        max_action=1.0,
    )
    # Not the MLP of upstream's example: the first row of its output would be used for all rows.
    moves = Net(state_shape=size + count, action_shape=count, hidden_sizes=values["hidden_sizes"])
    policy = BCQPolicy(
        actor_perturbation=Perturbation(preprocess_net=moves, max_action=1.0, phi=values["phi"]),
        critic=_critic(observations, actions, values),
        vae=vae,
        forward_sampled_times=values["forward_sampled_times"],
        action_space=actions,
        action_scaling=True,
    )
    return _assemble(
        name,
        values,
        policy=policy,
        actor_perturbation_optim=AdamOptimizerFactory(lr=values["actor_lr"]),
        critic_optim=AdamOptimizerFactory(lr=values["critic_lr"]),
        vae_optim=AdamOptimizerFactory(lr=values["vae_lr"]),
        critic2=_critic(observations, actions, values),
    )


def _discrete_bcq(name: str, observations: Any, actions: Any, values: Values) -> Algorithm:
    hidden = values["hidden_sizes"]
    features = Net(state_shape=observations.shape, action_shape=hidden[0])
    model, imitator = (
        DiscreteActor(
            preprocess_net=features, action_shape=int(actions.n), hidden_sizes=hidden, softmax_output=False
        )
        for _ in range(2)
    )
    policy = DiscreteBCQPolicy(
        model=model,
        imitator=imitator,
        action_space=actions,
        unlikely_action_threshold=values["unlikely_action_threshold"],
    )
    return _assemble(name, values, policy=policy, optim=AdamOptimizerFactory(lr=values["lr"]))


def _critic(observations: Any, actions: Any, values: Values) -> ContinuousCritic:
    """Return one critic, or an ensemble in one module."""
    shape = {"state_shape": observations.shape, "action_shape": actions.shape}
    hidden, count = values["hidden_sizes"], values.get("ensemble_size")
    if count is None:
        return ContinuousCritic(preprocess_net=Net(**shape, hidden_sizes=hidden, concat=True))

    def linear(inputs: int, outputs: int) -> nn.Module:
        return EnsembleLinear(count, inputs, outputs)

    net = Net(**shape, hidden_sizes=hidden, concat=True, linear_layer=linear)
    return ContinuousCritic(preprocess_net=net, linear_layer=linear, flatten_input=False)
