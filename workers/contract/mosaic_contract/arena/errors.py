"""Exceptions that end an arena's command early. They leave the process only as messages."""

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
"""Operator errors that end the episode regardless of the fallback, with the type sent to the kernel: an
action played instead of the model's would be scored as the model's."""


class ArenaError(Exception):
    """A failed command, sent as the message "error". `agent` and `operator` name the cause, if known; `log`
    has the last lines of an operator's log, or a traceback."""

    def __init__(
        self, message: str, *, agent: str = "", operator: str = "", error_type: str = "", log: str = ""
    ) -> None:
        super().__init__(message)
        self.agent, self.operator = agent, operator
        self.error_type = error_type or "ArenaError"
        self.log = log

    @classmethod
    def of_environment(cls, context: str, error: BaseException) -> ArenaError:
        """Return the error for an exception raised by an environment's code or its checks."""
        if isinstance(error, EnvironmentFault):
            return cls(str(error), error_type=type(error).__name__)
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        return cls(f"{context}: {one_line(error)}", error_type=type(error).__name__, log=trace)

    def to_message(self, command: str) -> dict[str, Any]:
        return {
            "type": "error",
            "where": command,
            "agent": self.agent,
            "operator": self.operator,
            "message": str(self)[:_MESSAGE_LIMIT],
            "error_type": self.error_type,
            "log": self.log[-_LOG_LIMIT:],
        }


class Unusable(ValueError):
    """An operator's answer that cannot be played; `kind` is "illegal", "garbage" or "error"."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Abandoned(Exception):
    """Another command arrived while a step was waiting; the step is not taken."""


class KernelDisconnected(Exception):
    """The kernel no longer sends commands or reads answers."""
