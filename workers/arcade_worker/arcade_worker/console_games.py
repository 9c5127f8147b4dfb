"""stable-retro: games of old consoles. Airstriker is included; the others require commercial files."""

from __future__ import annotations

from typing import Any, Mapping

import gymnasium
import stable_retro
from mosaic_contract import ConfigError
from mosaic_contract.arena import EnvironmentFacts, check_settings

_KEYS = {"UP": "ArrowUp", "DOWN": "ArrowDown", "LEFT": "ArrowLeft", "RIGHT": "ArrowRight", "START": "Enter"}
_SHOOT, _NO_BUTTON = " ", "0"
_INSTRUCTIONS = "You play {game} on the console {console}. An action says which of its buttons are pressed."
_RESERVED = ("game", "use_restricted_actions")  # `discrete` determines the latter


def ids() -> list[str]:
    """Return the games with installed files."""
    return [game for game in stable_retro.data.list_games() if _has_rom(game)]


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> ConsoleEnvironment:
    if refused := [name for name in _RESERVED if name in settings]:
        raise ConfigError(f"{env_id} has no setting {refused[0]!r}")
    check_settings(env_id, settings, stable_retro.RetroEnv, also=["discrete"])
    if settings.get("discrete") and settings.get("players", 1) != 1:
        raise ConfigError(
            f"{env_id}: discrete actions are those of one player, got players={settings['players']}"
        )
    return ConsoleEnvironment(env_id, settings, render_mode)


def facts_of(env: ConsoleEnvironment, agent: str) -> EnvironmentFacts:
    buttons = [str(button or "") for button in env.unwrapped.buttons]
    if env.combinations is None:
        names = [name.lower() or "unused" for name in buttons]
        presses: dict[str, Any] = {name: [int(name == button) for button in buttons] for name in buttons}
        presses[""] = [0] * len(buttons)
    else:
        names = [" and ".join(pressed).lower() or "nothing" for pressed in env.combinations]
        single = ((number, pressed) for number, pressed in enumerate(env.combinations) if len(pressed) < 2)
        presses = {"".join(pressed): number for number, pressed in single}
    keys = {_KEYS.get(name, name.lower()): action for name, action in presses.items() if name}
    keys.update((key, presses[name]) for key, name in ((_SHOOT, "B"), (_NO_BUTTON, "")) if name in presses)
    return EnvironmentFacts(
        names,
        keys,
        instructions=_INSTRUCTIONS.format(game=env.game, console=env.unwrapped.system),
        describe=lambda: {"text": _description(env)},
        packages=("stable-retro",),
    )


def _description(env: ConsoleEnvironment) -> str:
    return ", ".join(f"{name}: {number}" for name, number in sorted(env.numbers().items()))


def _has_rom(game: str) -> bool:
    try:
        stable_retro.data.get_romfile_path(game)
    except FileNotFoundError:
        return False
    return True


class ConsoleEnvironment(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A console game. `settings` are keywords of `RetroEnv`: "state", "scenario", "players", …, and
    "discrete": whether an action is the number of one of the game's `combinations` of buttons."""

    def __init__(self, game: str, settings: Mapping[str, Any], render_mode: str | None) -> None:
        self.game = game
        keywords = {**settings, "render_mode": render_mode}
        discrete = keywords.pop("discrete", False)
        action_sets = stable_retro.Actions
        actions = action_sets.DISCRETE if discrete else action_sets.FILTERED
        try:
            super().__init__(stable_retro.make(game, use_restricted_actions=actions, **keywords))
        except RuntimeError as error:
            if "emulator instances" not in str(error):
                raise
            raise ConfigError(
                f"{game}: a process has one emulator; train with one environment, or with as many processes "
                "as environments (env_processes=)"
            ) from None
        self.combinations: list[tuple[str, ...]] | None = None
        """The names of the buttons that each discrete action presses."""
        if discrete:
            meaning = self.unwrapped.get_action_meaning
            self.combinations = [tuple(meaning(action)) for action in range(self.action_space.n)]

    def render(self) -> Any:
        return self.unwrapped.img

    def numbers(self) -> Mapping[str, Any]:
        """Return the variables defined by the game's memory map: the score, lives, …."""
        variables: Mapping[str, Any] = self.unwrapped.data.lookup_all()
        return variables
