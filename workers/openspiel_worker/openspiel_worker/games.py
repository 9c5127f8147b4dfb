"""The games by id ("OpenSpiel/kuhn_poker"), made with OpenSpiel's own parameters as settings."""

from __future__ import annotations

import difflib
from typing import Any, Mapping

from mosaic_contract import ConfigError
from mosaic_contract.arena import check_settings

from .game_environment import GameEnvironment

PREFIX = "OpenSpiel/"
_LEFT_OUT = ("crossword",)  # its words are in files that do not come along


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> GameEnvironment:
    """Make a game, with `settings` as its parameters, such as {"players": 3}.

    Raises `ConfigError` for an unknown id, with those near to it, and for parameters that the game does not
    have or refuses.
    """
    import pyspiel

    kinds = _kinds()
    if env_id not in kinds:
        near = difflib.get_close_matches(env_id, kinds, n=3)
        raise ConfigError(
            f"OpenSpiel has no game {env_id!r}."
            + (f" Did you mean {' or '.join(near)}?" if near else "")
            + " `mosaic-lab workers list openspiel` shows those that there are"
        )
    kind = kinds[env_id]
    check_settings(env_id, settings, _nothing, also=list(kind.parameter_specification))
    try:
        return GameEnvironment(kind, settings, render_mode)
    except (pyspiel.SpielError, TypeError) as error:
        raise ConfigError(f"{env_id} cannot be made with env_kwargs={dict(settings)!r}: {error}") from None


def known() -> list[str]:
    """Return the ids of all games."""
    return sorted(_kinds())


def _kinds() -> dict[str, Any]:
    """Return OpenSpiel's descriptions of its games by id.

    Left out are games of a continuum of players (mean field games), and those that are made from another
    game or a file.
    """
    import pyspiel

    return {
        PREFIX + kind.short_name: kind
        for kind in pyspiel.registered_games()
        if kind.default_loadable
        and kind.short_name not in _LEFT_OUT
        and kind.dynamics != pyspiel.GameType.Dynamics.MEAN_FIELD
    }


def _nothing() -> None:
    """Has no keywords: all settings are parameters of the game."""
