"""The report of a failed run: the end of the worker's traceback and of its log."""

from __future__ import annotations

from collections.abc import Iterable

from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.tail import final_message, last_lines

_TRACEBACK_LINES = 6
_LOG_LINES = 10
_WINDOW = 1 << 18  # bytes; room for a long traceback after the lines of interest


def failure_report(folder: RunFolder, headline: str) -> str:
    """Return the message of a RunFailed: the headline, the end of the worker's traceback and its last log
    lines."""
    parts = [headline]
    if trace := traceback_end(folder):
        parts.append("The worker's traceback ended with:\n" + _indented(trace))
    if lines := last_log(folder, _LOG_LINES):
        parts.append("Its last log lines:\n" + _indented(lines))
    parts.append(f"The whole log: {folder.log_path}")
    return "\n".join(parts)


def traceback_end(folder: RunFolder) -> list[str]:
    """Return the last lines of the traceback in the worker's run_failed message, if any."""
    return _traceback(folder)[-_TRACEBACK_LINES:]


def last_log(folder: RunFolder, count: int) -> list[str]:
    """Return the last ``count`` log lines, without the traceback, which most workers also print."""
    lines = last_lines(folder.log_path, _WINDOW, _WINDOW)
    reported = {line.strip() for line in _traceback(folder)} - {""}
    kept = [line for line in lines if line.strip() not in reported]
    return kept[-count:] if count > 0 else []


def _traceback(folder: RunFolder) -> list[str]:
    payload = (final_message(folder.telemetry_path) or {}).get("payload")
    trace = payload.get("traceback") if isinstance(payload, dict) else None
    return trace.rstrip().splitlines() if isinstance(trace, str) else []


def _indented(lines: Iterable[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)
