"""Operators that run in the kernel: user-supplied functions and human players.

Each function runs in its own thread per lane (`OperatorThread`). A human's request stays open until answered.
In real time (``realtime``) there is no request: the action of the key being held is sent with the step. The
methods of `KernelOperators` are called by the comparison's thread.
"""

from __future__ import annotations

import threading
import traceback
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic_contract import BadMessage, operator_seed, pack, unpack
from mosaic_contract.action_reader import action_reader
from mosaic_contract.codec import OPERATING_LINE_LIMIT, encode_line
from mosaic_contract.user_policy import Memory

from mosaic_lab.arenas.environment_info import EnvironmentInfo
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.operators import OperatorSpec, PythonPolicy
from mosaic_lab.policies import Assignment

_TEXT_LIMIT = 10_000  # characters of an action's text, its reasoning or an error
_MAX_WAITING = 4  # changes of the keys held in real time
_LOOK_SECONDS = 0.1  # between checks of whether a call that waits for another lane was withdrawn


@dataclass(frozen=True)
class ActionRequest:
    """A request for a human's action for ``agent``; ``legal`` lists the allowed actions, None for all."""

    id: Any
    agent: str
    legal: list[int] | None


class _HeldKeys:
    """The actions of the keys that a person holds in real time, None while no key is held.

    Each change lasts for at least one step, so that no tap is lost. Changes that come faster than steps are
    queued, at most `_MAX_WAITING` of them: beyond that, pauses between taps are dropped, then the oldest
    tap.
    """

    def __init__(self) -> None:
        self._action: Any = None
        self._waiting: list[Any] = []

    def change(self, action: Any) -> None:
        """Begin the action of a key; None if none is held."""
        waiting = self._waiting
        if action == (waiting or [self._action])[-1]:
            return
        if len(waiting) == _MAX_WAITING:
            del waiting[next((index for index, held in enumerate(waiting) if held is None), 0)]
        waiting.append(action)

    def play(self) -> Any:
        """Return the action of the next step."""
        if self._waiting:
            self._action = self._waiting.pop(0)
        return self._action


class KernelOperators:
    """A lane's operators that run in the kernel. Tracebacks of user code are written to ``folder``.

    ``answer`` sends an answer, on the comparison's thread; ``post`` schedules a call there from any thread.
    """

    def __init__(
        self,
        assignment: Assignment,
        environment: EnvironmentInfo,
        folder: Path,
        answer: Answer,
        post: Callable[[Callable[[], None]], None],
    ) -> None:
        self._operators = {key: spec for key, spec in assignment.operators.items() if spec.worker is None}
        self._assignment = assignment
        self._environment = environment
        self._folder = folder
        self._answer = answer
        self._post = post
        self._threads: dict[str, OperatorThread] = {}
        self._held_keys: defaultdict[str, _HeldKeys] = defaultdict(_HeldKeys)
        self._held: dict[str, dict[str, Any]] = {}  # the answers for the current step
        self.open: dict[Any, ActionRequest] = {}
        """Open requests to human players, by id."""

    @property
    def people(self) -> dict[str, OperatorSpec]:
        """The agents played by humans."""
        people = {key: spec for key, spec in self._operators.items() if spec.function is None}
        return {a: people[key] for a, key in self._assignment.seats.items() if key in people}

    def receive(self, message: Mapping[str, Any]) -> None:
        """Process the arena's request for an action. Raises KeyError, TypeError or ValueError if it is
        malformed."""
        key, agent = str(message["operator"]), str(message["agent"])
        spec = self._operators[key]
        if spec.function is not None:
            self._thread(key, spec.function).request(message)
            return
        request = ActionRequest(message["id"], agent, self._legal(agent, unpack(message.get("action_mask"))))
        if agent in self._held:  # an older arena, which does not read answers sent with the step
            self._answer({"cmd": "answer", "id": request.id, **self._held[agent]})
        else:
            self.open[request.id] = request

    def held(self, turn: Collection[str]) -> dict[str, dict[str, Any]]:
        """Return the next step's answers of the agents in ``turn`` that are played in real time."""
        self._held = {
            agent: self._held_answer(agent, spec)
            for agent, spec in self.people.items()
            if agent in turn and spec.settings.get("realtime")
        }
        return self._held

    def withdraw(self, request_id: Any) -> None:
        """Drop a request withdrawn by the arena."""
        self.open.pop(request_id, None)
        for key, thread in list(self._threads.items()):
            if thread.withdraw(request_id):
                del self._threads[key]  # its thread is in user code and ends when that returns

    def act(self, agent: str, action: Any, moves: Mapping[str, Any]) -> bool:
        """Play a human's action for ``agent`` (None for a key released in real time). Return whether one was
        due. ``moves`` are the actions by name ("e2e4", "push left"), if they have names.

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
            self._held_keys[agent].change(None if action is None else _packed(agent, action))
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
        self._held_keys.clear()
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
            self._threads[key] = OperatorThread(
                key, operator, self._folder, lambda message: self._post(lambda: self._answer(message))
            )
        return self._threads[key]

    def _legal(self, agent: str, mask: Any) -> list[int] | None:
        """Return the currently allowed actions; None without a mask or for a space that is not discrete."""
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

    def _held_answer(self, agent: str, spec: OperatorSpec) -> dict[str, Any]:
        """Return an agent's answer in real time: the held key's action, else the default."""
        action = self._held_keys[agent].play()
        if action is not None:
            return {"action": action}
        default = spec.settings.get("default")
        return {"default": True} if default is None else {"action": default, "action_str": "no key held"}


def _packed(agent: str, action: Any) -> Any:
    """Return an action encoded for a message. Raises ConfigurationError if it cannot be sent."""
    try:
        packed = pack(action)
        encode_line({"action": packed}, OPERATING_LINE_LIMIT)
    except Exception as error:  # includes errors raised by an action's own code
        raise ConfigurationError(f"the action of {agent} cannot be sent: {error}") from None
    return packed


Answer = Callable[[Mapping[str, Any]], None]


class OperatorThread:
    """A user-supplied operator in one lane; tracebacks are written to ``folder``."""

    def __init__(self, key: str, operator: PythonPolicy, folder: Path, answer: Answer) -> None:
        self._operator = operator
        self._log = folder / f"operator-{key}.log"
        self._answer = answer
        self._memory: Memory = {}
        self._lock = threading.Condition()
        self._jobs: deque[tuple[Any, Callable[[], None]]] = deque()  # with the request's id, or None
        self._running: Any = None
        self._closed = False
        threading.Thread(target=self._run, name="mosaic-operators", daemon=True).start()

    def request(self, message: Mapping[str, Any]) -> None:
        """Queue a request from the arena."""
        self._add_job(message["id"], lambda: self._select(message))

    def begin(self, seed: int, episode_index: int) -> None:
        """Begin an episode."""
        self._add_job(None, self._memory.clear)
        self._add_job(None, lambda: self._report(self._operator.episode_begin, (seed, episode_index)))

    def end(self, total_reward: float, steps: int) -> None:
        """End the episode."""
        self._add_job(None, lambda: self._report(self._operator.episode_end, (total_reward, steps)))

    def withdraw(self, request_id: Any) -> bool:
        """Drop a request. Return whether user code is processing it: the thread is then no longer usable."""
        with self._lock:
            if self._running == request_id:
                self._close()
                return True
            self._jobs = deque(job for job in self._jobs if job[0] != request_id)
            return False

    def close(self) -> None:
        """Drop all requests and end the thread."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        self._closed = True
        self._jobs = deque(job for job in self._jobs if job[0] is None)
        self._lock.notify()

    def _add_job(self, request_id: Any, job: Callable[[], None]) -> None:
        with self._lock:
            self._jobs.append((request_id, job))
            self._lock.notify()

    def _run(self) -> None:
        while True:
            with self._lock:
                self._running = None
                while not self._jobs and not self._closed:
                    self._lock.wait()
                if not self._jobs:
                    return
                self._running, job = self._jobs.popleft()
            job()

    def _select(self, message: Mapping[str, Any]) -> None:
        with self._turn() as has_it:
            if has_it:
                self._answer({"cmd": "answer", "id": message["id"], **self._decide(message)})

    @contextmanager
    def _turn(self) -> Iterator[bool]:
        """Wait until no other lane calls the operator. Yield false if this thread is closed first."""
        lock = self._operator.turn
        while not lock.acquire(timeout=_LOOK_SECONDS):
            if self._closed:
                yield False
                return
        try:
            yield True
        finally:
            lock.release()

    def _decide(self, message: Mapping[str, Any]) -> dict[str, Any]:
        try:
            context = {
                "agent": message["agent"],
                "action_mask": unpack(message.get("action_mask")),
                "info": unpack(message.get("info") or {}),
                "step_index": message.get("step_index"),
            }
            observation = unpack(message["observation"])
            return _decision(self._operator.select_action(observation, self._memory, **context))
        except BaseException as error:  # user code may raise SystemExit and KeyboardInterrupt too
            return {"error": self._note(error)}

    def _report(self, method: Callable[..., None], values: tuple[Any, ...]) -> None:
        with self._turn() as has_it:
            try:
                if has_it:
                    method(*values)
            except BaseException as error:
                self._note(error)

    def _note(self, error: BaseException) -> str:
        """Append the traceback to the operator's log; return the error as one line."""
        with suppress(OSError), self._log.open("a", encoding="utf-8") as log:
            log.write("".join(traceback.format_exception(error)))
        last_frame = traceback.extract_tb(error.__traceback__)[-1:]
        location = f" (line {last_frame[0].lineno} of {last_frame[0].name})" if last_frame else ""
        return f"{type(error).__name__}: {error}{location}"[:_TEXT_LIMIT]


def _decision(answer: Any) -> dict[str, Any]:
    """Return the fields of an answer: a bare action, or an object with an action, text and reasoning."""
    if not hasattr(answer, "action"):
        return {"action": pack(answer)}
    text, reasoning = getattr(answer, "action_str", ""), getattr(answer, "reasoning", "")
    return {
        "action": pack(answer.action),
        "action_str": str(text or "")[:_TEXT_LIMIT],
        "reasoning": str(reasoning or "")[:_TEXT_LIMIT],
    }
