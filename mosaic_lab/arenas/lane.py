"""One lane of a comparison: an arena, its operators and their state.

The attributes of a `Lane` may be read from any thread. Its methods must be called from the comparison's
thread; none of them blocks. The states::

    opening ──► ready ◄──► stepping ──► finished
       └──────────┴───────────┴───► failed (restart), stopped

A lane is opening until the first step of an episode: its environment is made, its operators are started, and
it is reset.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from mosaic_lab.arenas.arena_process import CLOSE_SECONDS, ArenaProcess
from mosaic_lab.arenas.arena_session import GIVE_UP_SECONDS, ArenaSession, unreadable, unrepeated
from mosaic_lab.arenas.environment_info import EnvironmentInfo
from mosaic_lab.arenas.kernel_operators import KernelOperators
from mosaic_lab.arenas.liveness import HUNG
from mosaic_lab.arenas.progress import ModelUsage, Progress, numbers
from mosaic_lab.arenas.setup import ArenaSetup, folder_name
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keeper.states import State
from mosaic_lab.policies import Assignment
from mosaic_lab.sanitize import sanitize

_FATAL = (HUNG, "OperatorDied", "SystemExit")  # the arena has exited, or cannot restart the operator
_STEP = b'{"cmd":"step"}\n'

Post = Callable[[Callable[[], None]], None]


class LaneState(StrEnum):
    """The state of a lane; see the module."""

    OPENING = "opening"
    READY = "ready"
    STEPPING = "stepping"
    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"


class Lane:
    """The lane ``label`` of the setup's plan. ``post`` schedules a function in the comparison's thread and
    may be called from any thread.
    """

    def __init__(self, index: int, label: str, setup: ArenaSetup, post: Post) -> None:
        self.index = index
        self.label = label
        self.mapping = setup.plan.mapping(label)
        """{agent, team or pattern: operator}."""
        self.state = LaneState.OPENING
        self.reason = "it is about to be opened"
        self.log = ""
        """The last log lines before a failure."""
        self.misfit: ConfigurationError | None = None
        """The error if the mapping does not fit the environment's agents."""
        self.refused = False
        """Whether the lane failed because of an invalid request, for example an unknown environment."""
        self.folders: list[Path] = []
        """One run folder per opening, newest last."""
        self.rows: list[dict[str, Any]] = []
        """The finished episodes, as reported by the arena."""
        self.usage = ModelUsage()
        """Tokens and costs of the language models, over all episodes."""
        self.leaving: list[ArenaProcess] = []
        """Arenas of this lane that are ending."""
        self._setup = setup
        self._post = post
        self._wanted = (0, 0)  # seed and index of the episode
        self._clear()

    def _clear(self) -> None:
        """Clear the state of the last arena."""
        self._session: ArenaSession | None = None
        self.kernel_operators: KernelOperators | None = None
        self.now = Progress(*self._wanted)
        self.target = 0
        """The step up to which the lane advances automatically."""

    @property
    def process(self) -> ArenaProcess | None:
        """The lane's arena, while usable."""
        session = self._session
        return None if session is None or session.ended else session.process

    @property
    def environment(self) -> EnvironmentInfo | None:
        """The environment, once open."""
        return self._session.environment if self._session else None

    @property
    def assignment(self) -> Assignment | None:
        """The operators and their agents, once known."""
        return self._session.assignment if self._session else None

    @property
    def step(self) -> int:
        """The number of steps in the episode so far."""
        return self.now.step

    @property
    def folder(self) -> Path | None:
        """The run folder: telemetry, logs, frames."""
        return self.folders[-1] if self.folders else None

    @property
    def busy(self) -> bool:
        """Whether the lane is opening, resetting or catching up."""
        if self.state is LaneState.READY:
            return self.now.step < self.target
        return self.state is LaneState.OPENING or self.state is LaneState.STEPPING

    @property
    def moving(self) -> bool:
        """Whether the arena is executing a step or a reset."""
        return self._awaiting in ("step", "reset")

    @property
    def resettable(self) -> bool:
        """Whether a reset can bring it to the first step of an episode."""
        return self.process is not None and (self._seated or self.state is LaneState.OPENING)

    @property
    def _awaiting(self) -> str:
        return self._session.awaiting if self._session else ""

    @property
    def _seated(self) -> bool:
        return self._session is not None and self._session.seated

    # --------------------------------------------------------------- commands

    def open(self, seed: int, episode: int, target: int = 0) -> None:
        """Start an arena, replacing the previous one, and advance to step ``target`` of an episode."""
        self._end(State.CANCELLED, "it was restarted")
        self._wanted = (seed, episode)
        self._clear()
        self.target = target
        self.log, self.misfit, self.refused = "", None, False
        self._move(LaneState.OPENING, "its environment is being made")
        name, opened = folder_name(self.index, self.label), len(self.folders)
        self.folders.append(self._setup.folder / (f"{name}.{opened + 1}" if opened else name))
        self.now.since = time.monotonic()
        try:
            self._session = ArenaSession(self._setup, self.label, self.mapping, self.folders[-1], seed)
        except OSError as error:
            self._fail(f"its arena could not be started: {error}")

    def reset(self, seed: int, episode: int) -> None:
        """Reset to the first step of another episode, from any state."""
        self._wanted = (seed, episode)
        self.target = 0
        if self._session is not None and self._seated and self.kernel_operators is not None:
            self.now = Progress(seed, episode)
            self.now.since = time.monotonic()
            self.log, self.refused = "", False
            self._move(LaneState.OPENING, f"it is reset to seed {seed}")
            self.kernel_operators.begin(seed, episode)
            self._session.send({"cmd": "reset", "seed": seed, "episode_index": episode})

    def go(self) -> None:
        """Make one step. The lane must be ready."""
        assert self._session is not None
        self.state = LaneState.STEPPING
        self._session.expect("step")
        self.now.since = time.monotonic()
        self._session.process.send(_STEP)

    def act(self, agent: str, action: Any) -> bool:
        """Play a human's action for an agent; return whether one was due. Raises ConfigurationError."""
        people = list(self.kernel_operators.people) if self.kernel_operators else []
        if self.kernel_operators is None or agent not in people:
            who = f"people act for {', '.join(people)}" if people else "there are none in it"
            raise ConfigurationError(f"no person acts for {agent!r} in {self.label}: {who}")
        assert self.environment is not None
        moves = self.now.described.get(agent, {}).get("legal_moves")
        return self.kernel_operators.act(agent, action, moves or self.environment.named_actions(agent))

    def stop(self) -> None:
        """Stop the arena, keeping its last state."""
        self._end(State.COMPLETED, "its comparison was ended")
        if self.state is not LaneState.FAILED:
            self._move(LaneState.STOPPED, "its comparison was ended")

    def overdue(self, now: float) -> bool:
        """Fail if an answer is overdue; return whether it was."""
        late = self._session.overdue(now) if self._session is not None else None
        if late is not None:
            self._fail(late, give_up=True)
        return late is not None

    def gone(self) -> bool:
        """Whether no arena of this lane is still ending."""
        if self.leaving:
            self.leaving = [process for process in self.leaving if not process.ended()]
        return not self.leaving

    # ------------------------------------------------------- the arena's output

    def receive(self, line: bytes) -> None:
        """Process a line of the arena's output. Never raises."""
        assert self._session is not None
        try:
            self._handle(self._session, self._session.read_message(line))
        except Exception as error:
            self._fail(unreadable(line, error), give_up=True)

    def lost(self) -> None:
        """Fail because the arena's output has ended or has lost a line."""
        if self.process is not None:
            self._fail(f"its arena {self.process.how_it_ended()}", give_up=True)

    def _handle(self, session: ArenaSession, message: dict[str, Any]) -> None:
        """Process a message. Messages from a step or reset before the last reset are ignored."""
        now, operators, stepping = self.now, self.kernel_operators, session.awaiting == "step"
        match message.get("type"):
            case "stepped" if stepping and message["episode_index"] == now.episode:
                self._on_stepped(session, message)
            case "thinking" if stepping:
                now.thinking = {key: message.get(key) for key in ("agent", "operator", "seconds")}
            case "partial" if stepping:
                now.partial[str(message["agent"])] = str(message["text"])
            case "ask" if stepping and operators is not None:
                operators.receive(message)
            case "withdrawn" if operators is not None:
                operators.withdraw(message["id"])
            case "beat" if self.moving and message["doing"] != "operators":
                now.thinking = None
                now.since = time.monotonic() - message["seconds"]
            case "ready" if message["episode_index"] == now.episode:
                now.turn, now.described = list(message["turn"]), dict(message.get("descriptions") or {})
                session.answered()
                self._move(LaneState.READY, "")
            case "opened":
                self._on_opened(session, message)
            case "seated":
                session.seated = True
                target = self.target
                self.reset(*self._wanted)
                self.target = target
            case "error":
                self._on_error(session, message)

    def _on_opened(self, session: ArenaSession, message: dict[str, Any]) -> None:
        try:
            session.opened(message)
        except ConfigurationError as error:
            self.misfit = error
            self._fail(str(error), give_up=True)
            return
        assert session.assignment is not None and session.environment is not None
        answer = self._answerer(session.process)
        self.kernel_operators = KernelOperators(session.assignment, session.environment, session.path, answer)
        self._move(LaneState.OPENING, "its operators are being started")
        self.now.since = time.monotonic()
        session.seat()

    def _answerer(self, process: ArenaProcess) -> Callable[[Mapping[str, Any]], None]:
        """Return a function that sends an answer to this arena, from any thread."""

        def send(message: Mapping[str, Any]) -> None:
            if self.process is not process:
                return
            try:
                process.send_message(message)
            except Exception as error:  # includes errors raised by an action's own code
                refusal = f"the action cannot be sent: {error}"
                process.send_message({"cmd": "answer", "id": message["id"], "error": refusal})

        return lambda message: self._post(lambda: send(message))

    def _on_stepped(self, session: ArenaSession, message: dict[str, Any]) -> None:
        session.answered()
        self.now.record_step(message)
        self.usage.add(self.now.moves)
        if not message["done"]:
            self.state = LaneState.READY
            return
        self.state, self.now.turn, self.now.described = LaneState.FINISHED, [], {}
        if episode := message["episode"]:
            if self.rows and self.rows[-1]["episode_index"] == episode["episode_index"]:
                self.rows.pop()  # replayed after a restart
            self.rows.append({**episode, "returns": numbers(episode["returns"])})
        if self.kernel_operators is not None:
            self.kernel_operators.end(self.now.returns, self.now.step)

    def _on_error(self, session: ArenaSession, message: dict[str, Any]) -> None:
        where = message.get("where")
        kind = message.get("error_type")
        if where == "step" and session.awaiting != "step" and kind != HUNG:
            return  # from a step ended by a reset
        text = str(message.get("message") or kind or "its arena reported an error without a message")
        log = str(message.get("log") or "")
        if not log and message.get("operator"):  # an operator in this kernel
            log = session.operator_log(message["operator"])
        self.refused = kind == "ConfigError"
        self._fail(text, log.rstrip(), where in ("open", "seat") or kind in _FATAL)

    # ------------------------------------------------------------------ inside

    def _move(self, state: LaneState, reason: str) -> None:
        self.state, self.reason = state, sanitize(reason)

    def _fail(self, reason: str, log: str = "", give_up: bool = False) -> None:
        """Set the failed state; ``give_up``: the arena is no longer usable."""
        session = self._session
        if not log and session is not None and self.misfit is None:
            log = "\n".join(session.last_log())
        self.log = sanitize("\n".join(unrepeated(log.splitlines(), reason)))
        self._move(LaneState.FAILED, reason)
        self.now.thinking = None
        self.now.partial = {}
        if session is not None:
            session.answered()
        if self.kernel_operators is not None:
            self.kernel_operators.open.clear()
        if give_up:
            self._end(State.FAILED, reason, GIVE_UP_SECONDS)

    def _end(self, state: State, reason: str, grace: float = CLOSE_SECONDS) -> None:
        if self.kernel_operators is not None:
            self.kernel_operators.close()
        if self._session is not None and not self._session.ended:
            self._session.end(state, reason, grace)
            self.leaving.append(self._session.process)

    def __repr__(self) -> str:
        why = f": {self.reason.splitlines()[0]}" if self.reason else ""
        return f"<Lane {self.index} {self.label!r}, {self.state} at step {self.step}{why}>"
