"""One lane of a comparison: an arena with its operators, and everything known about it.

Crosses the boundary: `Lane`, whose attributes anybody may read, and `LaneState`. Its methods belong to the
comparison's thread; none of them waits. The states::

    opening ──► ready ◄──► stepping ──► finished
       └──────────┴───────────┴───► failed (restart), stopped

A lane is opening until it stands at the first step of an episode: its environment is made, its operators are
started, and it is reset.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from mosaic_lab import policies
from mosaic_lab.arenas.arena_process import CLOSE_SECONDS, ArenaProcess
from mosaic_lab.arenas.environment_info import Opened
from mosaic_lab.arenas.kernel_operators import Asks
from mosaic_lab.arenas.lane_folder import Keeping
from mosaic_lab.arenas.liveness import HUNG, Liveness
from mosaic_lab.arenas.progress import Progress, numbers
from mosaic_lab.arenas.setup import Setup
from mosaic_lab.arenas.spending import Spending
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keeper.states import State
from mosaic_lab.keeper.tail import last_lines
from mosaic_lab.plain import plain
from mosaic_lab.policies import Assignment

OPEN_SECONDS = 120.0
"""For an environment to be made, and again for its operators to be ready: a cold disk, a slow import."""
_LIMITS = {  # for the other commands see `Liveness`
    "open": ("make its environment", OPEN_SECONDS),
    "seat": ("start its operators", OPEN_SECONDS + 10),  # it has a limit of its own, and knows who is late
}
_FATAL = (HUNG, "OperatorDied")  # an arena starts no operator a second time
_LOG_LINES = 15
_GIVE_UP_SECONDS = 0.5  # for an arena that is of no more use to leave by itself
_STEP = b'{"cmd":"step"}\n'
_decode = msgspec.json.Decoder(dict[str, Any]).decode

Post = Callable[[Callable[[], None]], None]


class LaneState(StrEnum):
    """What a lane can be; see this module."""

    OPENING = "opening"
    READY = "ready"
    STEPPING = "stepping"
    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"


class Lane:
    """``mapping`` is {agent, team or pattern: operator}. ``post`` runs something in the
    comparison's thread, from any thread.
    """

    def __init__(self, index: int, label: str, mapping: Any, setup: Setup, post: Post) -> None:
        self.index = index
        self.label = label
        self.mapping = mapping
        self.state = LaneState.OPENING
        self.reason = "waits to be opened"
        self.log = ""
        """The last log lines that tell why it failed."""
        self.misfit: ConfigurationError | None = None
        """Set where the mapping does not fit the environment's agents."""
        self.refused = False
        """Whether it failed by what the user asked for, an unknown environment say."""
        self.folders: list[Path] = []
        """One for each time it was opened, the newest last."""
        self.rows: list[dict[str, Any]] = []
        """Its finished episodes, as its arena tells them."""
        self.spending = Spending()
        """What its language models have cost, in all of its episodes."""
        self.leaving: list[ArenaProcess] = []
        """Arenas of this lane that were told to end and have not yet."""
        self._setup = setup
        self._post = post
        self._wanted = (0, 0)  # seed and index of the episode
        self._forget()

    def _forget(self) -> None:
        """There is no arena yet (any more), and nothing has happened."""
        self.opened: Opened | None = None
        self.assignment: Assignment | None = None
        self.asks: Asks | None = None
        self.process: ArenaProcess | None = None
        self.now = Progress(*self._wanted)
        self.target = 0
        """The step up to which it goes by itself."""
        self._awaits = ""  # the command whose answer is missing
        self._seated = False
        self._deadline: float | None = None
        self._liveness = Liveness(self._setup.step_timeout)

    @property
    def step(self) -> int:
        """Steps done in the episode."""
        return self.now.step

    @property
    def folder(self) -> Path | None:
        """Its run folder: telemetry, logs, frames."""
        return self.folders[-1] if self.folders else None

    @property
    def busy(self) -> bool:
        """Whether it is about to be ready, or not yet at the step where it should be."""
        if self.state is LaneState.READY:
            return self.now.step < self.target
        return self.state is LaneState.OPENING or self.state is LaneState.STEPPING

    @property
    def moving(self) -> bool:
        """Whether its arena makes a step or a reset now."""
        return self._awaits in ("step", "reset")

    @property
    def resettable(self) -> bool:
        """Whether a reset may bring it to the first step of an episode."""
        return self.process is not None and (self._seated or self.state is LaneState.OPENING)

    # --------------------------------------------------------------- commands

    def open(self, seed: int, episode: int, target: int = 0) -> None:
        """Start an arena (anew) and bring it to step ``target`` of an episode."""
        self._leave(State.CANCELLED, "it was restarted")
        self._wanted = (seed, episode)
        self._forget()
        self.target = target
        self.log, self.misfit, self.refused = "", None, False
        self._move(LaneState.OPENING, "its environment is being made")
        path = self._setup.folder_of(self.index, self.label, len(self.folders))
        config, command = self._setup.config(self.label, seed), [*self._setup.arena, "--arena"]
        keeping = None
        try:
            keeping = Keeping(path, config, worker=self._setup.family, label=self.label, command=command)
            self.folders.append(path)
            self.process = ArenaProcess(command, self._setup.environment, keeping)
        except OSError as error:
            self._fail(f"its arena could not be started: {error}")
            if keeping is not None:
                keeping.end(State.FAILED, self.reason, None)
            return
        self._ask("open", **self._setup.opening(path))

    def reset(self, seed: int, episode: int) -> None:
        """Go to the first step of another episode, from wherever it is."""
        self._wanted = (seed, episode)
        self.target = 0
        if self._seated and self.asks is not None:
            self.now = Progress(seed, episode)
            self.log, self.refused = "", False
            self._move(LaneState.OPENING, f"it is reset to seed {seed}")
            self.asks.begin(seed, episode)
            self._ask("reset", seed=seed, episode_index=episode)

    def go(self) -> None:
        """Make one step; it must be ready."""
        assert self.process is not None
        self.state = LaneState.STEPPING
        self._await("step")
        self.process.send(_STEP)

    def act(self, agent: str, action: Any) -> bool:
        """What a person does for an agent. False when nobody asked. Raises ConfigurationError."""
        if self.asks is None or agent not in self.asks.people:
            people = ", ".join(self.asks.people) if self.asks else ""
            raise ConfigurationError(
                f"no person acts for {agent!r} in {self.label}: "
                + (f"people act for {people}" if people else "there are none in it")
            )
        return self.asks.act(agent, self._named(agent, action))

    def _named(self, agent: str, action: Any) -> Any:
        """The action that a person calls by the name of a move, "e2e4" say. Raises ConfigurationError."""
        moves = self.now.described.get(agent, {}).get("legal_moves")
        if not isinstance(action, str) or not moves:
            return action
        if action not in moves:
            raise ConfigurationError(
                f"{action!r:.50} cannot be played by {agent} now: give one of {', '.join(moves)}"
            )
        return moves[action]

    def stop(self) -> None:
        """End its arena; it stays as it was last seen."""
        self._leave(State.COMPLETED, "its comparison was ended")
        if self.state is not LaneState.FAILED:
            self._move(LaneState.STOPPED, "its comparison was ended")
        self._awaits, self._seated, self._deadline = "", False, None

    def overdue(self, now: float) -> bool:
        """Fail when an answer is late that cannot take so long; true if so."""
        if self.moving:
            hung = self._liveness.overdue()
            if hung is not None:
                self._fail(hung, give_up=True)
            return hung is not None
        if self._deadline is None or now < self._deadline:
            return False
        what, seconds = _LIMITS[self._awaits]
        self._fail(f"its arena did not {what} in {seconds:g} s", give_up=True)
        return True

    def gone(self) -> bool:
        """Whether nothing is left of arenas that were told to end."""
        if self.leaving:
            self.leaving = [process for process in self.leaving if not process.ended()]
        return not self.leaving

    # ------------------------------------------------------ what the arena says

    def take(self, line: bytes) -> None:
        """One line of the arena's. Nothing raises here, whatever it holds."""
        try:
            message = _decode(line)
            self._liveness.heard(message)
            handle = _HANDLERS.get(message.get("type", ""))
            if handle is not None:
                handle(self, message)
        except Exception as error:
            said = line[:200].decode("utf-8", "replace")
            self._fail(f"its arena said what cannot be understood ({error!r}): {said}", give_up=True)

    def lost(self) -> None:
        """The arena's output has ended, or has lost a line: nothing useful will come from it any more."""
        if self.process is not None:
            self._fail(f"its arena {self.process.last_word()}", give_up=True)

    def _on_opened(self, message: dict[str, Any]) -> None:
        self.opened = Opened.from_message(message)
        try:
            self.assignment = policies.assign(self.mapping, self.opened)
        except ConfigurationError as error:
            self.misfit = error
            self._fail(str(error), give_up=True)
            return
        assert self.process is not None
        folder = self.process.keeping.folder.path
        self.asks = Asks(self.assignment, self.opened, folder, self._answerer(self.process))
        self._move(LaneState.OPENING, "its operators are being started")
        operators = {
            key: self._setup.seat(key, spec, folder.name, self.label)
            for key, spec in self.assignment.operators.items()
        }
        self._ask("seat", operators=operators, seats=self.assignment.seats)

    def _answerer(self, process: ArenaProcess) -> Callable[[Mapping[str, Any]], None]:
        """Sends an answer to this arena, from any thread."""

        def send(message: Mapping[str, Any]) -> None:
            if self.process is not process:
                return
            try:
                process.tell(message)
            except Exception as error:  # what an action's own code raises, too
                refusal = f"the action cannot be sent: {error}"
                process.tell({"cmd": "answer", "id": message["id"], "error": refusal})

        return lambda message: self._post(lambda: send(message))

    def _on_seated(self, message: dict[str, Any]) -> None:
        self._seated = True
        target = self.target
        self.reset(*self._wanted)
        self.target = target

    def _on_ready(self, message: dict[str, Any]) -> None:
        if message["episode_index"] == self.now.episode:  # else it answers a reset before the last one
            self.now.turn = list(message["turn"])
            self.now.described = dict(message.get("descriptions") or {})
            self._awaits, self._deadline = "", None
            self._move(LaneState.READY, "")

    def _on_stepped(self, message: dict[str, Any]) -> None:
        if self._awaits != "step" or message["episode_index"] != self.now.episode:
            return  # it was made before the last reset came
        self._awaits = ""
        self.now.take(message)
        self.spending.take(self.now.moves)
        if not message["done"]:
            self.state = LaneState.READY
            return
        self.state, self.now.turn, self.now.described = LaneState.FINISHED, [], {}
        if episode := message["episode"]:
            if self.rows and self.rows[-1]["episode_index"] == episode["episode_index"]:
                self.rows.pop()  # the same one, played again after a restart, takes its place
            self.rows.append({**episode, "returns": numbers(episode["returns"])})
        if self.asks is not None:
            self.asks.end(self.now.returns, self.now.step)

    def _on_beat(self, message: dict[str, Any]) -> None:
        if self.moving and message["doing"] != "operators":
            self.now.thinking = None
            self.now.since = time.monotonic() - message["seconds"]

    def _on_thinking(self, message: dict[str, Any]) -> None:
        if self._awaits == "step":
            self.now.thinking = {key: message.get(key) for key in ("agent", "operator", "seconds")}

    def _on_partial(self, message: dict[str, Any]) -> None:
        if self._awaits == "step":
            self.now.partial[str(message["agent"])] = str(message["text"])

    def _on_ask(self, message: dict[str, Any]) -> None:
        if self.asks is not None and self._awaits == "step":
            self.asks.take(message)

    def _on_withdrawn(self, message: dict[str, Any]) -> None:
        if self.asks is not None:
            self.asks.withdraw(message["id"])

    def _on_error(self, message: dict[str, Any]) -> None:
        where = message.get("where")
        kind = message.get("error_type")
        if where == "step" and self._awaits != "step" and kind != HUNG:
            return  # of a step that was given up for a reset
        text = str(message.get("message") or kind or "its arena tells no reason")
        log = str(message.get("log") or "")
        if not log and message.get("operator") and self.folder is not None:  # one in this kernel
            log = "\n".join(last_lines(self.folder / f"operator-{message['operator']}.log", _LOG_LINES))
        self.refused = kind == "ConfigError"
        self._fail(text, log.rstrip(), where in ("open", "seat") or kind in _FATAL)

    # ------------------------------------------------------------------ inside

    def _ask(self, command: str, **fields: Any) -> None:
        assert self.process is not None
        self._await(command)
        self.process.tell({"cmd": command, **fields})

    def _await(self, command: str) -> None:
        """From now on the time counts that the arena takes for this command."""
        self._awaits = command
        self._deadline = time.monotonic() + _LIMITS[command][1] if command in _LIMITS else None
        self.now.since = time.monotonic()
        self._liveness.begin()

    def _move(self, state: LaneState, reason: str) -> None:
        self.state, self.reason = state, plain(reason)

    def _fail(self, reason: str, log: str = "", give_up: bool = False) -> None:
        """``give_up``: its arena is of no more use."""
        if not log and self.folder is not None and self.misfit is None:
            log = "\n".join(last_lines(self.folder / "worker.log", _LOG_LINES))
        self.log = plain(log)
        self._move(LaneState.FAILED, reason)
        self._awaits, self._deadline, self.now.thinking = "", None, None
        self.now.partial = {}
        if self.asks is not None:
            self.asks.open.clear()
        if give_up:
            self._leave(State.FAILED, reason, _GIVE_UP_SECONDS)
            self._seated = False

    def _leave(self, state: State, reason: str, grace: float = CLOSE_SECONDS) -> None:
        if self.asks is not None:
            self.asks.close()
        if self.process is not None:
            self.process.leave(state, reason, grace)
            self.leaving.append(self.process)
            self.process = None

    def __repr__(self) -> str:
        why = f": {self.reason.splitlines()[0]}" if self.reason else ""
        return f"<Lane {self.index} {self.label!r}, {self.state} at step {self.step}{why}>"


_HANDLERS: dict[str, Callable[[Lane, dict[str, Any]], None]] = {
    "opened": Lane._on_opened,
    "seated": Lane._on_seated,
    "ready": Lane._on_ready,
    "stepped": Lane._on_stepped,
    "beat": Lane._on_beat,
    "thinking": Lane._on_thinking,
    "partial": Lane._on_partial,
    "ask": Lane._on_ask,
    "withdrawn": Lane._on_withdrawn,
    "error": Lane._on_error,
}
