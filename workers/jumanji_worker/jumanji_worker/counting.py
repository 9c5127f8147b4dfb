"""Environments in a batch that count: what each episode earned and how long it was, told in the extras.

Around the batch, beneath the learner, and without a hand in anything random: what is learned is the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jumanji.wrappers import Wrapper

RETURN, LENGTH, TERMINATED = TOLD = "mosaic_return", "mosaic_length", "mosaic_terminated"
"""Extras of a step: of the episodes that ended with it; the length is 0 where none did."""


class Counted(NamedTuple):
    """The state of a batch, with the episodes under way."""

    inner: Any
    rewards: Any
    returns: Any
    lengths: Any


class Counting(Wrapper):  # type: ignore[misc]
    """Around a batch of environments that begin anew by themselves."""

    def reset(self, key: Any) -> tuple[Counted, Any]:
        inner, timestep = self._env.reset(key)
        zeros = jnp.zeros(key.shape[0], jnp.float32)
        told = {RETURN: zeros, LENGTH: zeros, TERMINATED: zeros}
        return Counted(inner, zeros, zeros, zeros), _telling(timestep, told)

    def step(self, state: Counted, action: Any) -> tuple[Counted, Any]:
        inner, timestep = self._env.step(state.inner, action)
        reward = timestep.reward.astype(jnp.float32)
        returns, lengths, ended = state.returns + reward, state.lengths + 1, timestep.last()
        terminated = (ended & (timestep.discount == 0)).astype(jnp.float32)
        told = {RETURN: returns * ended, LENGTH: lengths * ended, TERMINATED: terminated}
        begun = Counted(inner, reward, returns * ~ended, lengths * ~ended)
        return begun, _telling(timestep, told)


class Ended(NamedTuple):
    """An episode that is over. `environment` is its number in the batch."""

    total: float
    length: int
    terminated: bool
    environment: int


def ended(extras: Any) -> list[Ended]:
    """The episodes that ended with one step, from its extras as arrays of NumPy's."""
    return [
        Ended(float(extras[RETURN][at]), int(extras[LENGTH][at]), bool(extras[TERMINATED][at]), int(at))
        for at in np.flatnonzero(extras[LENGTH])
    ]


def _telling(timestep: Any, told: dict[str, Any]) -> Any:
    return timestep.replace(extras={**(timestep.extras or {}), **told})
