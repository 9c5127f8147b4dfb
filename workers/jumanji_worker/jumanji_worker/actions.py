"""Actions and their masks, between Jumanji's form and the one that arenas and learners take.

Where a mask says which combinations of several numbers are legal (BinPack: this item in that space), an
action is the number of a combination: Gymnasium has masks for single numbers only.
"""

from __future__ import annotations

import math
from typing import Any, Callable

import gymnasium
import jax.numpy as jnp
import numpy as np
from jumanji.specs import MultiDiscreteArray, jumanji_specs_to_gym_spaces

Choose = Callable[[Any, Any], Any]
"""A policy: Jumanji's observation and a PRNG key → the arena's action."""


class Actions:
    """The actions of one environment. `space` is what arenas and learners see of them, `mask_size` the
    numbers in a mask, 0 where there is none.
    """

    def __init__(self, env: Any) -> None:
        spec, mask = env.action_spec, getattr(env.observation_spec, "action_mask", None)
        several = isinstance(spec, MultiDiscreteArray)
        self._counts = tuple(int(n) for n in np.ravel(spec.num_values)) if several else ()
        if mask is not None and not several and len(spec.shape) == 1:  # MultiCVRP's numbers are a Box's
            several, self._counts = True, (int(mask.shape[1]),) * int(mask.shape[0])
        self._joint = several and mask is not None and tuple(mask.shape) == self._counts
        self.mask_size = 0 if mask is None else math.prod(mask.shape)
        if self._joint:
            self.space: Any = gymnasium.spaces.Discrete(math.prod(self._counts))
        elif several:
            self.space = gymnasium.spaces.MultiDiscrete(self._counts)
        else:
            self.space = jumanji_specs_to_gym_spaces(spec)

    def played(self, action: Any) -> Any:
        """Jumanji's form of an action (an array of JAX's)."""
        return jnp.stack(jnp.unravel_index(action, self._counts)) if self._joint else jnp.asarray(action)

    def said(self, action: Any) -> Any:
        """The arena's form of an action of Jumanji's (an array of JAX's)."""
        return jnp.ravel_multi_index(tuple(action), self._counts, mode="clip") if self._joint else action

    def allowed(self, observation: Any) -> Any:
        """The mask in an arena's observation as Gymnasium's `sample` takes it; None where there is none."""
        if not self.mask_size:
            return None
        mask = np.asarray(observation["action_mask"]).astype(np.int8)
        return tuple(mask) if self._counts and not self._joint else mask.ravel()
