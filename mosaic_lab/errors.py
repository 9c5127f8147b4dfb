"""Exceptions raised by mosaic_lab, and warnings that point to the user's own code.

MosaicError
├── ConfigurationError      invalid input, rejected before anything starts
│   ├── ArgumentError       an unknown keyword in a call, or a missing argument
│   └── EnvironmentMissing  an environment that is not installed in the worker of a training
├── WorkerEnvironmentError  a worker environment is missing, unknown or could not be built
├── RunFailed               a worker failed: its own message and its last log lines
├── RunTimeout              a wait exceeded its deadline; the run continues
├── UnknownRun              no run of this name in the store
└── NotAFile                a folder, a named pipe or a device in place of a file of a run
"""

from __future__ import annotations

import sys
import warnings

_PACKAGE = __name__.partition(".")[0]


class MosaicError(Exception):
    """Base of all errors raised by mosaic_lab. Notebooks show only its message, without internal frames."""

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows; the traceback remains available to ``%debug``."""
        return [f"{type(self).__name__}: {self}"]


class ConfigurationError(MosaicError, ValueError):
    """Invalid input, rejected before anything starts."""


class ArgumentError(ConfigurationError, TypeError):
    """An unknown keyword in a call, or a missing argument."""


class EnvironmentMissing(ConfigurationError):
    """An environment that is not installed in the worker of a training. Another worker may serve it."""


class WorkerEnvironmentError(MosaicError):
    """A worker environment is missing, unknown or could not be built."""


class RunFailed(MosaicError):
    """A worker failed. The message has the worker's own message, the reason and its last log lines."""


class RunTimeout(MosaicError, TimeoutError):
    """A wait exceeded its deadline; the run itself continues."""


class NotAFile(MosaicError, OSError):
    """A folder, a named pipe or a device in place of a file of a run."""


class UnknownRun(MosaicError, KeyError):
    """No run of this name in the store."""

    def __str__(self) -> str:
        return Exception.__str__(self)


def warn_user(text: str, category: type[Warning]) -> None:
    """Issue a warning that points to the nearest line outside this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
