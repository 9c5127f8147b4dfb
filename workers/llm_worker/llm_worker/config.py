"""The settings of an operator's prompts. The model's own settings are read by the contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

from mosaic_contract import ConfigError

COORDINATION = ("rules", "advice", "roles")
_MOST_HISTORY = 256  # turns


@dataclass(frozen=True)
class PromptSettings:
    """The contents of a prompt: see `mosaic_lab.operators.llm`, whose keywords these are."""

    coordination: str = "rules"
    theory_of_mind: bool = False
    messages: bool = False
    history: int = 0
    structured: bool | None = None

    @classmethod
    def read(cls, settings: Mapping[str, Any]) -> PromptSettings:
        """Read the prompt settings from an agent's settings. Raises `ConfigError` with every problem."""
        given = {name: settings[name] for name in cls.__dataclass_fields__ if settings.get(name) is not None}
        problems = []
        if given.get("coordination", "rules") not in COORDINATION:
            problems.append(
                f"coordination is one of {', '.join(COORDINATION)}, not {given['coordination']!r:.100}"
            )
        for name in ("theory_of_mind", "messages", "structured"):
            if not isinstance(given.get(name, False), bool):
                problems.append(f"{name} is true or false, not {given[name]!r:.100}")
        history = given.get("history", 0)
        if type(history) is not int or not 0 <= history <= _MOST_HISTORY:
            problems.append(f"history is a whole number from 0 to {_MOST_HISTORY}, not {history!r:.100}")
        if given.get("structured") is True and given.get("messages") is True:
            problems.append("structured leaves an answer no place for messages: one of the two")
        if problems:
            raise ConfigError(problems)
        return cls(**given)
