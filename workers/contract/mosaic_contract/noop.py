"""No-op actions, found by the names of the actions, by the environment, or by the kind of space. Spaces are
given as descriptions (`describe_space`). NumPy is imported if a space has arrays."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, Mapping, Sequence

from mosaic_contract.codec import whole_number
from mosaic_contract.errors import ConfigError
from mosaic_contract.operators import Decision
from mosaic_contract.spaces import box_bounds

_NOOPS_BY_PREFIX = (  # no-op actions by the prefix of the environment's id
    ("LunarLander", 0, "engines off"),
    ("MountainCar", 1, "no push"),
    ("Acrobot", 1, "no torque"),
    ("CarRacing", 0, "do nothing"),
    ("Blackjack", 0, "stick"),
    ("MiniGrid", 6, "done"),
    ("BabyAI", 6, "done"),
    ("simple_", 0, "no action"),
)
# Words that mean "nothing" anywhere in the name of an action, and whole names with a similar meaning.
_NOTHING = frozenset({"noop", "nop", "nothing", "none", "still", "stay", "wait", "idle"})
_SIMILAR = frozenset({"noaction", "nooperation", "nopush", "notorque", "pass", "done", "stick"})


def noop_action(space: Mapping[str, Any], meanings: Any, env_id: str) -> Decision:
    """Return the most passive action of this space, zero or the value nearest to it within the bounds.

    `meanings` are the names of a Discrete space's actions, or None. Raises `ConfigError` for a kind of space
    without such an action.
    """
    if space.get("type") == "Discrete":
        return _discrete_noop(space, meanings, env_id)
    action, clipped = _zero(space)
    return Decision(action, "still (as near to zero as the bounds allow)" if clipped else "still (zero)")


def first_legal(space: Mapping[str, Any], preferred: int, mask: Any, moves: Any) -> int:
    """Return `preferred` if it is legal, else the first legal action; `preferred` if no legal actions are
    given. `mask` is a flat list of 0 and 1 or None, `moves` a list of actions or None; the mask takes
    precedence."""
    start = int(space.get("start", 0))
    if mask is not None:
        legal = [start + index for index, allowed in enumerate(mask) if allowed]
    else:
        legal = [action for move in moves or () if (action := whole_number(move)) is not None]
    return preferred if preferred in legal or not legal else legal[0]


def noop_indices(meanings: Sequence[Any]) -> list[int]:
    """Return the indices of names that mean "nothing", then of similar names ("pass", "done")."""
    words = [re.findall(r"[a-z]+", str(meaning).lower()) for meaning in meanings]
    joined = ["".join(parts) for parts in words]
    indices = range(len(words))
    nothing = [index for index in indices if _NOTHING.intersection(words[index]) or joined[index] in _NOTHING]
    return nothing + [index for index in indices if joined[index] in _SIMILAR and index not in nothing]


def _discrete_noop(space: Mapping[str, Any], meanings: Any, env_id: str) -> Decision:
    start, count = int(space.get("start", 0)), int(space["n"])
    for index in noop_indices(meanings[:count] if isinstance(meanings, list) else ()):
        return Decision(start + index, f"{meanings[index]} (index {index})")
    name = re.sub(r"^.*[/:]", "", env_id)  # without "ALE/", "mpe2/", "module:"
    for prefix, index, meaning in _NOOPS_BY_PREFIX:
        if name.startswith(prefix) and index < count:
            return Decision(start + index, f"{meaning} (index {index})")
    return Decision(start, f"no action is known to do nothing: plays {start}")


def _zero(space: Mapping[str, Any]) -> tuple[Any, bool]:
    """Return the action nearest to zero, and whether the bounds exclude zero."""
    kind = space.get("type")
    if kind == "Discrete":
        return int(space.get("start", 0)), False
    if kind == "Box":
        return _box_zero(space)
    if kind == "MultiDiscrete":
        numpy = import_module("numpy")
        return numpy.zeros(numpy.shape(space["nvec"]), numpy.int64) + space.get("start", 0), False
    if kind == "MultiBinary":
        return import_module("numpy").zeros(space["n"], "int8"), False
    if kind == "Text":  # the shortest text
        return str(space.get("characters") or " ")[0] * int(space.get("min_length", 0)), False
    parts = space.get("spaces")
    if kind == "Dict" and isinstance(parts, Mapping):
        actions = {name: _zero(part) for name, part in parts.items()}
        return {name: action for name, (action, _) in actions.items()}, any(c for _, c in actions.values())
    if kind == "Tuple" and isinstance(parts, Sequence):
        several = [_zero(part) for part in parts]
        return [action for action, _ in several], any(clipped for _, clipped in several)
    raise ConfigError(f"an action space of type {kind!r:.100} has no known action that does nothing")


def _box_zero(space: Mapping[str, Any]) -> tuple[Any, bool]:
    zero = import_module("numpy").clip(0.0, *box_bounds(space, "float64"))
    return zero.astype(space["dtype"]), bool((zero != 0.0).any())
