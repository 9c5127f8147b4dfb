"""SBX's actor restricted to legal actions: the mask is at the end of its observation."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import tensorflow_probability.substrates.jax.distributions as distributions
from sbx.ppo.policies import Actor

_NEVER = -1e9


class MaskedActor(Actor):  # type: ignore[misc]
    """Upstream's actor for one choice or several, with the illegal ones out of reach."""

    def __call__(self, x: Any) -> Any:
        drawn = super().__call__(x)
        several = isinstance(drawn, distributions.Independent)
        logits = (drawn.distribution if several else drawn).logits
        mask = x[:, -math.prod(logits.shape[1:]) :].reshape(logits.shape)
        masked = distributions.Categorical(logits=jnp.where(mask > 0, logits, _NEVER))
        return distributions.Independent(masked, reinterpreted_batch_ndims=1) if several else masked
