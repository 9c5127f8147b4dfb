"""A random operator that samples its action space with Gymnasium and its own seed."""

from __future__ import annotations

from typing import Any, Mapping

import numpy
from gymnasium import spaces
from mosaic_contract import AgentSetup, BadMessage, ConfigError, make_space


class RandomOperator:
    """Uniform over the action space, or over the legal actions if a mask or a list of them is given. Every
    episode uses its own seed; without one, the random stream continues."""

    def __init__(self, setup: AgentSetup) -> None:
        if setup.action_space is None:
            raise ConfigError("a random operator needs the action space of its agent in init_agent")
        try:
            self._space = make_space(setup.action_space)
        except BadMessage as error:
            raise ConfigError(f"nothing to choose from at random: {error}") from None
        self._space.seed(setup.seed)

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        if seed is not None:
            self._space.seed(seed)

    def select_action(
        self, observation: Any, *, action_mask: Any = None, info: Mapping[str, Any] | None = None
    ) -> Any:
        moves = (info or {}).get("legal_moves")
        if isinstance(self._space, spaces.Text) and isinstance(moves, list) and moves:
            return str(moves[self._space.np_random.integers(len(moves))])
        if action_mask is None:
            action_mask = _mask_of_moves(self._space, moves)
        if action_mask is None:
            return self._space.sample()
        return self._space.sample(mask=_mask(self._space, action_mask))


def _mask_of_moves(space: spaces.Space[Any], moves: Any) -> Any:
    """Return a mask of the legal actions; None if they are not actions of this space."""
    if not isinstance(space, spaces.Discrete) or not isinstance(moves, (list, numpy.ndarray)):
        return None
    legal = [
        int(move) for move in moves if isinstance(move, (int, numpy.integer)) and space.contains(int(move))
    ]
    mask = numpy.zeros(int(space.n), numpy.int8)
    mask[numpy.array(legal, int) - int(space.start)] = 1
    return mask if legal else None


def _mask(space: spaces.Space[Any], mask: Any) -> Any:
    """Return a received mask in the form required by this space's `sample`."""
    if mask is None or isinstance(space, (spaces.Box, spaces.Text)):
        return None
    if isinstance(space, spaces.Dict):
        return {name: _mask(part, mask.get(name)) for name, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_mask(part, part_mask) for part, part_mask in zip(space.spaces, mask, strict=True))
    if isinstance(space, spaces.MultiDiscrete):
        return tuple(numpy.asarray(part_mask, numpy.int8) for part_mask in mask)
    return numpy.asarray(mask, numpy.int8)
