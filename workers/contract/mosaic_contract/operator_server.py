"""The server behind `python -m <name>_worker.cli --interactive`: commands on stdin, answers on stdout.

A shim's `operate` makes an `Operator` for each agent; a process may serve several, identified by player_id. A
command that fails is answered with an error, and the server continues. It stops at the end of stdin, at
`stop`, when the reader of its answers has exited, and on the signals that `main` converts to `Cancelled`. An
operator may send "partial" lines before its answer to `select_action`.

Commands are executed in order; if the worker is `concurrent`, each agent executes its commands in its own
thread. `ping` is answered after all earlier commands, `stop` and `abandon` at once. `abandon` gives up the
calls in progress: each affected agent gets a new operator for its next commands. Without threads it does
nothing.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Mapping

from mosaic_contract.agent_threads import AgentThreads, is_current
from mosaic_contract.arrays import pack, pack_rows, unpack
from mosaic_contract.codec import OPERATING_LINE_LIMIT, LineSplitter, decode_line, encode_line
from mosaic_contract.errors import FINAL, BadLine, BadMessage, ConfigError
from mosaic_contract.messages import ALONE, PROTOCOL
from mosaic_contract.operators import AgentSetup, Decision, Describe, Operate, accepted_hints
from mosaic_contract.policy_queries import ACTION, queries_of
from mosaic_contract.readable import Readable
from mosaic_contract.shared_values import SharedValues

_READ_BYTES = 1 << 16  # larger buffers would be memory-mapped and released for every line
_ERROR_LIMIT = 8_000  # characters
_LEAVE_SECONDS = 0.5  # for calls in flight, at the end of the process
_PARTIAL_SECONDS = 0.2  # between two partial lines of an agent
_PARTIAL_LIMIT = 20_000  # characters

log = logging.getLogger("mosaic_contract")


class ServedAgent:
    """One agent's operator, the hints that it accepts and the queries that it answers."""

    def __init__(self, setup: AgentSetup, operator: Any) -> None:
        self.setup = setup
        self.player_id = setup.player_id
        self.operator = operator
        self.hints = accepted_hints(operator.select_action)
        self.queries = queries_of(operator)
        self._shape = (
            tuple(self.queries.observation_space["shape"]) if self.queries and self.queries.selects else None
        )
        self._lock = threading.Lock()
        self._calling = self._retired = False

    def selects(self, observations: Any) -> bool:
        """Whether the policy selects the actions for these observations, an array, all at once."""
        return self._shape is not None and getattr(observations, "shape", (0,))[1:] == self._shape

    def select_action(self, observation: Any, **hints: Any) -> Any:
        """Return the operator's answer to an observation."""
        if self._shape is not None and getattr(observation, "shape", None) == self._shape:
            assert self.queries is not None
            action = self.queries.select(observation[None])[0]
            return action if action.ndim else action.item()
        return self.operator.select_action(observation, **hints)

    @contextmanager
    def in_call(self) -> Iterator[None]:
        """Enclose one call. If the agent was retired meanwhile, it is closed at the end of the block."""
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
        """Close the agent, which has been replaced: now, or at the end of its call."""
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


class OperatorServer:
    """The executor of commands for the agents of one process. `describe` and `operate` are the worker's.
    `concurrent` gives each agent a thread."""

    def __init__(self, describe: Describe, operate: Operate, concurrent: bool = False) -> None:
        self._describe = describe
        self._operate = operate
        self._making = threading.Lock()  # agents may share objects, which must be made only once
        self._threads = AgentThreads(self._execute) if concurrent else None
        self._agents: dict[str, ServedAgent] = {}
        self._answers: int | None = None
        self._memories: dict[int, SharedValues] = {}
        self._writing = threading.Lock()
        self._commands: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "select_action": self._select_action,
            "select_actions": self._select_actions,
            "query": self._query,
            "hello": self._hello,
            "init_agent": self._init_agent,
            "episode_begin": lambda c: self._call(c, c.get("seed"), c.get("episode_index", 0)),
            "episode_end": lambda c: self._call(c, c.get("total_reward", 0.0), c.get("steps", 0)),
            "abandon": self._abandon,
            "ping": lambda command: {"type": "pong"},
            "stop": lambda command: {"type": "stopped"},
        }

    def serve(self, commands: int, answers: int) -> None:
        """Read commands from one descriptor and answer on the other until end of input or `stop`."""
        self._answers = answers
        splitter, dropped = LineSplitter(OPERATING_LINE_LIMIT), 0
        too_long = _error(BadLine(f"a command of more than {OPERATING_LINE_LIMIT} bytes"), {})
        readable = Readable(commands)
        # A kernel that queries is likely to query again at once; an arena steps its environment meanwhile.
        while (not self._memories or readable.wait(None)) and (data := os.read(commands, _READ_BYTES)):
            lines = splitter.feed(data)
            while dropped < splitter.oversize:
                dropped += 1
                if not self._send(too_long):
                    return
            for line in lines:
                if not self._handle_line(line):
                    return
        if self._threads is not None:
            self._threads.finish()

    def _handle_line(self, line: bytes) -> bool:
        """Execute or queue the command in a line. Return whether to continue reading."""
        try:
            command = decode_line(line)
        except BadLine as error:
            return self._send(_failure(error, {}))
        if self._threads is None or command.get("cmd") in ("stop", "abandon"):
            return self._execute(command)
        self._threads.put(command)
        return self._answers is not None

    def _execute(self, command: dict[str, Any]) -> bool:
        """Execute a command and answer it. Return False after `stop` and if the reader has exited."""
        answer = self.perform(command)
        return self._send(answer) and answer["type"] != "stopped"

    def agent(self, player_id: Any) -> ServedAgent:
        """Return an agent made by `init_agent`; None selects the only one. Raises `BadMessage`."""
        if player_id is None and len(self._agents) == 1:
            return next(iter(self._agents.values()))
        agent = self._agents.get(player_id) if isinstance(player_id, str) else None
        if agent is None:
            agents = ", ".join(self._agents) or "none: init_agent comes first"
            raise BadMessage(f"there is no agent {player_id!r:.100} here; there are: {agents}")
        return agent

    def close(self) -> bool:
        """Close all agents without further answers. Return False if some are still in a call."""
        self._answers = None
        busy = self._threads.leave(_LEAVE_SECONDS) if self._threads is not None else []
        for name, agent in self._agents.items():
            if name not in busy:
                agent.close()
        self._agents.clear()
        return not busy

    def perform(self, command: dict[str, Any]) -> dict[str, Any]:
        """Execute a command and return its answer. Never raises an `Exception`."""
        try:
            run = self._commands.get(str(command.get("cmd")))
            if run is None:
                raise BadMessage(
                    f"unknown command {command.get('cmd')!r:.100}; known: {', '.join(self._commands)}"
                )
            return run(command)
        except Exception as error:
            return _failure(error, command)

    def _send(self, message: dict[str, Any]) -> bool:
        """Write a line, from any thread. Return False if there is no reader."""
        with self._writing:
            if self._answers is not None and is_current() and not _write(self._answers, message):
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
        setup = _agent_setup(command, self._send)
        with self._making:
            agent = ServedAgent(setup, self._operate(setup))
        replaced, self._agents[setup.player_id] = self._agents.get(setup.player_id), agent
        if replaced is not None:
            replaced.retire()
        ready: dict[str, Any] = {"type": "agent_ready", "player_id": setup.player_id}
        if (queries := agent.queries) is not None:
            ready.update(provides=list(queries.answers), observation_space=queries.observation_space)
        return ready

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
            decision = agent.select_action(observation, **hints)
        latency = time.perf_counter() - started
        if not isinstance(decision, Decision):
            decision = Decision(decision)
        return {
            "type": "action_selected",
            "player_id": agent.player_id,
            **decision.to_dict(),
            "latency_ms": round(1e3 * latency, 4),
        }

    def _select_actions(self, command: dict[str, Any]) -> dict[str, Any]:
        """Select an action for each of several agents, in episodes of their own."""
        agents = [self.agent(player_id) for player_id in command["player_ids"]]
        nothing = [None] * len(agents)
        hints_of_all = {
            "action_mask": unpack(command.get("action_masks")) or nothing,
            "info": unpack(command.get("infos")) or nothing,
            "step_index": command.get("step_indices") or nothing,
        }
        observations = unpack(command["observations"])
        if agents[0].queries is not None and agents[0].selects(observations):
            return {"type": "actions_selected", "actions": pack(agents[0].queries.select(observations))}
        actions = []
        for row, (agent, observation) in enumerate(zip(agents, observations)):
            hints = {name: hints_of_all.get(name, nothing)[row] for name in agent.hints}
            decision = agent.select_action(observation, **hints)
            if isinstance(decision, Decision):
                if decision != Decision(decision.action, decision.action_str):
                    raise BadMessage("the operator explains its action, which has no place in a batch")
                decision = decision.action
            actions.append(decision)
        return {"type": "actions_selected", "actions": pack_rows(actions)}

    def _query(self, command: dict[str, Any]) -> dict[str, Any]:
        agent = self.agent(command.get("player_id"))
        descriptor, query = command["memory"], command["what"]
        memory = self._memories.get(descriptor)
        if memory is None:
            memory = self._memories[descriptor] = SharedValues(descriptor)
        observation = memory.read(command["observation"])
        with agent.in_call():
            if command["alone"] and query == ACTION:
                hints = {name: memory.read(command[name]) for name in agent.hints if name in command}
                answer = agent.select_action(observation, **hints)
            else:
                answer = _answer(agent, query, observation, command["alone"])
        if isinstance(answer, Decision):
            answer = answer.action
        return {"type": "answered", "player_id": agent.player_id, "answer": memory.write(answer)}

    def _abandon(self, command: dict[str, Any]) -> dict[str, Any]:
        if self._threads is not None:
            self._threads.abandon_calls(self._renew)
        return {"type": "ok"}

    def _renew(self, player_id: str) -> None:
        """Replace an agent's operator by a new one."""
        abandoned = self._agents[player_id]
        with self._making:
            self._agents[player_id] = ServedAgent(abandoned.setup, self._operate(abandoned.setup))
        abandoned.retire()

    def _call(self, command: dict[str, Any], *values: Any) -> dict[str, Any]:
        """Call the method named like the command, on the agent that the command names or on all agents."""
        named = [self.agent(command["player_id"])] if "player_id" in command else list(self._agents.values())
        for agent in named:
            agent.call(command["cmd"], *values)
        return {"type": "ok"}


def _agent_setup(command: dict[str, Any], send: Callable[[dict[str, Any]], bool]) -> AgentSetup:
    """Return the agent described by `init_agent`; `send` sends its partial lines. Raises `BadMessage`."""
    seed, player_id = command.get("seed"), command.get("player_id", ALONE)
    if not isinstance(player_id, str) or not player_id:
        raise BadMessage(f"player_id must be a string, not {player_id!r:.100}")
    if seed is not None and (type(seed) is not int or seed < 0):
        raise BadMessage(f"seed must be an integer ≥ 0, not {seed!r:.100}")
    objects: dict[str, Any] = {
        name: command.get(name) for name in ("observation_space", "action_space", "settings")
    }
    for name, value in objects.items():
        if not isinstance(value, (dict, type(None))):
            raise BadMessage(f"{name} must be an object, not {value!r:.100}")
    objects["settings"] = objects["settings"] or {}
    game_name = command.get("game_name") or ""
    return AgentSetup(player_id, game_name, seed, **objects, send_partial=_Partials(player_id, send))


class _Partials:
    """An agent's `send_partial`: the first text is sent at once, then at most five per second."""

    def __init__(self, player_id: str, send: Callable[[dict[str, Any]], bool]) -> None:
        self._player_id = player_id
        self._send = send
        self._sent_at = 0.0

    def __call__(self, text: str) -> None:
        now = time.monotonic()
        if now - self._sent_at >= _PARTIAL_SECONDS:
            self._sent_at = now
            self._send({"type": "partial", "player_id": self._player_id, "text": text[-_PARTIAL_LIMIT:]})


def _answer(agent: ServedAgent, query: str, observations: Any, alone: bool) -> Any:
    """Return the answer of an agent's policy to a query. Raises `ConfigError` if it does not provide it."""
    queries = agent.queries
    if queries is None:
        raise ConfigError("this operator only acts, and on one observation at a time")
    if query not in queries.answers:
        raise ConfigError(f"this policy has no {query!r:.100}; it has {', '.join(queries.answers)}")
    return queries.answer_alone(query, observations) if alone else queries.answer(query, observations)


def _failure(error: Exception, command: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a command that raised, and log the exception."""
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
    """Write one answer. Return False if the reader has exited."""
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
