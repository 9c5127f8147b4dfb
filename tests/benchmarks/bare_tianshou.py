"""Run by the worker's interpreter: PPO or DQN on CartPole-v1 by Tianshou alone, as upstream's examples do it.

Arguments: the configuration that the worker resolved, and a folder for TensorBoard files. Prints the speed as
JSON, in steps per second from the first collection that upstream logs to the last.
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
from tianshou.algorithm import DQN, PPO
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams, OnPolicyTrainerParams
from tianshou.utils import TensorboardLogger
from tianshou.utils.net.common import Net
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic
from tianshou.utils.torch_utils import policy_within_training_step
from torch.utils.tensorboard import SummaryWriter

seen: list[tuple[float, int]] = []


class Log(TensorboardLogger):
    def write(self, step_type: str, step: int, data: dict[str, Any]) -> None:
        if step_type.startswith("training"):
            seen.append((time.perf_counter(), step))
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


def main(config: dict[str, Any], folder: Path) -> None:
    values, on_policy = config["hyperparameters"], config["algorithm"] == "ppo"
    for seed in (random.seed, np.random.seed, torch.manual_seed):
        seed(config["seed"])
    count, collection = values["num_training_envs"], values["collection_step_num_env_steps"]
    envs = DummyVectorEnv([lambda: gymnasium.make("CartPole-v1") for _ in range(count)])
    envs.seed(config["seed"])
    algorithm = (make_ppo if on_policy else make_dqn)(values, gymnasium.make("CartPole-v1"))
    buffer = VectorReplayBuffer(collection if on_policy else values["buffer_size"], count)
    collector = Collector(algorithm, envs, buffer, exploration_noise=not on_policy)
    collector.reset()
    warm_up = values.get("start_timesteps", 0)
    if warm_up:
        with policy_within_training_step(algorithm.policy):
            collector.collect(n_step=warm_up, random=True)
    per_update = "update_step_num_repetitions" if on_policy else "update_step_num_gradient_steps_per_sample"
    kind = OnPolicyTrainerParams if on_policy else OffPolicyTrainerParams
    parameters = kind(
        training_collector=collector,
        max_epochs=1,
        epoch_num_steps=config["total_timesteps"] - warm_up,
        collection_step_num_env_steps=collection,
        batch_size=values["batch_size"],
        logger=Log(SummaryWriter(str(folder))),
        show_progress=False,
        **{per_update: values[per_update]},
    )
    algorithm.run_training(parameters)
    (began, first), (ended, last) = seen[0], seen[-1]
    print(json.dumps((last - first) / (ended - began)))


main(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
