"""Validation of actions: convert answers to values of the environment's action space, or refuse them. Input:
an unpacked answer and a mask. Output: an action for `step`. NumPy is imported if a space needs it."""

from __future__ import annotations

import importlib
from typing import Any, Mapping, Sequence

from mosaic_contract.action_reader import action_reader
from mosaic_contract.arena.errors import Unusable
from mosaic_contract.errors import ConfigError
from mosaic_contract.noop import noop_action, noop_indices
from mosaic_contract.spaces import describe_space


class ActionRules:
    """The action rules of one agent. `binding`: actions excluded by the mask are refused."""

    def __init__(self, space: Any, meanings: Sequence[str] | None, binding: bool) -> None:
        self.space = space
        self.described = describe_space(space)
        self._meanings = list(meanings or ())
        self._binding = binding
        self._discrete = self.described["type"] == "Discrete"
        self._of_numbers = self.described["type"] == "MultiDiscrete"
        self._start = self.described.get("start", 0)
        self._end = self._start + self.described.get("n", 0) if self._discrete else 0
        self._read = action_reader(self.described)

    def accept(self, value: Any, mask: Any) -> Any:
        """Return the action to play. Raises `Unusable` if the value is not a legal action."""
        if not self._discrete:
            return self._accept_other(value, mask)
        action = self._read_action(value)
        if mask is not None and self._binding and not mask[action - self._start]:
            raise Unusable("illegal", f"action {self.named(action)} is not allowed now")
        return action

    def named(self, action: Any) -> str:
        """Return the action as a string, with its meaning if known."""
        index = action - self._start if type(action) is int else -1
        return f"{action} ({self._meanings[index]})" if 0 <= index < len(self._meanings) else str(action)

    def legal(self, mask: Any) -> list[int] | None:
        """Return the actions allowed by a mask; None without a mask, and for spaces that are not discrete."""
        if mask is None or not self._discrete:
            return None
        return [self._start + index for index, allowed in enumerate(mask) if allowed]

    def default(self, mask: Any) -> tuple[Any, str]:
        """Return the most passive action, a no-op if available, else the first legal action, and its name."""
        if not self._discrete:
            noop = _noop(self.space, self.described)
            return (_allowed(noop, self.space, mask) if self._of_numbers else noop), "still"
        legal = self.legal(mask) or range(self._start, self._end)
        for index in noop_indices(self._meanings):
            if self._start + index in legal:
                return self._start + index, f"{self._meanings[index]} ({self._start + index})"
        return legal[0], f"no action is known to do nothing: plays {self.named(legal[0])}"

    def _read_action(self, value: Any) -> Any:
        try:
            return self._read(value)
        except ValueError as error:
            raise Unusable("illegal", str(error)) from None

    def _accept_other(self, value: Any, mask: Any) -> Any:
        action = _cast(self._read_action(value), self.space, self.described)
        try:
            valid = self.space.contains(action)
        except (TypeError, ValueError, AttributeError):  # a space defined by a script
            valid = False
        if not valid:
            raise Unusable("illegal", f"{value!r:.200} is not in {self.space}"[:600])
        if self._binding and self._of_numbers and (_allowed(action, self.space, mask) != action).any():
            raise Unusable("illegal", f"action {action.tolist()} is not allowed now")
        return action


def _allowed(action: Any, space: Any, mask: Any) -> Any:
    """Return a MultiDiscrete action with every masked number replaced by the first allowed one. Gymnasium's
    masks for these spaces are tuples with one mask per number. Other actions are returned unchanged."""
    if not isinstance(mask, (list, tuple)) or action.ndim != 1 or len(mask) != len(action):
        return action
    starts = getattr(space, "start", [0] * len(action))
    action = action.copy()
    for position, (start, part) in enumerate(zip(starts, mask)):
        legal = [int(start) + index for index, allowed in enumerate(part) if allowed]
        if legal and int(action[position]) not in legal:
            action[position] = legal[0]
    return action


def _cast(action: Any, space: Any, described: Mapping[str, Any]) -> Any:
    """Return an action in the types of the environment's own space."""
    kind = described["type"]
    if kind in ("Box", "MultiDiscrete", "MultiBinary"):
        numpy = importlib.import_module("numpy")
        return numpy.asarray(action, space.dtype).reshape(space.shape)
    if kind == "Tuple":
        return tuple(map(_cast, action, space.spaces, described["spaces"]))
    if kind == "Dict":
        parts = described["spaces"]
        return {key: _cast(action[str(key)], part, parts[str(key)]) for key, part in space.spaces.items()}
    return action


def _noop(space: Any, described: Mapping[str, Any]) -> Any:
    """Return the action with the least effect; a sample if the space has no such action."""
    try:
        return _cast(noop_action(described, None, "").action, space, described)
    except ConfigError:
        return space.sample()
