"""Outcome of a run: the final state and reason never claim more than the evidence shows."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from mosaic_lab.keeper.outcome import Evidence, classify
from mosaic_lab.keeper.states import Outcome, RunStatus, State, queued


def final(event: str, **payload: Any) -> dict[str, Any]:
    return {"event": event, "payload": payload}


COMPLETED = final("run_completed")
CANCELLED = final("run_cancelled", reason="SIGTERM")
FAILED = final("run_failed", error="no such env", error_type="ValueError")

TABLE = [
    (Evidence(exit_code=0, final=COMPLETED), "completed", "ran to the end"),
    (
        Evidence(exit_code=0, final=COMPLETED, whole_updates=(4608, 5000)),
        "completed",
        "ran to its last whole update, step 4,608 (5,000 requested)",
    ),
    (
        Evidence(exit_code=0, reached="at step 10 of 600"),
        "failed",
        "the environment or a library ended the process (exit code 0) at step 10 of 600",
    ),
    (Evidence(exit_code=0, final=FAILED), "failed", "ValueError: no such env (exit code 0)"),
    (Evidence(exit_code=0, final=final("run_cancelled", reason="had enough")), "cancelled", "had enough"),
    (Evidence(exit_code=1, final=FAILED), "failed", "ValueError: no such env"),
    (Evidence(exit_code=5, final=FAILED), "failed", "ValueError: no such env (exit code 5)"),
    (Evidence(exit_code=1), "failed", "the worker exited without a final event with exit code 1"),
    (Evidence(exit_code=1, last_log_line="boom"), "failed", "exit code 1; last log line: boom"),
    (
        Evidence(exit_code=3, final=COMPLETED),
        "failed",
        "the worker reported run_completed and ended with exit code 3",
    ),
    (
        Evidence(exit_code=2, final=final("run_failed", error="no lr", error_type="ConfigError")),
        "failed",
        "bad configuration: no lr",
    ),
    (Evidence(exit_code=137), "failed", "a process of its own got signal 9 (SIGKILL)"),
    (
        Evidence(exit_code=143, final=CANCELLED),
        "cancelled",
        "ended by signal 15 (SIGTERM) from outside MOSAIC Lab",
    ),
    (Evidence(exit_code=130), "cancelled", "ended by signal 2 (SIGINT) from outside MOSAIC Lab"),
    (Evidence(signal=15), "cancelled", "ended by signal 15 (SIGTERM) from outside MOSAIC Lab"),
    (Evidence(signal=11), "failed", "crashed with signal 11 (SIGSEGV)"),
    (
        Evidence(signal=11, final=COMPLETED),
        "failed",
        "crashed with signal 11 (SIGSEGV), after its run_completed line",
    ),
    (
        Evidence(signal=9, oom_kills=0),
        "failed",
        "signal 9 (SIGKILL) from outside MOSAIC Lab (no sign of the out-of-memory killer)",
    ),
    (Evidence(signal=9), "failed", "this system does not report whether it was the out-of-memory killer"),
    (
        Evidence(signal=9, oom_kills=1),
        "failed",
        "from outside MOSAIC Lab; out of memory: meanwhile the kernel's out-of-memory killer ended a process",
    ),
    (Evidence(exit_code=1, final=FAILED, oom_kills=2), "failed", "out-of-memory killer ended 2 processes"),
    (Evidence(stop="stopped on request"), "cancelled", "stopped before it started (stopped on request)"),
    (
        Evidence(exit_code=143, final=CANCELLED, stop="stopped on request", stopped_by="SIGTERM"),
        "cancelled",
        "stopped on request",
    ),
    (
        Evidence(exit_code=143, stop="stopped on request", stopped_by="SIGTERM", saved_at=2000),
        "cancelled",
        "stopped on request; its last checkpoint is at step 2,000",
    ),
    (
        Evidence(signal=9, stop="stopped on request", stopped_by="SIGKILL", grace_seconds=5),
        "cancelled",
        "stopped on request (it had not ended 5 s after the request and was killed)",
    ),
    (
        Evidence(exit_code=1, final=FAILED, stop="stopped on request", stopped_by="SIGTERM"),
        "cancelled",
        "it reported an error while stopping: ValueError: no such env",
    ),
    (
        Evidence(exit_code=0, final=COMPLETED, stop="stopped on request", stopped_by="SIGTERM"),
        "completed",
        "ran to the end before the stop took effect",
    ),
    (
        Evidence(
            exit_code=0, final=COMPLETED, stop="stopped on request", goal="mean return 12, until_mean 11"
        ),
        "completed",
        "ran to the end; its goal was reached shortly before: mean return 12, until_mean 11",
    ),
    (
        Evidence(problem="the worker could not be started: gone"),
        "failed",
        "the worker could not be started: gone",
    ),
    (Evidence(exit_code=0, final=COMPLETED, leftovers=2), "completed", "2 processes that it left were ended"),
    (
        Evidence(exit_code=0, final=COMPLETED, disk_full=True),
        "completed",
        "disk is full, so its last lines may be missing",
    ),
    (
        Evidence(exit_code=1, disk_full=True),
        "failed",
        "the run store's disk is full, so its last lines may be missing: the worker exited without",
    ),
    (Evidence(exit_code=1, final={"event": "run_failed"}), "failed", "run_failed without a message"),
    (
        Evidence(exit_code=1, final={"event": "run_failed", "payload": 7}),
        "failed",
        "run_failed without a message",
    ),
]


@pytest.mark.parametrize(("evidence", "state", "reason"), TABLE)
def test_evidence_becomes_a_state_and_a_sentence(evidence: Evidence, state: str, reason: str) -> None:
    found, said = classify(evidence)
    assert found == state
    assert reason in said


@pytest.mark.parametrize(
    ("kind", "reason"), [("TrialsFailed", "none completed"), ("ValueError", "ValueError: none completed")]
)
def test_a_sentence_of_our_own_is_the_whole_reason(kind: str, reason: str) -> None:
    message = final("run_failed", error="none completed", error_type=kind)
    assert classify(Evidence(exit_code=1, final=message)) == ("failed", reason)


def test_out_of_memory_is_claimed_with_evidence_only() -> None:
    for evidence, _, _ in TABLE:
        claimed = "out of memory" in classify(evidence)[1]
        assert claimed == bool(evidence.oom_kills)


def test_a_long_message_is_clipped() -> None:
    evidence = Evidence(exit_code=1, final=final("run_failed", error="x" * 100_000, error_type="ValueError"))
    assert len(classify(evidence)[1]) < 1000


def test_a_status_survives_its_file() -> None:
    status = queued("waits", 5.0).moved_to(State.FAILED, "because", 7.0)
    status = RunStatus(**{**status.__dict__, "outcome": Outcome(exit_code=1), "gpus": (0, 2)})
    assert RunStatus.from_dict(status.to_dict()) == status


def test_a_new_reason_in_the_same_state_replaces_the_old_one() -> None:
    status = (
        queued("waits", 1.0).moved_to(State.QUEUED, "2 ahead", 2.0).moved_to(State.QUEUED, "1 ahead", 3.0)
    )
    assert [(step.state, step.reason, step.timestamp) for step in status.history] == [
        ("queued", "1 ahead", 1.0)
    ]


def test_exactly_four_states_are_final() -> None:
    in_files = {state for state in State if state.finished} - {State.REMOVED}
    assert in_files == {"completed", "failed", "cancelled", "lost"}


def test_a_keeper_starts_without_the_contract() -> None:
    """Importing it would double the start-up time of every run's keeper."""
    code = "import sys, mosaic_lab.keeper.keeper; sys.exit('mosaic_contract' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
