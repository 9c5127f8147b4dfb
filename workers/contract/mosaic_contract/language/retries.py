"""Retries of calls: back-off with jitter, Retry-After honoured, a bounded number of times."""

from __future__ import annotations

import email.utils
import logging
import random
import time
from dataclasses import replace
from typing import Callable, Mapping

from mosaic_contract.errors import EndpointFailed
from mosaic_contract.language.exchange import Reply

_FIRST_SECONDS, _MOST_SECONDS = 0.5, 30.0  # back-off
_LONGEST_WAIT = 120.0  # seconds of Retry-After that are waited for

log = logging.getLogger("mosaic_contract")


class AttemptFailed(Exception):
    """Raised when an attempt failed that may succeed when repeated. `retry_after`: seconds that the endpoint
    requires first; `partial`: the answer up to the point where the stream broke off."""

    def __init__(self, text: str, retry_after: float | None = None, partial: Reply | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after
        self.partial = partial


def repeat(attempt: Callable[[], Reply], retries: int, where: str) -> tuple[Reply, int]:
    """Return the reply of the first attempt that succeeds, and how many failed before it.

    Where the last one breaks off in the middle of its answer, that is the reply, with the fault "cut". Raises
    `EndpointFailed`.
    """
    for failed in range(retries + 1):
        try:
            return attempt(), failed
        except AttemptFailed as failure:
            last = failure
        if failed == retries:
            break
        wait = _wait(failed, last.retry_after)
        if wait > _LONGEST_WAIT:
            raise EndpointFailed(f"{where}: {last}; it requires a wait of {wait:.0f} s before the next call")
        log.warning("%s: %s; again in %.1f s", where, last, wait)
        time.sleep(wait)
    if last.partial is not None and last.partial.text:
        return replace(last.partial, faults=(*last.partial.faults, "cut")), retries
    times = "once" if retries == 0 else f"{retries + 1} times"
    raise EndpointFailed(f"{where} failed {times}; the last time: {last}")


def _wait(failed: int, retry_after: float | None) -> float:
    """Seconds until the next attempt. Jitter: many lanes that fail together do not come back together."""
    jitter = random.Random().uniform(0.5, 1.0)  # not from the shared generator, which users seed
    backoff = min(_MOST_SECONDS, _FIRST_SECONDS * 2**failed) * jitter
    return backoff if retry_after is None else retry_after + jitter * 0.1


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds in a response's Retry-After (or retry-after-ms); None without a valid one."""
    for name, factor in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            seconds = float(text) * factor
        except ValueError:
            date = email.utils.parsedate_tz(text)
            seconds = email.utils.mktime_tz(date) - time.time() if date else -1.0
        if 0 <= seconds < 1e9:
            return seconds
    return None
