"""MiniWorld: rooms and mazes in three dimensions, rendered by OpenGL, through EGL without a display."""

from __future__ import annotations

import ctypes
import os
import re
from functools import lru_cache
from typing import Any, Mapping

from mosaic_contract import ConfigError
from mosaic_contract.arena import EnvironmentFacts, make_gymnasium
from mosaic_contract.upstream import upstream_folder

_PREFIX = "MiniWorld-"
_LIBRARIES = ("libEGL.so.1", "libGL.so.1", "libGLU.so.1")
_KEYS = {
    "turn_left": "ArrowLeft",
    "turn_right": "ArrowRight",
    "move_forward": "ArrowUp",
    "move_back": "ArrowDown",
    "pickup": "p",
    "drop": "d",
    "toggle": " ",
    "done": "Enter",
}
_TASKS = {  # by prefix of the rest of an id; the first match counts
    "CollectHealth": "The floor hurts: collect health kits to stay alive.",
    "PickupObjects": "Pick up all objects.",
    "PutNext": "Put the red box next to the yellow one.",
    "RoomObjects": "There are objects in a room; nothing is rewarded.",
    "Sidewalk": "Walk along the sidewalk to the red box, without stepping onto the street.",
    "Sign": "A sign names a colour: go to the object of that colour.",
    "ThreeRooms": "There are objects in three rooms; nothing is rewarded.",
    "": "Reach the red box.",
}


@lru_cache(maxsize=None)
def ids() -> tuple[str, ...]:
    """Return the ids from upstream's source, which cannot be imported without rendering."""
    source = (upstream_folder("miniworld") / "envs" / "__init__.py").read_text(encoding="utf-8")
    return tuple(re.findall(rf'id="({_PREFIX}[^"]+)"', source))


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    _import_upstream()
    return make_gymnasium(env_id, settings, render_mode)


def facts_of(env: Any, agent: str) -> EnvironmentFacts:
    names = [action.name for action in env.unwrapped.actions][: int(env.action_space.n)]
    name = env.spec.id.removeprefix(_PREFIX)
    task = next(text for begin, text in _TASKS.items() if name.startswith(begin))
    return EnvironmentFacts(
        [action.replace("_", " ") for action in names],
        {_KEYS[action]: number for number, action in enumerate(names)},
        instructions=f"You move through rooms, and see what is in front of you. {task}",
    )


def _import_upstream() -> None:
    """Import MiniWorld, which registers its environments. Raises `ConfigError` if it cannot render."""
    os.environ.setdefault("PYGLET_HEADLESS", "1")
    missing = [library for library in _LIBRARIES if not _loads(library)]
    if missing:
        raise ConfigError(
            f"MiniWorld draws by OpenGL, and {' and '.join(missing)} cannot be loaded here: install Debian's "
            "packages libegl1, libgl1 and libglu1-mesa"
        )
    import miniworld  # noqa: F401


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
