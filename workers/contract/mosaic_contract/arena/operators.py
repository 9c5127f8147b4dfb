"""What all operators of an arena have in common, and those that live in the kernel.

`Operator.request` sends a `Call`; the answer settles it.
"""

from __future__ import annotations

import itertools
from typing import Any, Callable, Mapping

from mosaic_contract.arena.calls import Call
from mosaic_contract.arena.errors import Unusable
from mosaic_contract.arrays import pack
from mosaic_contract.codec import OPERATING_LINE_LIMIT, encode_line

_SURE = (str, int, float, bool, type(None))  # what can always be sent


class Operator:
    """An operator's identity, its deadline, and its fallback."""

    def __init__(self, key: str, spec: Mapping[str, Any]) -> None:
        self.key = key
        self.name = str(spec.get("name") or key)
        self.category = str(spec.get("category") or "")
        self.deadline: float | None = spec.get("deadline")
        self.fallback: str = spec.get("fallback") or "wait"
        self.needs: tuple[str, ...] = tuple(spec.get("needs") or ())
        self.settings: Mapping[str, Any] = spec.get("settings") or {}
        self.agents: list[str] = []
        self.worker, self.version, self.plain = "", "", False

    def request(self, call: Call) -> None:
        raise NotImplementedError

    def withdraw(self, call: Call) -> None:
        """Drop a call whose answer is not awaited any more."""
        raise NotImplementedError

    def log_tail(self) -> str:
        return ""


class KernelOperator(Operator):
    """Lives in the kernel: the request is a message to it, the answer one of its commands."""

    _ids = itertools.count(1)

    def __init__(self, key: str, spec: Mapping[str, Any], send: Callable[[Mapping[str, Any]], None]) -> None:
        super().__init__(key, spec)
        self._send_message = send
        self._open: dict[int, Call] = {}

    def request(self, call: Call) -> None:
        call.identity = next(self._ids)
        self._open[call.identity] = call
        observed = call.observed
        self._send_message(
            {
                "type": "ask",
                "id": call.identity,
                "agent": call.agent,
                "operator": self.key,
                "observation": pack(observed.observation),
                "action_mask": pack(observed.mask),
                "info": sendable(observed.info),
                "step_index": call.step_index,
                **call.extras,
            }
        )

    def withdraw(self, call: Call) -> None:
        if self._open.pop(call.identity, None) is not None:
            self._send_message({"type": "withdrawn", "id": call.identity})

    def take(self, message: Mapping[str, Any]) -> bool:
        """Settle the call that the answer is to; return whether it was one of this operator's."""
        identity = message.get("id")
        call = self._open.pop(identity, None) if isinstance(identity, int) else None
        if call is None:
            return False
        try:
            if "error" in message:
                raise Unusable("error", str(message["error"])[:2000])
            if message.get("default"):  # a person in real time who holds no key
                action, said = call.rules.default(call.mask)
                message = {"action": action, "action_str": said}
            call.settle(message)
        except Unusable as unusable:
            call.fail(unusable.kind, str(unusable), self.log_tail)
        return True


def sendable(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of an environment's info that can be sent; the mask of actions travels by itself."""
    found = {}
    for key, value in info.items():
        if key == "action_mask" or not isinstance(key, str):
            continue
        packed = found[key] = pack(value)
        if type(packed) in _SURE:
            continue
        try:
            encode_line({key: packed}, OPERATING_LINE_LIMIT)
        except (TypeError, ValueError, RecursionError):
            del found[key]
    return found
