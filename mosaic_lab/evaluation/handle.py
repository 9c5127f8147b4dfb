"""The handle users hold on an evaluation: a run whose data are episodes.

Crosses the boundary: `Evaluation`. Like every run it is read from its folder alone, so it can be made at any
time in any process.
"""

from __future__ import annotations

import sys
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_lab._version import __version__
from mosaic_lab.arenas.tables import EpisodeSteps
from mosaic_lab.environments.families import shown_as
from mosaic_lab.errors import ConfigurationError, MosaicError, UnknownRun
from mosaic_lab.evaluation.fingerprints import changed, digest, fingerprint, identity
from mosaic_lab.evaluation.games import games_table, ratings_table
from mosaic_lab.evaluation.ledger import Ledger, Record, lines_text
from mosaic_lab.evaluation.locks import Lock, changes, locks_of, text_of
from mosaic_lab.evaluation.plan import Job, Plan
from mosaic_lab.evaluation.plots import Plot, interval_plot, paired_plot
from mosaic_lab.evaluation.pool import ARENAS, VERSIONS
from mosaic_lab.evaluation.remaining import remaining_seconds
from mosaic_lab.evaluation.reports import Versus, summary_table, versus
from mosaic_lab.evaluation.stalls import Stall, read_stalls
from mosaic_lab.evaluation.tables import results_table
from mosaic_lab.evaluation.verifying import Verification, verify
from mosaic_lab.keywords import checked_methods
from mosaic_lab.supervisor import Run, Supervisor, hooks
from mosaic_lab.supervisor.surroundings import USER_SITE

if TYPE_CHECKING:
    import pandas as pd

    from mosaic_lab.evaluation.estimates import Estimates

WORKER = "evaluation"
"""What evaluations are among the workers of runs."""

COMMAND = [sys.executable, "-m", "mosaic_lab.evaluation"]


@checked_methods("ev")
class Evaluation(Run):
    """Operators × seeds × episodes, played unattended. Made by `mosaic_lab.Lab.evaluate`.

    What every run has (``state``, ``wait``, ``stop``, ``log`` …), and the episodes that it has finished.
    """

    @cached_property
    def plan(self) -> Plan:
        """What there is to play. Raises MosaicError for a folder that holds no evaluation."""
        try:
            return Plan.from_config(self.config)
        except (KeyError, TypeError, ValueError) as error:
            raise MosaicError(f"run {self.id} is no evaluation that can be read: {error!r}") from None

    @cached_property
    def _ledger(self) -> Ledger:
        return Ledger(self.folder.telemetry_path)

    @cached_property
    def _arena_steps(self) -> dict[str, EpisodeSteps]:
        return {}

    @cached_property
    def _jobs(self) -> list[Job]:
        return self.plan.jobs()

    def records(self) -> list[Record]:
        """Return the finished episodes as plain data, in the order of the plan; `results` is their table.

        Raises MosaicError for `damage`.
        """
        found = self._ledger.read()
        if damage := self.damage:
            raise MosaicError(damage)
        return [found[job.key] for job in self._jobs if job.key in found]

    @property
    def damage(self) -> str:
        """Which lines of the telemetry are not what was written there, and what to do; empty if all are."""
        lines = self._ledger.damage()
        if not lines:
            return ""
        return (
            f"{self.folder.telemetry_path} is damaged in {lines_text(lines)}: the checksum does not match, "
            f"so no result of {self.id} is given. resume(), or `mosaic-lab evaluate --resume {self.id}`, "
            "drops what is damaged and plays those episodes again"
        )

    # ------------------------------------------------------------- how it goes

    @property
    def total(self) -> int:
        """How many episodes there are to play."""
        return int(self.config.get("total_episodes", 0))

    @property
    def done(self) -> int:
        """How many episodes have ended, failed ones among them."""
        return len(self._ledger.read())

    @property
    def failed(self) -> int:
        """How many episodes could not be played to their end."""
        return sum(record["status"] == "failed" for record in self._ledger.read().values())

    @property
    def progress(self) -> float | None:
        """Episodes done of all, 0 to 1."""
        return self.done / self.total if self.total else None

    @property
    def time_left(self) -> float | None:
        """Estimated seconds until it is done, by how long the recent episodes of each operator took; None
        while unknown, which it also is when none has ended for much longer than they took, or not alive."""
        if self.finished:
            return None
        return remaining_seconds(self._ledger.read(), self._jobs, self.plan.parallel, time.time())

    @property
    def stalls(self) -> list[Stall]:
        """The episodes in which no step was made for 10 seconds or longer (a quarter of ``step_timeout`` if
        that is less), and what they wait for: a slow operator, or an environment that may be about to fail.
        """
        return [] if self.finished else read_stalls(self.folder)

    @property
    def arenas(self) -> list[Run]:
        """Its arenas, those that have ended too, as runs: each has a log and, while it plays, frames."""
        folders = sorted((self.path / ARENAS).glob("*/state.json"), key=lambda file: file.stat().st_ctime)
        return [Run(file.parent) for file in folders]

    @property
    def versions(self) -> dict[str, dict[str, str]]:
        """What each operator played with: {operator: {package or worker: version}}."""
        return self.folder.document(self.path / VERSIONS)

    @property
    def locks(self) -> dict[str, Lock]:
        """What was in the environment of each worker when it began."""
        recorded = self.provenance.get("environment", {}).get("locks", {})
        return {name: Lock(**lock) for name, lock in recorded.items()}

    def frames(self, fps: float = 30) -> Any:
        """Watch the arenas that play now in a notebook's cell; see `Run.frames`."""
        playing = [arena for arena in self.arenas if arena.alive]
        if not playing:
            raise MosaicError(f"nothing is to be seen of {self.id}: it is {self.state}, no arena plays")
        return hooks.front().frame_wall(playing, fps)

    def wait(self, timeout: float | None = None) -> Evaluation:
        """Wait for the end; see `Run.wait`."""
        super().wait(timeout)
        return self

    def stop(self, grace: float | None = None, wait: bool = True) -> Evaluation:
        """End it; what has been played stays, and `resume` goes on from there. See `Run.stop`."""
        super().stop(grace, wait)
        return self

    def resume(self) -> Evaluation:
        """Play what is left after a stop, a kill or a crash; nothing is played twice, nothing is left out.

        Episodes that failed are played again where a failure was to stop the evaluation; where it was not,
        they stay failed. Variables that were passed on are taken anew from this process. Returns at once.
        Raises MosaicError while it is alive, or when a checkpoint, a policy's file or a worker's environment
        is another one now,
        ConfigurationError for a variable that is not set.
        """
        if why := changed(self.plan):
            raise MosaicError(f"{why}. What is left would be played with another: start a new evaluation")
        if others := changes(self.locks, locks_of(self.locks)):
            name, texts = next(iter(others.items()))
            raise MosaicError(
                f"worker '{name}' is not what {self.id} began with: {text_of(texts)}. What is left would be "
                "played with other versions: install what it was again, or start a new evaluation"
            )
        self._supervisor().resume(self, environ=USER_SITE, pass_env=self.plan.variables)
        return self

    # --------------------------------------------------------------- its data

    def results(self) -> pd.DataFrame:
        """One row for each finished episode: operator, category, seed, episode_index (on that seed),
        episode_seed, return (of all agents), length, how it ended, counts of what operators did wrong,
        seconds, latency_ms (mean of a call), tokens, status ("ok" or "failed") and error; where there are
        several agents, the return of each as well.
        """
        return results_table(self.records())

    def steps(self, operator: str, seed: int, episode: int = 0) -> pd.DataFrame:
        """Every step of every agent in one episode. Raises ConfigurationError for one that is not there."""
        record = self._ledger.read().get((operator, seed, episode))
        if record is None:
            known = ", ".join(self.plan.lanes)
            raise ConfigurationError(
                f"no finished episode {episode} of {operator!r} on seed {seed}: the operators are {known}; "
                f"{self.done} of {self.total} episodes are done"
            )
        arena = record["arena"]
        if arena not in self._arena_steps:
            self._arena_steps[arena] = EpisodeSteps(self.arena_path(arena))
        return self._arena_steps[arena].table(record["index"])

    def arena_path(self, name: str) -> Path:
        """The folder of one of its arenas, by the name in an episode's record."""
        return self.path / ARENAS / name

    def summary(self, target: float | None = None, rng: int | None = None) -> Estimates:
        """Mean, median, interquartile mean and (with a ``target`` return) optimality gap of each operator,
        with 95% bootstrap intervals; and how many of its episodes failed, which none of these include. Mean
        length, and where there is any of it the share of successes (with its 95% Wilson interval) and tokens.

        In a notebook each estimate is shown with its interval in one column; ``mean``, ``mean_low``,
        ``mean_high`` and the rest are columns of the table all the same.

        ``rng`` seeds the resampling; by default it follows from what is evaluated. It stands in the table's
        ``attrs``, beside the `environment`, and the same seed gives the same intervals. See
        `mosaic_lab.evaluation.summary`.
        """
        table = summary_table(self.plan, self.records(), target, self._seed(rng))
        table.attrs["environment"] = self.environment
        return table

    def compare(self, first: str, second: str, rng: int | None = None) -> Versus:
        """Two operators on the seeds that both have played; ``rng`` as in `summary`."""
        return versus(self.plan, self.records(), first, second, self._seed(rng))

    def interval_plot(self, target: float | None = None, rng: int | None = None) -> Plot:
        """The averages of `summary` with their intervals, a row for each operator."""
        return interval_plot(self.summary(target, rng), self._title("Returns"), "return")

    def paired_plot(self, first: str, second: str, rng: int | None = None) -> Plot:
        """The differences of `compare`, seed by seed, with their mean and its interval."""
        return paired_plot(self.compare(first, second, rng), self._title("Differences of returns"))

    def games(self) -> pd.DataFrame:
        """Its episodes as games of two players (operators, by their names): who played for which agent, and
        who won by the higher return. See `mosaic_lab.policies.pairings` for lanes of all against all.
        """
        return games_table(self.records(), self.path / ARENAS)

    def ratings(self, rng: int | None = None) -> Estimates:
        """How strong the players of `games` are: Elo with 95% bootstrap intervals, and their wins, draws and
        losses; ``rng`` as in `summary`. See `mosaic_lab.evaluation.elo`.
        """
        return ratings_table(self.games(), self._seed(rng))

    @property
    def environment(self) -> str:
        """The environment's id, with the worker that makes it where that is not the usual one."""
        return shown_as(self.plan.env_id, self.plan.family)

    def _title(self, what: str) -> str:
        return f"{what} in {self.environment}, {self.done:,} of {self.total:,} episodes"

    def _seed(self, rng: int | None) -> int:
        return int(digest(identity(self.plan))[:8], 16) if rng is None else rng

    def to_csv(self, path: Path | str) -> Path:
        """Write `results` as a CSV file."""
        self.results().to_csv(path, index=False)
        return Path(path)

    def to_parquet(self, path: Path | str) -> Path:
        """Write `results` as a Parquet file. Raises MosaicError without pyarrow: the extra ``parquet``."""
        try:
            self.results().to_parquet(path, index=False)
        except ImportError:
            raise MosaicError(
                "a Parquet file is written by pyarrow, which is not installed in this environment: "
                "`pip install mosaic-lab[parquet]`, or use to_csv(...)"
            ) from None
        return Path(path)

    def fingerprint(self) -> str:
        """The SHA-256 of what was evaluated (checkpoints by their contents), the versions that it was played
        with, and what happened in every episode, however long it took. Two that are alike are the same
        evaluation with the same outcome. Raises MosaicError before all episodes are done.
        """
        records = self.records()
        if self.done < self.total:
            raise MosaicError(
                f"{self.done} of {self.total} episodes are done: a fingerprint is of all of them"
            )
        return fingerprint(__version__, self.plan, self.versions, records)

    def verify(self, sample: int | None = None) -> Verification:
        """Play the finished episodes (or so many of them) again, in a run of its own, and wait for that.

        Returns which differ, and from which step; the run is kept only where one does. Raises
        ConfigurationError where a checkpoint has changed.
        """
        from mosaic_lab.evaluation.making import start

        supervisor = self._supervisor()
        return verify(self, sample, lambda plan: start(supervisor, plan, f"verification of {self.id},"))

    def bundle(self, path: Path | str, notebook: Path | str | None = None) -> Path:
        """Write all of it as one zip file that `mosaic-lab evaluate FILE --verify` plays again elsewhere.

        In it are the script, the checkpoints, the results with every step, the exact versions in the workers'
        environments, the fingerprint, and the ``notebook`` (as it was saved). Raises MosaicError before all
        episodes are done, and for operators that a bundle cannot hold: workers with settings of their own.
        """
        from mosaic_lab.sharing import write_bundle

        return write_bundle(self, path, notebook)

    def _supervisor(self) -> Supervisor:
        launch = self.folder.document(self.folder.launch_path)
        return Supervisor(self.path.parent, launch.get("max_running"))

    def __repr__(self) -> str:
        state, failed, left = self.state, self.failed, self.time_left
        parts = [f"{state}", f"{self.done:,} of {self.total:,} episodes"]
        parts += [f"{failed:,} of them failed"] if failed else []
        parts += ["damaged: resume() mends it"] if self.damage else []
        parts += [f"about {left:.0f} s left"] if left is not None else []
        parts += [str(stall) for stall in self.stalls[:1]]
        return f"<Evaluation {self.id}: {', '.join(parts)}, {self.reason}>"


def find(supervisor: Supervisor, run_id: str) -> Evaluation:
    """One of the store's evaluations, as `Supervisor.run` finds runs. Raises UnknownRun."""
    run = supervisor.run(run_id)
    if run.worker != WORKER:
        raise UnknownRun(f"run {run.id} is no evaluation: it is one of {run.worker}'s")
    return Evaluation(run.folder)
