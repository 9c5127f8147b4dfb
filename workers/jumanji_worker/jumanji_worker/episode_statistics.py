"""Environments in a batch that count: what each episode earned and how long it was, told in the extras.

Around the batch, beneath the learner, and without a hand in anything random: what is learned is the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jumanji.wrappers import Wrapper

RETURN, LENGTH, TERMINATED = FIELDS = "mosaic_return", "mosaic_length", "mosaic_terminated"
"""Extras of a step: of the episodes that ended with it; the length is 0 where none did."""


class StatisticsState(NamedTuple):
    """The state of a batch, with the episodes under way."""

    inner: Any
    rewards: Any
    returns: Any
    lengths: Any


class RecordEpisodeStatistics(Wrapper):  # type: ignore[misc]
    """Around a batch of environments that begin anew by themselves."""

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
        fields = {
            RETURN: returns * ended,
            LENGTH: lengths * ended,
            TERMINATED: terminated,
        }
        begun = StatisticsState(inner, reward, returns * ~ended, lengths * ~ended)
        return begun, _with_extras(timestep, fields)


class FinishedEpisode(NamedTuple):
    """An episode that is over. `environment` is its number in the batch."""

    total: float
    length: int
    terminated: bool
    environment: int


def finished_episodes(extras: Any) -> list[FinishedEpisode]:
    """The episodes that ended with one step, from its extras as arrays of NumPy's."""
    return [
        FinishedEpisode(
            float(extras[RETURN][at]), int(extras[LENGTH][at]), bool(extras[TERMINATED][at]), int(at)
        )
        for at in np.flatnonzero(extras[LENGTH])
    ]


def _with_extras(timestep: Any, fields: dict[str, Any]) -> Any:
    return timestep.replace(extras={**(timestep.extras or {}), **fields})
