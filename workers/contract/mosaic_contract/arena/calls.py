"""One call of an operator: the request, its answer, and the action played without a usable answer."""

from __future__ import annotations

import time
from types import MappingProxyType
from typing import Any, Mapping, NoReturn, Sequence

from mosaic_contract.arena.actions import ActionRules
from mosaic_contract.arena.environment_adapters import AgentObservation
from mosaic_contract.arena.errors import Unusable
from mosaic_contract.arena.exchanges import Exchange, exchanges_of, shortened_to_fit
from mosaic_contract.arena.observation_hash import observation_hash
from mosaic_contract.arrays import pack, unpack
from mosaic_contract.codec import as_number
from mosaic_contract.errors import BadMessage

FIRST_REPORT_SECONDS = 0.25  # seconds until an operator is reported as thinking
REPORT_INTERVAL = 0.5
_FAULT_LIMIT = 500  # characters
_TEXT_LIMIT = 100_000  # maximum characters of reasoning and similar strings

WAIT, DEFAULT, FORFEIT = "wait", "default", "forfeit"
FALLBACKS = (WAIT, DEFAULT, FORFEIT)


class Call:
    """A call in flight. `done` once there is an action to play or the agent has forfeited. `deadline` is in
    seconds, None: no limit. Times are in seconds of `time.perf_counter`."""

    deadline_at: float | None = None
    action: Any = None
    answer: Mapping[str, Any] = MappingProxyType({})
    extras: Mapping[str, Any] = MappingProxyType({})
    """Packed inputs sent with the observation: frame, teammates, description, messages."""
    done = forfeited = repeated = False
    fault: str | None = None
    fault_text = fallback_text = ""
    seconds = 0.0
    identity = 0
    message = b""
    messages: Sequence[Mapping[str, str]] = ()
    """The agent's deliverable messages to other agents."""
    shown_at = 0.0
    """When viewers last received a partial text of the model."""

    def __init__(
        self, agent: str, operator: Any, rules: ActionRules, observed: AgentObservation, step_index: int
    ) -> None:
        self.agent, self.operator, self.rules = agent, operator, rules
        self.observed, self.mask = observed, observed.mask
        self.observation_hash = observation_hash(observed.observation)
        """Computed now, because the environment may reuse the observation's memory in its next step."""
        self.step_index = step_index
        self.deadline: float | None = operator.deadline
        self.fallback: str = operator.fallback
        self.began = time.perf_counter()
        self.next_report = self.began + FIRST_REPORT_SECONDS
        if self.deadline is not None:
            self.deadline_at = self.began + self.deadline

    def settle(self, answer: Mapping[str, Any]) -> None:
        """Take an answer. Calls `fail` for an unplayable answer, which may raise `ArenaError`."""
        try:
            self._accept(answer)
        except Unusable as unusable:
            self.fail(unusable.kind, str(unusable))

    def take_action(self, action: Any, seconds: float) -> None:
        """Take this call's action from the answer to a batch. `seconds` is the time spent per call."""
        try:
            self.action = self.rules.accept(action, self.mask)
        except Unusable as unusable:
            self.fail(unusable.kind, str(unusable))
        self.done, self.seconds = True, seconds

    def _accept(self, answer: Mapping[str, Any]) -> None:
        if "action" not in answer:
            raise Unusable("garbage", f"answered without an action: {dict(answer)!r:.300}")
        if reason := _text(answer, "forfeit"):
            self.answer, self.fault, self.fault_text = answer, "forfeit", reason
            self._forfeit()
            return
        value = answer["action"]
        if type(value) is not int:
            try:
                value = unpack(value)
            except BadMessage as error:
                raise Unusable("garbage", str(error)) from None
        self.answer = answer  # its costs count even if it cannot be played
        self.action = self.rules.accept(value, self.mask)
        self._finish()

    def fail(self, kind: str, text: str) -> None:
        """Continue without a usable answer. Raises `ArenaError` if the fallback is "wait"."""
        self.fault, self.fault_text = kind, text
        if self.fallback == WAIT:
            self.end(kind, text)
        if self.fallback == FORFEIT:
            self._forfeit()
            return
        self.action, self.fallback_text = self.rules.default(self.mask)
        self._finish()

    def _forfeit(self) -> None:
        self.forfeited = True
        self.fallback_text = "forfeits"
        self._finish()

    def end(self, error_type: str, text: str) -> NoReturn:
        """End the episode with an `ArenaError`."""
        raise self.operator.error(f"for {self.agent}: {text}", error_type, self.agent)

    def expire(self) -> None:
        """Handle a missed deadline."""
        self.deadline_at = None
        text = f"no answer within {self.deadline:g} s"
        if self.fallback == WAIT:
            self.fault, self.fault_text = "late", text
        else:
            self.fail("late", text)

    def _finish(self) -> None:
        self.done = True
        self.seconds = time.perf_counter() - self.began
        if self.fault == "late" and self.fallback == WAIT:
            self.fault_text = f"answered after {self.seconds:.3g} s, the deadline was {self.deadline:g} s"

    @property
    def exchanges(self) -> list[Exchange]:
        """The requests to language models reported in its answer."""
        return exchanges_of(self.answer)

    @property
    def fault_line(self) -> str:
        """The fault as one short text for the telemetry; empty if there is none."""
        return "" if self.fault is None else f"{self.fault}: {self.fault_text}"[:_FAULT_LIMIT]

    def to_move(self) -> dict[str, Any]:
        answer = self.answer
        move = {
            "agent": self.agent,
            "operator": self.operator.key,
            "action": pack(self.action),
            "action_str": self.fallback_text or _text(answer, "action_str"),
            "reasoning": _text(answer, "reasoning"),
            "latency_ms": round(1e3 * self.seconds, 3),
            "input_tokens": self.tokens("input_tokens"),
            "output_tokens": self.tokens("output_tokens"),
            "fault": self.fault,
            "fault_text": self.fault_text,
        }
        if exchanges := self.exchanges:
            move["exchanges"] = shortened_to_fit(exchanges)
        if self.messages:
            move["messages"] = list(self.messages)
        return move

    def tokens(self, name: str) -> int:
        """Return the answer's "input_tokens" or "output_tokens"; 0 if missing or invalid."""
        value = self.answer.get(name, 0)
        if type(value) is int:
            return value
        try:
            return int(as_number(value))
        except (ValueError, OverflowError):
            return 0


def _text(answer: Mapping[str, Any], name: str) -> str:
    value = answer.get(name)
    return (
        value[:_TEXT_LIMIT] if isinstance(value, str) else "" if value is None else str(value)[:_TEXT_LIMIT]
    )
