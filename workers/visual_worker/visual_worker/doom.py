"""ViZDoom: its scenarios, and the maps of Freedoom. (Doom's own maps require its commercial wad files.)

The engine writes its settings to the working folder, which for an arena is the run's.
"""

from __future__ import annotations

import inspect
import re
from functools import lru_cache
from typing import Any, Mapping

import gymnasium
from mosaic_contract.arena import EnvironmentFacts, check_settings, registered

_COMMERCIAL = re.compile(r"VizdoomDoom2?(E\dM\d|MAP\d)")
_SCENARIOS = {  # by prefix of the rest of an id; the first match counts
    "Basic": "A monster stands somewhere on the other side of the room: shoot it, fast.",
    "DeadlyCorridor": "Reach the vest at the end of a corridor with six monsters that shoot.",
    "DefendCenter": "You stand in the middle of a round room: shoot the monsters that come.",
    "DefendLine": "Shoot the monsters that come from the other side of the room.",
    "HealthGathering": "The floor hurts: collect medkits to stay alive as long as you can.",
    "MyWayHome": "Find the vest in a maze of rooms.",
    "PredictPosition": "Shoot the moving monster with one rocket, which takes time to get there.",
    "TakeCover": "Dodge the fireballs that monsters throw from the other side of the room.",
    "Deathmatch": "Shoot as many monsters as you can.",
    "Freedoom": "Find the exit of the level alive.",
}
_KEYS = {
    "MOVE_FORWARD": ("ArrowUp",),
    "MOVE_BACKWARD": ("ArrowDown",),
    "TURN_LEFT": ("ArrowLeft",),
    "TURN_RIGHT": ("ArrowRight",),
    "MOVE_LEFT": ("a", "ArrowLeft"),  # an arrow if no button turns
    "MOVE_RIGHT": ("d", "ArrowRight"),
    "ATTACK": (" ",),
    "USE": ("e",),
    "JUMP": ("j",),
    "CROUCH": ("c",),
    "SPEED": ("r",),
    "STRAFE": ("s",),
    "RELOAD": ("l",),
    "ZOOM": ("z",),
    "SELECT_NEXT_WEAPON": ("n",),
    "SELECT_PREV_WEAPON": ("p",),
}
_WEAPON = re.compile(r"SELECT_WEAPON(\d)")


@lru_cache(maxsize=None)
def ids() -> tuple[str, ...]:
    import vizdoom.gymnasium_wrapper  # noqa: F401  (registers them)

    return tuple(name for name in registered("Vizdoom") if not _COMMERCIAL.match(name))


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    check_settings(env_id, settings, lambda: None, also=_settings())
    env = gymnasium.make(env_id, **{"disable_env_checker": True, **settings}, render_mode=render_mode)
    return MendedPictures(env)


def _settings() -> list[str]:
    """Return the keywords of upstream and its engine, which would ignore unknown ones."""
    import vizdoom
    from vizdoom.gymnasium_wrapper.base_gymnasium_env import VizdoomEnv

    _file, *keywords, _rest = inspect.signature(VizdoomEnv).parameters
    setters = (name for name in dir(vizdoom.DoomGame) if name.startswith("set_"))
    return [*keywords, "max_episode_steps", *(name.removeprefix("set_") for name in setters)]


def facts_of(env: Any, agent: str) -> EnvironmentFacts:
    inner = env.unwrapped
    buttons = [button.name for button in inner.game.get_available_buttons()]
    presses = _presses(inner, buttons)
    name = env.spec.id.removeprefix("Vizdoom")
    task = next((text for begin, text in _SCENARIOS.items() if name.startswith(begin)), "")
    keys = {}
    for button in buttons:
        for key in _keys_of(button):
            if key not in keys and button in presses:
                keys[key] = presses[button]
    return EnvironmentFacts(
        _names(inner, buttons),
        keys,
        instructions=f"You play Doom, and see what your player sees. {task}",
        describe=lambda: {"text": _variables(inner)},
    )


def _keys_of(button: str) -> tuple[str, ...]:
    weapon = _WEAPON.fullmatch(button)
    return (weapon[1],) if weapon else _KEYS.get(button, ())


def _names(inner: Any, buttons: list[str]) -> list[str] | None:
    """Return the names of the choices, or of the buttons if several may be pressed. None if an action also
    has numeric components."""
    if inner.num_delta_buttons:
        return None
    words = [button.lower().replace("_", " ") for button in buttons]
    if not inner.max_buttons_pressed:
        return words
    return [
        " and ".join(word for word, pressed in zip(words, combination) if pressed) or "nothing"
        for combination in inner.button_map
    ]


def _presses(inner: Any, buttons: list[str]) -> dict[str, Any]:
    """Return, by button name, the action that presses only this button."""
    binary = buttons[inner.num_delta_buttons :]
    actions: dict[str, Any] = {}
    for index, button in enumerate(binary):
        pressed = [int(position == index) for position in range(len(binary))]
        action: Any = pressed
        if inner.max_buttons_pressed:
            action = next(
                n for n, combination in enumerate(inner.button_map) if combination.tolist() == pressed
            )
        if inner.num_delta_buttons:
            action = {"binary": action, "continuous": [0.0] * inner.num_delta_buttons}
        actions[button] = action
    return actions


def _variables(inner: Any) -> str:
    """Return the numbers that the game shows to its player."""
    state = inner.state
    names = [variable.name.lower() for variable in inner.game.get_available_game_variables()]
    values = [] if state is None or state.game_variables is None else state.game_variables
    return "\n".join(f"{name}: {value:g}" for name, value in zip(names, values)) or "no numbers are shown"


class MendedPictures(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Mends two pictures of upstream: the one after the final state, which is black, and the first automap of
    a process, which differs from that of later episodes with the same seed."""

    _has_begun = False
    _picture: Any = None

    def reset(self, **options: Any) -> Any:
        if not self._has_begun and "automap" in self.observation_space.spaces:
            self.env.reset(**options)
        self._has_begun = True
        return self.env.reset(**options)

    def render(self) -> Any:
        """Return the picture of the state, after the final one the last picture."""
        if self.unwrapped.state is not None or self._picture is None:
            self._picture = self.env.render()
        return self._picture
