"""Episodes that are played together: one request to their operator selects the actions of all, and then each
environment is stepped.

An episode depends neither on the others nor on their number: it has its own environment, and its own agent in
the operator's process. Any failure, such as an illegal action, ends all of them with an `ArenaError`. The
kernel then plays them one at a time, where failures are handled and reported.
"""

from __future__ import annotations

import random
import sys
import time
from typing import Any, Callable, Iterator, Mapping, Sequence

from mosaic_contract.arena.actions import ActionRules
from mosaic_contract.arena.arena_telemetry import ArenaTelemetry
from mosaic_contract.arena.calls import Call
from mosaic_contract.arena.channels import KernelChannel
from mosaic_contract.arena.environment_adapters import EnvironmentAdapter
from mosaic_contract.arena.episode import ArenaEpisode, OperatorStatistics, seeds_of
from mosaic_contract.arena.errors import ArenaError
from mosaic_contract.arena.seats import Seats
from mosaic_contract.messages import ALONE

Reset = Callable[[Mapping[str, Any], EnvironmentAdapter], ArenaEpisode]
Step = Callable[[EnvironmentAdapter, Sequence[Call]], None]


def names_of_batch(count: int) -> list[str]:
    """Return the names of a batch's agents in the operator's process."""
    return [ALONE, *(f"{ALONE}#{number}" for number in range(1, count))]


class Member:
    """An environment of a batch, its agent, and its current episode with the time spent on it."""

    episode: ArenaEpisode | None = None
    statistics: OperatorStatistics
    seconds = 0.0

    def __init__(self, agent: str, environment: EnvironmentAdapter) -> None:
        self.agent, self.environment = agent, environment


class Batch:
    """A batch of up to `size` environments of one agent. `make` creates further environments like the `first`
    when they are needed. `reset` begins a command's episode in one of them; `step` plays actions in one."""

    def __init__(
        self,
        size: int,
        first: EnvironmentAdapter,
        rules: ActionRules,
        seats: Seats,
        telemetry: ArenaTelemetry,
        make: Callable[[], EnvironmentAdapter],
        reset: Reset,
        step: Step,
    ) -> None:
        self.steps = 0
        """Steps of all episodes so far."""
        self.calls: list[Call] = []
        """The latest call of the first environment."""
        self.members = [Member(ALONE, first)]
        self._names = names_of_batch(size)
        self._rules, self._seats, self._telemetry = rules, seats, telemetry
        self._make, self._reset, self._step = make, reset, step
        self._operator = seats.of_agent[ALONE]
        self._generators: tuple[Any, Any] | None = None

    def play(self, command: Mapping[str, Any], kernel: KernelChannel) -> Iterator[None]:
        """Play the episode of this command and of every command that arrives meanwhile, and report each one's
        end. Yield after each step."""
        self._telemetry.hold = True
        for member in self.members:
            member.episode = None  # left over from a command that ended early
        waiting: Mapping[str, Any] | None = command
        while waiting is not None or any(member.episode for member in self.members):
            while waiting is not None and (free := self._free()) is not None:
                self._begin(free, waiting)
                waiting = kernel.received("episode")
            for episode in self._advance():
                kernel.send({"type": "played", "episode": episode})
            yield
            waiting = waiting or kernel.received("episode")

    def _free(self) -> Member | None:
        """Return a member without an episode; None if every environment is in use."""
        for member in self.members:
            if member.episode is None:
                return member
        if len(self.members) == len(self._names):
            return None
        self._check_generators()
        self.members.append(Member(self._names[len(self.members)], self._make()))
        self._generators = None  # creating an environment may use them
        return self.members[-1]

    def _begin(self, member: Member, command: Mapping[str, Any]) -> None:
        self._check_generators()
        _, seed = seeds_of(command)
        member.episode, member.seconds = self._reset(command, member.environment), 0.0
        member.statistics = OperatorStatistics([self._operator.key])
        self._seats.begin_episode_of(member.agent, seed, member.episode.index)
        self._generators = _generators()

    def _advance(self) -> list[Mapping[str, Any]]:
        """Advance all episodes by one step; return the messages about those that have ended."""
        began = time.perf_counter()
        playing = [member for member in self.members if member.episode is not None]
        calls = []
        for member in playing:
            assert member.episode is not None
            observed = member.environment.observe(ALONE)
            calls.append(Call(ALONE, self._operator, self._rules, observed, member.episode.steps))
        answers = self._seats.decide_together(
            [member.agent for member in playing],
            [call.observed for call in calls],
            [call.step_index for call in calls],
        )
        seconds = (time.perf_counter() - began) / len(playing)
        ended = []
        for member, call, action in zip(playing, calls, answers):
            call.take_action(action, seconds)
            if (message := self._play(member, call)) is not None:
                ended.append(message)
        if ended:
            self._check_generators()
        return ended

    def _play(self, member: Member, call: Call) -> Mapping[str, Any] | None:
        environment, episode, calls = member.environment, member.episode, [call]
        assert episode is not None
        began = time.perf_counter()
        self._step(environment, calls)
        episode.advance(environment)
        member.statistics.add(calls)
        self.steps += 1
        self._telemetry.step(episode, environment, calls)
        member.seconds += call.seconds + time.perf_counter() - began
        if member is self.members[0]:
            self.calls = calls
        if not episode.done:
            return None
        member.episode, episode.seconds = None, member.seconds
        self._telemetry.episode(episode, self._seats.of_agent, environment)
        self._operator.end_episode(member.agent, episode.returns[ALONE], episode.steps)
        return {**episode.to_message(), "operators": member.statistics.to_message()}

    def _check_generators(self) -> None:
        """Raise `ArenaError` if a step has used the global generators of Python or NumPy: in a batch, its
        random numbers would depend on the other episodes."""
        pairs = zip(self._generators or (), _generators())
        if any(before is not None and before != now for before, now in pairs):
            raise ArenaError("the environment uses the global random generators: it is played alone")


def _generators() -> tuple[Any, Any]:
    """Return the states of the global generators of Python and, once it is imported, NumPy."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return random.getstate(), None
    _, keys, *scalars = numpy.random.get_state()
    return random.getstate(), (keys.tobytes(), scalars)
