"""Operators that run in the kernel: user-supplied functions and human players.

Each function runs in its own thread per lane (`OperatorThread`). A human's request stays open until answered
or, in real time (``realtime``), is answered at once with the key being held. Answers are sent through
``answer``, from any thread; the methods of `KernelOperators` are called by the comparison's thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic_contract import BadMessage, operator_seed, pack, unpack
from mosaic_contract.action_reader import action_reader

from mosaic_lab.arenas.environment_info import EnvironmentInfo
from mosaic_lab.arenas.operator_threads import Answer, OperatorThread
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.operators import OperatorSpec, PythonPolicy
from mosaic_lab.policies import Assignment


@dataclass(frozen=True)
class ActionRequest:
    """A request for a human's action for ``agent``; ``legal`` lists the allowed actions, None for all."""

    id: Any
    agent: str
    legal: list[int] | None


@dataclass
class _Held:
    """The action of the key that a human holds in real time, and whether it has been played.

    A key released before it was played is still played once.
    """

    action: Any
    played: bool = False
    released: bool = False


class KernelOperators:
    """The operators of a lane that run in the kernel. Tracebacks of user code are written to ``folder``."""

    def __init__(
        self, assignment: Assignment, environment: EnvironmentInfo, folder: Path, answer: Answer
    ) -> None:
        self._operators = {key: spec for key, spec in assignment.operators.items() if spec.worker is None}
        self._assignment = assignment
        self._environment = environment
        self._folder = folder
        self._answer = answer
        self._threads: dict[str, OperatorThread] = {}
        self._held: dict[str, _Held] = {}
        self.open: dict[Any, ActionRequest] = {}
        """Open requests to human players, by id."""

    @property
    def people(self) -> dict[str, OperatorSpec]:
        """The agents played by humans."""
        seats = self._assignment.seats.items()
        return {a: self._operators[key] for a, key in seats if self._is_person(key)}

    def _is_person(self, key: str) -> bool:
        return key in self._operators and self._operators[key].function is None

    def receive(self, message: Mapping[str, Any]) -> None:
        """Process a request for an action from the arena.

        Raises KeyError, TypeError or ValueError if it is malformed.
        """
        key, agent = str(message["operator"]), str(message["agent"])
        spec = self._operators[key]
        if spec.function is not None:
            self._thread(key, spec.function).request(message)
            return
        request = ActionRequest(message["id"], agent, self._legal(agent, unpack(message.get("action_mask"))))
        if spec.settings.get("realtime"):
            self._answer({"cmd": "answer", "id": request.id, **self._now(spec, request)})
        else:
            self.open[request.id] = request

    def withdraw(self, request_id: Any) -> None:
        """Drop a request withdrawn by the arena."""
        self.open.pop(request_id, None)
        for key, thread in list(self._threads.items()):
            if thread.withdraw(request_id):
                del self._threads[key]  # its thread is in user code and ends when that returns

    def act(self, agent: str, action: Any, moves: Mapping[str, Any]) -> bool:
        """Play a human's action for ``agent``, None in real time for a released key. Return whether one was
        due. ``moves`` are actions by name ("e2e4", "push left"), if they have names.

        Raises ConfigurationError for an invalid action or one not currently allowed; the request stays open.
        """
        if moves and isinstance(action, str):
            if action not in moves:
                raise ConfigurationError(
                    f"{action!r:.50} cannot be played by {agent} now: give one of {', '.join(moves)}"
                )
            action = moves[action]
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
        request = next((pending for pending in self.open.values() if pending.agent == agent), None)
        if request is None:
            return False
        self._check(request, action)
        del self.open[request.id]
        self._answer({"cmd": "answer", "id": request.id, "action": pack(action)})
        return True

    def begin(self, seed: int, episode_index: int) -> None:
        """Begin an episode and drop open requests of the previous one."""
        self.open.clear()
        self._held.clear()
        for key, agents, operator in self._code():
            own_seed = operator_seed(seed, self._operators[key].name, agents[0])
            self._thread(key, operator).begin(own_seed, episode_index)

    def end(self, returns: Mapping[str, float], steps: int) -> None:
        """End the episode."""
        self.open.clear()
        for key, agents, operator in self._code():
            total = sum(returns.get(agent, 0.0) for agent in agents)
            self._thread(key, operator).end(total, steps)

    def close(self) -> None:
        """Drop all requests and end the threads."""
        self.open.clear()
        for thread in self._threads.values():
            thread.close()
        self._threads.clear()

    def _thread(self, key: str, operator: PythonPolicy) -> OperatorThread:
        if key not in self._threads:
            self._threads[key] = OperatorThread(key, operator, self._folder, self._answer)
        return self._threads[key]

    def _legal(self, agent: str, mask: Any) -> list[int] | None:
        """Return the currently allowed actions; None if the space is not discrete or has no mask."""
        space = self._environment.spaces[agent]["action"]
        if mask is None or space.get("type") != "Discrete":
            return None
        return [index + space.get("start", 0) for index, allowed in enumerate(mask) if allowed]

    def _check(self, request: ActionRequest, action: Any) -> None:
        space = self._environment.spaces[request.agent]["action"]
        legal, problem = request.legal, ""
        try:
            read = action_reader(space)(unpack(pack(action)))
            # Gymnasium's masks are advisory (Taxi's marks the actions that change the state).
            if legal is not None and self._environment.paradigm != "single_agent" and read not in legal:
                problem = f"give one of {legal}"
        except (BadMessage, ValueError) as error:
            problem = str(error)
        if problem:
            raise ConfigurationError(f"{action!r:.200} cannot be played by {request.agent} now: {problem}")

    def _code(self) -> list[tuple[str, list[str], PythonPolicy]]:
        return [
            (key, self._assignment.agents_of(key), spec.function)
            for key, spec in self._operators.items()
            if spec.function is not None
        ]

    def _now(self, spec: OperatorSpec, request: ActionRequest) -> dict[str, Any]:
        """Return the real-time answer: the held key's action, else the default."""
        held = self._held.get(request.agent)
        if held is not None:
            held.played = True
            if held.released:
                del self._held[request.agent]
            return {"action": pack(held.action)}
        default = spec.settings.get("default")
        return {"default": True} if default is None else {"action": default, "action_str": "no key held"}
