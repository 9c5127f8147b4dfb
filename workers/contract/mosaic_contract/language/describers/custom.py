"""The user's own describer: a Python function, imported from its file in the process of the operator."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, Callable, Mapping

from mosaic_contract.errors import ConfigError
from mosaic_contract.user_code import USER_ERRORS, attribute_of, error_text

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
    taken = _taken(function, file)

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


def _taken(function: Any, file: Path) -> tuple[str, ...]:
    name = getattr(function, "__name__", "it")
    if not callable(function) or isinstance(function, type):
        raise ConfigError(f"{name} of {file.name} is not a function of the observation")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ()
    parameters = signature.parameters.values()
    any_keyword = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    taken = tuple(name for name in CONTEXT if any_keyword or name in signature.parameters)
    try:
        signature.bind(object(), **dict.fromkeys(taken))
    except TypeError as error:
        raise ConfigError(
            f"{name} of {file.name} cannot be called with an observation ({error}); it may also take, by "
            f"name: {', '.join(CONTEXT)}"
        ) from None
    return taken
