"""Operators that answer in the kernel: code of the user's, and people.

Crosses the boundary: an arena's asks in, answers out through ``answer`` (called from any thread). Code runs
in threads of the lane's, one for each operator (`Caller`); people are asked until they answer, or what key
they hold is their answer at once (``realtime``). All methods of `Asks` are called by the comparison's thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic_contract import BadMessage, operator_seed, pack, unpack
from mosaic_contract.legal import action_reader

from mosaic_lab.arenas.environment_info import Opened
from mosaic_lab.arenas.operator_threads import Answer, Caller
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.operators import KernelOperator, OperatorSpec
from mosaic_lab.policies import Assignment


@dataclass(frozen=True)
class Ask:
    """A question to a person: which action for ``agent``; ``legal`` are the actions allowed, None for all."""

    id: Any
    agent: str
    legal: list[int] | None

    def to_dict(self) -> dict[str, Any]:
        return {"id": self.id, "agent": self.agent, "legal": self.legal}


@dataclass
class _Held:
    """The key that somebody holds in real time: its action, and whether it has been played yet.

    A key let go before that is played once all the same.
    """

    action: Any
    played: bool = False
    released: bool = False


class Asks:
    """The operators of one lane that are in the kernel. ``folder`` gets the tracebacks of the user's code."""

    def __init__(self, assignment: Assignment, opened: Opened, folder: Path, answer: Answer) -> None:
        self._operators = {key: spec for key, spec in assignment.operators.items() if spec.worker is None}
        self._assignment = assignment
        self._opened = opened
        self._folder = folder
        self._answer = answer
        self._callers: dict[str, Caller] = {}
        self._held: dict[str, _Held] = {}
        self.open: dict[Any, Ask] = {}
        """What people are asked now, by id."""

    @property
    def people(self) -> dict[str, OperatorSpec]:
        """The agents that a person acts for."""
        seats = self._assignment.seats.items()
        return {a: self._operators[key] for a, key in seats if self._is_person(key)}

    def _is_person(self, key: str) -> bool:
        return key in self._operators and self._operators[key].function is None

    def take(self, message: Mapping[str, Any]) -> None:
        """A question of the arena's. Raises KeyError, TypeError or ValueError for one that is none."""
        key, agent = str(message["operator"]), str(message["agent"])
        spec = self._operators[key]
        if spec.function is not None:
            self._caller(key, spec.function).ask(message)
            return
        ask = Ask(message["id"], agent, self._legal(agent, unpack(message.get("action_mask"))))
        if spec.settings.get("realtime"):
            self._answer({"cmd": "answer", "id": ask.id, **self._now(spec, ask)})
        else:
            self.open[ask.id] = ask

    def withdraw(self, ask_id: Any) -> None:
        """The arena wants no answer to this any more."""
        self.open.pop(ask_id, None)
        for key, caller in list(self._callers.items()):
            if caller.withdraw(ask_id):
                del self._callers[key]  # its thread is in the user's code and ends when that returns

    def act(self, agent: str, action: Any) -> bool:
        """What a person wants for ``agent``; in real time None lets go. False when nobody asked.

        Raises ConfigurationError for an action that is none, or is not allowed now: the ask stays open.
        """
        spec = self.people[agent]
        if spec.settings.get("realtime"):
            held = self._held.get(agent)
            if action is not None:
                self._held[agent] = _Held(action)
            elif held is not None:
                held.released = True
                if held.played:
                    del self._held[agent]
            return True
        ask = next((one for one in self.open.values() if one.agent == agent), None)
        if ask is None:
            return False
        self._check(ask, action)
        del self.open[ask.id]
        self._answer({"cmd": "answer", "id": ask.id, "action": pack(action)})
        return True

    def begin(self, seed: int, episode_index: int) -> None:
        """An episode begins: whatever was asked in the one before is forgotten."""
        self.open.clear()
        self._held.clear()
        for key, agents, operator in self._code():
            own = operator_seed(seed, self._operators[key].name, agents[0])
            self._caller(key, operator).begin(own, episode_index)

    def end(self, returns: Mapping[str, float], steps: int) -> None:
        """The episode is over."""
        self.open.clear()
        for key, agents, operator in self._code():
            total = sum(returns.get(agent, 0.0) for agent in agents)
            self._caller(key, operator).end(total, steps)

    def close(self) -> None:
        """Ask and call nobody any more."""
        self.open.clear()
        for caller in self._callers.values():
            caller.close()
        self._callers.clear()

    def _caller(self, key: str, operator: KernelOperator) -> Caller:
        if key not in self._callers:
            self._callers[key] = Caller(key, operator, self._folder, self._answer)
        return self._callers[key]

    def _legal(self, agent: str, mask: Any) -> list[int] | None:
        """The actions that are allowed now; None where the space is not discrete, or nothing is said."""
        space = self._opened.spaces[agent]["action"]
        if mask is None or space.get("type") != "Discrete":
            return None
        return [index + space.get("start", 0) for index, allowed in enumerate(mask) if allowed]

    def _check(self, ask: Ask, action: Any) -> None:
        space = self._opened.spaces[ask.agent]["action"]
        legal, problem = ask.legal, ""
        try:
            read = action_reader(space)(unpack(pack(action)))
            # A mask of Gymnasium's only advises (Taxi's says what would change something).
            if legal is not None and self._opened.paradigm != "single_agent" and read not in legal:
                problem = f"give one of {legal}"
        except (BadMessage, ValueError) as error:
            problem = str(error)
        if problem:
            raise ConfigurationError(f"{action!r:.200} cannot be played by {ask.agent} now: {problem}")

    def _code(self) -> list[tuple[str, list[str], KernelOperator]]:
        return [
            (key, self._assignment.agents_of(key), spec.function)
            for key, spec in self._operators.items()
            if spec.function is not None
        ]

    def _now(self, spec: OperatorSpec, ask: Ask) -> dict[str, Any]:
        """What is played in real time: the key that is held, else the default."""
        held = self._held.get(ask.agent)
        if held is not None:
            held.played = True
            if held.released:
                del self._held[ask.agent]
            return {"action": pack(held.action)}
        default = spec.settings.get("default")
        return {"default": True} if default is None else {"action": default, "action_str": "no key held"}
