"""A policy from the user's file: `load` makes a `UserPolicy` of an agent's settings."""

from __future__ import annotations

import inspect
from typing import Any, Mapping

from mosaic_contract import ConfigError
from mosaic_contract.user_code import USER_ERRORS, attribute_of, error_text
from mosaic_contract.user_policy import UserPolicy


def load(settings: Mapping[str, Any]) -> UserPolicy:
    """The policy that ``settings`` name: {"folder", "file" (below the folder), "attribute", "keywords"}.

    The process works in ``folder`` from now on. Raises `ConfigError` with the line in the user's file.
    """
    found, file = attribute_of(settings)
    attribute, keywords = settings["attribute"], dict(settings.get("keywords") or {})
    try:
        acts = found(**keywords) if _makes(found, keywords) else found
    except USER_ERRORS as error:
        raise ConfigError(f"{attribute} of {file.name} cannot be made: {error_text(error, file)}") from error
    try:
        return UserPolicy(acts)
    except ConfigError as error:
        raise ConfigError(f"{attribute} of {file.name}: {error}") from None


def _makes(found: Any, keywords: Mapping[str, Any]) -> bool:
    """Whether it makes what acts: a class, what is given keywords, a function that needs no argument."""
    if isinstance(found, type) or keywords:
        return True
    if hasattr(found, "select_action") or hasattr(found, "predict") or not callable(found):
        return False
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(one.default is not one.empty or one.kind is one.VAR_KEYWORD for one in parameters)
