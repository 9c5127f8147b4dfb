"""One arena from start to end: opened, seated with operators, sent commands, within deadlines.

Used by a comparison's `Lane` and an evaluation's `EpisodePlayer`::

    awaiting "open" ──► awaiting "seat" ──► ready ◄──► awaiting "reset", "step" or "episode"
           └──────────────────┴───────────────┴───────────────┴──► ended

All methods must be called from the thread that reads the arena's output; none of them blocks.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from mosaic_contract.priority import stretched

from mosaic_lab import policies
from mosaic_lab.arenas.arena_process import CLOSE_SECONDS, ArenaFolder, ArenaProcess
from mosaic_lab.arenas.environment_info import EnvironmentInfo
from mosaic_lab.arenas.liveness import Liveness
from mosaic_lab.arenas.setup import ArenaSetup
from mosaic_lab.keeper.states import State
from mosaic_lab.keeper.tail import last_lines
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.policies import Assignment

OPEN_SECONDS = 120.0
"""Seconds for creating an environment, and again for starting its operators; imports may be slow."""
GIVE_UP_SECONDS = 0.5
"""Seconds for a failed arena to exit by itself."""
_LIMITS = {  # `Liveness` limits the commands of an episode
    "open": ("make its environment", OPEN_SECONDS),
    "seat": ("start its operators", OPEN_SECONDS + 10),  # its own limit names the late operator
}
_LOG_LINES = 15
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class ArenaSession:
    """An arena for the lane ``label`` in a new folder ``path``, started and sent "open".

    ``mapping`` is {agent, team or pattern: operator}; ``seed`` is recorded in the folder's configuration.
    Raises OSError if the arena cannot be started.
    """

    def __init__(
        self, setup: ArenaSetup, label: str, mapping: Mapping[str, OperatorSpec], path: Path, seed: int = 0
    ) -> None:
        self.label = label
        self.path = path
        self.environment: EnvironmentInfo | None = None
        """The environment, once open."""
        self.assignment: Assignment | None = None
        """The operators and their agents, once the environment is open and they fit."""
        self.awaiting = ""
        """The command that awaits an answer; empty if none."""
        self.seated = False
        self.ended = False
        self.liveness = Liveness(setup.plan.step_timeout)
        """Liveness during the current command of an episode."""
        self._setup = setup
        self._mapping = mapping
        self._deadline: float | None = None
        command = [*setup.arena, "--arena"]
        folder = ArenaFolder(
            path, setup.config(label, seed), worker=setup.plan.family, label=label, command=command
        )
        try:
            self.process = ArenaProcess(command, setup.variables, folder)
        except OSError as error:
            folder.end(State.FAILED, f"its arena could not be started: {error}", None)
            raise
        self.send(setup.plan.open_command(path))

    # --------------------------------------------------------------- commands

    def send(self, command: Mapping[str, Any]) -> None:
        """Send a command and await its answer."""
        self.expect(command["cmd"])
        self.process.send_message(command)

    def expect(self, command: str) -> None:
        """Await the answer to a command that is sent by other means."""
        self.awaiting = command
        limited = command in _LIMITS
        self._deadline = time.monotonic() + stretched(_LIMITS[command][1]) if limited else None
        self.liveness.begin()

    def answered(self) -> None:
        """Stop awaiting an answer."""
        self.awaiting, self._deadline = "", None

    def seat(self, inside: bool = False) -> None:
        """Send the operators of `assignment`; ``inside``: the arena's process may run some of them itself."""
        assert self.assignment is not None
        operators = {
            key: self._setup.seat(key, spec, self.path.name, self.label)
            | ({"inside": self._may_be_inside(spec)} if inside else {})
            for key, spec in self.assignment.operators.items()
        }
        self.send({"cmd": "seat", "operators": operators, "seats": self.assignment.seats})

    def _may_be_inside(self, spec: OperatorSpec) -> bool:
        """Whether the arena's process may run the operator itself. It must not block for as long as a
        language model may, must not be ended at a deadline, and must have no environment variables of its
        own.
        """
        same_worker = spec.worker == self._setup.plan.family
        return same_worker and not spec.is_language_model and spec.fallback == "wait" and not spec.pass_env

    def end(self, state: State, reason: str, grace: float = CLOSE_SECONDS) -> None:
        """End the arena within ``grace`` seconds, and record ``state`` and ``reason`` in its folder."""
        self.ended, self.seated = True, False
        self.answered()
        self.process.leave(state, reason, grace)

    # ---------------------------------------------------------------- answers

    def read_message(self, line: bytes) -> dict[str, Any]:
        """Decode a line of the arena's output. Raises msgspec.DecodeError."""
        message: dict[str, Any] = _decode(line)
        self.liveness.heard(message)
        return message

    def opened(self, message: Mapping[str, Any]) -> None:
        """Process the answer to "open". Raises ConfigurationError if the operators do not fit the agents."""
        self.environment = EnvironmentInfo.from_message(message)
        self.assignment = policies.assign(self._mapping, self.environment)

    def overdue(self, now: float) -> str | None:
        """Return why the awaited answer is overdue; None if it is not."""
        if not self.awaiting:
            return None
        if self.awaiting not in _LIMITS:
            return self.liveness.overdue()
        if self._deadline is None or now < self._deadline:
            return None
        what, seconds = _LIMITS[self.awaiting]
        return f"its arena did not {what} in {stretched(seconds):.0f} s"

    def last_log(self, reported: str = "") -> list[str]:
        """Return the last lines of the arena's report or, if it is empty, of its log."""
        lines = reported.rstrip().splitlines()[-_LOG_LINES:]
        return lines or last_lines(self.path / "worker.log", _LOG_LINES)

    def operator_log(self, key: str) -> str:
        """Return the last lines of the log of an operator in this kernel."""
        return "\n".join(last_lines(self.path / f"operator-{key}.log", _LOG_LINES))


def unreadable(line: bytes, error: Exception) -> str:
    """Return the failure message for a line of the arena that cannot be parsed."""
    text = line[:200].decode("utf-8", "replace")
    return f"its arena sent what cannot be understood ({error!r}): {text}"


def unrepeated(lines: Iterable[str], message: str) -> list[str]:
    """Return the log lines that do not repeat the error in ``message``."""
    known = {line for line in message.splitlines() if line}

    def repeats(line: str) -> bool:
        _, mark, error = line.partition(" failed: ")
        return line in known or bool(mark and error[:1000] in message)

    return [line for line in lines if not repeats(line)]
