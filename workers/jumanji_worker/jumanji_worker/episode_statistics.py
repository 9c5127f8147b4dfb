"""Episode returns and lengths of a batch of environments, in the extras of each step. The wrapper is placed
between the batch and the learner and draws no random numbers, so it does not affect training."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jumanji.wrappers import Wrapper

RETURN, LENGTH, TERMINATED = FIELDS = "mosaic_return", "mosaic_length", "mosaic_terminated"
"""Extras of a step, for the episodes that ended with it; the length is 0 if none did."""


class StatisticsState(NamedTuple):
    """The state of a batch, with the rewards, returns and lengths of the current episodes."""

    inner: Any
    rewards: Any
    returns: Any
    lengths: Any


class RecordEpisodeStatistics(Wrapper):
    """A wrapper of a batch of environments that reset automatically at the end of an episode."""

    def reset(self, key: Any) -> tuple[StatisticsState, Any]:
        inner, timestep = self._env.reset(key)
        zeros = jnp.zeros(key.shape[0], jnp.float32)
        fields = {RETURN: zeros, LENGTH: zeros, TERMINATED: zeros}
        return StatisticsState(inner, zeros, zeros, zeros), _with_extras(timestep, fields)

    def step(self, state: StatisticsState, action: Any) -> tuple[StatisticsState, Any]:
        inner, timestep = self._env.step(state.inner, action)
        reward = timestep.reward.astype(jnp.float32)
        returns, lengths, ended = state.returns + reward, state.lengths + 1, timestep.last()
        terminated = (ended & (timestep.discount == 0)).astype(jnp.float32)
        fields = {RETURN: returns * ended, LENGTH: lengths * ended, TERMINATED: terminated}
        next_state = StatisticsState(inner, reward, returns * ~ended, lengths * ~ended)
        return next_state, _with_extras(timestep, fields)


class FinishedEpisode(NamedTuple):
    """A finished episode. `environment` is its number in the batch."""

    total: float
    length: int
    terminated: bool
    environment: int


def finished_episodes(extras: Any) -> list[FinishedEpisode]:
    """Return the episodes that ended with one step, from its extras as NumPy arrays."""
    return [
        FinishedEpisode(
            float(extras[RETURN][env]), int(extras[LENGTH][env]), bool(extras[TERMINATED][env]), int(env)
        )
        for env in np.flatnonzero(extras[LENGTH])
    ]


def _with_extras(timestep: Any, fields: dict[str, Any]) -> Any:
    return timestep.replace(extras={**(timestep.extras or {}), **fields})
