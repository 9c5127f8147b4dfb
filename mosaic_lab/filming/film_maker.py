"""The films of one training, made one after another during the training and after it.

The newest checkpoint is filmed first; a bounded number of older checkpoints wait (`Backlog`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from mosaic_contract.codec import write_whole
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.arenas.plan import ArenaPlan, ArenaSetup
from mosaic_lab.arenas.replays.kept_episodes import FILM, keep_episodes
from mosaic_lab.arenas.request import CompareRequest
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.filming.episode_recorder import MOST_STEPS, FilmedEpisode, FilmFailed, record_episode
from mosaic_lab.keeper.run_store import RunFolder, write_json
from mosaic_lab.operators import OperatorSpec, rl
from mosaic_lab.runs.checkpoint_runner import CheckpointRunner, TrainingEnded
from mosaic_lab.runs.checkpoints import FILMS, Checkpoint, CheckpointFollower
from mosaic_lab.runs.films import Films, checkpoint_film_path
from mosaic_lab.runs.run_process import RunCurtailed

_PROBLEM_LIMIT = 2_000  # characters
KEPT = 20
"""Maximum number of checkpoints that wait to be filmed. If a training saves them faster, the oldest are not
filmed."""


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
            wanted = [newest] if ended and newest is not None else []
        elif self._films == "each":
            wanted = sorted(saved)
        else:
            wanted = [step for step in self._films if step in saved]
        waiting = [saved[step] for step in wanted if step not in self._settled]
        late = waiting[:-KEPT] if self._films == "each" else []
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
        self._made = 0
        self._problem = ""

    def run(self) -> None:
        """Film all requested checkpoints until the training has ended and none remains. Raises `FilmFailed`
        if no checkpoint could be filmed, RunCurtailed if there was none, and `TrainingEnded`."""
        self.follow(self._next, self._film, self.config.get("seed"), films=self.config["films"])
        if not self._made and self._problem:
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
            before = self.telemetry.last_step
            setup = self._setup(spec, seed)
            filmed = record_episode(
                setup, spec, seed, folder, self.check,
                lambda step: self.telemetry.advance(before + step),
            )  # fmt: skip
        except FilmFailed as failure:
            for line in failure.log:
                print(f"  {line}", flush=True)
            if failure.refused:
                raise
            self._problem = f"step {checkpoint.step}: {failure}"
            self._note(checkpoint, str(failure))
            return
        episode = {"seed": seed, "index": 0, "complete": filmed.complete}
        place = self.training.path, checkpoint.step, FILM
        keep_episodes(*place, setup.plan, [(folder, episode)], self.config["variables"])
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
            request=CompareRequest(max_steps=MOST_STEPS),
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
        about = {
            "return": sum(filmed.returns.values()),
            "returns": filmed.returns,
            "length": filmed.length,
            "seed": seed,
            "seconds": filmed.seconds,
            "complete": filmed.complete,
        }
        with self._films_folder():
            write_whole(path, filmed.film)
            self._describe(checkpoint, about)
        self._made += 1
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

    def _describe(self, checkpoint: Checkpoint, about: Mapping[str, Any]) -> None:
        path = checkpoint_film_path(self.training.path, checkpoint.step).with_suffix(".json")
        name = os.path.relpath(checkpoint.path, self.training.path)
        write_json(path, {"step": checkpoint.step, "checkpoint": name, **about})

    @contextmanager
    def _films_folder(self) -> Iterator[None]:
        """Create the folder of the films, unless the training's folder was removed: it must not reappear."""
        try:
            checkpoint_film_path(self.training.path, 0).parent.mkdir(exist_ok=True)
            yield
        except FileNotFoundError:
            raise TrainingEnded(f"run {self.training.run_id} was removed") from None
