"""Derive a run's final state and its reason, one sentence for the user, from evidence. Pure: no I/O. A cause
is given only if there is evidence for it."""

from __future__ import annotations

import signal as signals
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mosaic_lab.keeper.events import RUN_CANCELLED, RUN_COMPLETED, RUN_FAILED
from mosaic_lab.keeper.states import State

_LONGEST = 600  # maximum characters of a worker's own message in a reason
_SENTENCES = (
    *("", "ConfigError", "EnvironmentMissing", "ConfigurationError", "MosaicError", "SystemExit"),
    *("TrialsFailed", "StageFailed", "EpisodeFailed", "NotRecorded", "NotFilmed", "ServerEnded"),
)
"""Error types whose messages are sentences for the user and form the whole reason."""

_OF_A_SIGNAL = (130, 143)
"""Exit codes of workers that end because of SIGINT or SIGTERM."""
_OF_A_STOP = (0, *_OF_A_SIGNAL)
"""Exit codes of workers that obey a stop. They are no errors, so reasons omit them."""


@dataclass(frozen=True)
class Evidence:
    """The evidence at the end of a run's worker.

    ``final`` is the terminal message of the worker's telemetry, if any. ``stop`` is the reason of a stop
    request, if any; ``goal`` is the goal that the run had reached when it was stopped. ``problem`` is the
    error that prevented starting or watching the worker; ``stopped_by`` is the rung of the stop ladder that
    was reached. ``oom_kills`` is the number of processes of this control group that the out-of-memory killer
    ended during the run, None if unknown. ``saved_at`` is the step of the newest checkpoint. ``reached`` is
    the run's progress, such as "at step 512 of 600". ``whole_updates`` are the step at which the training
    ended and the requested step, if they differ. ``unread`` means that the telemetry was deleted, so there is
    no final message.
    """

    exit_code: int | None = None
    signal: int | None = None
    final: dict[str, Any] | None = None
    problem: str | None = None
    stop: str | None = None
    goal: str = ""
    stopped_by: str | None = None
    grace_seconds: float = 0.0
    oom_kills: int | None = None
    disk_full: bool = False
    leftovers: int = 0
    last_log_line: str = ""
    saved_at: int | None = None
    reached: str = ""
    whole_updates: tuple[int, int] | None = None
    unread: bool = False

    @property
    def event(self) -> str | None:
        return None if self.final is None else str(self.final.get("event"))

    @property
    def ended(self) -> str:
        """The exit in words, such as ``exit code 1`` or ``signal 9 (SIGKILL)``."""
        return _signal_name(self.signal) if self.signal is not None else f"exit code {self.exit_code}"


def classify(evidence: Evidence) -> tuple[State, str]:
    """Return the final state and its reason."""
    state, reason = _verdict(evidence)
    if evidence.leftovers:
        plural = (
            "process that it had left behind was"
            if evidence.leftovers == 1
            else "processes that it left were"
        )
        reason += f"; {evidence.leftovers} {plural} ended"
    if evidence.disk_full and state is State.FAILED:
        reason = f"the run store's disk is full, so its last lines may be missing: {reason}"
    elif evidence.disk_full:
        reason += "; the run store's disk is full, so its last lines may be missing"
    return state, reason


def _verdict(evidence: Evidence) -> tuple[State, str]:
    if evidence.problem is not None:
        return State.FAILED, evidence.problem
    if evidence.exit_code is None and evidence.signal is None:
        return State.CANCELLED, f"stopped before it started ({evidence.stop or 'no reason given'})"
    if evidence.exit_code == 0 and evidence.event == RUN_COMPLETED:
        return State.COMPLETED, _completed(evidence)
    if evidence.goal and evidence.event == RUN_CANCELLED and evidence.saved_at is not None:
        reached = f"reached its goal {evidence.reached}".rstrip()
        return State.COMPLETED, f"{reached}: {evidence.goal}"
    if evidence.stop is not None:
        return State.CANCELLED, _stopped(evidence)
    if evidence.signal in (signals.SIGTERM, signals.SIGINT) or (
        evidence.exit_code in _OF_A_SIGNAL and evidence.event in (None, RUN_CANCELLED)
    ):
        number = evidence.signal or (evidence.exit_code or 0) - 128
        return State.CANCELLED, f"ended by {_signal_name(number)} from outside MOSAIC Lab"
    if evidence.signal is not None:
        return State.FAILED, _killed(evidence)
    if evidence.exit_code == 0 and evidence.event == RUN_CANCELLED:
        return State.CANCELLED, _payload(evidence.final, "reason") or "the worker cancelled itself"
    return State.FAILED, _failed(evidence)


def _completed(evidence: Evidence) -> str:
    reason = "ran to the end"
    if evidence.whole_updates is not None:
        ended, requested = evidence.whole_updates
        reason = f"ran to its last whole update, step {ended:,} ({requested:,} requested)"
    if evidence.goal:
        return f"{reason}; its goal was reached shortly before: {evidence.goal}"
    return reason + (" before the stop took effect" if evidence.stop else "")


def _stopped(evidence: Evidence) -> str:
    if evidence.stopped_by == "SIGKILL":
        ending = f"it had not ended {evidence.grace_seconds:g} s after the request and was killed"
    elif evidence.signal == signals.SIGTERM:
        ending = "it ended at once"
    elif evidence.exit_code in _OF_A_STOP:
        ending = ""
    else:
        ending = f"it ended with {evidence.ended}"
    reason = evidence.stop or ""
    if evidence.saved_at is not None:
        reason += f"; its last checkpoint is at step {evidence.saved_at:,}"
    if error := own_message(evidence.final):
        reason += f"; it reported an error while stopping: {error}"
    return f"{reason} ({ending})" if ending else reason


def _killed(evidence: Evidence) -> str:
    by_hand = evidence.signal == signals.SIGKILL
    reason = (
        f"killed by {evidence.ended} from outside MOSAIC Lab" if by_hand else f"crashed with {evidence.ended}"
    )
    if evidence.event is not None:
        reason += f", after its {evidence.event} line"
    if by_hand and not evidence.oom_kills:
        sign = "no sign of" if evidence.oom_kills == 0 else "this system does not report whether it was"
        reason += f" ({sign} the out-of-memory killer)"
    return reason + _out_of_memory(evidence)


def _failed(evidence: Evidence) -> str:
    reported = own_message(evidence.final)
    if reported and evidence.exit_code == 2:
        reason = f"bad configuration: {reported}"
    elif reported:  # every failure that a worker reports has exit code 1
        reason = reported if evidence.exit_code == 1 else f"{reported} ({evidence.ended})"
    elif evidence.unread:
        unknown = "it is not known whether it ran to the end"
        reason = f"its telemetry.jsonl was deleted, so {unknown} ({evidence.ended})"
    elif evidence.exit_code == 0 and evidence.event is None:
        reason = f"the environment or a library ended the process (exit code 0) {evidence.reached}".rstrip()
    else:
        ending = f"reported {evidence.event} and ended" if evidence.event else "exited without a final event"
        reason = f"the worker {ending} with {evidence.ended}"
        if (code := evidence.exit_code or 0) > 128:
            reason += f", which usually means that a process of its own got {_signal_name(code - 128)}"
        if evidence.last_log_line:
            reason += f"; last log line: {_clipped(evidence.last_log_line)}"
    return reason + _out_of_memory(evidence)


def _out_of_memory(evidence: Evidence) -> str:
    if not evidence.oom_kills:
        return ""
    count = "a process" if evidence.oom_kills == 1 else f"{evidence.oom_kills} processes"
    return (
        f"; out of memory: meanwhile the kernel's out-of-memory killer ended {count} of this session. "
        f"Use less memory (a smaller buffer, fewer environments, fewer runs at once)"
    )


def own_message(final: Mapping[str, Any] | None) -> str:
    """Return a run_failed message in one line, ``ValueError: …`` or our own sentence; empty for other
    messages."""
    if final is None or final.get("event") != RUN_FAILED:
        return ""
    kind, error = error_type(final), _payload(final, "error")
    if kind in _SENTENCES or error.startswith(f"{kind}:"):
        return _clipped(error or "run_failed without a message")
    return _clipped(f"{kind}: {error}" if error else kind)


def error_type(final: Mapping[str, Any] | None) -> str:
    """Return the type of the error in a run_failed message."""
    return _payload(final, "error_type")


def _signal_name(number: int) -> str:
    """A copy of `mosaic_contract.programs.signal_name`, because keepers start without the contract."""
    try:
        return f"signal {number} ({signals.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


def _payload(final: Mapping[str, Any] | None, key: str) -> str:
    payload = (final or {}).get("payload")
    value = payload.get(key) if isinstance(payload, dict) else None
    return "" if value is None else str(value)


def _clipped(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
