"""Observations as text, for language models.

Each module describes one family of environments, recognized by their ids and the shapes of their
observations; `spaces` describes all others. The user's own describer is a Python function, imported from its
file in the operator's process.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

from mosaic_contract.errors import ConfigError
from mosaic_contract.language.describers import classic, control, minigrid, mpe, multigrid, spaces, toy_text
from mosaic_contract.language.describers.environment_describer import (
    ANY_TEAM,
    EnvironmentDescriber,
    Observe,
    role_of,
)
from mosaic_contract.operators import AgentSetup
from mosaic_contract.user_code import USER_ERRORS, attribute_of, error_text, keywords_of

__all__ = ["Describer", "EnvironmentDescriber"]

CONTEXT = ("agent", "info", "step_index", "legal_actions", "teammates", "description")
"""Keyword arguments that the user's describer may accept in addition to the observation."""
_MAX_TEXT_CHARS = 100_000  # of the user's or an environment's own text


class Describer:
    """Converter of one agent's observations to text, with a description of its environment.

    `rules`, `advice`, `role` and `names` are as in `EnvironmentDescriber`; `names` default to the
    environment's own. The text comes from the user's describer (`settings["describe"]`) if given, else from
    the environment (a text observation, or its `description`), else from our describer.
    """

    def __init__(self, setup: AgentSetup) -> None:
        settings = setup.settings
        self._agent = setup.player_id
        self._space = setup.observation_space
        meanings = settings.get("action_meanings")
        meanings = [str(meaning) for meaning in meanings] if isinstance(meanings, (list, tuple)) else None
        mates = [str(mate) for mate in settings.get("teammates") or ()]
        describer = _describer(setup, meanings, mates)
        instructions = str(settings.get("instructions") or "").strip()
        self._custom: Callable[..., str] | None = None
        if settings.get("describe"):
            self._custom = _user_describer(settings["describe"])
        has_rules = describer is not None
        self._describer = describer or spaces.describer(self._space)
        rules = self._describer.rules if has_rules or not instructions else ""
        self.rules = "\n".join(part for part in (rules, instructions) if part)
        self.advice, self.role = self._describer.advice, self._describer.role
        if mates and not self.role:
            self.role = role_of(ANY_TEAM, setup.player_id, mates)
        self.names: Sequence[str] | None = self._describer.names or meanings

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
        """Return an observation as text. Raises `ConfigError` if the user's describer fails."""
        if self._custom is not None:
            return self._custom(
                observation,
                agent=self._agent,
                info=dict(info or {}),
                step_index=step_index,
                legal_actions=list(legal_actions),
                teammates=dict(teammates or {}),
                description=dict(description or {}),
            )
        text = (description or {}).get("text")
        if isinstance(text, str) and text.strip():
            return text[:_MAX_TEXT_CHARS]
        return self._describe(self._describer.observe, observation, description)

    def describe_others(
        self, observations: Mapping[str, Any] | None, description: Mapping[str, Any] | None = None
    ) -> dict[str, str]:
        """Return the observations of other agents as text, by agent; empty if the rules hide them."""
        if not self._describer.shares:
            return {}
        described = (description or {}).get("teammates")
        descriptions: Mapping[str, Any] = described if isinstance(described, Mapping) else {}
        read = self._describer.observe_other or self._describer.observe
        return {
            agent: self._describe(read, observation, descriptions.get(agent))
            for agent, observation in (observations or {}).items()
        }

    def _describe(self, read: Observe, observation: Any, description: Mapping[str, Any] | None) -> str:
        if isinstance(observation, str):
            return observation[:_MAX_TEXT_CHARS]
        try:
            return read(observation, description or {})
        except (TypeError, ValueError, LookupError, AttributeError):  # does not match its space
            return spaces.text_of(observation, self._space)


def _user_describer(settings: Mapping[str, Any]) -> Callable[..., str]:
    """Return the user's function named by `settings`, {"folder", "file", "attribute"}, called with the
    keywords of `CONTEXT` that it accepts.

    Raises `ConfigError` with the line in the user's file: immediately if it cannot be imported or called,
    later for errors of the user's code and results that are not strings.
    """
    function, file = attribute_of(settings)
    accepted = keywords_of(function, file, ("an observation",), CONTEXT)

    def describe(observation: Any, **context: Any) -> str:
        try:
            text = function(observation, **{name: context.get(name) for name in accepted})
        except USER_ERRORS as error:
            raise ConfigError(f"the describer failed: {error_text(error, file)}") from error
        if not isinstance(text, str) or not text.strip():
            raise ConfigError(
                f"the describer {settings['attribute']} of {file.name} returned {text!r:.200}, not a string"
            )
        return text[:_MAX_TEXT_CHARS]

    return describe


def _describer(
    setup: AgentSetup, meanings: Sequence[str] | None, teammates: Sequence[str]
) -> EnvironmentDescriber | None:
    """Return the describer of the environment's family, None for an unknown family."""
    env_id = str(setup.settings.get("env_id") or setup.game_name)
    space = setup.observation_space
    return (
        multigrid.describer(env_id, space, meanings, setup.player_id, teammates)
        or minigrid.describer(env_id, space, meanings)
        or classic.describer(env_id, space, setup.action_space)
        or toy_text.describer(env_id, space)
        or control.describer(env_id, space)
        or mpe.describer(env_id, space, setup.player_id, teammates)
    )
