"""Error isolation between runs: a run with unreadable files must not break a list of runs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NoReturn, TypeVar

from mosaic_lab.errors import MosaicError
from mosaic_lab.sanitize import sanitize

logger = logging.getLogger(__name__)

T = TypeVar("T")


def required(read: Callable[[], T], run_id: str) -> T:
    """Return ``read()``, which reads the files of a run. Raises MosaicError if they are damaged."""

    def refuse(reason: str) -> NoReturn:
        raise MosaicError(f"run {run_id}: {reason}")

    return isolated(read, refuse)


def isolated(read: Callable[[], T], instead: Callable[[str], T]) -> T:
    """Return ``read()``, which reads the files of one run, or ``instead(reason)`` if it raises. Every list of
    runs reads its rows through this function, so that damaged or foreign files affect only their own run."""
    try:
        return read()
    except Exception as error:  # the files may have any content
        logger.debug("A run cannot be read.", exc_info=True)
        description = error if isinstance(error, MosaicError) else f"{type(error).__name__}: {error}"
        return instead(sanitize(f"its files cannot be read: {description!s:.300}"))
