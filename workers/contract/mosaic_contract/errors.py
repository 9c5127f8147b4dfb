"""The errors of the contract."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Sequence
from typing import Union


class ConfigError(ValueError):
    """A configuration that cannot be run. Takes one problem or several; its message lists all of them."""

    def __init__(self, problems: Union[str, Sequence[str]]) -> None:
        self.problems: list[str] = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))


class EnvironmentMissing(ConfigError):
    """An environment, or a package that it needs, is not installed here; another worker may serve it."""


class BadLine(ValueError):
    """A line that is not a JSON object; `.reason` is a short explanation."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class LineTooLong(ValueError):
    """A message that does not fit in one line."""


class BadMessage(ValueError):
    """A JSON object that is not a valid message of its kind."""


class UnknownMessage(BadMessage):
    """A kind of message unknown to this version."""


class FrameError(ValueError):
    """A value that cannot be published as a frame; the message describes it."""


class FastlaneError(OSError):
    """Frames cannot be stored on this machine; the message lists the locations tried and their errors."""


class EnvironmentFault(Exception):
    """An environment returned a value that violates its spaces or interface, such as NaN."""


class UpstreamFailed(Exception):
    """A library or an environment that runs in a separate process failed.

    Raised by a shim's `train`, and by served environments. `.error_type` and `.traceback` are the library's,
    and are copied to run_failed. Its output is already in the log, so only one line is added there, without
    the shim's traceback.
    """

    def __init__(self, error: str, error_type: str, traceback: str = "") -> None:
        super().__init__(error, error_type, traceback)  # libraries copy exceptions from these arguments
        self.error_type = error_type
        self.traceback = traceback

    def __str__(self) -> str:
        return str(self.args[0])


class BudgetSpent(Exception):
    """The budget for language model calls does not allow the next call. Ends the episode regardless of the
    operator's fallback: an action played instead of the model's would be scored as the model's."""


class RecordingMismatch(Exception):
    """A replay needs an exchange that its recording does not contain. Ends the episode regardless of the
    operator's fallback, like `BudgetSpent`."""


class EndpointRefused(ConfigError):
    """A language model's endpoint rejected something that every further call would also send: the key, the
    model, the options. Ends the episode regardless of the operator's fallback, like `BudgetSpent`."""


class EndpointFailed(Exception):
    """A language model's endpoint gave no usable answer, and all retries failed."""


FINAL = (ConfigError, BadLine, BadMessage, BudgetSpent, RecordingMismatch, EndpointFailed)
"""Errors after which the same command is not repeated: it is invalid, or its retries have failed."""


class Cancelled(BaseException):
    """Raised in the main thread by the first SIGTERM or SIGINT. Not an `Exception`, so that a library's
    `except Exception` does not catch it. A shim may catch it to save its state, and must then re-raise it."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)  # libraries copy exceptions while they propagate, from these arguments
        self.signal = signal.Signals(signum)
        self.reason = f"stopped by {self.signal.name}"

    def __str__(self) -> str:
        return self.reason

    @property
    def exit_code(self) -> int:
        """130 after SIGINT, 143 after SIGTERM."""
        return 128 + int(self.signal)


def one_line(error: BaseException) -> str:
    """Return an error's type and text in one line; only the text for Gymnasium's errors, which are
    sentences."""
    text = " ".join(str(error).split())
    if text and type(error).__module__ == "gymnasium.error":
        return text.rstrip(".")
    type_name = type_of(error)
    return f"{type_name}: {text}" if text else type_name


def quoted(value: object) -> str:
    """Return the first 100 characters of a value's `repr`; its type if `repr` fails, as for lists nested
    thousands deep."""
    try:
        return repr(value)[:100]
    except Exception:  # foreign objects raise arbitrary exceptions
        return f"<{type(value).__name__}>"


def type_of(error: BaseException) -> str:
    """Return the name of an error's type; for an `UpstreamFailed`, that of the original error."""
    return error.error_type if isinstance(error, UpstreamFailed) else type(error).__name__


def traceback_of(error: BaseException) -> str:
    """Return an error's traceback; for an `UpstreamFailed`, that of the original error."""
    if isinstance(error, UpstreamFailed) and error.traceback:
        return error.traceback
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))
