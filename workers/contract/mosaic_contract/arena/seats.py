"""Who plays whom: the operators of an arena, the agents that they act for, and the waiting for their answers.

All that must act are asked first and then collected, so they think at the same time. While it waits, an arena
also listens to the kernel and, now and then, draws a frame for whoever watches.
"""

from __future__ import annotations

import select
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Mapping, Sequence

from mosaic_contract.arena import plain
from mosaic_contract.arena.actions import Rules
from mosaic_contract.arena.calls import FALLBACKS, NEXT_THOUGHT, Call
from mosaic_contract.arena.environment_adapters import World
from mosaic_contract.arena.errors import ArenaError
from mosaic_contract.arena.hints import DESCRIPTION, Hints
from mosaic_contract.arena.in_process_operators import InsideOperator
from mosaic_contract.arena.kernel_channel import Kernel
from mosaic_contract.arena.operator_process import ProcessOperator
from mosaic_contract.arena.operators import KernelOperator, Operator
from mosaic_contract.arena.watchdog import OPERATORS, PAUSE, STEP, Pulse
from mosaic_contract.operators import Describe, Operate
from mosaic_contract.seeds import operator_seed

START_SECONDS = 120.0  # for an operator to say hello and make its agents: imports of a large library
_SHOW_SECONDS = 0.1  # between two texts of a call; operators of ours send fewer
_SHOWN_CHARACTERS = 20_000
_STOP_SECONDS = (1.5, 0.7)  # after being asked, after SIGTERM; then SIGKILL

Event = Callable[[], None]


class Seats:
    """The operators by key and who they act for. `idle` is called while waiting, and returns in how many
    seconds it wants to be called again (None: not at all); `pulse` is told whose time it is. `inside` makes
    operators in this process, where that is possible."""

    def __init__(
        self,
        kernel: Kernel,
        folder: Path,
        idle: Callable[[], float | None],
        pulse: Pulse,
        inside: tuple[Describe, Operate] | None = None,
    ) -> None:
        self._kernel = kernel
        self._inside = inside
        self._folder = folder
        self._idle = idle
        self._pulse = pulse
        self._introductions: Mapping[str, Mapping[str, Any]] = {}
        self.shows_partials = False
        """Whether viewers follow single steps, and so what models write."""
        self.operators: dict[str, Operator] = {}
        self.of_agent: dict[str, Operator] = {}
        self._hints: Hints
        self._poll = select.poll()
        self._readers: dict[int, ProcessOperator] = {}
        self._writers: dict[int, ProcessOperator] = {}
        self._poll.register(kernel.descriptor, select.POLLIN)

    # ------------------------------------------------------------------ taking seats

    def take(
        self,
        operators: Mapping[str, Any],
        seats: Mapping[str, str],
        agents: Sequence[str],
        introductions: Mapping[str, Mapping[str, Any]],
        hints: Hints,
    ) -> dict[str, Any]:
        """Start the operators, greet them, and have each make its agents; `introductions` by agent are what
        init_agent says, `hints` what comes with observations. Returns what the answer to "seat" says of the
        operators. Raises `ArenaError`."""
        _check(operators, seats, agents)
        self._introductions, self._hints = introductions, hints
        try:
            for key, spec in operators.items():
                self._start(key, spec)
                hints.check(self.operators[key])
            for agent, key in seats.items():
                self.of_agent[agent] = self.operators[key]
                self.operators[key].agents.append(agent)
            until = time.perf_counter() + START_SECONDS
            processes = self.processes()
            for process in processes:
                process.greet()
            for process, (answer,) in self._answers(dict.fromkeys(processes, 1), until).items():
                _greet(process, answer)
            self._introduce(processes, until)
            for operator in self._insiders():
                for agent in operator.agents:
                    ready = operator.command(_introduction(introductions[agent], operator))
                    _check_ready(operator, agent, ready)
        except BaseException:
            self.stop()
            raise
        return {
            key: {"worker": operator.worker, "version": operator.version, "plain": operator.plain}
            for key, operator in self.operators.items()
        }

    def _introduce(self, processes: Sequence[ProcessOperator], until: float) -> None:
        """Have these make their agents. Raises `ArenaError`."""
        for process in processes:
            for agent in process.agents:
                process.request(_introduction(self._introductions[agent], process), "ready")
        expected = {process: len(process.agents) for process in processes}
        for process, answers in self._answers(expected, until).items():
            for agent, answer in zip(process.agents, answers):
                _check_ready(process, agent, answer)

    def processes(self) -> list[ProcessOperator]:
        return [operator for operator in self.operators.values() if isinstance(operator, ProcessOperator)]

    def _insiders(self) -> list[InsideOperator]:
        return [operator for operator in self.operators.values() if isinstance(operator, InsideOperator)]

    def begin_episode(self, seed: int, episode_index: int) -> None:
        """Tell all operators, each with the `operator_seed` of this one."""
        self._hints.mail.clear()
        for process in self.processes():
            process.abandon_calls()
        self._start_again(seed)
        for agent, operator in self.of_agent.items():
            if isinstance(operator, (ProcessOperator, InsideOperator)):
                operator.begin_episode(agent, operator_seed(seed, operator.name, agent), episode_index)
        self._watch_writers()

    def _start_again(self, seed: int) -> None:
        """Give those a seed for the episode that get one where they are started, and nowhere else."""
        fresh = []
        for used in [process for process in self.processes() if process.takes_seed]:
            own = operator_seed(seed, used.name, used.agents[0])
            process = self._launch(used.key, used.spec, own)
            process.plain = process.takes_seed = True
            process.agents = used.agents
            self.of_agent.update(dict.fromkeys(process.agents, process))
            self._end([used])
            fresh.append(process)
        self._introduce(fresh, time.perf_counter() + START_SECONDS)

    def end_episode(self, returns: Mapping[str, float], steps: int) -> None:
        for agent, operator in self.of_agent.items():
            if isinstance(operator, (ProcessOperator, InsideOperator)):
                operator.end_episode(agent, returns[agent], steps)
        self._watch_writers()

    # ------------------------------------------------------------------ asking

    def decide(self, world: World, rules: Mapping[str, Rules], step_index: int) -> list[Call]:
        """Ask for all whose turn it is and wait for the answers. When one forfeits, the others are not waited
        for. Raises `ArenaError`, and `Abandoned` when the kernel wants something else."""
        calls: list[Call] = []
        self._kernel.check()
        self._hints.begin_step()
        try:
            for agent in world.turn:
                operator = self.of_agent[agent]
                self._pulse.enter(STEP)
                call = Call(agent, operator, rules[agent], world.observe(agent), step_index)
                calls.append(call)
                call.extras = self._hints.of(agent, operator)
                self._pulse.enter(OPERATORS)
                operator.ask(call)
            while waiting := [call for call in calls if not call.done]:
                self._watch_writers()
                self._wait(min(min(call.deadline_at or call.thought_at, call.thought_at) for call in waiting))
                self._look_at_clock(waiting)
                if any(call.forfeited for call in calls):
                    break
        finally:
            for call in calls:
                if not call.done:
                    call.operator.withdraw(call)
        self._hints.mail.collect(calls, step_index)
        return calls

    def _look_at_clock(self, calls: Sequence[Call]) -> None:
        now = time.perf_counter()
        for call in calls:
            if call.done:
                continue
            if call.deadline_at is not None and now >= call.deadline_at:
                try:
                    call.be_late(call.operator.log_tail)
                finally:
                    if call.done:
                        call.operator.withdraw(call)
            if not call.done and now >= call.thought_at:
                call.thought_at += NEXT_THOUGHT
                self._kernel.tell(
                    {
                        "type": "thinking",
                        "agent": call.agent,
                        "operator": call.operator.key,
                        "seconds": round(now - call.began, 3),
                    }
                )

    def _show(self, call: Call, text: str) -> None:
        """Send viewers what the model of a call has written so far; for what a flood of it is, the last."""
        now = time.perf_counter()
        if self.shows_partials and now - call.shown_at >= _SHOW_SECONDS:
            call.shown_at = now
            who = {"agent": call.agent, "operator": call.operator.key}
            self._kernel.tell({"type": "partial", **who, "text": text[-_SHOWN_CHARACTERS:]})

    def descriptions(self, agents: Sequence[str]) -> dict[str, Any]:
        """The state as it is described to those of these agents whose operators are in the kernel and need
        that: people look at it before they act. Raises `ArenaError`."""
        found = {}
        for agent in agents:
            operator = self.of_agent[agent]
            if isinstance(operator, KernelOperator) and DESCRIPTION in operator.needs:
                found[agent] = self._hints.described(agent)
        return {agent: described for agent, described in found.items() if described}

    def answer(self, message: Mapping[str, Any]) -> None:
        """Take the kernel's answer to a question; one that nobody waits for is dropped."""
        any(op.take(message) for op in self.operators.values() if isinstance(op, KernelOperator))

    # ------------------------------------------------------------------ waiting

    def glance(self) -> None:
        """Take what has come, without waiting. Raises `Abandoned` when the kernel wants something else."""
        self._wait(0.0)

    def pause(self, seconds: float) -> None:
        """Let so much time pass. Raises `Abandoned` when the kernel wants something else."""
        self._pulse.enter(PAUSE)
        until = time.perf_counter() + seconds
        self._kernel.check()
        while time.perf_counter() < until:
            self._watch_writers()
            self._wait(until)

    def _wait(self, until: float) -> None:
        """Wait until then (`time.perf_counter`) for something to happen, and deal with it."""
        again = self._idle()
        seconds = until - time.perf_counter()
        if again is not None:
            seconds = min(seconds, again)
        for descriptor, _ in self._poll.poll(max(0.0, 1e3 * seconds)):
            process = self._readers.get(descriptor)
            if process is not None:
                try:
                    process.pump()
                finally:
                    if process.incoming.ended:
                        self._ignore(process)
            elif descriptor == self._kernel.descriptor:
                for message in self._kernel.read_while_waiting():
                    self.answer(message)
            elif descriptor in self._writers:
                self._writers[descriptor].outgoing.push()

    def _watch_writers(self) -> None:
        """Have poll say when a process takes more of what it is sent, where something waits."""
        for process in self._readers.values():
            descriptor = process.outgoing.descriptor
            if bool(process.outgoing.waiting) is (descriptor in self._writers):
                continue
            if process.outgoing.waiting:
                self._writers[descriptor] = process
                self._poll.register(descriptor, select.POLLOUT)
            else:
                del self._writers[descriptor]
                self._poll.unregister(descriptor)

    def _ignore(self, process: ProcessOperator) -> None:
        for table, descriptor in (
            (self._readers, process.incoming.descriptor),
            (self._writers, process.outgoing.descriptor),
        ):
            if table.pop(descriptor, None) is not None:
                self._poll.unregister(descriptor)

    def _answers(
        self, expected: Mapping[ProcessOperator, int], until: float
    ) -> dict[ProcessOperator, list[Mapping[str, Any]]]:
        """Wait for so many answers of each process."""
        while any(len(process.answers) < count for process, count in expected.items()):
            if time.perf_counter() > until:
                late = next(process for process, count in expected.items() if len(process.answers) < count)
                raise ArenaError(
                    f"{late.name} gave no answer within {START_SECONDS:g} s",
                    operator=late.key,
                    error_type="late",
                    log=late.log_tail(),
                )
            self._watch_writers()
            self._wait(until)
        taken = {process: process.answers for process in expected}
        for process in expected:
            process.answers = []
        return taken

    # ------------------------------------------------------------------ start and stop

    def _start(self, key: str, spec: Mapping[str, Any]) -> None:
        if spec.get("command") is None:
            self.operators[key] = KernelOperator(key, spec, self._kernel.tell)
            return
        if spec.get("inside") and self._inside is not None:
            self.operators[key] = InsideOperator(key, spec, *self._inside)
            return
        self._launch(key, spec)

    def _launch(self, key: str, spec: Mapping[str, Any], seed: int | None = None) -> ProcessOperator:
        """Start an operator's process; it takes the place of the one with this key."""
        process = ProcessOperator(key, spec, self._folder, self._show, seed)
        self.operators[key] = process
        self._readers[process.incoming.descriptor] = process
        self._poll.register(process.incoming.descriptor, select.POLLIN)
        return process

    def stop(self) -> None:
        """Ask all to stop, then kill: within 3 s none is left."""
        self._end(self.processes())
        for operator in self._insiders():
            operator.close()
        self.operators.clear()
        self.of_agent.clear()

    def _end(self, processes: Sequence[ProcessOperator]) -> None:
        """Have these leave, at the latest by SIGKILL."""
        for process in processes:
            self._ignore(process)
            process.ask_to_stop()
        for seconds, then in zip(_STOP_SECONDS, (signal.SIGTERM, signal.SIGKILL)):
            until = time.monotonic() + seconds
            for process in [process for process in processes if not process.wait(until)]:
                process.signal(then)
        for process in processes:
            process.wait(time.monotonic() + 0.5)
            process.signal(signal.SIGKILL)  # what it started and left behind
            process.release()


def _check(operators: Mapping[str, Any], seats: Mapping[str, str], agents: Sequence[str]) -> None:
    problems = [f"{agent} has no operator" for agent in agents if agent not in seats]
    problems += [f"there is no agent {agent}" for agent in seats if agent not in agents]
    problems += [
        f"{agent}: there is no operator {key!r}" for agent, key in seats.items() if key not in operators
    ]
    for key, spec in operators.items():
        fallback, deadline = spec.get("fallback") or "wait", spec.get("deadline")
        if fallback not in FALLBACKS:
            problems.append(f"{key}: fallback is one of {', '.join(FALLBACKS)}, not {fallback!r}")
        if deadline is not None and not (isinstance(deadline, (int, float)) and deadline > 0):
            problems.append(f"{key}: deadline is a number of seconds above 0, or null, not {deadline!r}")
    if problems:
        raise ArenaError("; ".join(problems), error_type="ConfigError")


def _greet(process: ProcessOperator, answer: Mapping[str, Any]) -> None:
    """A worker that does not know "hello" is spoken to in the plain protocol."""
    process.plain = answer.get("type") != "hello"
    process.takes_seed = process.plain and plain.takes_seed(process.spec)
    process.worker = str(answer.get("worker", ""))
    process.version = str(answer.get("version", ""))


def _introduction(about: Mapping[str, Any], process: Operator) -> dict[str, Any]:
    """What "init_agent" says. Its seed counts until an episode begins."""
    settings = {**about["settings"], **process.settings}
    seed = operator_seed(0, process.name, about["player_id"])
    message = {**about, "cmd": "init_agent", "seed": seed, "settings": settings}
    return plain.introduction(message) if process.plain else message


def _check_ready(process: Operator, agent: str, answer: Mapping[str, Any]) -> None:
    if answer.get("type") in ("agent_ready", "agent_initialized"):
        return
    text = answer.get("message") if answer.get("type") == "error" else f"answered with {answer!r:.300}"
    raise ArenaError(
        f"{process.name} cannot act for {agent}: {text}",
        agent=agent,
        operator=process.key,
        error_type=str(answer.get("error_type") or "garbage"),
        log=process.log_tail(),
    )
