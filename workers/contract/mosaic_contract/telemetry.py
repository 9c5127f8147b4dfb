"""The message stream of a worker: one JSON message per line, on a descriptor that nothing else writes to.

Writing never raises and never stops a training. A line that cannot be written (disk full, reader gone, not
JSON) is counted, and the next heartbeat reports the count. Exactly one terminal event is written, by the
process that created the `Telemetry`; later messages and messages from forked children are ignored.
"""

from __future__ import annotations

import fcntl
import logging
import os
import sys
import threading
import time
from typing import Any, Iterator, Mapping, Sequence, Tuple, TypeVar, Union

from mosaic_contract.codec import as_number, encode_line, seal
from mosaic_contract.errors import quoted, traceback_of, type_of
from mosaic_contract.messages import (
    ALONE,
    CheckpointLoaded,
    CheckpointSaved,
    Episode,
    Event,
    Heartbeat,
    Metrics,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
    Step,
    WorkerMessage,
)
from mosaic_contract.stdio import forgive_write_errors

_ERROR_LIMIT = 8_000  # characters; a terminal event must always fit in a line
_TRACEBACK_LIMIT = 60_000
_UNWRITABLE = (TypeError, ValueError, RecursionError)  # LineTooLong is a ValueError

E = TypeVar("E", bound=Event)
_MAX_DEPTH = 20
_MAX_WARNINGS = 100

log = logging.getLogger("mosaic_contract")


class Telemetry:
    """The message stream of one run. Thread-safe.

    `stream` is a file descriptor. With `sealed`, every message ends with a checksum that lets readers detect
    damaged lines (`codec.is_sealed`). `last_step` and `episodes` track the progress of the run, from the
    messages written and from `advance`; heartbeats and terminal events carry them. `end_step` is the step at
    which the training ends, None if unknown. `numbers` extracts the numbers of a row of metrics. `unsaved` is
    the error of the last checkpoint, None if it was saved.
    """

    def __init__(self, run_id: str, stream: int, *, sealed: bool = False) -> None:
        self.run_id = run_id
        self._sealed = sealed
        self.numbers = MetricValues().numbers
        self.last_step = 0
        self.end_step: int | None = None
        self.episodes = 0
        self.total_reward = 0.0
        self.dropped_lines = 0
        self.checkpoints: list[CheckpointSaved] = []
        self.unsaved: OSError | None = None
        self._fd = stream
        self._lock = threading.RLock()  # a cancelled main thread may return while still holding it
        self._pending: tuple[bytes, list[int]] = (b"", [])  # a line, its bytes already written
        self._finished = False
        self._start = time.monotonic()
        self._epoch = time.time_ns() - time.monotonic_ns()
        os.register_at_fork(after_in_child=self._close_in_child)

    @classmethod
    def take_stdout(cls, run_id: str, *, sealed: bool = False) -> Telemetry:
        """Move stdout to a private descriptor for messages. fd 1 then is stderr, also for children."""
        sys.stdout.flush()
        private = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
        os.dup2(2, 1)
        forgive_write_errors()
        return cls(run_id, private, sealed=sealed)

    @property
    def finished(self) -> bool:
        """Whether the terminal event has been written."""
        return self._finished

    @property
    def trained(self) -> bool:
        """Whether all steps of the training have been taken."""
        return bool(self.end_step) and self.last_step >= (self.end_step or 0)

    @property
    def reached(self) -> str:
        """The progress of the training, as worded in errors."""
        if self.end_step is None:
            return "before the training began"
        return f"at step {self.last_step:,}" + (f" of {self.end_step:,}" if self.end_step else "")

    @property
    def duration_seconds(self) -> float:
        return time.monotonic() - self._start

    def now(self) -> float:
        """Return Unix seconds that never decrease, even if the clock is set back."""
        return self.now_ns() / 1e9

    def now_ns(self) -> int:
        """Return `now` in nanoseconds."""
        return self._epoch + time.monotonic_ns()

    def fileno(self) -> int:
        """Return the private descriptor, for a child that writes its own lines (`pass_fds`)."""
        return self._fd

    def advance(self, step: int) -> None:
        """Record that the training reached `step`, without writing a message."""
        self.last_step = max(self.last_step, int(step))

    def run_started(
        self, *, worker_type: str, algo: str, env_id: str, seed: int | None, config: Mapping[str, Any]
    ) -> None:
        self._event(RunStarted, worker_type, algo, env_id, seed, dict(config))

    def heartbeat(self, memory_mb: float = 0.0, cpu_percent: float = 0.0) -> None:
        usage = round(memory_mb, 1), round(cpu_percent, 1)
        self._event(Heartbeat, self.episodes, self.last_step, *usage, self.dropped_lines)

    def metrics(self, step: int, values: Mapping[str, Any]) -> dict[str, float]:
        """Write metrics at a training step and return the numbers among `values`, flattened."""
        self.advance(step)
        numbers = self.numbers(values)
        if numbers:
            self._event(Metrics, int(step), numbers)
        return numbers

    def checkpoint_saved(
        self,
        path: Union[str, os.PathLike[str]],
        *,
        episode: int | None = None,
        step: int | None = None,
        metrics: Mapping[str, float] | None = None,
        format: str = "",
    ) -> None:
        """Report a checkpoint that is complete on disk. `episode` and `step` default to the current ones."""
        at_episode = self.episodes if episode is None else int(episode)
        at_step = self.last_step if step is None else int(step)
        payload = os.fspath(path), at_episode, at_step, dict(metrics or {}), format
        self.checkpoints.append(self._event(CheckpointSaved, *payload))
        self.unsaved = None

    def checkpoint_failed(self, error: OSError, *, step: int) -> None:
        """Record that the checkpoint of a step could not be written."""
        self.unsaved = OSError(f"the checkpoint of the last step, {step:,}, could not be saved: {error}")

    def checkpoint_loaded(
        self, path: Union[str, os.PathLike[str]], *, step: int, episode: int = 0, format: str = ""
    ) -> None:
        """Report that the run resumes from a checkpoint saved at this step and episode."""
        self.advance(step)
        self._event(CheckpointLoaded, os.fspath(path), int(episode), int(step), {}, format)

    def run_completed(self, final_metrics: Mapping[str, Any] | None = None) -> None:
        totals = self.episodes, self.total_reward, self.duration_seconds
        self._event(RunCompleted, *totals, dict(final_metrics or {}))

    def run_failed(
        self, error: Union[BaseException, str], *, error_type: str | None = None, traceback: str | None = None
    ) -> None:
        """Report that the run failed. An exception provides its own type and traceback."""
        if isinstance(error, BaseException):
            error_type = error_type or type_of(error)
            traceback = traceback_of(error) if traceback is None else traceback
        text, trace = str(error)[:_ERROR_LIMIT], (traceback or "")[-_TRACEBACK_LIMIT:]
        self._event(RunFailed, text, error_type or "Error", trace, self.episodes, self.last_step)

    def run_cancelled(self, reason: str, partial_results: Mapping[str, Any] | None = None) -> None:
        self._event(RunCancelled, reason, self.episodes, dict(partial_results or {}))

    def episode(
        self,
        *,
        total_reward: float,
        steps: int,
        episode_index: int | None = None,
        terminated: bool = False,
        truncated: bool = False,
        episode_seed: int | None = None,
        duration_seconds: float | None = None,
        agent_id: str = ALONE,
        metadata: Mapping[str, Any] | None = None,
        step: int | None = None,
    ) -> None:
        """Write one finished episode of one agent.

        `episode_index` defaults to the next one, `step` to the current one.
        """
        with self._lock:
            index = self.episodes if episode_index is None else int(episode_index)
            self.episodes = max(self.episodes, index + 1)
            self.total_reward += float(total_reward)
            if step is not None:
                self.advance(step)
            self._send(
                Episode(
                    self.run_id,
                    index,
                    float(total_reward),
                    int(steps),
                    bool(terminated),
                    bool(truncated),
                    episode_seed,
                    agent_id,
                    dict(metadata or {}),
                    duration_seconds,
                    self.last_step if step is None else int(step),
                    self.now(),
                )
            )

    def step(
        self,
        *,
        step_index: int,
        episode_index: int,
        action: Any = None,
        reward: float = 0.0,
        terminated: bool = False,
        truncated: bool = False,
        episode_seed: int | None = None,
        agent_id: str = ALONE,
        messages: Sequence[Mapping[str, str]] = (),
        observation_hash: int | None = None,
        fault: str = "",
        end_hash: int | None = None,
    ) -> None:
        """Write one step of one agent, if individual steps were requested. `messages` are the messages that
        the agent sent with this step, as {"to", "text"}; for the others see `Step`."""
        self._send(
            Step(
                self.run_id,
                int(step_index),
                int(episode_index),
                agent_id,
                action,
                float(reward),
                bool(terminated),
                bool(truncated),
                episode_seed,
                self.now_ns(),
                list(messages),
                observation_hash,
                fault,
                end_hash,
            )
        )

    def steps(self, lines: bytes) -> None:
        """Write several encoded lines in one call: "step" messages, or lines reported by another run."""
        with self._lock:
            if not self._finished:
                self._write(lines)

    def _event(self, event_class: type[E], *payload: Any) -> E:
        with self._lock:  # timestamped and written in the same order
            event = event_class(self.run_id, self.now(), *payload)
            self._send(event)
        return event

    def _send(self, message: WorkerMessage) -> None:
        with self._lock:
            if self._finished:
                return
            # Set before the write: an interruption must never lead to two terminal events.
            self._finished = message.TERMINAL
            try:
                line = encode_line(message.to_dict())
            except _UNWRITABLE:
                if not message.TERMINAL:
                    self.dropped_lines += 1
                    return
                document = message.to_dict()  # the shim's results do not fit; the terminal event still counts
                for results in ("final_metrics", "partial_results"):
                    document["payload"].pop(results, None)
                line = encode_line(document)
            self._write(seal(line) if self._sealed else line)

    def _close_in_child(self) -> None:
        """Reset the stream and lock in a forked child: both belong to the parent, whose thread may hold the
        lock."""
        self._lock = threading.RLock()
        self._finished = True

    def _write(self, line: bytes) -> None:
        """Finish any partially written line, then write this one; drop it if no byte can be written."""
        if self._push():
            self._pending = (line, [])
            if self._push() or any(self._pending[1]):
                return
            self._pending = (b"", [])
        self.dropped_lines += 1

    def _push(self) -> bool:
        """Write the rest of the pending line. Return False on failure."""
        data, counts = self._pending
        try:
            while sum(counts) < len(data):
                # One bytecode step: no signal can arrive between a write and its count.
                counts.extend(map(os.write, (self._fd,), (data[sum(counts) :],)))
        except OSError:
            return False
        return True


def flat(values: Mapping[Any, Any], prefix: str = "", depth: int = 0) -> Iterator[Tuple[str, Any]]:
    """Yield the values of nested objects, under their keys joined by "/"."""
    for name, value in values.items():
        if isinstance(value, Mapping) and value and depth < _MAX_DEPTH:
            yield from flat(value, f"{prefix}{name}/", depth + 1)
        else:
            yield f"{prefix}{name}", value


class MetricValues:
    """Extractor of the numbers in rows of metrics. It warns only once about each key whose value is not a
    number."""

    def __init__(self) -> None:
        self._warned: set[str] = set()

    def numbers(self, values: Mapping[Any, Any]) -> dict[str, float]:
        """Return the numbers in a row by name. Arrays and tensors with one element count as numbers."""
        numbers = {}
        for name, value in flat(values):
            try:
                numbers[name] = _number(value)
            except (TypeError, ValueError, RuntimeError):  # the last: PyTorch, for several numbers
                self._warn(name, value)
        return numbers

    def _warn(self, name: str, value: Any) -> None:
        if name not in self._warned and len(self._warned) < _MAX_WARNINGS:
            self._warned.add(name)
            log.warning("metric %.200r is left out: %s is not a number", name, quoted(value))
            if len(self._warned) == _MAX_WARNINGS:
                log.warning("further metrics that are left out are not reported")


def _number(value: Any) -> float:
    item = getattr(value, "item", None)
    return as_number(item() if callable(item) else value)
