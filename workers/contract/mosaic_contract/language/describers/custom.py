"""The user's own describer: a Python function, imported from its file in the process of the operator."""

from __future__ import annotations

from typing import Any, Callable, Mapping

from mosaic_contract.errors import ConfigError
from mosaic_contract.user_code import USER_ERRORS, attribute_of, error_text, keywords_of

CONTEXT = ("agent", "info", "step_index", "legal_actions", "teammates", "description")
"""Keyword arguments that a describer may accept in addition to the observation."""

_MOST_TEXT = 100_000  # characters


def describer(settings: Mapping[str, Any]) -> Callable[..., str]:
    """Return the function named by `settings`, {"folder", "file", "attribute"}, called with the keywords of
    `CONTEXT` that it accepts.

    Raises `ConfigError` with the line in the user's file: immediately if it cannot be imported or called,
    later for errors of the user's code and results that are not strings.
    """
    function, file = attribute_of(settings)
    taken = keywords_of(function, file, ("an observation",), CONTEXT)

    def describe(observation: Any, **context: Any) -> str:
        try:
            text = function(observation, **{name: context.get(name) for name in taken})
        except USER_ERRORS as error:
            raise ConfigError(f"the describer failed: {error_text(error, file)}") from error
        if not isinstance(text, str) or not text.strip():
            raise ConfigError(
                f"the describer {settings['attribute']} of {file.name} returned {text!r:.200}, not a string"
            )
        return text[:_MOST_TEXT]

    return describe
