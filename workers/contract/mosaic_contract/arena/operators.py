"""The base class of an arena's operators, and operators that need no process: in the kernel, in the arena.
`ArenaOperator.request` sends a `Call`; the answer settles it."""

from __future__ import annotations

import itertools
import time
from typing import Any, Callable, Mapping

from mosaic_contract.arena import plain
from mosaic_contract.arena.calls import Call
from mosaic_contract.arena.errors import ENDING, ArenaError
from mosaic_contract.arrays import pack, unpack
from mosaic_contract.codec import OPERATING_LINE_LIMIT, decode_line, encode_line
from mosaic_contract.errors import FINAL
from mosaic_contract.operator_server import OperatorServer
from mosaic_contract.operators import Decision, Describe, Operate
from mosaic_contract.seeds import operator_seed

_SURE = (str, int, float, bool, type(None))  # types that can always be sent


class ArenaOperator:
    """The identity, deadline and fallback of an operator."""

    def __init__(self, key: str, spec: Mapping[str, Any]) -> None:
        self.key = key
        self.name = str(spec.get("name") or key)
        self.category = str(spec.get("category") or "")
        self.deadline: float | None = spec.get("deadline")
        self.fallback: str = spec.get("fallback") or "wait"
        self.needs: tuple[str, ...] = tuple(spec.get("needs") or ())
        self.settings: Mapping[str, Any] = spec.get("settings") or {}
        self.agents: list[str] = []
        self.worker, self.version, self.plain, self.ignores_observations = "", "", False, False

    def request(self, call: Call) -> None:
        raise NotImplementedError

    def withdraw(self, call: Call) -> None:
        """Drop a call whose answer is no longer awaited."""
        raise NotImplementedError

    def begin_episode(self, agent: str, seed: int, episode_index: int) -> None:
        """Report the beginning of an episode."""
        self._notify("episode_begin", agent, seed=seed, episode_index=episode_index)

    def end_episode(self, agent: str, total_reward: float, steps: int) -> None:
        """Report the end of an episode."""
        self._notify("episode_end", agent, total_reward=total_reward, steps=steps)

    def _notify(self, command: str, agent: str, **fields: Any) -> None:
        """Send a command about an episode; the kernel itself does so for its own operators."""

    def introduction(self, agent_fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return "init_agent" for an agent with these fields. Its seed applies until an episode begins."""
        settings = {**agent_fields["settings"], **self.settings}
        seed = operator_seed(0, self.name, agent_fields["player_id"])
        message = {**agent_fields, "cmd": "init_agent", "seed": seed, "settings": settings}
        return plain.introduction(message) if self.plain else message

    def check_ready(self, agent: str, answer: Mapping[str, Any]) -> None:
        """Raise `ArenaError` unless `answer` is the answer to an introduction."""
        if answer.get("type") not in ("agent_ready", "agent_initialized"):
            text = (
                answer.get("message") if answer.get("type") == "error" else f"answered with {answer!r:.300}"
            )
            kind = str(answer.get("error_type") or "garbage")
            raise self.error(f"cannot act for {agent}: {text}", kind, agent)

    def error(self, text: str, error_type: str, agent: str = "") -> ArenaError:
        """Return an error with the operator's name, `text`, and the end of the operator's log."""
        return ArenaError(
            f"{self.name} {text}",
            agent=agent,
            operator=self.key,
            error_type=ENDING.get(error_type, error_type),
            log=self.log_tail(),
        )

    def episode_error(self, agent: str, answer: Mapping[str, Any]) -> ArenaError:
        """Return the error for an "error" answer to the beginning or end of an episode."""
        text = f"cannot begin or end an episode: {answer.get('message')}"
        return self.error(text, str(answer.get("error_type") or "error"), agent)

    def log_tail(self) -> str:
        return ""


class KernelOperator(ArenaOperator):
    """An operator in the kernel: requests are messages to the kernel, answers are its commands."""

    _ids = itertools.count(1)

    def __init__(self, key: str, spec: Mapping[str, Any], send: Callable[[Mapping[str, Any]], None]) -> None:
        super().__init__(key, spec)
        self._send_message = send
        self._open: dict[int, Call] = {}

    def request(self, call: Call) -> None:
        call.identity = next(self._ids)
        self._open[call.identity] = call
        observed = call.observed
        message = {
            "type": "ask",
            "id": call.identity,
            "agent": call.agent,
            "operator": self.key,
            "action_mask": pack(observed.mask),
            "step_index": call.step_index,
            **call.extras,
        }
        if self.category != "human":  # a person looks at the frames instead
            message |= {"observation": pack(observed.observation), "info": sendable(observed.info)}
        self._send_message(message)

    def withdraw(self, call: Call) -> None:
        if self._open.pop(call.identity, None) is not None:
            self._send_message({"type": "withdrawn", "id": call.identity})

    def settle_answer(self, message: Mapping[str, Any]) -> bool:
        """Settle the call that an answer belongs to; return whether it was a call of this operator."""
        identity = message.get("id")
        call = self._open.pop(identity, None) if isinstance(identity, int) else None
        if call is None:
            return False
        self.settle(call, message)
        return True

    @staticmethod
    def settle(call: Call, message: Mapping[str, Any]) -> None:
        """Settle a call with the kernel's answer."""
        if "error" in message:
            call.fail("error", str(message["error"])[:2000])
            return
        if message.get("default"):  # a human player in real time who holds no key
            action, name = call.rules.default(call.mask)
            message = {"action": action, "action_str": name}
        call.settle(message)


class InProcessOperator(ArenaOperator):
    """An operator in the arena's own process, made by `operate` of the worker that makes the environment.

    It receives the same input and returns the same answers as an operator process. A deadline cannot
    interrupt it: an overdue answer counts as late, but is awaited.
    """

    def __init__(self, key: str, spec: Mapping[str, Any], describe: Describe, operate: Operate) -> None:
        super().__init__(key, spec)
        self._operating = OperatorServer(describe, operate)
        metadata, _ = describe()
        self.worker, self.version = metadata.name, metadata.version

    def command(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the answer that an operator process would give."""
        return self.perform(decode_line(encode_line(message, OPERATING_LINE_LIMIT)))

    def perform(self, message: dict[str, Any]) -> Mapping[str, Any]:
        """Return the same answer, without copying a message that shares no objects with its sender."""
        return self._operating.perform(message)

    def _notify(self, command: str, agent: str, **fields: Any) -> None:
        answer = self.command({"cmd": command, "player_id": agent, **fields})
        if answer.get("type") == "error":
            raise self.episode_error(agent, answer)

    def request(self, call: Call) -> None:
        """Request an action. The call is settled on return. Raises `ArenaError`."""
        for may_retry in (True, False):
            try:
                answer = self._answer(call)
                break
            except Exception as error:  # operators raise arbitrary exceptions
                if (kind := type(error).__name__) in ENDING:
                    call.end(kind, str(error))
                if not may_retry or isinstance(error, FINAL):
                    call.fail("error", (str(error) or type(error).__name__)[:2000])
                    return
        if call.deadline_at is not None and time.perf_counter() >= call.deadline_at:
            call.expire()
            if call.done:  # its fallback has determined the action
                return
        call.settle(answer)

    def _answer(self, call: Call) -> dict[str, Any]:
        agent = self._operating.agent(call.agent)
        hints = {name: self._hint(call, name) for name in agent.hints}
        decision = agent.select_action(_copied(call.observed.observation), **hints)
        if type(decision) is int:
            return {"action": decision}
        if not isinstance(decision, Decision):
            decision = Decision(decision)
        return decode_line(encode_line(decision.to_dict(), OPERATING_LINE_LIMIT))

    def _hint(self, call: Call, name: str) -> Any:
        if name == "step_index":
            return call.step_index
        if name == "action_mask":
            return _copied(call.mask)
        if name != "info":
            return _copied(call.extras.get(name, [] if name == "messages" else None))
        return _copied(sendable(call.observed.info)) if call.observed.info else None

    def withdraw(self, call: Call) -> None:
        """Do nothing: a call is settled at once."""

    def close(self) -> None:
        self._operating.close()


def _copied(value: Any) -> Any:
    """Return the value as decoded from a message, so that an operator cannot modify the environment's
    data."""
    if value is None or type(value) in (int, float, bool, str):
        return value
    if type(value).__name__ == "ndarray" and value.dtype.kind in "biuf":
        return value.copy()
    packed = encode_line({"value": pack(value)}, OPERATING_LINE_LIMIT)
    return unpack(decode_line(packed)["value"])


def sendable(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the serializable part of an environment's info; the action mask is sent separately."""
    facts = {}
    for key, value in info.items():
        if key == "action_mask" or not isinstance(key, str):
            continue
        packed = facts[key] = pack(value)
        if type(packed) in _SURE:
            continue
        try:
            encode_line({key: packed}, OPERATING_LINE_LIMIT)
        except (TypeError, ValueError, RecursionError):
            del facts[key]
    return facts
