"""Which action does nothing: by what the actions are called, by the environment, by the kind of space.

NumPy is imported where a space has arrays. `find_still` and `first_legal` are for operators, which know a
space by its description only.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, Mapping, Sequence

from mosaic_contract.codec import as_number
from mosaic_contract.errors import ConfigError
from mosaic_contract.legal import whole_number
from mosaic_contract.operators import Decision
from mosaic_contract.stillness import that_do_nothing

_KNOWN = (  # environments by how their ids begin, with what their action for nothing is
    ("LunarLander", 0, "engines off"),
    ("MountainCar", 1, "no push"),
    ("Acrobot", 1, "no torque"),
    ("CarRacing", 0, "do nothing"),
    ("Blackjack", 0, "stick"),
    ("MiniGrid", 6, "done"),
    ("BabyAI", 6, "done"),
    ("simple_", 0, "no action"),
)


def find_still(space: Mapping[str, Any], meanings: Any, env_id: str) -> Decision:
    """The action of this space that does least. Raises `ConfigError` where there is none to be found."""
    if space.get("type") == "Discrete":
        return _still_of_discrete(space, meanings, env_id)
    action, clipped = _still(space)
    return Decision(action, "still (as near to zero as the bounds allow)" if clipped else "still (zero)")


def first_legal(space: Mapping[str, Any], wanted: int, mask: Any, moves: Any) -> int:
    """The action that is wanted if it is legal, else the first that is; as wanted where nothing is said."""
    start = int(space.get("start", 0))
    if mask is not None:
        legal = [start + index for index, allowed in enumerate(mask) if allowed]
    else:
        legal = [action for move in moves or () if (action := whole_number(move)) is not None]
    return wanted if wanted in legal or not legal else legal[0]


def _still_of_discrete(space: Mapping[str, Any], meanings: Any, env_id: str) -> Decision:
    start, count = int(space.get("start", 0)), int(space["n"])
    for index in that_do_nothing(meanings[:count] if isinstance(meanings, list) else ()):
        return Decision(start + index, f"{meanings[index]} (index {index})")
    name = re.sub(r"^.*[/:]", "", env_id)  # without "ALE/", "mpe2/", "module:"
    for prefix, index, meaning in _KNOWN:
        if name.startswith(prefix) and index < count:
            return Decision(start + index, f"{meaning} (index {index})")
    return Decision(start, f"no action is known to do nothing: plays {start}")


def _still(space: Mapping[str, Any]) -> tuple[Any, bool]:
    """The action nearest to zero, and whether the bounds keep it from zero."""
    kind = space.get("type")
    if kind == "Discrete":
        return int(space.get("start", 0)), False
    if kind == "Box":
        return _still_of_box(space)
    if kind == "MultiDiscrete":
        numpy = import_module("numpy")
        return numpy.zeros(numpy.shape(space["nvec"]), numpy.int64) + space.get("start", 0), False
    if kind == "MultiBinary":
        return import_module("numpy").zeros(space["n"], "int8"), False
    if kind == "Text":
        return "", False
    parts = space.get("spaces")
    if kind == "Dict" and isinstance(parts, Mapping):
        found = {name: _still(part) for name, part in parts.items()}
        return {name: action for name, (action, _) in found.items()}, any(c for _, c in found.values())
    if kind == "Tuple" and isinstance(parts, Sequence):
        several = [_still(part) for part in parts]
        return [action for action, _ in several], any(clipped for _, clipped in several)
    raise ConfigError(f"it is not known what doing nothing is in an action space of type {kind!r:.100}")


def _still_of_box(space: Mapping[str, Any]) -> tuple[Any, bool]:
    numpy = import_module("numpy")
    shape, dtype = tuple(space["shape"]), numpy.dtype(space["dtype"])
    low, high = (numpy.full(shape, _numbers(space[name]), numpy.float64) for name in ("low", "high"))
    zero = numpy.clip(0.0, low, high)
    return zero.astype(dtype), bool((zero != 0.0).any())


def _numbers(bound: Any) -> Any:
    return [_numbers(part) for part in bound] if isinstance(bound, list) else as_number(bound)
