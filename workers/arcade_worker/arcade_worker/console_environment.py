"""A game of an old console, always from its beginning."""

from __future__ import annotations

from typing import Any, Mapping

import gymnasium
import stable_retro


class ConsoleEnvironment(gymnasium.Wrapper[Any, Any, Any, Any]):
    """`settings` are keywords of `stable_retro.RetroEnv`: "state", "scenario", "players", …."""

    def __init__(self, game: str, settings: Mapping[str, Any], render_mode: str | None) -> None:
        self.game = game
        super().__init__(stable_retro.make(game, **settings, render_mode=render_mode))

    def render(self) -> Any:
        return self.unwrapped.img

    def numbers(self) -> Mapping[str, Any]:
        """Return what the game's description finds in its memory: the score, lives, …."""
        found: Mapping[str, Any] = self.unwrapped.data.lookup_all()
        return found
