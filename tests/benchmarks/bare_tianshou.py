"""Train with Tianshou alone, in the worker's interpreter and like upstream's examples: PPO, DQN or discrete
BCQ on CartPole-v1, or SAC on Pendulum-v1.

Arguments: the configuration that the worker resolved, and a folder for TensorBoard files. Prints the speed as
JSON: steps per second from the first collection that upstream logs to the last; for training from a dataset,
gradient steps per second from the first update to the last.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from tianshou.algorithm import DQN, PPO, SAC, DiscreteBCQ
from tianshou.algorithm.imitation.discrete_bcq import DiscreteBCQPolicy
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.modelfree.sac import AutoAlpha, SACPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, ReplayBuffer, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OfflineTrainerParams, OffPolicyTrainerParams, OnPolicyTrainerParams
from tianshou.utils import TensorboardLogger
from tianshou.utils.net.common import Net
from tianshou.utils.net.continuous import ContinuousActorProbabilistic, ContinuousCritic
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic
from tianshou.utils.torch_utils import policy_within_training_step
from torch.utils.tensorboard import SummaryWriter


class Log(TensorboardLogger):
    def __init__(self, folder: Path, scope: str) -> None:
        super().__init__(SummaryWriter(str(folder)))
        self.scope = scope
        self.seen: list[tuple[float, int]] = []

    def write(self, step_type: str, step: int, data: dict[str, Any]) -> None:
        if step_type.startswith(self.scope):
            self.seen.append((time.perf_counter(), step))
        super().write(step_type, step, data)


def make_ppo(values: dict[str, Any], env: Any) -> PPO:
    net = Net(state_shape=4, hidden_sizes=values["hidden_sizes"])
    actor, critic = DiscreteActor(preprocess_net=net, action_shape=2), DiscreteCritic(preprocess_net=net)
    for module in [*actor.modules(), *critic.modules()]:
        if isinstance(module, torch.nn.Linear):
            torch.nn.init.orthogonal_(module.weight)
            torch.nn.init.zeros_(module.bias)
    policy = DiscreteActorPolicy(
        actor=actor, dist_fn=torch.distributions.Categorical, action_space=env.action_space
    )
    names = ("ent_coef", "max_grad_norm", "advantage_normalization")
    optim = AdamOptimizerFactory(lr=values["lr"])
    return PPO(policy=policy, critic=critic, optim=optim, **{name: values[name] for name in names})


def make_dqn(values: dict[str, Any], env: Any) -> DQN:
    net = Net(state_shape=4, action_shape=2, hidden_sizes=values["hidden_sizes"])
    policy = DiscreteQLearningPolicy(
        model=net, action_space=env.action_space, eps_training=values["eps_training"]
    )
    names = ("gamma", "n_step_return_horizon", "target_update_freq")
    optim = AdamOptimizerFactory(lr=values["lr"])
    return DQN(policy=policy, optim=optim, **{name: values[name] for name in names})


def make_sac(values: dict[str, Any], env: Any) -> SAC:
    hidden = values["hidden_sizes"]
    actor = ContinuousActorProbabilistic(
        preprocess_net=Net(state_shape=3, hidden_sizes=hidden),
        action_shape=1,
        unbounded=True,
        conditioned_sigma=True,
    )
    critic, critic2 = (
        ContinuousCritic(preprocess_net=Net(state_shape=3, action_shape=1, hidden_sizes=hidden, concat=True))
        for _ in range(2)
    )
    names = ("tau", "gamma", "n_step_return_horizon")
    return SAC(
        policy=SACPolicy(actor=actor, action_space=env.action_space),
        policy_optim=AdamOptimizerFactory(lr=values["actor_lr"]),
        critic=critic,
        critic2=critic2,
        critic_optim=AdamOptimizerFactory(lr=values["critic_lr"]),
        alpha=AutoAlpha(-1.0, 0.0, AdamOptimizerFactory(lr=values["alpha_lr"])),
        **{name: values[name] for name in names},
    )


def make_discrete_bcq(values: dict[str, Any], env: Any) -> DiscreteBCQ:
    hidden = values["hidden_sizes"]
    net = Net(state_shape=4, action_shape=hidden[0])
    model, imitator = (
        DiscreteActor(preprocess_net=net, action_shape=2, hidden_sizes=hidden, softmax_output=False)
        for _ in range(2)
    )
    threshold = values["unlikely_action_threshold"]
    policy = DiscreteBCQPolicy(
        model=model, imitator=imitator, action_space=env.action_space, unlikely_action_threshold=threshold
    )
    names = ("gamma", "n_step_return_horizon", "target_update_freq", "imitation_logits_penalty")
    optim = AdamOptimizerFactory(lr=values["lr"])
    return DiscreteBCQ(policy=policy, optim=optim, **{name: values[name] for name in names})


def online(config: dict[str, Any], algorithm: PPO | DQN | SAC, log: Log) -> Any:
    values, on_policy = config["hyperparameters"], isinstance(algorithm, PPO)
    count, collection = values["num_training_envs"], values["collection_step_num_env_steps"]
    envs = DummyVectorEnv([lambda: gymnasium.make(config["env_id"]) for _ in range(count)])
    envs.seed(config["seed"])
    buffer = VectorReplayBuffer(collection if on_policy else values["buffer_size"], count)
    collector = Collector(algorithm, envs, buffer, exploration_noise=not on_policy)
    collector.reset()
    warm_up = values.get("start_timesteps", 0)
    if warm_up:
        with policy_within_training_step(algorithm.policy):
            collector.collect(n_step=warm_up, random=True)
    per_update = "update_step_num_repetitions" if on_policy else "update_step_num_gradient_steps_per_sample"
    kind = OnPolicyTrainerParams if on_policy else OffPolicyTrainerParams
    return kind(
        training_collector=collector,
        max_epochs=1,
        epoch_num_steps=config["total_timesteps"] - warm_up,
        collection_step_num_env_steps=collection,
        batch_size=values["batch_size"],
        logger=log,
        show_progress=False,
        **{per_update: values[per_update]},
    )


def offline(config: dict[str, Any], log: Log) -> OfflineTrainerParams:
    """Load the dataset into one buffer, as the worker does: upstream's vector of buffers samples slower."""
    recorded = VectorReplayBuffer.load_hdf5(config["hyperparameters"]["dataset"])
    buffer = ReplayBuffer(len(recorded), random_seed=config["seed"])
    buffer.update(recorded)
    return OfflineTrainerParams(
        buffer=buffer,
        max_epochs=1,
        epoch_num_steps=config["total_timesteps"],
        batch_size=config["hyperparameters"]["batch_size"],
        logger=log,
        show_progress=False,
    )


def main(config: dict[str, Any], folder: Path) -> None:
    for seed in (random.seed, np.random.seed, torch.manual_seed):
        seed(config["seed"])
    makers = {"ppo": make_ppo, "dqn": make_dqn, "sac": make_sac, "discrete_bcq": make_discrete_bcq}
    algorithm = makers[config["algorithm"]](config["hyperparameters"], gymnasium.make(config["env_id"]))
    if isinstance(algorithm, DiscreteBCQ):
        log = Log(folder, "update")
        algorithm.run_training(offline(config, log))
    else:
        log = Log(folder, "training")
        algorithm.run_training(online(config, algorithm, log))
    (began, first), (ended, last) = log.seen[0], log.seen[-1]
    print(json.dumps((last - first) / (ended - began)))


main(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
