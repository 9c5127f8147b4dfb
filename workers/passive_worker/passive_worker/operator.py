"""A passive operator: it determines its action once and reports the choice with the reason."""

from __future__ import annotations

from typing import Any, Mapping

from mosaic_contract import AgentSetup, ConfigError, Decision
from mosaic_contract.noop import first_legal, noop_action


class PassiveOperator:
    """Plays the same action at every step, or the first legal action if that one is illegal."""

    def __init__(self, setup: AgentSetup) -> None:
        if setup.action_space is None:
            raise ConfigError("a passive operator needs the action space of its agent in init_agent")
        self._space = setup.action_space
        env_id = str(setup.settings.get("env_id") or setup.game_name)
        self._still = noop_action(setup.action_space, setup.settings.get("action_meanings"), env_id)

    def select_action(
        self, observation: Any, *, action_mask: Any = None, info: Mapping[str, Any] | None = None
    ) -> Decision:
        if self._space.get("type") != "Discrete":
            return self._still
        legal = first_legal(self._space, self._still.action, action_mask, (info or {}).get("legal_moves"))
        if legal == self._still.action:
            return self._still
        return Decision(legal, f"{self._still.action_str} is not legal: action {legal}")
