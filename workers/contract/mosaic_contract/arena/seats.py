"""The operators of an arena and their agents.

All operators that must act receive their requests before the first answer is awaited, so they think
concurrently. While waiting, an arena also reads from the kernel and renders due frames for viewers.
"""

from __future__ import annotations

import select
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Mapping, Sequence

from mosaic_contract.arena.actions import ActionRules
from mosaic_contract.arena.calls import FALLBACKS, REPORT_INTERVAL, Call
from mosaic_contract.arena.channels import KernelChannel
from mosaic_contract.arena.environment_adapters import AgentObservation, EnvironmentAdapter
from mosaic_contract.arena.errors import ArenaError
from mosaic_contract.arena.hints import DESCRIPTION, Hints
from mosaic_contract.arena.operators import ArenaOperator, InProcessOperator, KernelOperator, sendable
from mosaic_contract.arena.process_operator import ProcessOperator
from mosaic_contract.arena.watchdog import OPERATORS, PAUSE, STEP, Watchdog
from mosaic_contract.arrays import pack, pack_rows, unpack
from mosaic_contract.messages import ALONE
from mosaic_contract.operators import Describe, Operate
from mosaic_contract.priority import scaled_deadline
from mosaic_contract.seeds import operator_seed

_SHOW_SECONDS = 0.1  # minimum interval of two partial texts of a call; this project's operators send fewer
_SHOWN_CHARACTERS = 20_000
_START_SECONDS = 120.0  # for "hello" and the making of agents, which may import a large library
_STOP_SECONDS = (1.5, 0.7)  # after the command, after SIGTERM; then SIGKILL


def start_seconds() -> float:
    """Return how long operators may take to start, given the priority of arena and operators."""
    return scaled_deadline(_START_SECONDS)


class OperatorPoll:
    """A poll of the kernel and all operator processes. `idle` is called while waiting and returns the seconds
    until its next call (None: never); `answer` handles an answer of the kernel."""

    def __init__(
        self,
        kernel: KernelChannel,
        idle: Callable[[], float | None],
        answer: Callable[[Mapping[str, Any]], None],
    ) -> None:
        self._kernel = kernel
        self._idle = idle
        self._answer = answer
        self._poll = select.poll()
        self._readers: dict[int, ProcessOperator] = {}
        self._writers: dict[int, ProcessOperator] = {}
        self._poll.register(kernel.descriptor, select.POLLIN)

    def add(self, process: ProcessOperator) -> None:
        """Wait for this process too."""
        self._readers[process.incoming.descriptor] = process
        self._poll.register(process.incoming.descriptor, select.POLLIN)

    def wait(self, deadline: float) -> None:
        """Wait for an event until `deadline` (`time.perf_counter`) and handle it. Raises `Abandoned` if the
        kernel sends another command, and `ArenaError`."""
        idle_seconds = self._idle()
        seconds = deadline - time.perf_counter()
        if idle_seconds is not None:
            seconds = min(seconds, idle_seconds)
        for descriptor, _ in self._poll.poll(max(0.0, 1e3 * seconds)):
            process = self._readers.get(descriptor)
            if process is not None:
                try:
                    process.pump()
                finally:
                    if process.incoming.ended:
                        self.remove(process)
            elif descriptor == self._kernel.descriptor:
                for message in self._kernel.read_while_waiting():
                    self._answer(message)
            elif descriptor in self._writers:
                self._writers[descriptor].outgoing.push()

    def watch_writable(self) -> None:
        """Watch the stdin of processes with unsent data."""
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

    def remove(self, process: ProcessOperator) -> None:
        """Stop waiting for this process."""
        for table, descriptor in (
            (self._readers, process.incoming.descriptor),
            (self._writers, process.outgoing.descriptor),
        ):
            if table.pop(descriptor, None) is not None:
                self._poll.unregister(descriptor)

    def answers(
        self, expected: Mapping[ProcessOperator, int], deadline: float
    ) -> dict[ProcessOperator, list[Mapping[str, Any]]]:
        """Wait until the deadline for a number of answers from each process. Raises `ArenaError`."""
        while any(len(process.answers) < count for process, count in expected.items()):
            if time.perf_counter() > deadline:
                late = next(process for process, count in expected.items() if len(process.answers) < count)
                raise late.error(f"gave no answer within {start_seconds():.0f} s", "late")
            self.watch_writable()
            self.wait(deadline)
        received = {process: process.answers for process in expected}
        for process in expected:
            process.answers = []
        return received


class Seats:
    """The operators by key, and their agents. `idle` is as in `OperatorPoll`; `watchdog` is notified of the
    current activity. `in_process_worker` makes operators in this process, if possible."""

    def __init__(
        self,
        kernel: KernelChannel,
        folder: Path,
        idle: Callable[[], float | None],
        watchdog: Watchdog,
        in_process_worker: tuple[Describe, Operate] | None = None,
    ) -> None:
        self._kernel = kernel
        self._in_process_worker = in_process_worker
        self._folder = folder
        self._watchdog = watchdog
        self._introductions: Mapping[str, Mapping[str, Any]] = {}
        self.shows_partials = False
        """Whether viewers follow single steps, and therefore see partial texts of models."""
        self.operators: dict[str, ArenaOperator] = {}
        self.of_agent: dict[str, ArenaOperator] = {}
        self._hints: Hints
        self._poll = OperatorPoll(kernel, idle, self.answer)

    # ------------------------------------------------------------------ taking seats

    def fill(
        self,
        operators: Mapping[str, Any],
        seats: Mapping[str, str],
        agents: Sequence[str],
        introductions: Mapping[str, Mapping[str, Any]],
        hints: Hints,
    ) -> dict[str, Any]:
        """Start the operators, send hello, and let each make its agents.

        `introductions` are the fields of "init_agent" by agent, `hints` the additional inputs of
        observations. Return the operators for the answer to "seat". Raises `ArenaError`.
        """
        _check(operators, seats, agents)
        self._introductions, self._hints = introductions, hints
        try:
            for key, spec in operators.items():
                self._start(key, spec)
                hints.check(self.operators[key])
            for agent, key in seats.items():
                self.of_agent[agent] = self.operators[key]
                self.operators[key].agents.append(agent)
            deadline = time.perf_counter() + start_seconds()
            processes = self.processes()
            for process in processes:
                process.send_hello()
            for process, (answer,) in self._poll.answers(dict.fromkeys(processes, 1), deadline).items():
                process.handle_hello(answer)
            self._introduce(processes, deadline)
            for operator in self._in_process_operators():
                for agent in operator.agents:
                    ready = operator.command(operator.introduction(introductions[agent]))
                    operator.check_ready(agent, ready)
        except BaseException:
            self.stop()
            raise
        return {
            key: {"worker": operator.worker, "version": operator.version, "plain": operator.plain}
            for key, operator in self.operators.items()
        }

    def _introduce(self, processes: Sequence[ProcessOperator], deadline: float) -> None:
        """Let these processes make their agents. Raises `ArenaError`."""
        for process in processes:
            for agent in process.agents:
                process.send_request(process.introduction(self._introductions[agent]), "ready")
        expected = {process: len(process.agents) for process in processes}
        for process, answers in self._poll.answers(expected, deadline).items():
            for agent, answer in zip(process.agents, answers):
                process.check_ready(agent, answer)

    def processes(self) -> list[ProcessOperator]:
        return [operator for operator in self.operators.values() if isinstance(operator, ProcessOperator)]

    def _in_process_operators(self) -> list[InProcessOperator]:
        return [operator for operator in self.operators.values() if isinstance(operator, InProcessOperator)]

    def begin_episode(self, seed: int, episode_index: int) -> None:
        """Announce the episode to all operators, each with its `operator_seed` derived from `seed`."""
        self._hints.mailboxes.clear()
        for process in self.processes():
            process.abandon_calls()
        self._restart_seeded(seed)
        for agent, operator in self.of_agent.items():
            operator.begin_episode(agent, operator_seed(seed, operator.name, agent), episode_index)
        self._poll.watch_writable()

    def begin_episode_of(self, agent: str, seed: int, episode_index: int) -> None:
        """Announce the episode of one agent of a batch to its operator."""
        operator = self.of_agent[agent]
        operator.begin_episode(agent, operator_seed(seed, operator.name, ALONE), episode_index)

    def _restart_seeded(self, seed: int) -> None:
        """Restart the operators that take a seed only on their command line, with a seed for the episode."""
        restarted = []
        for previous in [process for process in self.processes() if process.takes_seed]:
            process_seed = operator_seed(seed, previous.name, previous.agents[0])
            process = self._launch(previous.key, previous.spec, process_seed)
            process.plain = process.takes_seed = True
            process.agents = previous.agents
            self.of_agent.update(dict.fromkeys(process.agents, process))
            self._end([previous])
            restarted.append(process)
        self._introduce(restarted, time.perf_counter() + start_seconds())

    def end_episode(self, returns: Mapping[str, float], steps: int) -> None:
        for agent, operator in self.of_agent.items():
            operator.end_episode(agent, returns[agent], steps)
        self._poll.watch_writable()

    # ------------------------------------------------------------------ requests

    def decide(
        self,
        environment: EnvironmentAdapter,
        rules: Mapping[str, ActionRules],
        step_index: int,
        held: Mapping[str, Mapping[str, Any]],
    ) -> list[Call]:
        """Request an action from every agent whose turn it is and wait until all have answered or one
        forfeits. `held` are answers that are known already. Raises `ArenaError`, and `Abandoned` if the
        kernel sends another command."""
        calls: list[Call] = []
        self._kernel.check()
        self._hints.begin_step()
        try:
            for agent in environment.turn:
                operator = self.of_agent[agent]
                self._watchdog.enter(STEP)
                call = Call(agent, operator, rules[agent], environment.observe(agent), step_index)
                calls.append(call)
                call.extras = self._hints.gather(agent, operator)
                self._watchdog.enter(OPERATORS)
                if agent in held:
                    KernelOperator.settle(call, held[agent])
                else:
                    operator.request(call)
            while waiting := [call for call in calls if not call.done]:
                self._poll.watch_writable()
                self._poll.wait(
                    min(min(call.deadline_at or call.next_report, call.next_report) for call in waiting)
                )
                self._check_deadlines(waiting)
                if any(call.forfeited for call in calls):
                    break
        finally:
            for call in calls:
                if not call.done:
                    call.operator.withdraw(call)
        self._hints.mailboxes.collect(calls, step_index)
        return calls

    def decide_together(
        self, agents: Sequence[str], observed: Sequence[AgentObservation], step_indices: Sequence[int]
    ) -> Sequence[Any]:
        """Return the actions of agents of one operator, each in an episode of its own. Raises `ArenaError`,
        and `Abandoned`."""
        operator = self.of_agent[agents[0]]
        observations = [None if operator.ignores_observations else entry.observation for entry in observed]
        message: dict[str, Any] = {
            "cmd": "select_actions",
            "player_ids": agents,
            "observations": pack_rows(observations),
            "step_indices": step_indices,
        }
        if any(entry.mask is not None for entry in observed):
            message["action_masks"] = [pack(entry.mask) for entry in observed]
        if any(entry.info for entry in observed):
            message["infos"] = [sendable(entry.info) if entry.info else None for entry in observed]
        self._watchdog.enter(OPERATORS)
        if isinstance(operator, InProcessOperator):
            answer = operator.perform(message)
        else:
            assert isinstance(operator, ProcessOperator)
            operator.send_request(message, "actions_selected")
            if operator.incoming.ended or operator.outgoing.broken:
                raise operator.death()
            deadline = time.perf_counter() + (operator.deadline or start_seconds())
            ((answer,),) = self._poll.answers({operator: 1}, deadline).values()
        if answer.get("type") != "actions_selected":
            raise operator.error(str(answer.get("message")), str(answer.get("error_type") or "error"))
        actions = unpack(answer["actions"])
        if len(actions) != len(agents):
            raise operator.error(
                f"answered with {len(actions)} actions for {len(agents)} observations", "garbage"
            )
        return actions.tolist() if getattr(actions, "ndim", 0) == 1 else actions

    def _check_deadlines(self, calls: Sequence[Call]) -> None:
        now = time.perf_counter()
        for call in calls:
            if call.done:
                continue
            if call.deadline_at is not None and now >= call.deadline_at:
                try:
                    call.expire()
                finally:
                    if call.done:
                        call.operator.withdraw(call)
            if not call.done and now >= call.next_report:
                call.next_report += REPORT_INTERVAL
                labels = {"agent": call.agent, "operator": call.operator.key}
                self._kernel.send({"type": "thinking", **labels, "seconds": round(now - call.began, 3)})

    def _show(self, call: Call, text: str) -> None:
        """Send viewers the partial text of a call's model; only its last part if it is long."""
        now = time.perf_counter()
        if self.shows_partials and now - call.shown_at >= _SHOW_SECONDS:
            call.shown_at = now
            labels = {"agent": call.agent, "operator": call.operator.key}
            self._kernel.send({"type": "partial", **labels, "text": text[-_SHOWN_CHARACTERS:]})

    def descriptions(self, agents: Sequence[str]) -> dict[str, Any]:
        """Return the described state for each of `agents` with an operator in the kernel that needs it, for
        human players to read before they act. Raises `ArenaError`."""
        descriptions = {}
        for agent in agents:
            operator = self.of_agent[agent]
            if isinstance(operator, KernelOperator) and DESCRIPTION in operator.needs:
                state = self._hints.describe_state(agent) or {}
                descriptions[agent] = {**self._hints.mission(agent), **state}
        return {agent: described for agent, described in descriptions.items() if described}

    def answer(self, message: Mapping[str, Any]) -> None:
        """Handle the kernel's answer to a request; an answer that is not awaited is dropped."""
        for operator in self.operators.values():
            if isinstance(operator, KernelOperator) and operator.settle_answer(message):
                return

    # ------------------------------------------------------------------ waiting

    def handle_pending(self) -> None:
        """Handle received messages without waiting. Raises `Abandoned` if the kernel sends another
        command."""
        self._poll.wait(0.0)

    def pause(self, seconds: float) -> None:
        """Wait for the given time. Raises `Abandoned` if the kernel sends another command."""
        self._watchdog.enter(PAUSE)
        end_time = time.perf_counter() + seconds
        self._kernel.check()
        while time.perf_counter() < end_time:
            self._poll.watch_writable()
            self._poll.wait(end_time)

    # ------------------------------------------------------------------ start and stop

    def _start(self, key: str, spec: Mapping[str, Any]) -> None:
        if spec.get("command") is None:
            self.operators[key] = KernelOperator(key, spec, self._kernel.send)
            return
        if spec.get("inside") and self._in_process_worker is not None:
            self.operators[key] = InProcessOperator(key, spec, *self._in_process_worker)
            return
        self._launch(key, spec)

    def _launch(self, key: str, spec: Mapping[str, Any], seed: int | None = None) -> ProcessOperator:
        """Start an operator's process; it replaces the operator with this key."""
        process = ProcessOperator(key, spec, self._folder, self._show, seed)
        self.operators[key] = process
        self._poll.add(process)
        return process

    def stop(self) -> None:
        """Stop all operators. Those still running after 2.2 s are killed."""
        self._end(self.processes())
        for operator in self._in_process_operators():
            operator.close()
        self.operators.clear()
        self.of_agent.clear()

    def _end(self, processes: Sequence[ProcessOperator]) -> None:
        """End these processes; kill those that remain."""
        for process in processes:
            self._poll.remove(process)
            process.process.send_stop()
        for seconds, signum in zip(_STOP_SECONDS, (signal.SIGTERM, signal.SIGKILL)):
            deadline = time.monotonic() + seconds
            for process in [process for process in processes if not process.process.wait(deadline)]:
                process.process.signal(signum)
        for process in processes:
            process.process.wait(time.monotonic() + 0.5)
            process.process.signal(signal.SIGKILL)  # descendants that it left behind
            process.process.release()


def _check(operators: Mapping[str, Any], seats: Mapping[str, str], agents: Sequence[str]) -> None:
    problems = [f"{agent} has no operator" for agent in agents if agent not in seats]
    problems += [f"there is no agent {agent}" for agent in seats if agent not in agents]
    problems += [
        f"{agent}: there is no operator {key!r}" for agent, key in seats.items() if key not in operators
    ]
    for key, spec in operators.items():
        fallback, deadline = spec.get("fallback") or "wait", spec.get("deadline")
        if fallback not in FALLBACKS:
            problems.append(f"{key}: fallback must be one of {', '.join(FALLBACKS)}, not {fallback!r}")
        if deadline is not None and not (isinstance(deadline, (int, float)) and deadline > 0):
            problems.append(f"{key}: deadline must be a number of seconds > 0, or null, not {deadline!r}")
    if problems:
        raise ArenaError("; ".join(problems), error_type="ConfigError")
