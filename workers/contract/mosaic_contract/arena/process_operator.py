"""Operators in separate processes: sending commands, and matching answers to calls.

Answers for one agent arrive in the order of its requests; answers for several agents, which may act
concurrently, in any order. After a late, malformed or abandoned answer, the process is first sent a ping, and
everything before its pong is dropped, so that a late answer is never taken for the next one. Nothing else is
sent before the pong, so that a process that does not read is sent no more.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import signal
import subprocess
import time
from collections import deque
from pathlib import Path
from typing import Any, Callable, Mapping, NamedTuple, Union

from mosaic_contract.arena import plain
from mosaic_contract.arena.calls import Call
from mosaic_contract.arena.channels import Incoming, Outgoing
from mosaic_contract.arena.errors import ENDING, ArenaError
from mosaic_contract.arena.operators import ArenaOperator, sendable
from mosaic_contract.arrays import pack
from mosaic_contract.codec import OPERATING_LINE_LIMIT, decode_line, encode_line
from mosaic_contract.errors import BadLine
from mosaic_contract.messages import PROTOCOL
from mosaic_contract.piped_process import how_it_ended, start_process

_PIPE_BYTES = 1 << 20  # room for an image: one switch between the processes instead of many
_DYING_SECONDS = 0.5  # from the end of the output until the exit
_LOG_BYTES = 4_000
_PING = b'{"cmd":"ping"}\n'
_ABANDON = b'{"cmd":"abandon"}\n'

_TYPES = {  # of answers at the start of a conversation; other messages, such as a greeting, are ignored
    "hello": ("hello", "error", "pong"),  # without an answer to "hello", the pong of the following ping
    "ready": ("agent_ready", "agent_initialized", "error"),
}


class OperatorProcess:
    """A worker's `--interactive` process in its own session, started by the warm worker with the socket
    `warm`, if any. `environment` is added to this process's environment variables; its stderr goes to
    `<folder>/operator-<key>.log`. `seed` is passed as `--seed`. Raises `OSError`, `ValueError` or `TypeError`
    if it cannot be started."""

    def __init__(self, key: str, spec: Mapping[str, Any], folder: Path, seed: int | None) -> None:
        seeded = [] if seed is None else ["--seed", str(seed)]
        self._log_path = folder / f"operator-{re.sub('[^A-Za-z0-9_.-]', '_', key)[:80]}.log"
        with self._log_path.open("ab") as log:
            self._process = start_process(
                [str(word) for word in spec["command"]] + seeded,
                stderr=log.fileno(),
                cwd=folder,
                env={**os.environ, **(spec.get("environment") or {})},
                warm=spec.get("warm"),
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self.incoming = Incoming(self._process.stdout.fileno())
        self.outgoing = Outgoing(self._process.stdin.fileno())
        with contextlib.suppress(OSError, AttributeError):  # Linux only; a smaller pipe works too
            fcntl.fcntl(self.outgoing.descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def how_it_ended(self) -> str:
        """Return how the process has ended, after the end of its output."""
        return how_it_ended(self._process, _DYING_SECONDS)

    def log_tail(self) -> str:
        try:
            with self._log_path.open("rb") as log:
                log.seek(max(0, os.fstat(log.fileno()).st_size - _LOG_BYTES))
                return log.read().decode("utf-8", "replace")
        except OSError:
            return ""

    def send_stop(self) -> None:
        """Send "stop" and close stdin, which means the same."""
        self.outgoing.send(b'{"cmd":"stop"}\n')
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()

    def wait(self, deadline: float) -> bool:
        """Wait until the deadline (`time.monotonic`) for the process to exit; return whether it has."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, deadline - time.monotonic()))
        return self._process.returncode is not None

    def signal(self, signum: signal.Signals) -> None:
        """Send a signal to its process group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signum)

    def release(self) -> None:
        """Close the remaining pipe."""
        assert self._process.stdout is not None
        self._process.stdout.close()


class AwaitedAnswer(NamedTuple):
    """An awaited answer to a command other than a call: its type, and its agent (empty: the process)."""

    kind: str
    agent: str = ""

    def matches(self, kind: Any) -> bool:
        """Return whether a message of this type is the answer."""
        return kind in _TYPES.get(self.kind, (self.kind,))


Ticket = Union[Call, AwaitedAnswer]  # the origin of an answer


class ProcessOperator(ArenaOperator):
    """An operator in its own process, an `OperatorProcess`, started with `seed` if given. `show` receives a
    call and the partial text of its model."""

    def __init__(
        self,
        key: str,
        spec: Mapping[str, Any],
        folder: Path,
        show: Callable[[Call, str], None],
        seed: int | None = None,
    ) -> None:
        super().__init__(key, spec)
        self.spec = spec
        self._show = show
        self.takes_seed = False
        """Whether it is a plain operator whose command line takes a seed, and which therefore plays one
        episode."""
        try:
            self.process = OperatorProcess(key, spec, folder, seed)
        except (OSError, ValueError, TypeError) as error:
            raise ArenaError(
                f"{self.name} cannot be started: {error}", operator=key, error_type=type(error).__name__
            ) from error
        self.incoming, self.outgoing = self.process.incoming, self.process.outgoing
        self._tickets: deque[Ticket] = deque()
        self._dropped = 0  # lines that exceeded the limit
        self._expects_stale = False  # an answer that is no longer awaited may still arrive
        self._pongs = 0  # pongs still to arrive before answers count
        self._held: dict[tuple[str, bool], tuple[Ticket, bytes]] = {}
        """Messages to send after the pong, by agent and whether they are calls."""
        self.answers: list[Mapping[str, Any]] = []  # to commands of `send_request`

    # ------------------------------------------------------------------ requests

    def send_request(self, message: Mapping[str, Any], kind: str) -> None:
        """Send a command other than a call; its answer is appended to `answers`."""
        self._tickets.append(AwaitedAnswer(kind, str(message.get("player_id", ""))))
        self.outgoing.send(encode_line(message, OPERATING_LINE_LIMIT))

    def send_hello(self) -> None:
        """Send hello and a ping: a worker without support for hello may not answer it, but answers the
        ping."""
        self.send_request({"cmd": "hello", "protocol": PROTOCOL}, "hello")
        self.outgoing.send(_PING)

    def handle_hello(self, answer: Mapping[str, Any]) -> None:
        """Handle the answer to "hello"; a worker without support for it gets the plain protocol."""
        self.plain = answer.get("type") != "hello"
        self.takes_seed = self.plain and plain.takes_seed(self.spec)
        self.worker, self.version = str(answer.get("worker", "")), str(answer.get("version", ""))
        capabilities = answer.get("capabilities")
        if isinstance(capabilities, Mapping):  # a worker without the contract may send anything
            self.ignores_observations = capabilities.get("ignores_observations") is True

    def request(self, call: Call) -> None:
        if self.incoming.ended or self.outgoing.broken:
            raise self.death(call.agent)
        self._catch_up()
        call.message = self._encode(call)
        self._send_or_hold(call.agent, call, call.message)
        if self.outgoing.broken:
            raise self.death(call.agent)

    def withdraw(self, call: Call) -> None:
        if call in self._tickets:
            self._expects_stale = True
        elif self._held.get((call.agent, True), (None,))[0] is call:
            del self._held[call.agent, True]

    def abandon_calls(self) -> None:
        """Cancel calls that are no longer awaited, if the process can; otherwise it answers the next request
        only when they have ended."""
        if (self._expects_stale or self._pongs) and not self.plain and not self.incoming.ended:
            self.outgoing.send(_ABANDON)
            self._expects_stale = True  # the answer may arrive before the pong

    def _notify(self, command: str, agent: str, **fields: Any) -> None:
        """Send a command about the episode, unless the operator is plain or has exited."""
        if not self.plain and not self.incoming.ended:
            message = {"cmd": command, "player_id": agent, **fields}
            self._catch_up()
            self._send_or_hold(agent, AwaitedAnswer("ok", agent), encode_line(message, OPERATING_LINE_LIMIT))

    def _send_or_hold(self, agent: str, ticket: Ticket, line: bytes) -> None:
        """Send a line, or hold it until the awaited pong. Only the newest held line of each kind is kept."""
        if self._pongs:
            key = agent, isinstance(ticket, Call)
            self._held.pop(key, None)  # a newer line moves to the end
            self._held[key] = ticket, line
        else:
            self._tickets.append(ticket)
            self.outgoing.send(line)

    def _catch_up(self) -> None:
        """Send a ping if an answer that is no longer awaited may still arrive; no such answer arrives after
        its pong."""
        if self._expects_stale:
            self._expects_stale = False
            self._tickets.clear()
            self._pongs += 1
            self.outgoing.send(_PING)

    def _encode(self, call: Call) -> bytes:
        if self.plain:
            return encode_line(plain.question(call), OPERATING_LINE_LIMIT)
        observed = call.observed
        message: dict[str, Any] = {
            "cmd": "select_action",
            "player_id": call.agent,
            "observation": None if self.ignores_observations else pack(observed.observation),
        }
        if observed.mask is not None:
            message["action_mask"] = pack(observed.mask)
        if observed.info:
            message["info"] = sendable(observed.info)
        message["step_index"] = call.step_index
        if call.extras:
            message.update(call.extras)
        return encode_line(message, OPERATING_LINE_LIMIT)

    # ------------------------------------------------------------------ answers

    def pump(self) -> None:
        """Process the received output. Raises `ArenaError` if the episode cannot continue with this
        operator."""
        for line in self.incoming.lines():
            self._receive(line)
        dropped, self._dropped = self.incoming.oversize - self._dropped, self.incoming.oversize
        if dropped and not self._pongs:
            self._fail_oldest_call("garbage", f"answered with more than {OPERATING_LINE_LIMIT} bytes")
        if self.incoming.ended and (self._tickets or self._held):
            tickets = [*self._tickets, *(ticket for ticket, _ in self._held.values())]
            waiting = next((t for t in tickets if isinstance(t, Call) and not t.done), None)
            raise self.death(waiting.agent if waiting else "")

    def _receive(self, line: bytes) -> None:
        try:
            answer = decode_line(line)
        except BadLine as error:
            if not self._pongs:
                self._fail_oldest_call("garbage", f"{error}: {line[:200].decode('utf-8', 'replace')!r}")
            return
        kind = answer.get("type")
        if self._pongs:
            self._handle_pong(kind)
            return
        if kind == "action_selected":
            self._handle_action(answer)
        elif kind == "partial":
            self._handle_partial(answer)
        elif kind == "error":
            self._handle_error(answer)
        elif expected := next(
            (t for t in self._tickets if isinstance(t, AwaitedAnswer) and t.matches(kind)), None
        ):
            self._tickets.remove(expected)
            if expected.kind != "ok":
                self.answers.append(answer)
        elif kind == "pong" or (self._tickets and isinstance(self._tickets[0], AwaitedAnswer)):
            return  # the pong after an answered "hello", or a greeting
        else:
            self._fail_oldest_call("garbage", f"answered with {kind!r:.100} where an action was requested")

    def _handle_pong(self, kind: Any) -> None:
        """Drop messages before the pong; after it, send the held lines."""
        self._pongs -= kind == "pong"
        if not self._pongs:
            held, self._held = list(self._held.items()), {}
            for (agent, _), (ticket, line) in held:
                self._send_or_hold(agent, ticket, line)

    def _handle_action(self, answer: Mapping[str, Any]) -> None:
        call = self._call_of(answer)
        if call is None:
            player_id = answer.get("player_id")
            self._fail_oldest_call("garbage", f"answered for {player_id!r:.100}, which has no open request")
            return
        if call.done:  # too late: another action was played
            return
        call.settle(answer)

    def _handle_partial(self, answer: Mapping[str, Any]) -> None:
        agent, text = answer.get("player_id"), answer.get("text")
        for call in self._tickets:
            if isinstance(call, Call) and call.agent == agent and not call.done and isinstance(text, str):
                self._show(call, text)
                return

    def _handle_error(self, answer: Mapping[str, Any]) -> None:
        agent = answer.get("player_id")
        ticket = next((t for t in self._tickets if agent in (None, t.agent) or not t.agent), None)
        if isinstance(ticket, AwaitedAnswer):
            self._tickets.remove(ticket)
            if ticket.kind == "ok":
                raise self.episode_error(str(answer.get("player_id", "")), answer)
            self.answers.append(answer)
            return
        call = self._call_of(answer)
        text = str(answer.get("message", "an error without a message"))[:2000]
        if call is None:
            self._fail_oldest_call("error", text)
            return
        if call.done:
            return
        if (kind := str(answer.get("error_type"))) in ENDING:
            call.end(kind, text)
        if answer.get("retryable") is True and not call.repeated:
            call.repeated = True
            self._tickets.append(call)
            self.outgoing.send(call.message)
            return
        call.fail("error", text)

    def _call_of(self, answer: Mapping[str, Any]) -> Call | None:
        """Remove and return the call that an answer belongs to; the oldest call if it names no agent."""
        agent = answer.get("player_id")
        for index, ticket in enumerate(self._tickets):
            if isinstance(ticket, Call) and agent in (None, ticket.agent):
                del self._tickets[index]
                return ticket
        return None

    def _fail_oldest_call(self, kind: str, text: str) -> None:
        """Treat a message that matches no call as an unusable answer to the oldest call."""
        self._expects_stale = True
        call = self._call_of({})
        if call is not None and not call.done:
            call.fail(kind, text)

    # ------------------------------------------------------------------ its end

    def death(self, agent: str = "") -> ArenaError:
        """Return the error for a process that has exited or closed its output."""
        agent = agent or next(iter(self.agents), "")
        return self.error(self.process.how_it_ended(), "OperatorDied", agent)

    def log_tail(self) -> str:
        return self.process.log_tail()
