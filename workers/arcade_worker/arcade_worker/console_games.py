"""stable-retro: games of old consoles. Airstriker is included; the others require commercial files."""

from __future__ import annotations

from typing import Any, Callable, Mapping

import gymnasium
import stable_retro
from mosaic_contract import ConfigError
from mosaic_contract.arena import EnvironmentFacts, check_settings

_KEYS = {"UP": "ArrowUp", "DOWN": "ArrowDown", "LEFT": "ArrowLeft", "RIGHT": "ArrowRight", "START": "Enter"}
_SHOOT, _NOTHING = " ", "0"
_ABOUT = (
    "You play {game} on the console {console}. An action says of each of its buttons whether it is pressed."
)
_OURS = ("game", "use_restricted_actions")  # all buttons can be pressed


def ids() -> list[str]:
    """Return the games with installed files."""
    return [game for game in stable_retro.data.list_games() if _is_here(game)]


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> ConsoleEnvironment:
    if refused := [name for name in _OURS if name in settings]:
        raise ConfigError(f"{env_id} has no setting {refused[0]!r}")
    check_settings(env_id, settings, stable_retro.RetroEnv)
    return ConsoleEnvironment(env_id, settings, render_mode)


def facts_of(env: ConsoleEnvironment, agent: str) -> EnvironmentFacts:
    names = [str(button or "") for button in env.unwrapped.buttons]
    keys = {_KEYS.get(name, name.lower()): _pressed(names, name) for name in names if name}
    if "B" in names:
        keys[_SHOOT] = _pressed(names, "B")
    keys[_NOTHING] = _pressed(names)
    return EnvironmentFacts(
        [name.lower() or "unused" for name in names],
        keys,
        instructions=_ABOUT.format(game=env.game, console=env.unwrapped.system),
        describe=_describer(env),
        packages=("stable-retro",),
    )


def _describer(env: ConsoleEnvironment) -> Callable[[], Mapping[str, Any]]:
    """Return a function that returns the variables defined by the game's memory map."""

    def describe() -> Mapping[str, Any]:
        return {"text": ", ".join(f"{name}: {number}" for name, number in sorted(env.numbers().items()))}

    return describe


def _is_here(game: str) -> bool:
    try:
        stable_retro.data.get_romfile_path(game)
    except FileNotFoundError:
        return False
    return True


def _pressed(names: list[str], *pressed: str) -> list[int]:
    return [int(name in pressed) for name in names]


class ConsoleEnvironment(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A console game. `settings` are keywords of `RetroEnv`: "state", "scenario", "players", …."""

    def __init__(self, game: str, settings: Mapping[str, Any], render_mode: str | None) -> None:
        self.game = game
        super().__init__(stable_retro.make(game, **settings, render_mode=render_mode))

    def render(self) -> Any:
        return self.unwrapped.img

    def numbers(self) -> Mapping[str, Any]:
        """Return the variables defined by the game's memory map: the score, lives, …."""
        variables: Mapping[str, Any] = self.unwrapped.data.lookup_all()
        return variables
