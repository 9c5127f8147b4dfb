"""An arena: one environment and the operators that play in it, controlled by commands from the kernel.

`open`, `seat`, `reset`, `step`, `episode`, `replay` and `close` arrive as JSON lines, and each is answered by
one line, except a step or an episode that another command ends. All randomness in an episode is derived from
its seed.
"""

from __future__ import annotations

import functools
import logging
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping, Sequence

from mosaic_contract.arena.arena_telemetry import ArenaTelemetry
from mosaic_contract.arena.batch import Batch, names_of_batch
from mosaic_contract.arena.calls import Call
from mosaic_contract.arena.channels import KernelChannel
from mosaic_contract.arena.environment_adapters import EnvironmentAdapter, adapt
from mosaic_contract.arena.environment_description import EnvironmentDescription, FactsOf
from mosaic_contract.arena.environment_factory import MakeEnvironment, make_with_frames
from mosaic_contract.arena.episode import ArenaEpisode, OperatorStatistics, seeds_of
from mosaic_contract.arena.errors import Abandoned, ArenaError, KernelDisconnected
from mosaic_contract.arena.frame_publisher import EPISODE_SHARE, STEP_SHARE, FramePublisher, seed_libraries
from mosaic_contract.arena.hints import Hints
from mosaic_contract.arena.observation_recorder import ObservationRecorder
from mosaic_contract.arena.replaying import play_recorded, state_message
from mosaic_contract.arena.seats import Seats
from mosaic_contract.arena.start import Start
from mosaic_contract.arena.watchdog import OPERATORS, RESET, STEP, Watchdog
from mosaic_contract.codec import with_tuples
from mosaic_contract.environment_check import probe
from mosaic_contract.episode_recording import OBSERVATIONS
from mosaic_contract.errors import Cancelled, ConfigError
from mosaic_contract.fastlane import Hud
from mosaic_contract.messages import ALONE, PROTOCOL
from mosaic_contract.metadata import WorkerMetadata
from mosaic_contract.operators import Describe, Operate
from mosaic_contract.process_exits import ERROR_TYPE, Lines, exit_error, lines_of, report_os_exit

_POLL_STEPS = 64  # steps of an episode between polls for a kernel command, if no operator is awaited

log = logging.getLogger("mosaic_contract")


@dataclass
class OpenedArena:
    """The parts of an arena that has been opened. `telemetry` is None until operators are seated, `recorder`
    is None unless observations are recorded, and `batch` is None unless episodes are played together.
    Episodes begin at `start`."""

    environment: EnvironmentAdapter
    description: EnvironmentDescription
    frames: FramePublisher
    seats: Seats
    start: Start
    recorder: ObservationRecorder | None = None
    telemetry: ArenaTelemetry | None = None
    batch: Batch | None = None


class Arena:
    """An arena from `open` to `close`. The shim provides `make`, `facts_of` (env, agent) and
    `in_process_worker`, which makes operators in this process."""

    def __init__(
        self,
        kernel: KernelChannel,
        worker: tuple[str, str],
        make: MakeEnvironment,
        facts_of: FactsOf | None,
        in_process_worker: tuple[Describe, Operate] | None = None,
    ) -> None:
        self._in_process_worker = in_process_worker
        self._kernel = kernel
        self._worker = worker
        self._make = make
        self._facts_of = facts_of
        self._opened: OpenedArena | None = None
        self._episode: ArenaEpisode | None = None
        self._calls: list[Call] = []
        self._opening: Mapping[str, Any] = {}
        self._command = ""
        self._watchdog = Watchdog(kernel.send, self._steps)

    def serve(self) -> None:
        """Execute commands until `close`. Raises `KernelDisconnected` when the kernel has closed its end."""
        commands = {
            "open": self._open,
            "seat": self._seat,
            "reset": self._reset,
            "step": self._step,
            "episode": self._play_episode,
            "replay": self._replay,
        }
        report_os_exit(self._report_exit)
        watched = ("reset", "step", "episode", "replay")  # the others have their own time limits
        while True:
            command = self._kernel.command(self._idle())
            if command is None:
                continue
            name = self._command = str(command.get("cmd"))
            if name == "close":
                return
            if name == "answer":  # an answer to a request that was withdrawn meanwhile
                continue
            try:
                if name not in commands:
                    raise ArenaError(
                        f"unknown command {name!r:.100}; known: {', '.join([*commands, 'close'])}"
                    )
                with self._watchdog.command(name) if name in watched else nullcontext():
                    commands[name](command)
            except Abandoned:
                log.info("the %s was abandoned", name)
            except KernelDisconnected:
                raise
            except ArenaError as error:
                self._fail(name, error)
            except SystemExit as error:
                self._report_exit(error.code, lines_of(error.__traceback__))
            except Exception as error:  # such as observations that cannot be sent or incomplete commands
                self._fail(name, ArenaError.of_environment(f"{name} failed", error))

    def _report_exit(self, code: object, lines: Lines) -> int:
        """Report that the environment's code ended the process; return the exit code."""
        reached = "before its first step" if self._episode is None else f"at step {self._episode.steps}"
        error = ArenaError(exit_error(code, lines, reached), error_type=ERROR_TYPE)
        self._fail(self._command, error)
        return code if isinstance(code, int) else 1

    def _fail(self, command: str, error: ArenaError) -> None:
        log.warning("%s failed: %s", command, error)
        self._kernel.send(error.to_message(command))

    def close(self, reason: str | None) -> None:
        """Stop the operators, write the terminal event, and remove the frames. `reason` is given if no
        command closed the arena."""
        self._watchdog.stop()
        if self._opened is None:
            return
        self._opened.seats.stop()
        if self._opened.recorder is not None:
            self._opened.recorder.close()
        if self._opened.telemetry is not None:
            self._opened.telemetry.close(reason)
        self._opened.frames.close()
        members = [] if self._opened.batch is None else self._opened.batch.members[1:]
        for environment in (self._opened.environment, *(member.environment for member in members)):
            try:
                environment.close()
            except Exception:
                log.warning("the environment did not close", exc_info=True)

    # ------------------------------------------------------------------ open

    def _open(self, command: Mapping[str, Any]) -> None:
        if self._opened is not None:
            raise ArenaError("this arena is open already")
        if command.get("protocol", PROTOCOL) != PROTOCOL:
            raise ArenaError(f"this arena speaks protocol {PROTOCOL}, not {command['protocol']!r}")
        self._opening = command
        env_id, settings = str(command["env_id"]), with_tuples(command.get("settings") or {})
        env, render_problem = make_with_frames(self._make, env_id, settings)
        try:
            if ":" in env_id:  # from a user's module; workers' environments follow their interface
                probe(env_id, functools.partial(self._make, env_id, settings, None))
            start = Start.of(command.get("start"))
            start.prepare(env, env_id)
            environment = adapt(env, env_id)
            description = EnvironmentDescription(env_id, environment, self._facts_of)
        except ConfigError as error:
            raise ArenaError(str(error), error_type="ConfigError") from error
        except Exception as error:  # environments raise arbitrary exceptions
            raise ArenaError.of_environment(f"{env_id} cannot be used", error) from error
        folder = Path(command["folder"])
        folder.mkdir(parents=True, exist_ok=True)
        recorder = None
        try:
            if command.get("record") == OBSERVATIONS:
                recorder = ObservationRecorder(folder, environment, description, settings)
            frames = FramePublisher(folder, environment, render_problem, self._hud, self._watchdog)
            seats = Seats(self._kernel, folder, self._idle, self._watchdog, self._in_process_worker)
        except BaseException:
            environment.close()
            raise
        self._opened = OpenedArena(environment, description, frames, seats, start, recorder)
        self._watchdog.start(command.get("step_timeout"))
        self._kernel.send(description.opened(frames.ended, dict([self._worker])))

    # ------------------------------------------------------------------ seat

    def _seat(self, command: Mapping[str, Any]) -> None:
        arena = self._arena
        environment, seats, description = arena.environment, arena.seats, arena.description
        seats.stop()
        operators, seated = command.get("operators") or {}, command.get("seats") or {}
        introductions = {agent: description.introduction(agent) for agent in environment.agents}
        hints = Hints(environment, description, arena.frames)
        size = int(command.get("batch", 1))
        agents, seating = environment.agents, seated
        if size > 1:
            agents = names_of_batch(size)
            introductions = {agent: {**introductions[ALONE], "player_id": agent} for agent in agents}
            seating = dict.fromkeys(agents, seated[ALONE])
        seated_operators = seats.fill(operators, seating, agents, introductions, hints)
        self._episode = None
        env_id, settings = self._opening["env_id"], self._opening.get("settings") or {}
        if arena.telemetry is None:
            folder = Path(self._opening["folder"])
            arena.telemetry = ArenaTelemetry(folder, str(self._opening.get("run_id", "")))
            arena.telemetry.started(self._worker[0], env_id, settings, seats.operators, seated)
        if size > 1:
            arena.batch = Batch(
                size,
                environment,
                description.rules[ALONE],
                seats,
                arena.telemetry,
                self._another_environment,
                self._reset_environment,
                self._play,
            )
        self._kernel.send({"type": "seated", "operators": seated_operators})

    def _another_environment(self) -> EnvironmentAdapter:
        env_id, settings = self._opening["env_id"], with_tuples(self._opening.get("settings") or {})
        self._watchdog.enter(RESET)
        return adapt(make_with_frames(self._make, env_id, settings)[0], env_id)

    # ------------------------------------------------------------------ reset and step

    def _reset(self, command: Mapping[str, Any]) -> None:
        episode, arena = self._begin(command), self._arena
        message = {
            "type": "ready",
            "seed": episode.seed,
            "episode_index": episode.index,
            "step_index": 0,
            "turn": arena.environment.turn,
        }
        self._kernel.send({**message, **_described(arena)})
        arena.frames.changed()

    def _begin(self, command: Mapping[str, Any]) -> ArenaEpisode:
        seats = self._arena.seats
        if not seats.of_agent:
            raise ArenaError("no operator is seated in this arena yet: send seat first")
        episode = self._reset_environment(command, self._arena.environment)
        if self._arena.recorder is not None:
            self._arena.recorder.begin(episode)
        self._watchdog.enter(OPERATORS)
        _, seed = seeds_of(command)
        seats.begin_episode(seed, episode.index)
        return episode

    def _reset_environment(self, command: Mapping[str, Any], environment: EnvironmentAdapter) -> ArenaEpisode:
        (seed, _), index = seeds_of(command), command.get("episode_index", 0)
        self._episode = None
        self._watchdog.enter(RESET)
        seed_libraries(seed)
        try:
            environment.reset(seed, index)
        except Exception as error:  # environments raise arbitrary exceptions
            raise ArenaError.of_environment("the environment's reset failed", error) from error
        self._arena.start.play(environment, self._arena.description, lambda: self._watchdog.enter(STEP))
        self._episode = episode = ArenaEpisode(
            index, seed, environment.agents, self._opening.get("max_steps")
        )
        self._calls = []
        return episode

    def _step(self, command: Mapping[str, Any]) -> None:
        arena = self._arena
        arena.seats.shows_partials = True
        arena.frames.set_share(STEP_SHARE)
        if arena.telemetry is not None:
            arena.telemetry.hold = False
        episode = self._episode
        if episode is None:
            raise ArenaError("there is no episode: send reset first")
        if episode.done:
            raise ArenaError("the episode has ended: send reset to begin another")
        calls = self._advance(episode, command.get("held") or {})
        self._record(episode, calls)  # first, so that a reader of "stepped" finds the step in the telemetry
        described = {} if episode.done else _described(arena)
        self._kernel.send({"type": "stepped", **episode.step_message(arena.environment, calls), **described})
        arena.frames.changed()
        if episode.done:
            arena.frames.ended_episode()

    def _play_episode(self, command: Mapping[str, Any]) -> None:
        """Play a whole episode, or several in a batch, and report only how each ends. `step_delay` is a pause
        in seconds before each step, for viewers."""
        seats, frames, batch = self._arena.seats, self._arena.frames, self._arena.batch
        if batch is not None:
            for _ in batch.play(command, self._kernel):
                self._episode, self._calls = batch.members[0].episode, batch.calls
                frames.changed()
                seats.handle_pending()
            return
        delay = float(command.get("step_delay") or 0.0)
        episode = self._begin(command)
        seats.shows_partials = False
        frames.set_share(EPISODE_SHARE)
        statistics = OperatorStatistics(seats.operators)
        frames.changed()
        if self._arena.telemetry is not None:
            self._arena.telemetry.hold = not delay
        while not episode.done:
            if delay:
                seats.pause(delay)
            elif not episode.steps % _POLL_STEPS:
                seats.handle_pending()
            calls = self._advance(episode, {})
            statistics.add(calls)
            self._record(episode, calls)
            frames.changed()
        episode_message = {**episode.to_message(), "operators": statistics.to_message()}
        self._kernel.send({"type": "played", "episode": episode_message})

    def _advance(self, episode: ArenaEpisode, held: Mapping[str, Mapping[str, Any]]) -> list[Call]:
        """Advance the episode by one step of all agents whose turn it is; `held` as in `Seats.decide`."""
        environment, seats, recorder = self._arena.environment, self._arena.seats, self._arena.recorder
        episode.begin()
        calls = seats.decide(environment, self._arena.description.rules, episode.steps, held)
        episode.count_faults(calls)
        if episode.forfeit is not None:
            environment.rewards = dict.fromkeys(environment.agents, 0.0)
            episode.give_up()
        else:
            self._play(environment, calls)
            episode.advance(environment)
            if recorder is not None:
                recorder.step(calls)
        self._calls = calls
        if episode.done:
            if recorder is not None:
                recorder.end(episode)
            self._watchdog.enter(OPERATORS)
            seats.end_episode(episode.returns, episode.steps)
        return calls

    def _record(self, episode: ArenaEpisode, calls: list[Call]) -> None:
        """Write the step to the telemetry."""
        arena = self._arena
        if arena.telemetry is None:
            return
        if episode.forfeit is None:
            arena.telemetry.step(episode, arena.environment, calls)
        if episode.done:
            arena.telemetry.episode(episode, arena.seats.of_agent, arena.environment)

    def _play(self, environment: EnvironmentAdapter, calls: Sequence[Call]) -> None:
        self._watchdog.enter(STEP)
        try:
            environment.step({call.agent: call.action for call in calls})
        except Exception as error:  # environments raise arbitrary exceptions
            self._episode = None
            raise ArenaError.of_environment("the environment's step failed", error) from error

    @property
    def _arena(self) -> OpenedArena:
        if self._opened is None:
            raise ArenaError("there is no environment yet: send open first")
        return self._opened

    def _replay(self, command: Mapping[str, Any]) -> None:
        """Begin an episode without operators, or play the given `actions` in it, and report the state."""
        arena = self._arena
        if "actions" in command:
            episode = self._episode
            if episode is None or episode.done:
                raise ArenaError("there is no episode: send replay with a seed first")
            self._watchdog.enter(STEP)
            names = play_recorded(arena.environment, arena.description, command["actions"])
            episode.advance(arena.environment)
        else:
            names, episode = {}, self._reset_environment(command, arena.environment)
        state = state_message(arena.environment, episode, command, arena.frames)
        self._kernel.send({**state, "names": names})

    # ------------------------------------------------------------------ frames

    def _idle(self) -> float | None:
        return None if self._opened is None else self._opened.frames.idle()

    def _steps(self) -> int:
        """Return the number of steps in the current episode, or in all episodes of the batch."""
        if self._opened is not None and self._opened.batch is not None:
            return self._opened.batch.steps
        return self._episode.steps if self._episode is not None else 0

    def _hud(self) -> Hud:
        if self._episode is None or self._opened is None:
            return Hud()
        return self._episode.hud(self._opened.environment, self._calls)


def _described(arena: OpenedArena) -> dict[str, Any]:
    """Return the message field that describes the state to human players who act next; empty if there are
    none."""
    descriptions = arena.seats.descriptions(arena.environment.turn)
    return {"descriptions": descriptions} if descriptions else {}


def serve_arena(
    metadata: WorkerMetadata,
    make: MakeEnvironment,
    facts_of: FactsOf | None,
    in_process_worker: tuple[Describe, Operate] | None,
    commands: int,
    messages: int,
) -> None:
    """Execute commands from the descriptor `commands` until "close" or end of input, then clean up
    everything.

    Answers are written to the descriptor `messages`; `in_process_worker` makes operators in this process.
    Raises `Cancelled` after a signal.
    """
    kernel = KernelChannel(commands, messages)
    arena = Arena(kernel, (metadata.name, metadata.version), make, facts_of, in_process_worker)
    reason: str | None = None
    try:
        arena.serve()
    except KernelDisconnected as gone:
        reason = f"the kernel has gone: {gone}"
    except Cancelled as cancelled:
        reason = cancelled.reason
        raise
    finally:
        try:
            arena.close(reason)
        except Cancelled:  # the signal arrived during the cleanup, which must be completed
            arena.close(reason)
            raise
    if reason is None:
        kernel.send({"type": "closed"})
