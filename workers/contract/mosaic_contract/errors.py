"""The errors of the contract."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import Union


class ConfigError(ValueError):
    """A configuration that cannot be run. Takes one problem or all of them, and shows all of them."""

    def __init__(self, problems: Union[str, Sequence[str]]) -> None:
        self.problems: list[str] = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))


class BadLine(ValueError):
    """A line that is not a JSON object; `.reason` says why in a few words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class LineTooLong(ValueError):
    """A message that does not fit in one line."""


class BadMessage(ValueError):
    """A JSON object that is not the message it says it is."""


class UnknownMessage(BadMessage):
    """A kind of message that this version does not know."""


class FrameError(ValueError):
    """Something that cannot be published as a frame; says what was seen."""


class FastlaneError(OSError):
    """Frames have no place on this machine; says which places were tried and what was wrong there."""


class EnvironmentFault(Exception):
    """An environment has returned something that its spaces or its interface exclude: NaN, another shape."""


class UpstreamFailed(Exception):
    """A library that runs as a program of its own has failed.

    For a shim's `train` to raise. `.error_type` and `.traceback` are the library's, and are copied to
    run_failed. What it printed is in the log already, so the log gets one line more and no traceback of the
    shim.
    """

    def __init__(self, error: str, error_type: str, traceback: str = "") -> None:
        super().__init__(error)
        self.error_type = error_type
        self.traceback = traceback


class BudgetSpent(Exception):
    """The budget for calls of language models does not allow the next one.

    Ends the episode whatever the operator's fallback is: an action in the model's place would be scored as
    the model's.
    """


class RecordingMismatch(Exception):
    """A replay needs an exchange that its recording does not contain.

    Ends the episode whatever the operator's fallback is, like `BudgetSpent`.
    """


class EndpointRefused(ConfigError):
    """A language model's endpoint refuses what every further call would send too: the key, the model, the
    options. Ends the episode whatever the operator's fallback is, like `BudgetSpent`."""


class EndpointFailed(Exception):
    """A language model's endpoint gave no usable answer, and the retries are used up."""


FINAL = (ConfigError, BadLine, BadMessage, BudgetSpent, RecordingMismatch, EndpointFailed)
"""Errors after which the same command is not repeated: it is wrong, or its retries are used up."""


class Cancelled(BaseException):
    """Raised in the main thread by the first SIGTERM or SIGINT.

    Not an `Exception`, so that a library's `except Exception` does not swallow it. A shim may catch it to
    save, and then raise it again.
    """

    def __init__(self, signum: int) -> None:
        super().__init__(signum)  # what a copy is made of: libraries copy exceptions on their way up
        self.signal = signal.Signals(signum)
        self.reason = f"stopped by {self.signal.name}"

    def __str__(self) -> str:
        return self.reason

    @property
    def exit_code(self) -> int:
        """130 after SIGINT, 143 after SIGTERM."""
        return 128 + int(self.signal)


def one_line(error: BaseException) -> str:
    """Return an error's type and text in one line; of Gymnasium's errors the text alone, a sentence."""
    text = " ".join(str(error).split())
    if text and type(error).__module__ == "gymnasium.error":
        return text.rstrip(".")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
