"""Observations as text, for language models.

Crosses the boundary: `Describer`, what one agent reads. The modules beside know families of environments, by
their ids and the shapes of their observations; `spaces` reads any other, `custom` is the user's own function.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

from mosaic_contract.language.describing import (
    classic,
    control,
    custom,
    minigrid,
    mpe,
    multigrid,
    spaces,
    toy_text,
)
from mosaic_contract.language.describing.reading import Observe, Reading
from mosaic_contract.language.describing.roles import ANY_TEAM, role_of
from mosaic_contract.operators import AgentSetup

__all__ = ["Describer", "Reading"]

_MOST_TEXT = 100_000  # characters of what an environment says


class Describer:
    """What one agent's observations read like, and what there is to say of its environment.

    `rules`, `advice`, `role` and `names` are as in `Reading`; `names` fall back to the environment's own. A
    text that the environment gives itself, as the observation or in its `description`, goes before ours, and
    the user's describer (`settings["describe"]`) before all.
    """

    def __init__(self, setup: AgentSetup) -> None:
        settings = setup.settings
        self._agent = setup.player_id
        self._space = setup.observation_space
        meanings = settings.get("action_meanings")
        meanings = [str(one) for one in meanings] if isinstance(meanings, (list, tuple)) else None
        mates = [str(one) for one in settings.get("teammates") or ()]
        reading = _reading(setup, meanings, mates)
        own = str(settings.get("instructions") or "").strip()
        self._own: Callable[..., str] | None = None
        if settings.get("describe"):
            self._own = custom.describer(settings["describe"])
        known = reading is not None
        self._reading = reading or spaces.reading(self._space)
        self.rules = "\n".join(
            part for part in (self._reading.rules if known or not own else "", own) if part
        )
        self.advice, self.role = self._reading.advice, self._reading.role
        if mates and not self.role:
            self.role = role_of(ANY_TEAM, setup.player_id, mates)
        self.names: Sequence[str] | None = self._reading.names or meanings

    def text(
        self,
        observation: Any,
        *,
        info: Mapping[str, Any] | None = None,
        step_index: int | None = None,
        legal_actions: Sequence[str] = (),
        teammates: Mapping[str, Any] | None = None,
        description: Mapping[str, Any] | None = None,
    ) -> str:
        """Return an observation as text. Raises `ConfigError` where the user's describer fails."""
        if self._own is not None:
            return self._own(
                observation,
                agent=self._agent,
                info=dict(info or {}),
                step_index=step_index,
                legal_actions=list(legal_actions),
                teammates=dict(teammates or {}),
                description=dict(description or {}),
            )
        given = (description or {}).get("text")
        if isinstance(given, str) and given.strip():
            return given[:_MOST_TEXT]
        return self._read(self._reading.observe, observation, description)

    def of_others(
        self, observations: Mapping[str, Any] | None, description: Mapping[str, Any] | None = None
    ) -> dict[str, str]:
        """Return what other agents observe, by agent; nothing where the rules hide it."""
        if not self._reading.shares:
            return {}
        said = (description or {}).get("teammates")
        known: Mapping[str, Any] = said if isinstance(said, Mapping) else {}
        read = self._reading.of_other or self._reading.observe
        return {
            agent: self._read(read, seen, known.get(agent)) for agent, seen in (observations or {}).items()
        }

    def _read(self, read: Observe, observation: Any, description: Mapping[str, Any] | None) -> str:
        if isinstance(observation, str):
            return observation[:_MOST_TEXT]
        try:
            return read(observation, description or {})
        except (TypeError, ValueError, LookupError, AttributeError):  # of another form than its space says
            return spaces.text_of(observation, self._space)


def _reading(setup: AgentSetup, meanings: Sequence[str] | None, teammates: Sequence[str]) -> Reading | None:
    """How the environment reads where it is of a known family."""
    env_id = str(setup.settings.get("env_id") or setup.game_name)
    space = setup.observation_space
    return (
        multigrid.reading(env_id, space, meanings, setup.player_id, teammates)
        or minigrid.reading(env_id, space, meanings)
        or classic.reading(env_id, space, setup.action_space)
        or toy_text.reading(env_id, space)
        or control.reading(env_id, space)
        or mpe.reading(env_id, space, setup.player_id, teammates)
    )
