"""One lane of a comparison: an arena, its operators and their state.

The attributes of a `Lane` may be read from any thread. Its methods must be called from the comparison's
thread; none of them blocks. The states::

    opening ──► ready ◄──► stepping ──► finished
       └──────────┴───────────┴───► failed (restart), stopped

A lane is opening until an episode's first step can be made: while its environment is made, its operators are
started, and it is reset.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from mosaic_contract import as_number
from mosaic_contract.arena.exchanges import ExchangeSums, exchanges_of

from mosaic_lab.arenas.arena_client import GIVE_UP_SECONDS, ArenaClient, ArenaFailed, ArenaLoop
from mosaic_lab.arenas.arena_process import CLOSE_SECONDS
from mosaic_lab.arenas.environment_info import EnvironmentInfo
from mosaic_lab.arenas.kernel_operators import KernelOperators
from mosaic_lab.arenas.plan import ArenaSetup, folder_name
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keeper.states import KERNEL_ENDED, State
from mosaic_lab.policies import Assignment

MAX_POINTS = 500
"""Maximum number of points in the return series of an episode."""


class Progress:
    """An episode since its first step; each reset creates one."""

    def __init__(self, seed: int, episode: int) -> None:
        self.seed = seed
        self.episode = episode
        """The episode's index, counted over the whole comparison."""
        self.step = 0
        """Completed steps."""
        self.total = 0.0
        """The return so far, summed over agents."""
        self.turn: list[str] = []
        """Agents that act next."""
        self.described: dict[str, dict[str, Any]] = {}
        """{human-played agent to act: state as described by the environment's worker}."""
        self.moves: list[dict[str, Any]] = []
        """The last step's actions, as reported by the arena."""
        self.rewards: dict[str, float] = {}
        self.returns: dict[str, float] = {}
        self.terminated = self.truncated = False
        self.thinking: dict[str, Any] | None = None
        """The operator that takes a long time: {"agent", "operator", "seconds"}."""
        self.partial: dict[str, str] = {}
        """Text received so far from an agent's model during the current call."""
        self.started_at = 0.0
        """Start of the current step or reset, on the monotonic clock."""
        self.series = ReturnSeries()

    def record_step(self, message: Mapping[str, Any]) -> None:
        """Record a completed step. Raises KeyError, TypeError or ValueError for a malformed message."""
        self.thinking = None
        self.partial = {}
        self.step = message["step_index"]
        self.turn, self.moves = message["turn"], message["moves"]
        self.described = dict(message.get("descriptions") or {})
        self.rewards, self.returns = numbers(message["rewards"]), numbers(message["returns"])
        self.terminated, self.truncated = message["terminated"], message["truncated"]
        self.total = sum(self.returns.values())
        self.series.add(self.step, self.total)


class ReturnSeries:
    """The return after each step of an episode, as at most `MAX_POINTS` points (step, return).

    Beyond that, every second point is dropped and the sampling interval doubles.
    """

    def __init__(self) -> None:
        self._points: list[tuple[int, float]] = [(0, 0.0)]
        self._last = (0, 0.0)
        self._interval = 1

    def add(self, step: int, total: float) -> None:
        """Add the return after ``step`` steps."""
        self._last = (step, total)
        if step % self._interval == 0:
            self._points.append(self._last)
            if len(self._points) >= MAX_POINTS:
                self._interval *= 2
                self._points = [point for point in self._points if point[0] % self._interval == 0]

    def points(self) -> list[tuple[int, float]]:
        """Return the points kept, oldest first, always including the newest."""
        return self._points if self._points[-1] == self._last else [*self._points, self._last]


class ModelUsage:
    """The tokens, cost and latency of a lane's language models, over all episodes.

    Only exchanges of completed steps count; those of a step ended by a reset are only in the recording.
    """

    def __init__(self) -> None:
        self._sums = ExchangeSums()

    def add(self, moves: Iterable[Mapping[str, Any]]) -> None:
        """Add the exchanges of one step, as reported by its arena."""
        for move in moves:
            self._sums.add(exchanges_of(move))

    def to_dict(self) -> dict[str, Any] | None:
        """Return `ExchangeSums`' counts and amounts and the median latency in milliseconds (``exchange_ms``),
        or None if no exchange was recorded."""
        sums = self._sums
        if not sums.counts["exchanges"]:
            return None
        latency = median(sums.latencies) if sums.latencies else None
        return {**sums.counts, **sums.amounts, "exchange_ms": latency}


def numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Return numbers by agent as received in a message, with NaN and infinities decoded."""
    return {agent: value if type(value) is float else as_number(value) for agent, value in values.items()}


Post = Callable[[Callable[[], None]], None]


class LaneState(StrEnum):
    """The state of a lane; see the module."""

    OPENING = "opening"
    READY = "ready"
    STEPPING = "stepping"
    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True)
class _Opened:
    """The environment of an open arena, with its operators."""

    environment: EnvironmentInfo
    assignment: Assignment
    kernel_operators: KernelOperators


class Lane:
    """The lane ``label`` of the setup's plan, with arenas in ``loop``.

    ``post`` schedules a function in the comparison's thread and may be called from any thread.
    """

    def __init__(self, index: int, label: str, setup: ArenaSetup, loop: ArenaLoop, post: Post) -> None:
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
        """Whether the lane failed because of an invalid request, such as an unknown environment."""
        self.folders: list[Path] = []
        """One run folder per opening, newest last."""
        self.rows: list[dict[str, Any]] = []
        """The finished episodes, as reported by the arena, each with the ``folder`` of that arena."""
        self.usage = ModelUsage()
        """Tokens and costs of the language models, over all episodes."""
        self._setup = setup
        self._loop = loop
        self._post = post
        self._requested_episode = (0, 0)  # seed and index of the episode
        self._clear()

    def _clear(self) -> None:
        """Clear the state of the last arena."""
        self._arena: ArenaClient | None = None
        self._opened: _Opened | None = None
        self.progress = Progress(*self._requested_episode)
        self.target = 0
        """The step up to which the lane advances automatically."""

    @property
    def arena(self) -> ArenaClient | None:
        """The lane's arena, while usable."""
        return None if self._arena is None or self._arena.ending else self._arena

    @property
    def environment(self) -> EnvironmentInfo | None:
        """The environment, once open."""
        return self._opened.environment if self._opened else None

    @property
    def assignment(self) -> Assignment | None:
        """The operators and their agents, once the environment is open."""
        return self._opened.assignment if self._opened else None

    @property
    def kernel_operators(self) -> KernelOperators | None:
        """The operators in this kernel, once the environment is open."""
        return self._opened.kernel_operators if self._opened else None

    @property
    def step(self) -> int:
        """The number of steps of the episode so far."""
        return self.progress.step

    @property
    def folder(self) -> Path | None:
        """The run folder: telemetry, logs, frames."""
        return self.folders[-1] if self.folders else None

    @property
    def busy(self) -> bool:
        """Whether the lane is opening, resetting or catching up."""
        if self.state is LaneState.READY:
            return self.progress.step < self.target
        return self.state is LaneState.OPENING or self.state is LaneState.STEPPING

    @property
    def moving(self) -> bool:
        """Whether the arena is executing a step or a reset."""
        return self._arena is not None and self._arena.awaiting in ("step", "reset")

    @property
    def resettable(self) -> bool:
        """Whether a reset can take it to the first step of an episode."""
        return self.arena is not None and (self.arena.seated or self.state is LaneState.OPENING)

    # --------------------------------------------------------------- commands

    def open(self, seed: int, episode: int, target: int = 0) -> None:
        """Start an arena, replacing the previous one, and advance to step ``target`` of an episode."""
        self._end(State.CANCELLED, "it was restarted")
        self._requested_episode = (seed, episode)
        self._clear()
        self.target = target
        self.log, self.misfit, self.refused = "", None, False
        self._move(LaneState.OPENING, "its environment is being made")
        name, opened = folder_name(self.index, self.label), len(self.folders)
        self.folders.append(self._setup.folder / (f"{name}.{opened + 1}" if opened else name))
        self.progress.started_at = time.monotonic()
        try:
            arena = ArenaClient(self, self._setup, self.label, self.mapping, self.folders[-1], seed)
            self._arena = self._loop.add(arena)
        except ArenaFailed as failure:
            self.failed(failure)

    def reset(self, seed: int, episode: int) -> None:
        """Reset to the first step of another episode, from any state."""
        self._requested_episode = (seed, episode)
        self.target = 0
        if self._opened and self._arena and self._arena.seated:
            self.progress = Progress(seed, episode)
            self.progress.started_at = time.monotonic()
            self.log, self.refused = "", False
            self._move(LaneState.OPENING, f"it is reset to seed {seed}")
            self._opened.kernel_operators.begin(seed, episode)
            self._arena.request({"cmd": "reset", "seed": seed, "episode_index": episode})

    def go(self) -> None:
        """Make one step, if the lane is ready."""
        if self.arena is not None and self.state is LaneState.READY:
            assert self._opened is not None
            self.state = LaneState.STEPPING
            self.progress.started_at = time.monotonic()
            self.arena.step(self._opened.kernel_operators.held(self.progress.turn))

    def act(self, agent: str, action: Any) -> bool:
        """Play a human's action for an agent; return whether one was due. Raises ConfigurationError."""
        people = list(self._opened.kernel_operators.people) if self._opened else []
        if self._opened is None or agent not in people:
            acting = f"human operators act for {', '.join(people)}" if people else "it has no human operators"
            raise ConfigurationError(f"no human operator acts for {agent!r} in {self.label}: {acting}")
        moves = self.progress.described.get(agent, {}).get("legal_moves")
        names = moves or self._opened.environment.named_actions(agent)
        return self._opened.kernel_operators.act(agent, action, names)

    def stop(self, kernel_ends: bool = False) -> None:
        """Stop the arena, keeping its last state. If the kernel ends, an unfinished episode is cancelled."""
        if kernel_ends and self.state not in (LaneState.FINISHED, LaneState.FAILED):
            self._end(State.CANCELLED, KERNEL_ENDED)
        else:
            self._end(State.COMPLETED, "its comparison was ended")
        if self.state is not LaneState.FAILED:
            self._move(LaneState.STOPPED, "its comparison was ended")

    # -------------------------------------------------- called by the arena's loop

    def opened(self, arena: ArenaClient, environment: EnvironmentInfo, assignment: Assignment) -> None:
        """Start the operators."""
        operators = KernelOperators(
            assignment, environment, arena.path, partial(self._answer, arena), self._post
        )
        self._opened = _Opened(environment, assignment, operators)
        self._move(LaneState.OPENING, "its operators are being started")
        self.progress.started_at = time.monotonic()
        arena.seat(assignment)

    def received(self, arena: ArenaClient, message: dict[str, Any]) -> None:
        """Process a message. Messages from a step or reset before the last reset are ignored."""
        now, operators, stepping = self.progress, self.kernel_operators, arena.awaiting == "step"
        match message.get("type"):
            case "stepped" if stepping and message["episode_index"] == now.episode:
                arena.answered()
                self._on_stepped(message)
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
                now.started_at = time.monotonic() - message["seconds"]
            case "ready" if message["episode_index"] == now.episode:
                now.turn, now.described = list(message["turn"]), dict(message.get("descriptions") or {})
                arena.answered()
                self._move(LaneState.READY, "")
            case "seated":
                arena.seated = True
                target = self.target
                self.reset(*self._requested_episode)
                self.target = target

    def failed(self, failure: ArenaFailed) -> None:
        """Set the failed state, and end the arena unless it is usable."""
        self.log = "\n".join(failure.log)
        self.misfit, self.refused = failure.misfit, failure.refused
        self._move(LaneState.FAILED, str(failure))
        self.progress.thinking = None
        self.progress.partial = {}
        if self._opened is not None:
            self._opened.kernel_operators.open.clear()
        if not failure.usable:
            self._end(State.FAILED, str(failure), GIVE_UP_SECONDS)

    # ------------------------------------------------------------------ inside

    @staticmethod
    def _answer(arena: ArenaClient, message: Mapping[str, Any]) -> None:
        """Send an answer to this arena."""
        if arena.ending:
            return
        try:
            arena.send(message)
        except Exception as error:  # includes errors raised by an action's own code
            refusal = f"the action cannot be sent: {error}"
            arena.send({"cmd": "answer", "id": message["id"], "error": refusal})

    def _on_stepped(self, message: dict[str, Any]) -> None:
        self.progress.record_step(message)
        self.usage.add(self.progress.moves)
        if not message["done"]:
            self.state = LaneState.READY
            return
        self.state, self.progress.turn, self.progress.described = LaneState.FINISHED, [], {}
        if episode := message["episode"]:
            if self.rows and self.rows[-1]["episode_index"] == episode["episode_index"]:
                self.rows.pop()  # replayed after a restart
            folder = {"folder": self.folder}
            self.rows.append({**episode, "returns": numbers(episode["returns"]), **folder})
        if self._opened is not None:
            self._opened.kernel_operators.end(self.progress.returns, self.progress.step)

    def _move(self, state: LaneState, reason: str) -> None:
        self.state, self.reason = state, reason

    def _end(self, state: State, reason: str, grace: float = CLOSE_SECONDS) -> None:
        if self._opened is not None:
            self._opened.kernel_operators.close()
        if self._arena is not None:
            self._arena.end(state, reason, grace)

    def __repr__(self) -> str:
        why = f": {self.reason.splitlines()[0]}" if self.reason else ""
        return f"<Lane {self.index} {self.label!r}, {self.state} at step {self.step}{why}>"
