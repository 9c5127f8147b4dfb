"""An arena: one environment and the operators that play in it, driven by commands of the kernel.

`open`, `seat`, `reset`, `step`, `episode` and `close` come as JSON lines, each is answered by one line (a
step or an episode that another command ends is not answered). Everything random in an episode follows from
its seed.
"""

from __future__ import annotations

import logging
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Mapping

from mosaic_contract.arena.calls import Call
from mosaic_contract.arena.environment_adapters import World, world_of
from mosaic_contract.arena.environment_factory import MakeEnvironment, made
from mosaic_contract.arena.environment_info import About, FactsOf
from mosaic_contract.arena.episode import Episode
from mosaic_contract.arena.errors import Abandoned, ArenaError, KernelGone
from mosaic_contract.arena.hints import Hints
from mosaic_contract.arena.kernel_channel import Kernel
from mosaic_contract.arena.operator_statistics import Tally
from mosaic_contract.arena.pictures import Pictures, seed_libraries
from mosaic_contract.arena.recording import Recording
from mosaic_contract.arena.seats import Seats
from mosaic_contract.arena.watchdog import OPERATORS, RESET, STEP, Pulse
from mosaic_contract.fastlane import Hud
from mosaic_contract.messages import PROTOCOL
from mosaic_contract.operators import Describe, Operate

_GLANCE_STEPS = 64  # of an episode, between looks at what the kernel wants, if no operator is waited for

log = logging.getLogger("mosaic_contract")


class Arena:
    """What lives from `open` to `close`. `make` is the shim's, `facts_of` (env, agent) too, and so is
    `inside`, what makes operators in this process."""

    def __init__(
        self,
        kernel: Kernel,
        worker: tuple[str, str],
        make: MakeEnvironment,
        facts_of: FactsOf | None,
        inside: tuple[Describe, Operate] | None = None,
    ) -> None:
        self._inside = inside
        self._kernel = kernel
        self._worker = worker
        self._make = make
        self._facts_of = facts_of
        self._world: World | None = None
        self._seats: Seats | None = None
        self._seated: Mapping[str, str] = {}
        self._pictures: Pictures | None = None
        self._recording: Recording | None = None
        self._episode: Episode | None = None
        self._calls: list[Call] = []
        self._about: About | None = None
        self._opening: Mapping[str, Any] = {}
        self._pulse = Pulse(kernel.tell, lambda: self._episode.steps if self._episode is not None else 0)

    def serve(self) -> None:
        """Do commands until `close`. Raises `KernelGone` when no more can come."""
        commands = {
            "open": self._open,
            "seat": self._seat,
            "reset": self._reset,
            "step": self._step,
            "episode": self._play_episode,
        }
        pulsed = ("reset", "step", "episode")  # the others have limits of their own
        while True:
            command = self._kernel.command(self._idle())
            if command is None:
                continue
            name = str(command.get("cmd"))
            if name == "close":
                return
            if name == "answer":  # to a question that was withdrawn meanwhile
                continue
            try:
                if name not in commands:
                    raise ArenaError(
                        f"unknown command {name!r:.100}; known: {', '.join([*commands, 'close'])}"
                    )
                with self._pulse.command(name) if name in pulsed else nullcontext():
                    commands[name](command)
            except Abandoned:
                log.info("the %s was abandoned", name)
            except KernelGone:
                raise
            except ArenaError as error:
                self._fail(name, error)
            except Exception as error:  # observations that cannot be sent, commands that lack something
                self._fail(name, ArenaError.of_environment(f"{name} failed", error))

    def _fail(self, command: str, error: ArenaError) -> None:
        log.warning("%s failed: %s", command, error)
        self._kernel.tell(error.to_message(command))

    def close(self, reason: str | None) -> None:
        """Stop the operators, write the end, remove the frames. `reason`: why, where nobody asked for it."""
        self._pulse.stop()
        if self._seats is not None:
            self._seats.stop()
        if self._recording is not None:
            self._recording.close(reason)
        if self._pictures is not None:
            self._pictures.close()
        if self._world is not None:
            try:
                self._world.close()
            except Exception:
                log.warning("the environment did not close", exc_info=True)

    # ------------------------------------------------------------------ open

    def _open(self, command: Mapping[str, Any]) -> None:
        if self._world is not None:
            raise ArenaError("this arena is open already")
        if command.get("protocol", PROTOCOL) != PROTOCOL:
            raise ArenaError(f"this arena speaks protocol {PROTOCOL}, not {command['protocol']!r}")
        self._opening = command
        env_id, settings = str(command["env_id"]), command.get("settings") or {}
        env, why_not = made(self._make, env_id, settings)
        try:
            world = world_of(env)
            about = About(env_id, world, self._facts_of)
        except Exception as error:  # whatever an environment's own code raises
            raise ArenaError.of_environment(f"{env_id} cannot be used", error) from error
        folder = Path(command["folder"])
        folder.mkdir(parents=True, exist_ok=True)
        self._world, self._about = world, about
        self._pictures = Pictures(folder, world, why_not, self._hud, self._pulse)
        self._seats = Seats(self._kernel, folder, self._idle, self._pulse, self._inside)
        self._pulse.start(command.get("step_timeout"))
        self._kernel.tell(about.opened(self._pictures.ended, dict([self._worker])))

    # ------------------------------------------------------------------ seat

    def _seat(self, command: Mapping[str, Any]) -> None:
        world, seats, about = self._parts()
        seats.stop()
        operators, seated = command.get("operators") or {}, command.get("seats") or {}
        introductions = {agent: about.introduction(agent) for agent in world.agents}
        assert self._pictures is not None, "they are made with the seats"
        hints = Hints(world, about, self._pictures)
        told = seats.take(operators, seated, world.agents, introductions, hints)
        self._episode = None
        env_id, settings = self._opening["env_id"], self._opening.get("settings") or {}
        if self._recording is None:
            folder = Path(self._opening["folder"])
            self._recording = Recording(folder, str(self._opening.get("run_id", "")))
            self._recording.started(self._worker[0], env_id, settings, seats.operators, seated)
        self._kernel.tell({"type": "seated", "operators": told})

    # ------------------------------------------------------------------ reset and step

    def _reset(self, command: Mapping[str, Any]) -> None:
        episode = self._begin(command)
        world, seats, _ = self._parts()
        begun = {"seed": episode.seed, "episode_index": episode.index, "step_index": 0, "turn": world.turn}
        self._kernel.tell({"type": "ready", **begun, **_described(seats, world)})
        self._changed()

    def _begin(self, command: Mapping[str, Any]) -> Episode:
        world, seats, _ = self._parts()
        if not seats.of_agent:
            raise ArenaError("nobody sits in this arena yet: seat comes first")
        seed, index = _seed(command.get("seed")), command.get("episode_index", 0)
        operator_seed = _seed(command.get("operator_seed", seed))
        self._episode = None
        self._pulse.enter(RESET)
        seed_libraries(seed)
        try:
            world.reset(seed)
        except Exception as error:  # whatever an environment's own code raises
            raise ArenaError.of_environment("the environment's reset failed", error) from error
        self._episode = episode = Episode(index, seed, world.agents, self._opening.get("max_steps"))
        self._calls = []
        self._pulse.enter(OPERATORS)
        seats.begin_episode(operator_seed, index)
        return episode

    def _step(self, command: Mapping[str, Any]) -> None:
        world, seats, _ = self._parts()
        seats.shows_partials = True
        if self._recording is not None:
            self._recording.hold = False
        episode = self._episode
        if episode is None:
            raise ArenaError("there is no episode: reset comes first")
        if episode.done:
            raise ArenaError("the episode has ended: reset begins another")
        calls = self._advance(episode)
        self._record(episode, calls)  # first: who has been told of a step finds it written down
        self._kernel.tell(self._stepped(episode, world, calls))
        self._changed()
        if episode.done and self._pictures is not None:
            self._pictures.ended_episode()

    def _play_episode(self, command: Mapping[str, Any]) -> None:
        """A whole episode, and only its end is told; `step_delay` seconds before each step, for watching."""
        _, seats, _ = self._parts()
        delay = float(command.get("step_delay") or 0.0)
        episode = self._begin(command)
        seats.shows_partials = False
        tally = Tally(seats.operators)
        self._changed()
        assert self._recording is not None, "it is made when the seats are taken"
        self._recording.hold = not delay
        while not episode.done:
            if delay:
                seats.pause(delay)
            elif not episode.steps % _GLANCE_STEPS:
                seats.glance()
            calls = self._advance(episode)
            tally.add(calls)
            self._record(episode, calls)
            self._changed()
        told = {**episode.to_message(), "operators": tally.to_message()}
        self._kernel.tell({"type": "played", "episode": told})

    def _advance(self, episode: Episode) -> list[Call]:
        """One step of all whose turn it is."""
        world, seats, about = self._parts()
        episode.begin()
        calls = seats.decide(world, about.rules, episode.steps)
        self._pulse.enter(STEP)
        episode.count_faults(calls)
        if episode.forfeit is not None:
            world.rewards = dict.fromkeys(world.agents, 0.0)
            episode.give_up()
        else:
            self._play(world, calls)
            episode.advance(world)
        self._calls = calls
        if episode.done:
            self._pulse.enter(OPERATORS)
            seats.end_episode(episode.returns, episode.steps)
        return calls

    def _record(self, episode: Episode, calls: list[Call]) -> None:
        """Write the step down."""
        world, seats, _ = self._parts()
        assert self._recording is not None, "it is made when the seats are taken"
        if episode.forfeit is None:
            self._recording.step(episode, world, calls)
        if episode.done:
            self._recording.episode(episode, seats.of_agent, world)

    def _play(self, world: World, calls: list[Call]) -> None:
        try:
            world.step({call.agent: call.action for call in calls})
        except Exception as error:  # whatever an environment's own code raises
            self._episode = None
            raise ArenaError.of_environment("the environment's step failed", error) from error

    def _stepped(self, episode: Episode, world: World, calls: list[Call]) -> dict[str, Any]:
        return {
            "type": "stepped",
            "episode_index": episode.index,
            "step_index": episode.steps,
            "moves": [call.to_move() for call in calls if call.done],
            "rewards": world.rewards,
            "returns": episode.returns,
            "turn": [] if episode.done else world.turn,
            "terminated": episode.terminated,
            "truncated": episode.truncated,
            "done": episode.done,
            "episode": episode.to_message() if episode.done else None,
            **({} if episode.done else _described(self._parts()[1], world)),
        }

    def _parts(self) -> tuple[World, Seats, About]:
        if self._world is None or self._seats is None or self._about is None:
            raise ArenaError("there is no environment yet: open comes first")
        return self._world, self._seats, self._about

    # ------------------------------------------------------------------ frames

    def _changed(self) -> None:
        if self._pictures is not None:
            self._pictures.changed()

    def _idle(self) -> float | None:
        return self._pictures.idle() if self._pictures is not None else None

    def _hud(self) -> Hud:
        episode, world = self._episode, self._world
        if episode is None or world is None:
            return Hud()
        several = len(self._calls) > 1
        texts = [
            f"{call.agent}: {call.rules.named(call.action)}" if several else call.rules.named(call.action)
            for call in self._calls
        ]
        return Hud(
            episode=episode.index,
            step=episode.steps,
            reward=sum(world.rewards.values()),
            episode_return=sum(episode.returns.values()),
            agent=", ".join(call.agent for call in self._calls) if len(episode.returns) > 1 else "",
            text=", ".join(texts),
        )


def _described(seats: Seats, world: World) -> dict[str, Any]:
    """The field of a message that says what people see who act next, where there is something to say."""
    found = seats.descriptions(world.turn)
    return {"descriptions": found} if found else {}


def _seed(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ArenaError(f"seed is an integer from 0, not {value!r:.100}")
    return int(value)
