"""The operators that are processes of their own: started, asked, stopped.

The answers for one agent come in the order of what it was asked; of several agents, which may be answered at
once, in any. After one that came too late, was garbage or was not waited for,
the process is first sent a ping, and everything before its pong is dropped: a late answer is never taken for
the next one. Nothing else is sent before the pong, so that a process that reads nothing is sent no more.
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
from mosaic_contract.arena.errors import ENDING, ArenaError, Unusable
from mosaic_contract.arena.line_channel import Incoming, Outgoing
from mosaic_contract.arena.operators import Operator, sendable
from mosaic_contract.arrays import pack
from mosaic_contract.codec import OPERATING_LINE_LIMIT, decode_line, encode_line
from mosaic_contract.errors import BadLine
from mosaic_contract.messages import PROTOCOL

_PIPE_BYTES = 1 << 20  # an image fits in: one switch between the processes, not many
_LOG_BYTES = 4_000
_PING = b'{"cmd":"ping"}\n'
_ABANDON = b'{"cmd":"abandon"}\n'

_TYPES = {  # of the answers when a conversation begins; others, such as a greeting, are passed over
    "hello": ("hello", "error", "pong"),  # where it does not answer "hello", to the ping after it
    "ready": ("agent_ready", "agent_initialized", "error"),
}


class Expected(NamedTuple):
    """An answer to what is not a call: its type, and the agent that it is for (empty: the process)."""

    kind: str
    agent: str = ""

    def takes(self, kind: Any) -> bool:
        """Whether a message of this type is the answer."""
        return kind in _TYPES.get(self.kind, (self.kind,))


Ticket = Union[Call, Expected]  # what an answer is to


class ProcessOperator(Operator):
    """A worker's `--interactive` process in a session of its own, with the variables of `environment` beside
    those of this one; its stderr goes to `<folder>/operator-<key>.log`. `seed` is given to it as `--seed`.
    `show` takes a call and what its model has written so far."""

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
        """Whether it is a plain one whose command line takes a seed, and so plays one episode."""
        seeded = [] if seed is None else ["--seed", str(seed)]
        self.log_path = folder / f"operator-{re.sub('[^A-Za-z0-9_.-]', '_', key)[:80]}.log"
        with self.log_path.open("ab") as log:
            try:
                self._process = subprocess.Popen(
                    [str(word) for word in spec["command"]] + seeded,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    cwd=folder,
                    env={**os.environ, **(spec.get("environment") or {})},
                    start_new_session=True,
                )
            except (OSError, ValueError, TypeError) as error:
                raise ArenaError(
                    f"{self.name} cannot be started: {error}", operator=key, error_type=type(error).__name__
                ) from error
        assert self._process.stdin is not None and self._process.stdout is not None
        self.incoming = Incoming(self._process.stdout.fileno())
        self.outgoing = Outgoing(self._process.stdin.fileno())
        with contextlib.suppress(OSError, AttributeError):  # Linux; smaller works as well
            fcntl.fcntl(self.outgoing.descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._tickets: deque[Ticket] = deque()
        self._dropped = 0  # lines beyond all bounds
        self._unsure = False  # something may still come that nobody waits for
        self._pongs = 0  # how many must come before anything counts
        self._held: dict[
            tuple[str, bool], tuple[Ticket, bytes]
        ] = {}  # to be sent then: by agent, is it a call
        self.answers: list[Mapping[str, Any]] = []  # to what was asked by `request`

    # ------------------------------------------------------------------ questions

    def request(self, message: Mapping[str, Any], kind: str) -> None:
        """Send a command that is not a call; what is answered to it is added to `answers`."""
        self._tickets.append(Expected(kind, str(message.get("player_id", ""))))
        self._send(encode_line(message, OPERATING_LINE_LIMIT))

    def greet(self) -> None:
        """Say hello, and ping: who knows no hello may say nothing to it, but answers the ping."""
        self.request({"cmd": "hello", "protocol": PROTOCOL}, "hello")
        self._send(_PING)

    def ask(self, call: Call) -> None:
        if self.incoming.ended or self.outgoing.broken:
            raise self.death(call.agent)
        self._catch_up()
        call.message = self._encode(call)
        self._put(call.agent, call, call.message)
        if self.outgoing.broken:
            raise self.death(call.agent)

    def withdraw(self, call: Call) -> None:
        if call in self._tickets:
            self._unsure = True
        elif self._held.get((call.agent, True), (None,))[0] is call:
            del self._held[call.agent, True]

    def abandon_calls(self) -> None:
        """Have calls that nobody waits for any more given up, where the process can: else the next answer is
        only begun when they have ended."""
        if (self._unsure or self._pongs) and not self.plain and not self.incoming.ended:
            self._send(_ABANDON)
            self._unsure = True  # of whether the answer comes before the pong

    def begin_episode(self, agent: str, seed: int, episode_index: int) -> None:
        """Tell the operator, unless it is a plain one, or is gone."""
        if not self.plain and not self.incoming.ended:
            message = {"cmd": "episode_begin", "player_id": agent, "seed": seed}
            self._notify(agent, {**message, "episode_index": episode_index})

    def end_episode(self, agent: str, total_reward: float, steps: int) -> None:
        if not self.plain and not self.incoming.ended:
            message = {"cmd": "episode_end", "player_id": agent, "total_reward": total_reward}
            self._notify(agent, {**message, "steps": steps})

    def _notify(self, agent: str, message: Mapping[str, Any]) -> None:
        self._catch_up()
        self._put(agent, Expected("ok", agent), encode_line(message, OPERATING_LINE_LIMIT))

    def _put(self, agent: str, ticket: Ticket, line: bytes) -> None:
        """Send it, or keep it until the pong that is waited for; of what is kept the newest counts."""
        if self._pongs:
            key = agent, isinstance(ticket, Call)
            self._held.pop(key, None)  # what comes anew goes to the end
            self._held[key] = ticket, line
        else:
            self._tickets.append(ticket)
            self._send(line)

    def _catch_up(self) -> None:
        """Where something may still come that nobody waits for: have it end with a pong."""
        if self._unsure:
            self._unsure = False
            self._tickets.clear()
            self._pongs += 1
            self._send(_PING)

    def _encode(self, call: Call) -> bytes:
        if self.plain:
            return encode_line(plain.question(call), OPERATING_LINE_LIMIT)
        observed = call.observed
        message: dict[str, Any] = {
            "cmd": "select_action",
            "player_id": call.agent,
            "observation": pack(observed.observation),
        }
        if observed.mask is not None:
            message["action_mask"] = pack(observed.mask)
        if observed.info:
            message["info"] = sendable(observed.info)
        message["step_index"] = call.step_index
        if call.extras:
            message.update(call.extras)
        return encode_line(message, OPERATING_LINE_LIMIT)

    def _send(self, line: bytes) -> None:
        self.outgoing.send(line)

    # ------------------------------------------------------------------ answers

    def pump(self) -> None:
        """Take what has come. Raises `ArenaError` where the episode cannot go on with this operator."""
        for line in self.incoming.lines():
            self._take(line)
        dropped, self._dropped = self.incoming.oversize - self._dropped, self.incoming.oversize
        if dropped and not self._pongs:
            self._blame(Unusable("garbage", f"answered with more than {OPERATING_LINE_LIMIT} bytes"))
        if self.incoming.ended and (self._tickets or self._held):
            tickets = [*self._tickets, *(ticket for ticket, _ in self._held.values())]
            waiting = next((t for t in tickets if isinstance(t, Call) and not t.done), None)
            raise self.death(waiting.agent if waiting else "")

    def _take(self, line: bytes) -> None:
        try:
            answer = decode_line(line)
        except BadLine as error:
            if not self._pongs:
                self._blame(Unusable("garbage", f"{error}: {line[:200].decode('utf-8', 'replace')!r}"))
            return
        kind = answer.get("type")
        if self._pongs:
            self._take_pong(kind)
            return
        if kind == "action_selected":
            self._take_action(answer)
        elif kind == "partial":
            self._take_partial(answer)
        elif kind == "error":
            self._take_error(answer)
        elif expected := next((t for t in self._tickets if isinstance(t, Expected) and t.takes(kind)), None):
            self._tickets.remove(expected)
            if expected.kind != "ok":
                self.answers.append(answer)
        elif kind == "pong" or (self._tickets and isinstance(self._tickets[0], Expected)):
            return  # to the ping after a "hello" that was answered; a greeting
        else:
            self._blame(Unusable("garbage", f"answered with {kind!r:.100} where an action was asked for"))

    def _take_pong(self, kind: Any) -> None:
        """What comes before the pong is dropped; after it the process gets what was kept for it."""
        self._pongs -= kind == "pong"
        if not self._pongs:
            held, self._held = list(self._held.items()), {}
            for (agent, _), (ticket, line) in held:
                self._put(agent, ticket, line)

    def _take_action(self, answer: Mapping[str, Any]) -> None:
        call = self._call_of(answer)
        if call is None:
            who = answer.get("player_id")
            self._blame(Unusable("garbage", f"answered for {who!r:.100}, who was not asked"))
            return
        if call.done:  # too late: something else is played
            return
        try:
            call.settle(answer)
        except Unusable as unusable:
            call.fail(unusable.kind, str(unusable), self.log_tail)

    def _take_partial(self, answer: Mapping[str, Any]) -> None:
        agent, text = answer.get("player_id"), answer.get("text")
        for call in self._tickets:
            if isinstance(call, Call) and call.agent == agent and not call.done and isinstance(text, str):
                self._show(call, text)
                return

    def _take_error(self, answer: Mapping[str, Any]) -> None:
        agent = answer.get("player_id")
        ticket = next((t for t in self._tickets if agent in (None, t.agent) or not t.agent), None)
        if isinstance(ticket, Expected):
            self._tickets.remove(ticket)
            if ticket.kind == "ok":
                raise self._unready(answer)
            self.answers.append(answer)
            return
        call = self._call_of(answer)
        text = str(answer.get("message", "an error without a message"))[:2000]
        if call is None:
            self._blame(Unusable("error", text))
            return
        if call.done:
            return
        if (kind := str(answer.get("error_type"))) in ENDING:
            call.end(ENDING[kind], text, self.log_tail)
        if answer.get("retryable") is True and not call.repeated:
            call.repeated = True
            self._tickets.append(call)
            self._send(call.message)
            return
        call.fail("error", text, self.log_tail)

    def _unready(self, error: Mapping[str, Any]) -> ArenaError:
        return ArenaError(
            f"{self.name} cannot begin or end an episode: {error.get('message')}",
            agent=str(error.get("player_id", "")),
            operator=self.key,
            error_type=str(error.get("error_type") or "error"),
            log=self.log_tail(),
        )

    def _call_of(self, answer: Mapping[str, Any]) -> Call | None:
        """The call that an answer is to, taken off the list; where it names no agent, the oldest."""
        agent = answer.get("player_id")
        for index, ticket in enumerate(self._tickets):
            if isinstance(ticket, Call) and agent in (None, ticket.agent):
                del self._tickets[index]
                return ticket
        return None

    def _blame(self, unusable: Unusable) -> None:
        """Something came that answers nothing: it stands for the answer to the oldest call."""
        self._unsure = True
        call = self._call_of({})
        if call is not None and not call.done:
            call.fail(unusable.kind, str(unusable), self.log_tail)

    # ------------------------------------------------------------------ its end

    def death(self, agent: str = "") -> ArenaError:
        """The error for a process that has ended, or closed its output."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)
        code = self._process.returncode
        if code is None:
            how = "has closed its output"
        elif code < 0:
            how = f"was ended by {signal.Signals(-code).name}"
        else:
            how = f"has ended with exit code {code}"
        return ArenaError(
            f"{self.name} {how}",
            agent=agent or next(iter(self.agents), ""),
            operator=self.key,
            error_type="OperatorDied",
            log=self.log_tail(),
        )

    def log_tail(self) -> str:
        try:
            with self.log_path.open("rb") as log:
                log.seek(max(0, os.fstat(log.fileno()).st_size - _LOG_BYTES))
                return log.read().decode("utf-8", "replace")
        except OSError:
            return ""

    def ask_to_stop(self) -> None:
        """Say stop and close its stdin, which says it too."""
        self.outgoing.send(b'{"cmd":"stop"}\n')
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()

    def wait(self, until: float) -> bool:
        """Whether it has ended by then (`time.monotonic`)."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, until - time.monotonic()))
        return self._process.returncode is not None

    def signal(self, signum: signal.Signals) -> None:
        """Signal its whole group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signum)

    def release(self) -> None:
        """Close what is left of the pipes."""
        assert self._process.stdout is not None
        self._process.stdout.close()
