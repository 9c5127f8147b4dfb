"""The settings of an operator's prompts. The model's own settings are read by the contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

from mosaic_contract import ConfigError

_MOST_IMAGES = 16
_SIDES = 16, 8192  # pixels


@dataclass(frozen=True)
class PromptSettings:
    """The contents of a prompt: see `mosaic_lab.operators.vlm`, whose keywords these are."""

    text: bool = False
    images: int = 1
    max_side: int | None = None
    structured: bool = False

    @classmethod
    def read(cls, settings: Mapping[str, Any]) -> PromptSettings:
        """Read the prompt settings from an agent's settings. Raises `ConfigError` with every problem."""
        given = {name: settings[name] for name in cls.__dataclass_fields__ if settings.get(name) is not None}
        problems = [
            f"{name} is true or false, not {given[name]!r:.100}"
            for name in ("text", "structured")
            if not isinstance(given.get(name, False), bool)
        ]
        for name, low, high in (("images", 1, _MOST_IMAGES), ("max_side", *_SIDES)):
            value = given.get(name, low)
            if type(value) is not int or not low <= value <= high:
                problems.append(f"{name} is a whole number from {low} to {high:,}, not {value!r:.100}")
        if settings.get("provider") == "local":
            problems.append(
                "the local model reads text and sees no images: give a vision model of an endpoint"
            )
        if problems:
            raise ConfigError(problems)
        return cls(**given)
