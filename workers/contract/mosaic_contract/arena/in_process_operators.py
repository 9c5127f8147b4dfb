"""Operators that run in the arena's own process, from the worker that makes the environment.

They receive the same input and return the same answers as an operator process. A deadline cannot interrupt
them: an overdue answer counts as late, but is awaited.
"""

from __future__ import annotations

import time
from typing import Any, Mapping

from mosaic_contract.arena.calls import Call
from mosaic_contract.arena.errors import ENDING
from mosaic_contract.arena.operators import ArenaOperator, sendable
from mosaic_contract.arrays import pack, unpack
from mosaic_contract.codec import OPERATING_LINE_LIMIT, decode_line, encode_line
from mosaic_contract.errors import FINAL
from mosaic_contract.operator_server import OperatorServer
from mosaic_contract.operators import Decision, Describe, Operate


class InProcessOperator(ArenaOperator):
    """An operator in this process. `operate` is the worker's."""

    def __init__(self, key: str, spec: Mapping[str, Any], describe: Describe, operate: Operate) -> None:
        super().__init__(key, spec)
        self._operating = OperatorServer(describe, operate)
        about, _ = describe()
        self.worker, self.version = about.name, about.version

    def command(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the answer that an operator process would give."""
        return self._operating.perform(decode_line(encode_line(message, OPERATING_LINE_LIMIT)))

    def begin_episode(self, agent: str, seed: int, episode_index: int) -> None:
        self._notify("episode_begin", agent, seed=seed, episode_index=episode_index)

    def end_episode(self, agent: str, total_reward: float, steps: int) -> None:
        self._notify("episode_end", agent, total_reward=total_reward, steps=steps)

    def _notify(self, command: str, agent: str, **fields: Any) -> None:
        answer = self.command({"cmd": command, "player_id": agent, **fields})
        if answer.get("type") == "error":
            raise self.episode_error(agent, answer)

    def request(self, call: Call) -> None:
        """Request an action. The call is settled on return. Raises `ArenaError`."""
        for again in (True, False):
            try:
                answer = self._answer(call)
                break
            except Exception as error:  # operators raise arbitrary exceptions
                if (kind := type(error).__name__) in ENDING:
                    call.end(ENDING[kind], str(error))
                if not again or isinstance(error, FINAL):
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
        decision = agent.operator.select_action(_copied(call.observed.observation), **hints)
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
