"""Operators in the kernel: the user's own functions and objects, in whatever thread they are called."""

from __future__ import annotations

import threading
from typing import Any

from mosaic_contract import ConfigError
from mosaic_contract.user_policy import UserPolicy

from mosaic_lab.errors import ConfigurationError


class KernelOperator(UserPolicy):
    """A `UserPolicy` of the user's that several lanes share: one calls it at a time, who holds its ``turn``.

    Raises ConfigurationError for what cannot be called.
    """

    def __init__(self, given: Any) -> None:
        try:
            super().__init__(given)
        except ConfigError as error:
            raise ConfigurationError(str(error)) from None
        self.turn = threading.Lock()
