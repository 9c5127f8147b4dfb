"""The server behind `python -m <name>_worker.cli --interactive`: commands on stdin, answers on stdout.

A shim's `operate` makes an `Operator` for each agent; a process may serve several, identified by player_id. A
command that fails is answered with an error and the server continues. It ends at the end of stdin, at `stop`,
when the reader of the answers has gone, and by the signals that `main` turns into `Cancelled`. Before its
answer to `select_action` an operator may send "partial" lines.

Commands are executed in order; where the worker is `concurrent`, those of each agent in a thread of its own.
`ping` is answered after all commands before it, `stop` and `abandon` at once. `abandon` gives up the calls in
progress: each of these agents gets a new operator for its next commands. Without threads it does nothing.
"""

from __future__ import annotations

import inspect
import logging
import os
import threading
import time
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Mapping

from mosaic_contract.agent_threads import AgentThreads, is_heard
from mosaic_contract.arrays import unpack
from mosaic_contract.codec import OPERATING_LINE_LIMIT, LineSplitter, decode_line, encode_line
from mosaic_contract.errors import (
    BadLine,
    BadMessage,
    BudgetSpent,
    ConfigError,
    EndpointFailed,
    RecordingMismatch,
)
from mosaic_contract.messages import ALONE, PROTOCOL
from mosaic_contract.operators import AgentSetup, Decision, Describe, Operate

_READ_BYTES = 1 << 16  # more would be memory mapped and given back at every line
_ERROR_LIMIT = 8_000  # characters
_HINTS = ("action_mask", "info", "step_index", "frame", "teammates", "description", "messages")
_PARTIAL_SECONDS = 0.2  # between two partial lines of an agent
_PARTIAL_LIMIT = 20_000  # characters
_LEAVE_SECONDS = 0.5  # for calls in flight, at the end of the process
FINAL = (ConfigError, BadLine, BadMessage, BudgetSpent, RecordingMismatch, EndpointFailed)
"""Errors after which the same command is not repeated: it is wrong, or its retries are used up."""

log = logging.getLogger("mosaic_contract")


class OperatorServer:
    """Executes commands for the agents of one process.

    `describe` and `operate` are the worker's; `concurrent`: a thread for each agent.
    """

    def __init__(self, describe: Describe, operate: Operate, concurrent: bool = False) -> None:
        self._describe = describe
        self._operate = operate
        self._making = threading.Lock()  # so that what agents share is made once
        self._threads = AgentThreads(self._do) if concurrent else None
        self._agents: dict[str, Agent] = {}
        self._answers: int | None = None
        self._writing = threading.Lock()
        self._commands: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "select_action": self._select_action,
            "hello": self._hello,
            "init_agent": self._init_agent,
            "episode_begin": self._episode_begin,
            "episode_end": self._episode_end,
            "abandon": self._abandon,
            "ping": lambda command: {"type": "pong"},
            "stop": lambda command: {"type": "stopped"},
        }

    def serve(self, commands: int, answers: int) -> None:
        """Read commands from one descriptor and answer on the other, until their end or `stop`."""
        self._answers = answers
        splitter, dropped = LineSplitter(OPERATING_LINE_LIMIT), 0
        too_long = _error(BadLine(f"a command of more than {OPERATING_LINE_LIMIT} bytes"), {})
        while data := os.read(commands, _READ_BYTES):
            lines = splitter.feed(data)
            while dropped < splitter.oversize:
                dropped += 1
                if not self._send(too_long):
                    return
            for line in lines:
                if not self._take(line):
                    return
        if self._threads is not None:
            self._threads.finish()

    def _take(self, line: bytes) -> bool:
        """Execute or queue the command in a line. Return whether to read on."""
        try:
            command = decode_line(line)
        except BadLine as error:
            return self._send(_failed(error, {}))
        if self._threads is None or command.get("cmd") in ("stop", "abandon"):
            return self._do(command)
        self._threads.put(command)
        return self._answers is not None

    def _do(self, command: dict[str, Any]) -> bool:
        """Execute a command and answer it. Return False after `stop` and where the reader has gone."""
        answer = self.perform(command)
        return self._send(answer) and answer["type"] != "stopped"

    def agent(self, player_id: Any) -> Agent:
        """Return an agent made by `init_agent`; None stands for the only one. Raises `BadMessage`."""
        if player_id is None and len(self._agents) == 1:
            return next(iter(self._agents.values()))
        agent = self._agents.get(player_id) if isinstance(player_id, str) else None
        if agent is None:
            known = ", ".join(self._agents) or "none: init_agent comes first"
            raise BadMessage(f"there is no agent {player_id!r:.100} here; there are: {known}")
        return agent

    def close(self) -> bool:
        """Close all agents, without further answers. Return False where some are still in a call."""
        self._answers = None
        busy = self._threads.leave(_LEAVE_SECONDS) if self._threads is not None else []
        for name, agent in self._agents.items():
            if name not in busy:
                agent.close()
        self._agents.clear()
        return not busy

    def perform(self, command: dict[str, Any]) -> dict[str, Any]:
        """Execute a command and return its answer; never raises an `Exception`."""
        try:
            run = self._commands.get(str(command.get("cmd")))
            if run is None:
                raise BadMessage(
                    f"unknown command {command.get('cmd')!r:.100}; known: {', '.join(self._commands)}"
                )
            return run(command)
        except Exception as error:
            return _failed(error, command)

    def _send(self, message: dict[str, Any]) -> bool:
        """Write a line, from any thread. Return False where there is no reader."""
        with self._writing:
            if self._answers is not None and is_heard() and not _write(self._answers, message):
                self._answers = None
            return self._answers is not None

    def _hello(self, command: dict[str, Any]) -> dict[str, Any]:
        metadata, capabilities = self._describe()
        return {
            "type": "hello",
            "protocol": PROTOCOL,
            "worker": metadata.name,
            "version": metadata.version,
            "capabilities": capabilities.to_dict(),
        }

    def _init_agent(self, command: dict[str, Any]) -> dict[str, Any]:
        setup = _setup_of(command, self._send)
        with self._making:
            agent = Agent(setup, self._operate(setup))
        replaced, self._agents[setup.player_id] = self._agents.get(setup.player_id), agent
        if replaced is not None:
            replaced.retire()
        return {"type": "agent_ready", "player_id": setup.player_id}

    def _select_action(self, command: dict[str, Any]) -> dict[str, Any]:
        agent = self.agent(command.get("player_id"))
        if "observation" not in command:
            raise BadMessage("select_action needs an observation")
        observation = unpack(command["observation"])
        hints = {name: unpack(command.get(name)) for name in agent.hints}
        if "messages" in hints:
            hints["messages"] = hints["messages"] or []
        started = time.perf_counter()
        with agent.in_call():
            decision = agent.operator.select_action(observation, **hints)
        latency = time.perf_counter() - started
        if not isinstance(decision, Decision):
            decision = Decision(decision)
        return {
            "type": "action_selected",
            "player_id": agent.player_id,
            **decision.to_dict(),
            "latency_ms": round(1e3 * latency, 4),
        }

    def _abandon(self, command: dict[str, Any]) -> dict[str, Any]:
        if self._threads is not None:
            self._threads.abandon_calls(self._renew)
        return {"type": "ok"}

    def _renew(self, player_id: str) -> None:
        """Give an agent a new operator."""
        abandoned = self._agents[player_id]
        with self._making:
            self._agents[player_id] = Agent(abandoned.setup, self._operate(abandoned.setup))
        abandoned.retire()

    def _episode_begin(self, command: dict[str, Any]) -> dict[str, Any]:
        seed, index = command.get("seed"), command.get("episode_index", 0)
        for agent in self._addressed(command):
            agent.call("episode_begin", seed, index)
        return {"type": "ok"}

    def _episode_end(self, command: dict[str, Any]) -> dict[str, Any]:
        reward, steps = command.get("total_reward", 0.0), command.get("steps", 0)
        for agent in self._addressed(command):
            agent.call("episode_end", reward, steps)
        return {"type": "ok"}

    def _addressed(self, command: dict[str, Any]) -> list[Agent]:
        """Return the agent that a command names, or all of them."""
        return [self.agent(command["player_id"])] if "player_id" in command else list(self._agents.values())


class Agent:
    """One agent's operator, and the hints that it accepts."""

    def __init__(self, setup: AgentSetup, operator: Any) -> None:
        self.setup = setup
        self.player_id = setup.player_id
        self.operator = operator
        self.hints = _accepted(operator.select_action)
        self._lock = threading.Lock()
        self._calling = self._retired = False

    @contextmanager
    def in_call(self) -> Iterator[None]:
        """The time of one call, at whose end an agent that was retired meanwhile is closed."""
        with self._lock:
            self._calling = True
        try:
            yield
        finally:
            with self._lock:
                self._calling = False
                retired = self._retired
            if retired:
                self.close()

    def retire(self) -> None:
        """Close the agent, which another has replaced: now, or at the end of its call."""
        with self._lock:
            self._retired = True
            calling = self._calling
        if not calling:
            self.close()

    def call(self, name: str, *values: Any) -> None:
        method = getattr(self.operator, name, None)
        if method is not None:
            method(*values)

    def close(self) -> None:
        try:
            self.call("close")
        except Exception:
            log.warning("the operator of %s did not close", self.player_id, exc_info=True)


def _accepted(select_action: Callable[..., Any]) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(select_action).parameters
    except (TypeError, ValueError):  # made by C code
        return ()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return _HINTS
    return tuple(name for name in _HINTS if name in parameters)


class _Partials:
    """An agent's `send_partial`: the first text at once, then at most five a second."""

    def __init__(self, player_id: str, send: Callable[[dict[str, Any]], bool]) -> None:
        self._player_id = player_id
        self._send = send
        self._sent_at = 0.0

    def __call__(self, text: str) -> None:
        now = time.monotonic()
        if now - self._sent_at >= _PARTIAL_SECONDS:
            self._sent_at = now
            self._send({"type": "partial", "player_id": self._player_id, "text": text[-_PARTIAL_LIMIT:]})


def _setup_of(command: dict[str, Any], send: Callable[[dict[str, Any]], bool]) -> AgentSetup:
    """Return the agent that `init_agent` describes. Raises `BadMessage`."""
    seed, player_id = command.get("seed"), command.get("player_id", ALONE)
    setup = AgentSetup(
        player_id=player_id,
        game_name=command.get("game_name") or "",
        seed=seed,
        observation_space=command.get("observation_space"),
        action_space=command.get("action_space"),
        settings=command.get("settings") or {},
        send_partial=_Partials(player_id, send),
    )
    if not isinstance(setup.player_id, str) or not setup.player_id:
        raise BadMessage(f"player_id is a text, not {setup.player_id!r:.100}")
    if seed is not None and (type(seed) is not int or seed < 0):
        raise BadMessage(f"seed is an integer from 0, not {seed!r:.100}")
    for name in ("observation_space", "action_space", "settings"):
        if not isinstance(getattr(setup, name), (dict, type(None))):
            raise BadMessage(f"{name} is an object, not {getattr(setup, name)!r:.100}")
    return setup


def _failed(error: Exception, command: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a command that has raised, and log it."""
    name = command.get("cmd", "a line")
    log.warning("%.100s failed: %s", name, error, exc_info=None if isinstance(error, FINAL) else error)
    return _error(error, command)


def _error(error: Exception, command: Mapping[str, Any]) -> dict[str, Any]:
    answer = {
        "type": "error",
        "message": (str(error) or type(error).__name__)[:_ERROR_LIMIT],
        "error_type": type(error).__name__,
        "retryable": not isinstance(error, FINAL),
    }
    if isinstance(command.get("player_id"), str):
        answer["player_id"] = command["player_id"]
    return answer


def _write(descriptor: int, answer: dict[str, Any]) -> bool:
    """Write one answer. Return False where the reader has gone."""
    try:
        line = encode_line(answer, OPERATING_LINE_LIMIT)
    except (TypeError, ValueError, RecursionError) as error:  # the operator's action is not JSON
        log.warning("an answer cannot be written", exc_info=error)
        line = encode_line(_error(error, answer))
    try:
        while line:
            line = line[os.write(descriptor, line) :]
    except BrokenPipeError:
        return False
    return True
