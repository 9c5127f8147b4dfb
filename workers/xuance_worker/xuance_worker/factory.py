"""Upstream's agents, made from upstream's own configuration and the run's hyperparameters."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any, Mapping

from mosaic_contract.pytorch import torch_device
from xuance.environment import make_envs
from xuance.torch import REGISTRY_Agents

from .algorithms import XuanceAlgorithm
from .config import XuancePlan
from .environments import XuanceEnvironmentSpec
from .hyperparameters import configuration
from .training_environments import UPSTREAM_NAMES, TrainingContext, state_space, upstream_names

_UNUSED_DELTA = 1.0


class Settings(Namespace):
    """Upstream's configuration object. Without a Huber loss, COMA's learner sets its delta to None but still
    creates the loss, which PyTorch rejects; the delta is replaced by an unused number."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, _UNUSED_DELTA if (name, value) == ("huber_delta", None) else value)


class Spaces:
    """A replacement for upstream's vector of environments, with spaces only, for building networks."""

    num_envs = 1

    def __init__(self, spec: XuanceEnvironmentSpec) -> None:
        self.max_episode_steps = spec.longest
        if spec.several:
            names = upstream_names(spec.actions)
            self.agents = list(names.values())
            self.num_agents = len(self.agents)
            self.observation_space: Any = {names[one]: space for one, space in spec.observations.items()}
            self.action_space: Any = {names[one]: space for one, space in spec.actions.items()}
            self.state_space = state_space(spec.observations)
        else:
            (self.observation_space,) = spec.observations.values()
            (self.action_space,) = spec.actions.values()

    def reset(self) -> None:
        """Do nothing: no environment is stepped."""


def make_training_agent(plan: XuancePlan, context: TrainingContext) -> Any:
    """Return the agent with its environments, buffer and writer. It also sets the seed."""
    config = plan.config
    settings = _settings(
        plan.algorithm,
        plan.spec,
        plan.hyperparameters,
        env_id=config.env_id,
        device=torch_device(plan.hyperparameters["device"]),
        seed=config.seed,
        env_seed=config.seed,
        running_steps=config.total_timesteps,
        log_dir=str(config.tensorboard_dir),
        context=context,
    )
    return _agent(settings, make_envs(settings))


def make_acting_agent(
    algorithm: XuanceAlgorithm, spec: XuanceEnvironmentSpec, values: Mapping[str, Any], folder: Path
) -> Any:
    """Return the agent with fresh weights and no environments. Upstream writes an empty log to `folder`."""
    minimal = {"parallels": 1, "buffer_size": 1, "horizon_size": 1, "n_minibatch": 1, "batch_size": None}
    settings = _settings(
        algorithm, spec, {**values, **minimal}, env_id=spec.env_id, device="cpu", log_dir=str(folder)
    )
    agent = _agent(settings, Spaces(spec))
    agent.writer.close()
    return agent


def _agent(settings: Settings, envs: Any) -> Any:
    agent = REGISTRY_Agents[settings.agent](settings, envs)
    if settings.batch_size is not None:
        agent.batch_size = settings.batch_size
    return agent


def _settings(
    algorithm: XuanceAlgorithm, spec: XuanceEnvironmentSpec, values: Mapping[str, Any], **run_settings: Any
) -> Settings:
    base = configuration(algorithm.name, spec.configured)
    hyperparameters = {name: value for name, value in values.items() if name != "backend"}
    return Settings(
        **{
            **base,
            **hyperparameters,
            "dl_toolbox": values["backend"],
            "policy": algorithm.policies[spec.kind],
            "representation": "Basic_RNN" if values.get("use_rnn") else base["representation"],
            "env_name": UPSTREAM_NAMES[spec.several],
            "vectorize": UPSTREAM_NAMES[spec.several],
            "render": False,
            **run_settings,
        }
    )
