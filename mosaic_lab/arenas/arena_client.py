"""The arenas of this process: opened, given their operators and sent commands, within deadlines.

An arena belongs to a comparison's `Lane`, an evaluation's `EpisodePlayer`, a film's recorder or a replay::

    awaiting "open" ──► awaiting "seat" ──► seated ◄──► awaiting "reset", "step" or "episode"
           └──────────────────┴───────────────┴───────────────┴──► ending

`ArenaLoop` waits for all of them, calls their owners, and is the only place where failures are detected.
Everything happens in its thread; nothing but `ArenaLoop.wait` blocks. Every limit here that depends on
``step_timeout`` is in `Liveness`.
"""

from __future__ import annotations

import select
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec
from mosaic_contract.errors import EnvironmentFault
from mosaic_contract.priority import scaled_deadline

from mosaic_lab import policies
from mosaic_lab.arenas.arena_process import CLOSE_SECONDS, ArenaFolder, ArenaProcess
from mosaic_lab.arenas.environment_info import EnvironmentInfo
from mosaic_lab.arenas.plan import ArenaSetup
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keeper.states import State
from mosaic_lab.keeper.tail import last_lines
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.policies import Assignment
from mosaic_lab.sanitize import sanitize

HUNG = "StepTimeout"
"""The error type of an environment that exceeded the step limit; its arena is no longer usable."""
OPEN_SECONDS = 120.0
"""Seconds for creating an environment, and again for starting its operators; imports may be slow."""
GIVE_UP_SECONDS = 0.5
"""Seconds for a failed arena to exit before it is killed."""
LOOK_SECONDS = 0.5
"""Seconds between checks of deadlines."""
LOG_LINES = 15
"""Number of log lines shown with a failure."""
_ENDING_SECONDS = 0.01  # between checks while an arena is ending
_MARGIN = 5.0  # seconds beyond the limit for the arena's own report
_MAX_COUNTED_SILENCE = 1.0  # maximum silence counted per check: this process may itself have been suspended
_QUIET_SECONDS = 5.0  # without a heartbeat, which arrives every second
_STALL_SECONDS = 2.0, 10.0  # bounds of the time without a step; arenas report steps once per second
_LIMITS = {  # of commands; `Liveness` limits those of an episode
    "open": ("make its environment", OPEN_SECONDS),
    "seat": ("start its operators", OPEN_SECONDS + 10),  # its own limit names the late operator
}
_FATAL = (HUNG, "OperatorDied", "SystemExit")  # the arena has exited, or cannot restart the operator
_STEP = b'{"cmd":"step"}\n'
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class ArenaFailed(Exception):
    """The failure of an arena; its text is a sentence, sanitized.

    ``log``: the last lines of its log, without those that repeat the text. ``kind``: the error's type, if the
    arena has reported it. ``usable``: whether the arena can still be reset. ``misfit``: the error if
    operators do not fit the environment's agents.
    """

    def __init__(
        self,
        message: str,
        log: Collection[str] = (),
        *,
        kind: str = "",
        usable: bool = False,
        misfit: ConfigurationError | None = None,
    ) -> None:
        super().__init__(sanitize(message))
        self.log = [sanitize(line) for line in _without_repeats(log, message)]
        self.kind = kind
        self.usable = usable
        self.misfit = misfit

    @property
    def refused(self) -> bool:
        """Whether the request itself is invalid, so that another arena would fail too."""
        return self.kind == "ConfigError" or self.misfit is not None


class ArenaOwner(Protocol):
    """The user of an arena, called by `ArenaLoop` until the arena is ending."""

    def opened(self, arena: ArenaClient, environment: EnvironmentInfo, assignment: Assignment) -> None:
        """Process the answer to "open"; the next command is `ArenaClient.seat`."""

    def received(self, arena: ArenaClient, message: dict[str, Any]) -> None:
        """Process any message except "opened" and "error"."""

    def failed(self, failure: ArenaFailed) -> None:
        """End the arena, unless it is usable."""


class Liveness:
    """The detection of an unresponsive or stalled arena; ``step_timeout`` in seconds. Call `begin` and
    `heard` before `overdue`.

    An arena reports a slow environment itself, after ``step_timeout`` seconds. If the environment blocks the
    arena, or the arena is suspended, the absence of messages reveals it.
    """

    def __init__(self, step_timeout: float) -> None:
        self.limit = step_timeout + _MARGIN
        """Seconds without a message after which an arena has failed."""
        shortest, longest = _STALL_SECONDS
        self._stall = max(shortest, min(longest, step_timeout / 4))
        self.begin()

    def begin(self) -> None:
        """Start timing, when a command is sent."""
        self._step: Any = 0
        self._moved_at = self._looked_at = time.monotonic()
        self._unresponsive = 0.0
        self._doing = "environment"

    def heard(self, message: Mapping[str, Any]) -> None:
        """Process any message from the arena: it responds, and a heartbeat reports what it is doing."""
        self._unresponsive, self._looked_at = 0.0, time.monotonic()
        kind = message.get("type")
        if kind == "thinking":
            self._doing = "operators"
        elif kind == "beat":
            self._doing = str(message.get("doing"))
            if message.get("step_index") != self._step:
                self._step, self._moved_at = message.get("step_index"), self._looked_at

    @property
    def stalled(self) -> float | None:
        """Seconds since the last known step, or since the command, if that is a long time; else None."""
        seconds = time.monotonic() - self._moved_at
        return seconds if seconds >= self._stall else None

    @property
    def waits_for(self) -> str:
        """What the arena waits for, as text; empty during a requested pause."""
        if self._unresponsive > _QUIET_SECONDS:
            return "its arena does not respond"
        return {"operators": "waiting for its operator", "pause": ""}.get(
            self._doing, "waiting for its environment"
        )

    def overdue(self) -> str | None:
        """Return why the arena's answer is overdue; None if it is not."""
        now = time.monotonic()
        self._unresponsive += min(now - self._looked_at, _MAX_COUNTED_SILENCE)
        self._looked_at = now
        if self._unresponsive < self.limit:
            return None
        return (
            f"its arena has not responded for {self.limit:g} s: it was suspended, or its environment blocks "
            "the interpreter (step_timeout)"
        )


class ArenaClient(ArenaProcess):
    """An arena for the lane ``label`` in a new folder ``path``. The constructor starts it and sends "open";
    pass it to `ArenaLoop.add`.

    ``mapping`` is {agent, team or pattern: operator}; ``seed`` is recorded in the folder's configuration.
    ``inside``: whether the arena's process may run some of the operators itself. Raises ArenaFailed if its
    process cannot be started.
    """

    def __init__(
        self,
        owner: ArenaOwner,
        setup: ArenaSetup,
        label: str,
        mapping: Mapping[str, OperatorSpec],
        path: Path,
        seed: int = 0,
        inside: bool = False,
    ) -> None:
        self.path = path
        self.awaiting = ""
        """The command that awaits an answer; empty if none."""
        self.seated = False
        self.liveness = Liveness(setup.plan.request.step_timeout)
        """Liveness during the current command of an episode."""
        self._owner = owner
        self._setup = setup
        self._label = label
        self._mapping = mapping
        self._inside = inside
        self._deadline: float | None = None
        command = [*setup.arena, "--arena"]
        warm = setup.warm_workers(spec for spec in mapping.values() if not self._may_be_in_process(spec))
        self._warm = {name: worker.fileno() for name, worker in warm.items()}
        config, worker = setup.config(label, seed), setup.plan.family
        try:
            folder = ArenaFolder(path, config, worker=worker, label=label, command=command)
            try:
                super().__init__(command, setup.variables, folder, self._warm.values())
            except OSError as error:
                folder.end(State.FAILED, f"its arena could not be started: {error}", None)
                raise
        except OSError as error:
            raise ArenaFailed(f"its arena could not be started: {error}") from error
        self.request(setup.plan.open_command(path))

    # --------------------------------------------------------------- commands

    def request(self, command: Mapping[str, Any]) -> None:
        """Send a command and await its answer."""
        self._expect(command["cmd"])
        self.send(command)

    def step(self, held: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """Request a step, with the answers of these agents, if any."""
        if held:
            self.send({"cmd": "step", "held": held})
        else:
            self.outgoing.send(_STEP)
        self._expect("step")

    def seat(self, assignment: Assignment, batch: int = 1) -> None:
        """Send the operators; ``batch`` is the number of episodes played together."""
        operators = {
            key: self._setup.seat(key, spec, self.path.name, self._label, self._warm)
            | {"inside": self._may_be_in_process(spec)}
            for key, spec in assignment.operators.items()
        }
        self.request({"cmd": "seat", "operators": operators, "seats": assignment.seats, "batch": batch})

    def _may_be_in_process(self, spec: OperatorSpec) -> bool:
        """Return whether the arena's process may run the operator itself: not one that may block as long as a
        language model, is ended at a deadline, or has environment variables of its own."""
        same_worker = spec.worker == self._setup.plan.family
        alone = not spec.is_language_model and spec.fallback == "wait" and not spec.pass_env_vars
        return self._inside and same_worker and alone

    def _expect(self, command: str) -> None:
        self.awaiting = command
        limited = command in _LIMITS
        self._deadline = time.monotonic() + scaled_deadline(_LIMITS[command][1]) if limited else None
        self.liveness.begin()

    def answered(self) -> None:
        """Stop awaiting an answer."""
        self.awaiting, self._deadline = "", None

    def end(self, state: State, reason: str, grace: float = CLOSE_SECONDS) -> None:
        self.seated = False
        self.answered()
        super().end(state, reason, grace)

    # ---------------------------------------------------------------- answers

    def receive(self) -> None:
        """Read the output and pass it to the owner; discard it if the arena is ending."""
        for line in self.incoming.lines():
            if not self.ending:
                self._process_line(line)
        if (self.incoming.ended or self.incoming.oversize) and not self.ending:
            self._fail(f"its arena {self.how_it_ended()}")

    def check_deadline(self, now: float) -> bool:
        """Fail if the awaited answer is overdue; return whether it is."""
        late = self._overdue(now) if self.awaiting else None
        if late is not None:
            self._fail(late)
        return late is not None

    def _overdue(self, now: float) -> str | None:
        if self.awaiting not in _LIMITS:
            return self.liveness.overdue()
        if self._deadline is None or now < self._deadline:
            return None
        what, seconds = _LIMITS[self.awaiting]
        return f"its arena did not {what} within {scaled_deadline(seconds):.0f} s"

    def _process_line(self, line: bytes) -> None:
        try:
            message = _decode(line)
            self.liveness.heard(message)
            match message.get("type"):
                case "opened":
                    self._opened(message)
                case "error":
                    self._report(message)
                case _:
                    self._owner.received(self, message)
        except Exception as error:
            text = line[:200].decode("utf-8", "replace")
            self._fail(f"its arena sent an invalid message ({error!r}): {text}")

    def _opened(self, message: Mapping[str, Any]) -> None:
        environment = EnvironmentInfo.from_message(message)
        try:
            assignment = policies.assign(self._mapping, environment)
        except ConfigurationError as error:
            self._owner.failed(ArenaFailed(str(error), misfit=error))
        else:
            self._owner.opened(self, environment, assignment)

    def _report(self, message: Mapping[str, Any]) -> None:
        """Pass on a reported error, except that of a step that a reset has ended."""
        where, kind = message.get("where"), message.get("error_type") or ""
        if where == "step" and self.awaiting != "step" and kind != HUNG:
            return
        text = str(message.get("message") or kind or "its arena reported an error without a message")
        log = str(message.get("log") or "").rstrip().splitlines()
        if not log and message.get("operator"):  # an operator in this kernel
            log = last_lines(self.path / f"operator-{message['operator']}.log", LOG_LINES)
        self._fail(text, log, kind, usable=where not in ("open", "seat") and kind not in _FATAL)

    def _fail(self, text: str, log: Collection[str] = (), kind: str = "", usable: bool = False) -> None:
        self.answered()
        if kind != EnvironmentFault.__name__:  # an EnvironmentFault is complete without the log
            log = log or last_lines(self.path / "worker.log", LOG_LINES)
        self._owner.failed(ArenaFailed(text, log, kind=kind, usable=usable))


class ArenaLoop:
    """Arenas and their output, processed in one thread: call `work` repeatedly with the result of `wait`.

    ``wake`` is a descriptor on which input ends a wait.
    """

    def __init__(self, wake: int | None = None) -> None:
        self.arenas: list[ArenaClient] = []
        """All arenas that have not ended yet."""
        self._wake = wake
        self._looked_at = 0.0

    def add(self, arena: ArenaClient) -> ArenaClient:
        """Process the output of an arena until it has ended; return the arena."""
        self.arenas.append(arena)
        return arena

    def wait(self, seconds: float = LOOK_SECONDS) -> list[int]:
        """Wait until there is something to do, up to ``seconds``; return the ready descriptors."""
        poll = select.poll()
        if self._wake is not None:
            poll.register(self._wake, select.POLLIN)
        for arena in self.arenas:
            if not arena.incoming.ended:
                poll.register(arena.incoming.descriptor, select.POLLIN)
            if arena.outgoing.waiting:
                poll.register(arena.outgoing.descriptor, select.POLLOUT)
            if arena.ending:
                seconds = min(seconds, _ENDING_SECONDS)
        return [descriptor for descriptor, _ in poll.poll(1e3 * seconds)]

    def work(self, ready: Collection[int]) -> bool:
        """Process output and expired deadlines. Return whether an arena has sent something or failed."""
        busy = False
        for arena in list(self.arenas):
            if arena.incoming.descriptor in ready:
                arena.receive()
                busy = True
            if arena.outgoing.waiting:
                arena.outgoing.push()
        now = time.monotonic()
        if now - self._looked_at >= LOOK_SECONDS:
            self._looked_at = now
            for arena in list(self.arenas):
                busy = arena.check_deadline(now) or busy
                arena.cut_logs()
        self.arenas = [arena for arena in self.arenas if not (arena.ending and arena.ended())]
        return busy

    def close(self, state: State, reason: str) -> None:
        """End all arenas, recording ``state`` and ``reason`` in their folders, and wait for their end."""
        for arena in self.arenas:
            arena.end(state, reason, GIVE_UP_SECONDS)
        while self.arenas:
            self.work(self.wait())


def _without_repeats(lines: Collection[str], message: str) -> list[str]:
    """Return the log lines that do not repeat the error in ``message``."""
    reported = {line for line in message.splitlines() if line}

    def repeats(line: str) -> bool:
        _, mark, error = line.partition(" failed: ")
        return line in reported or bool(mark and error[:1000] in message)

    return [line for line in lines if not repeats(line)]
