"""Acts from a checkpoint, with upstream's own networks."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import jax
import numpy as np
from mosaic_contract import AgentSetup, ConfigError
from mosaic_contract.checkpoints import acting_settings, check_spaces, read_description

from .actions import Choose
from .config import ALGORITHMS, FORMAT, module_of
from .environments import make
from .observations import like

_KEPT = 8  # policies


def operate(setup: AgentSetup) -> Acting:
    """The operator of one agent. Raises `ConfigError` for a checkpoint that it cannot act from."""
    path, deterministic = acting_settings(setup)
    file, described = read_description(path, FORMAT, ALGORITHMS)
    check_spaces(described, setup)
    return Acting(_policy(file, file.stat().st_mtime_ns, deterministic), setup.seed)


class Policy:
    """A policy, compiled before anybody waits for its first action."""

    def __init__(self, env: Any, choose: Choose) -> None:
        self._template = jax.device_get(env.observation_spec.generate_value())
        self._choose = jax.jit(choose)
        self._choose(self._template, jax.random.PRNGKey(0))

    def act(self, observation: Any, key: Any) -> Any:
        """The action, a number or an array."""
        action = np.asarray(self._choose(like(self._template, observation), key))
        return action if action.ndim else int(action)


class Acting:
    """Acts for one agent. Its random numbers are its own."""

    def __init__(self, policy: Policy, seed: int | None) -> None:
        self._policy = policy
        self.episode_begin(0 if seed is None else seed, 0)

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        """Draw what this seed gives from here on. Without one: go on."""
        if seed is not None:
            self._key = jax.random.PRNGKey(seed)

    def select_action(self, observation: Any) -> Any:
        self._key, key = jax.random.split(self._key)
        return self._policy.act(observation, key)


@functools.lru_cache(_KEPT)
def _policy(path: Path, modified: int, deterministic: bool) -> Policy:
    """The policy of a file that was modified then. Raises `ConfigError`."""
    _, described = read_description(path, FORMAT, ALGORITHMS)
    try:
        env = make(described["env_id"], {})
        policy_of = module_of(described["algorithm"]).policy_of
        return Policy(env, policy_of(path, described, env, deterministic=deterministic))
    except ConfigError:
        raise
    except Exception as error:  # whatever a description that was changed makes of upstream's code
        raise ConfigError(f"no policy can be made from {path}: {type(error).__name__}: {error}") from error
