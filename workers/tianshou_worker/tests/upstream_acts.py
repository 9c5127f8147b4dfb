"""Run by the worker's interpreter: actions of upstream's own policies, with a checkpoint's weights.

The shim is not imported: networks and policies are built here by hand for the tests' small trainings.
Prints one JSON list of [best, drawn] per checkpoint: the actions for each observation.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from tianshou.algorithm.imitation.bcq import BCQPolicy
from tianshou.algorithm.modelfree.c51 import C51Policy
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.modelfree.qrdqn import QRDQNPolicy
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.modelfree.sac import SACPolicy
from tianshou.utils.net.common import MLP, Net
from tianshou.utils.net.continuous import VAE, ContinuousActorProbabilistic, ContinuousCritic, Perturbation
from tianshou.utils.net.discrete import DiscreteActor

SEED = 5
HIDDEN = [16, 16]


def policy_of(algorithm: str) -> Any:
    two, torque = Discrete(2), Box(-2.0, 2.0, (1,))
    if algorithm == "dqn":
        net = Net(state_shape=4, action_shape=2, hidden_sizes=HIDDEN)
        return DiscreteQLearningPolicy(model=net, action_space=two)
    if algorithm == "c51":
        net = Net(state_shape=4, action_shape=2, hidden_sizes=HIDDEN, softmax=True, num_atoms=51)
        return C51Policy(model=net, action_space=two)
    if algorithm == "discrete_cql":
        net = Net(state_shape=4, action_shape=2, hidden_sizes=HIDDEN, num_atoms=20)
        return QRDQNPolicy(model=net, action_space=two)
    if algorithm in ("ppo", "trpo"):
        activation = torch.nn.Tanh if algorithm == "trpo" else torch.nn.ReLU
        net = Net(state_shape=4, hidden_sizes=HIDDEN, activation=activation)
        actor = DiscreteActor(preprocess_net=net, action_shape=2)
        return DiscreteActorPolicy(actor=actor, dist_fn=torch.distributions.Categorical, action_space=two)
    if algorithm == "bcq":
        return bcq(torque)
    net = Net(state_shape=3, hidden_sizes=HIDDEN)
    wide = ContinuousActorProbabilistic(
        preprocess_net=net, action_shape=1, unbounded=True, conditioned_sigma=True
    )
    return SACPolicy(actor=wide, action_space=torque)


def bcq(actions: Box) -> BCQPolicy:
    """Return BCQ's policy, whose autoencoder has the default widths."""
    vae = VAE(
        encoder=MLP(input_dim=3 + 1, hidden_sizes=[32, 32]),
        decoder=MLP(input_dim=3 + 2, output_dim=1, hidden_sizes=[32, 32]),
        hidden_dim=32,
        latent_dim=2,
        max_action=1.0,
    )
    moves = Perturbation(
        preprocess_net=Net(state_shape=3 + 1, action_shape=1, hidden_sizes=HIDDEN), max_action=1.0, phi=0.05
    )
    net = Net(state_shape=3, action_shape=1, hidden_sizes=HIDDEN, concat=True)
    critic = ContinuousCritic(preprocess_net=net)
    return BCQPolicy(
        actor_perturbation=moves, critic=critic, vae=vae, action_space=actions, action_scaling=True
    )


def act(algorithm: str, path: Path) -> list[list[Any]]:
    state = torch.load(path, weights_only=True)["algorithm"]
    policy = policy_of(algorithm)
    own = {key.removeprefix("policy."): value for key, value in state.items() if key.startswith("policy.")}
    policy.load_state_dict(own)
    policy.eval()
    size = 3 if isinstance(policy.action_space, Box) else 4
    seen = np.random.default_rng(3).normal(size=(20, size)).astype(np.float32)
    answers = []
    for deterministic in (True, False):
        policy.deterministic_eval = deterministic
        torch.manual_seed(SEED)
        answers.append([np.asarray(policy.compute_action(one)).tolist() for one in seen])
    return answers


print(json.dumps([act(name, Path(path)) for name, path in (pair.split("=", 1) for pair in sys.argv[1:])]))
