"""Checks that an operator can act on this machine, before anything starts."""

from __future__ import annotations

import os

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.operators.api_keys import missing_key
from mosaic_lab.operators.chess_players import engine_problem
from mosaic_lab.operators.spec import OperatorSpec


def check_available(operator: OperatorSpec) -> None:
    """Raise ConfigurationError where the key of its endpoint is not set, its engine is not installed, or does
    not play at the Elo."""
    for name in operator.pass_env:
        if name not in os.environ and (text := missing_key(operator, name)):
            raise ConfigurationError(text)
    if operator.category == "engine" and (text := engine_problem(operator.settings)):
        raise ConfigurationError(text)
