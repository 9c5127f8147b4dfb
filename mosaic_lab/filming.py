"""The process that films checkpoints: ``python -m mosaic_lab.filming --config <run folder>/config.json``.

It follows one training through its run folder, while it runs and afterwards; see `runs.checkpoint_runner`.

The newest checkpoint is filmed first; a bounded number of older checkpoints wait (`Backlog`). A film's time
follows the episode's steps rather than the arena's clock, because the arena runs at low priority.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic_contract import as_number
from mosaic_contract.codec import write_whole
from mosaic_contract.fastlane import Frame, FrameReader
from mosaic_contract.priority import scaled_deadline
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.arenas.arena_client import LOG_LINES, ArenaClient, ArenaFailed, ArenaLoop
from mosaic_lab.arenas.environment_info import EnvironmentInfo
from mosaic_lab.arenas.plan import ArenaPlan, ArenaSetup
from mosaic_lab.arenas.replays.kept_episodes import FILM, keep_episodes
from mosaic_lab.arenas.request import CompareRequest
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.fastlane.encoding import Packet, compact
from mosaic_lab.fastlane.pictures import FILM_FPS, SMALL_FILM, evenly_timed, film_speed, mp4
from mosaic_lab.keeper.run_store import RunFolder, write_json
from mosaic_lab.keeper.states import State
from mosaic_lab.operators import OperatorSpec, rl
from mosaic_lab.policies import Assignment
from mosaic_lab.runs.checkpoint_runner import CheckpointRunner, TrainingEnded, run_in_background
from mosaic_lab.runs.checkpoints import FILMS, Checkpoint, CheckpointFollower
from mosaic_lab.runs.films import MAX_WAITING, Films, checkpoint_film_path
from mosaic_lab.runs.run_process import RunAborted, RunCurtailed
from mosaic_lab.sanitize import sanitize

SIDE = 320
"""Length of a film's longer side in pixels."""
MAX_STEPS = 3_000
"""Maximum number of steps of an episode."""
_MAX_SECONDS = 20.0  # seconds of a film
_MAX_FRAMES = int(FILM_FPS * _MAX_SECONDS)
_REQUESTED_FPS = 60.0
_FRAME_SECONDS = 30.0  # to draw an environment, including the loading of its libraries
_PLAY_SECONDS = 120.0  # for a whole episode; like the limit above, at normal priority
_LOOK_SECONDS = 0.002
_PROBLEM_LIMIT = 2_000  # characters


class FilmFailed(RunAborted):
    """Raised if a checkpoint cannot be filmed; with ``refused``, no other checkpoint can be either.

    ``log`` has the last lines of the arena's log, for the run's log rather than the message.
    """

    error_type = "NotFilmed"  # as recorded by runs of earlier versions

    def __init__(self, message: str, refused: bool = False, log: Sequence[str] = ()) -> None:
        super().__init__(sanitize(message))
        self.refused = refused
        self.log = [sanitize(line) for line in log if line.strip()]


@dataclass(frozen=True)
class FilmedEpisode:
    """An episode with its film; ``complete``: whether it was played to its end."""

    film: bytes
    seconds: float
    returns: dict[str, float]
    length: int
    complete: bool


def record_episode(
    setup: ArenaSetup,
    spec: OperatorSpec,
    seed: int,
    folder: Path,
    check: Callable[[], None],
    recorded: Callable[[int], None],
) -> FilmedEpisode:
    """Play and film an episode of ``spec`` in an arena in the new folder ``folder``.

    ``check`` is called frequently; an exception that it raises ends the arena. ``recorded`` is called after
    each step with the number of steps so far. Raises `FilmFailed`.
    """
    recorder = _EpisodeRecorder(seed, FrameReader(folder), check, recorded)
    loop = ArenaLoop()
    try:
        client = ArenaClient(recorder, setup, spec.name, {"*": spec}, folder, seed, inside=True)
        arena = loop.add(client)
    except ArenaFailed as failure:
        raise FilmFailed(str(failure), refused=True) from None
    try:
        while (filmed := recorder.advance(arena)) is None:
            loop.work(loop.wait())
            check()
        return filmed
    finally:
        loop.close(State.COMPLETED, "the film is done")


class _EpisodeRecorder:
    """Records the frame of every ``_stride``-th step: of each step at first, of fewer as frames add up."""

    def __init__(
        self, seed: int, reader: FrameReader, check: Callable[[], None], recorded: Callable[[int], None]
    ) -> None:
        self._seed = seed
        self._reader = reader
        self._check = check
        self._recorded = recorded
        self._messages: deque[dict[str, Any]] = deque()
        self._failure: FilmFailed | None = None
        self._packets: list[Packet] = []
        self._stride = 1
        self._deadline = time.monotonic() + scaled_deadline(_PLAY_SECONDS)

    def opened(self, arena: ArenaClient, environment: EnvironmentInfo, assignment: Assignment) -> None:
        """Start the policy, if there is something to film."""
        if environment.renders:
            arena.seat(assignment)
        else:
            self._failure = FilmFailed(_no_pictures(environment.render_reason), refused=True)

    def received(self, arena: ArenaClient, message: dict[str, Any]) -> None:
        """Keep the message for `advance`, which may block."""
        self._messages.append(message)

    def failed(self, failure: ArenaFailed) -> None:
        """Keep the failure for `advance`."""
        self._failure = FilmFailed(str(failure), failure.refused, failure.log[-LOG_LINES:])

    def advance(self, arena: ArenaClient) -> FilmedEpisode | None:
        """Process the messages so far; return the film after the last step. Raises `FilmFailed`."""
        while self._messages:
            message = self._messages.popleft()
            match message.get("type"):
                case "seated":
                    self._reader.watch(_REQUESTED_FPS)
                    arena.request({"cmd": "reset", "seed": self._seed, "episode_index": 0})
                case "ready":
                    self._shoot(arena, 0)
                    arena.step()
                case "stepped":
                    step, done = int(message["step_index"]), bool(message["done"])
                    self._recorded(step)
                    if done or step % self._stride == 0:
                        self._shoot(arena, step)
                    if done or time.monotonic() > self._deadline:
                        cut = not done or self._cut(message["episode"])
                        returns = {agent: as_number(value) for agent, value in message["returns"].items()}
                        return self._film(returns, step, complete=not cut)
                    arena.step()
        if self._failure is not None:
            raise self._failure
        return None

    def _cut(self, episode: Mapping[str, Any]) -> bool:
        """Return whether the episode was ended by the step limit of a film."""
        return bool(episode["truncated"]) and episode["steps"] >= MAX_STEPS

    # ------------------------------------------------------------------ frames

    def _shoot(self, arena: ArenaClient, step: int) -> None:
        """Store the frame of this step."""
        self._packets.append(compact(self._frame(arena, step), SIDE))
        if len(self._packets) > _MAX_FRAMES:
            self._packets = self._packets[::2]
            self._stride *= 2

    def _frame(self, arena: ArenaClient, step: int) -> Frame:
        """Wait for the frame of a step, which the arena draws after it has reported the step."""
        deadline = time.monotonic() + scaled_deadline(_FRAME_SECONDS)
        while True:
            self._reader.watch(_REQUESTED_FPS)
            frame = self._reader.read()
            if frame is not None and frame.hud.step == step:
                return frame
            if self._reader.state == "ended":
                raise FilmFailed(_no_pictures(self._reader.notice), refused=True)
            self._check()
            ended = arena.ended()
            if ended:
                arena.receive()  # the reason
            if ended or time.monotonic() > deadline:
                seconds = scaled_deadline(_FRAME_SECONDS)
                raise self._failure or FilmFailed(
                    f"the environment was not rendered within {seconds:.0f} s at step {step}"
                )
            time.sleep(_LOOK_SECONDS)

    def _film(self, returns: dict[str, float], length: int, complete: bool) -> FilmedEpisode:
        """Make the film; each step, including the last, is shown for the same time."""
        frame_count, per_second = len(self._packets), film_speed(len(self._packets))
        film = mp4(evenly_timed(self._packets, per_second), SIDE, SMALL_FILM)
        return FilmedEpisode(film, round(frame_count / per_second, 3), returns, length, complete)


def _no_pictures(reason: str) -> str:
    return f"the environment has no pictures: {reason}" if reason else "the environment has no pictures"


class Backlog:
    """The checkpoints of the training in ``folder`` that have no film yet. ``films`` is "each", "last", or
    the steps of the checkpoints to film."""

    def __init__(self, folder: RunFolder, films: str | Sequence[int]) -> None:
        self._films = films
        self._checkpoints = CheckpointFollower(folder)
        self._settled = {film.step for film in Films(folder)}
        self.empty = True
        """Whether no checkpoint has been seen."""

    def settle(self, checkpoint: Checkpoint) -> None:
        """Record that this checkpoint no longer needs a film."""
        self._settled.add(checkpoint.step)

    def look(self, ended: bool) -> tuple[Checkpoint | None, list[Checkpoint]]:
        """Return the next checkpoint to film (None if there is none) and the checkpoints dropped in its
        favour. ``ended``: whether the training has ended, so that the last checkpoint is known."""
        saved = {checkpoint.step: checkpoint for checkpoint in self._checkpoints.read()}
        self.empty = self.empty and not saved
        if self._films == "last":
            newest = max(saved, default=None)
            requested = [newest] if ended and newest is not None else []
        elif self._films == "each":
            requested = sorted(saved)
        else:
            requested = [step for step in self._films if step in saved]
        waiting = [saved[step] for step in requested if step not in self._settled]
        late = waiting[:-MAX_WAITING] if self._films == "each" else []
        for checkpoint in late:
            self.settle(checkpoint)
        return (waiting[-1] if waiting else None), late


class FilmMaker(CheckpointRunner):
    """Makes the films of a training."""

    worker = FILMS
    later = "lab.make_films(run) films what it has saved"

    def __init__(self, folder: RunFolder, config: Mapping[str, Any], telemetry: Telemetry) -> None:
        super().__init__(folder, config, telemetry)
        self._backlog = Backlog(self.training, config["films"])
        self._film_count = 0
        self._problem = ""

    def run(self) -> None:
        """Film all requested checkpoints until the training has ended and none remains. Raises `FilmFailed`
        if no checkpoint could be filmed, RunCurtailed if there was none, and `TrainingEnded`."""
        self.follow(self._next, self._film, self.config.get("seed"), films=self.config["films"])
        if not self._film_count and self._problem:
            raise FilmFailed(self._problem)
        if self._backlog.empty:
            raise RunCurtailed(f"run {self.training.run_id} saved no checkpoint: there is nothing to film")

    def _next(self, ended: bool) -> Checkpoint | None:
        checkpoint, late = self._backlog.look(ended)
        for skipped in late:
            self._note(skipped, "skipped: too many newer checkpoints waited for their films")
        return checkpoint

    def _film(self, checkpoint: Checkpoint) -> None:
        """Film a checkpoint, or record why not. Raises `FilmFailed` if all others would fail too."""
        seed = int(self.config.get("seed") or 0)
        folder = self.folder.path / "arenas" / str(checkpoint.step)
        shutil.rmtree(folder, ignore_errors=True)
        try:
            spec = self._operator(checkpoint)
            first_step = self.telemetry.last_step
            setup = self._setup(spec, seed)
            filmed = record_episode(
                setup, spec, seed, folder, self.check,
                lambda step: self.telemetry.advance(first_step + step),
            )  # fmt: skip
        except FilmFailed as failure:
            for line in failure.log:
                print(f"  {line}", flush=True)
            if failure.refused:
                raise
            self._problem = f"step {checkpoint.step}: {failure}"
            self._note(checkpoint, str(failure))
            return
        episodes = [(folder, {"seed": seed, "index": 0, "complete": filmed.complete})]
        variables = self.config["variables"]
        keep_episodes(self.training.path, checkpoint.step, FILM, setup.plan, episodes, variables)
        shutil.rmtree(folder, ignore_errors=True)  # otherwise there would be a log for each checkpoint
        self._write(checkpoint, filmed, seed)

    def _operator(self, checkpoint: Checkpoint) -> OperatorSpec:
        try:
            spec = rl(checkpoint, run_code=True)  # the training has executed it
        except ConfigurationError as error:
            raise FilmFailed(str(error)) from None
        if spec.worker != self.config["worker"]:
            raise FilmFailed(
                f"{checkpoint.path.name} is read by worker '{spec.worker}', not by '{self.config['worker']}'"
            )
        return spec

    def _setup(self, spec: OperatorSpec, seed: int) -> ArenaSetup:
        config = self.config
        plan = ArenaPlan(
            request=CompareRequest(max_steps=MAX_STEPS),
            env_id=spec.trained_on or str(config.get("env_id", "")),
            settings=dict(spec.env_settings),
            family=config["family"],
            operators={"1": spec},
            lanes={spec.name: {"*": "1"}},
            seeds=[seed],
            pass_env_vars=[],
        )
        return ArenaSetup(
            plan=plan,
            arena=config["arena"],
            commands={config["worker"]: config["operator"]},
            variables=self.variables,
            folder=self.folder.path,
            warm=self.warm,
        )

    # ------------------------------------------------------------------ files

    def _write(self, checkpoint: Checkpoint, filmed: FilmedEpisode, seed: int) -> None:
        path = checkpoint_film_path(self.training.path, checkpoint.step)
        metadata = {
            "return": sum(filmed.returns.values()),
            "returns": filmed.returns,
            "length": filmed.length,
            "seed": seed,
            "seconds": filmed.seconds,
            "complete": filmed.complete,
        }
        with self._films_folder():
            write_whole(path, filmed.film)
            self._describe(checkpoint, metadata)
        self._film_count += 1
        self._backlog.settle(checkpoint)
        self.telemetry.episode(
            total_reward=sum(filmed.returns.values()),
            steps=filmed.length,
            episode_seed=seed,
            metadata={"step": checkpoint.step, "film": path.name},
        )

    def _note(self, checkpoint: Checkpoint, problem: str) -> None:
        """Record why a checkpoint has no film."""
        print(f"no film of step {checkpoint.step}: {problem}", flush=True)
        with self._films_folder():
            self._describe(checkpoint, {"problem": problem[:_PROBLEM_LIMIT]})
        self._backlog.settle(checkpoint)

    def _describe(self, checkpoint: Checkpoint, metadata: Mapping[str, Any]) -> None:
        path = checkpoint_film_path(self.training.path, checkpoint.step).with_suffix(".json")
        name = os.path.relpath(checkpoint.path, self.training.path)
        write_json(path, {"step": checkpoint.step, "checkpoint": name, **metadata})

    @contextmanager
    def _films_folder(self) -> Iterator[None]:
        """Create the folder of the films, unless the training's folder was removed: it must not reappear."""
        try:
            checkpoint_film_path(self.training.path, 0).parent.mkdir(exist_ok=True)
            yield
        except FileNotFoundError:
            raise TrainingEnded(f"run {self.training.run_id} was removed") from None


if __name__ == "__main__":
    sys.exit(run_in_background("mosaic_lab.filming", FilmMaker))
