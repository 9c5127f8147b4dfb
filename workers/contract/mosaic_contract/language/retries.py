"""Retries of calls: a limited number with back-off and jitter, and a limited time for rate limits."""

from __future__ import annotations

import email.utils
import logging
import random
import re
import time
from dataclasses import replace
from typing import Callable, Mapping

from mosaic_contract.errors import EndpointFailed
from mosaic_contract.language.exchange import Reply

_MIN_BACKOFF_SECONDS, _MAX_BACKOFF_SECONDS = 0.5, 30.0

PATIENCE = 180.0
"""Total seconds that the attempts of a call wait for rate limits, most of which are per minute."""

_DURATION = r"(?:[\d.]+ ?(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)[ ,]*)+"
_REQUIRED = re.compile(rf"(?:try again|retry) (?:in|after) ({_DURATION})(?![a-z])", re.I)
_PART = re.compile(r"([\d.]+) ?([a-z]+)", re.I)
_UNITS = {"ms": 1e-3, "mil": 1e-3, "m": 60.0, "s": 1.0, "h": 3600.0}  # by prefix
_EPOCH = 1e8  # larger numbers are Unix times, in seconds or milliseconds

log = logging.getLogger("mosaic_contract")


class AttemptFailed(Exception):
    """Raised after a failed attempt that may succeed when repeated.

    `retry_after`: seconds that the endpoint requires first; `limited`: the cause was a rate limit; `partial`:
    the answer up to the point where the stream broke.
    """

    def __init__(
        self, text: str, retry_after: float | None = None, partial: Reply | None = None, limited: bool = False
    ) -> None:
        super().__init__(text)
        self.retry_after = retry_after
        self.partial = partial
        self.limited = limited


def repeat(attempt: Callable[[], Reply], retries: int, label: str) -> tuple[Reply, int]:
    """Return the reply of the first successful attempt, and the number of failed attempts before it.

    Rate limits are waited for up to `PATIENCE` seconds and do not count as `retries`, unless `retries` is 0.
    If the last attempt breaks within its answer, the partial answer is the reply, with the fault "cut".
    Raises `EndpointFailed`.
    """
    failed = limited = 0
    waited = 0.0
    while True:
        try:
            return attempt(), failed + limited
        except AttemptFailed as failure:
            last = failure
        if last.limited and retries:
            limited += 1
        else:
            failed += 1
        if failed > retries:
            break
        wait = _wait(limited if last.limited else failed, last.retry_after)
        if last.limited or last.retry_after:
            waited += wait
        if waited > PATIENCE:
            required = f"it requires a wait of {wait:.0f} s before the next call"
            text = (
                required if last.retry_after else f"{limited} attempts in {waited - wait:.0f} s were refused"
            )
            raise EndpointFailed(f"{label}: {last}; {text}: start again later, or with a lower concurrency=")
        log.warning("%s: %s; again in %.1f s", label, last, wait)
        time.sleep(wait)
    if last.partial is not None and last.partial.text:
        return replace(last.partial, faults=(*last.partial.faults, "cut")), failed + limited - 1
    times = "once" if failed == 1 else f"{failed} times"
    step = "start again once the server answers, or with more retries="
    raise EndpointFailed(f"{label} failed {times}; the last time: {last}; {step}")


def _wait(failed: int, required: float | None) -> float:
    """Return the seconds until the next attempt. Jitter keeps lanes that fail together from retrying
    together."""
    jitter = random.Random().uniform(0.5, 1.0)  # not from the global generator, which users seed
    backoff = jitter * min(_MAX_BACKOFF_SECONDS, _MIN_BACKOFF_SECONDS * 2.0 ** (failed - 1))
    return max(backoff, (required or 0.0) + jitter * 0.1)


def required_wait(headers: Mapping[str, str], text: str) -> float | None:
    """Return the seconds that a response requires before the next request: from Retry-After, else from the
    text of its error ("try again in 20s"), else from the reset time of a limit; None if it has none of these.
    """
    seconds = _retry_after(headers)
    if seconds is None and (match := _REQUIRED.search(text)):
        seconds = _seconds(match[1])
    return _reset(headers) if seconds is None else seconds


def _retry_after(headers: Mapping[str, str]) -> float | None:
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


def _reset(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until the first limit in `x-ratelimit-reset*` resets; only exhausted limits count if
    the headers identify them."""
    resets = {}
    for name, text in headers.items():
        prefix, separator, suffix = name.lower().partition("ratelimit-reset")
        if separator and (seconds := _seconds(text)) is not None:
            resets[f"{prefix}ratelimit-remaining{suffix}"] = seconds
    exhausted = [seconds for name, seconds in resets.items() if headers.get(name, "").strip() == "0"]
    return min(exhausted or resets.values(), default=None)


def _seconds(text: str) -> float | None:
    """Return the seconds in a duration ("20s", "1m2.5s", "300 ms", "12") or until a Unix time; None for any
    other string."""
    try:
        number = float(text)
    except ValueError:
        parts = _PART.findall(text)
        units = [next((u for u in _UNITS if unit.lower().startswith(u)), "") for _, unit in parts]
        try:
            seconds = sum(float(amount) * _UNITS[unit] for (amount, _), unit in zip(parts, units))
            return seconds if parts else None
        except (KeyError, ValueError):
            return None
    if not 0 <= number < 1e15:
        return None
    if number > _EPOCH:
        number = max(0.0, (number / 1e3 if number > _EPOCH * 1e3 else number) - time.time())
    return number
