"""Exceptions that end a command of an arena early; they leave the process as messages only."""

from __future__ import annotations

import traceback
from typing import Any

from mosaic_contract.errors import EnvironmentFault, one_line

_LOG_LIMIT = 8_000  # characters
_MESSAGE_LIMIT = 4_000

ENDING = {
    "BudgetSpent": "BudgetSpent",
    "RecordingMismatch": "RecordingMismatch",
    "EndpointRefused": "ConfigError",
}
"""Errors of an operator that end the episode whatever its fallback is, and the type that the kernel is sent:
an action in place of the model's would be scored as the model's."""


class ArenaError(Exception):
    """A command that failed: becomes the message "error". `agent` and `operator` name who caused it, where
    one did; `log` holds the last lines of an operator's log, or a traceback."""

    def __init__(
        self, message: str, *, agent: str = "", operator: str = "", error_type: str = "", log: str = ""
    ) -> None:
        super().__init__(message)
        self.agent, self.operator = agent, operator
        self.error_type = error_type or "ArenaError"
        self.log = log

    @classmethod
    def of_environment(cls, what: str, error: BaseException) -> ArenaError:
        """Return the error for what an environment's own code raised, or its check."""
        if isinstance(error, EnvironmentFault):
            return cls(str(error), error_type=type(error).__name__)
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        return cls(f"{what}: {one_line(error)}", error_type=type(error).__name__, log=trace)

    def to_message(self, where: str) -> dict[str, Any]:
        return {
            "type": "error",
            "where": where,
            "agent": self.agent,
            "operator": self.operator,
            "message": str(self)[:_MESSAGE_LIMIT],
            "error_type": self.error_type,
            "log": self.log[-_LOG_LIMIT:],
        }


class Unusable(ValueError):
    """An answer of an operator that cannot be played; `kind` is "illegal", "garbage" or "error"."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Abandoned(Exception):
    """Another command came while a step waited: the step is not done."""


class KernelGone(Exception):
    """The kernel gives no commands and reads no answers any more."""
