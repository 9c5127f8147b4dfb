"""The results of an evaluation as tables, statistics and plots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_lab._version import __version__
from mosaic_lab.arenas.datasets import RecordedEpisode, write_dataset
from mosaic_lab.arenas.plan import EXCHANGES
from mosaic_lab.arenas.replays import Replay, Replays
from mosaic_lab.arenas.replays.replaying import Progress
from mosaic_lab.arenas.tables import EpisodeSteps
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.evaluation.budgets import Spending
from mosaic_lab.evaluation.episode_log import EpisodeLog, Record, lines_text
from mosaic_lab.evaluation.fingerprints import fingerprint, resampling_seed
from mosaic_lab.evaluation.parts import arena_path
from mosaic_lab.evaluation.plan import EpisodeJob, EvaluationPlan
from mosaic_lab.evaluation.pool import VERSIONS
from mosaic_lab.evaluation.replaying import recorded_episodes, replay
from mosaic_lab.evaluation.reports.games import games_table, ratings_table
from mosaic_lab.evaluation.reports.plot import EpisodeOf, Plot
from mosaic_lab.evaluation.reports.plots import cost_plot, interval_plot, paired_plot
from mosaic_lab.evaluation.reports.summary_table import (
    Versus,
    check_operator,
    statistic_table,
    summary_table,
    versus,
)
from mosaic_lab.evaluation.reports.tables import exchanges_table, results_table
from mosaic_lab.evaluation.reports.units import completed_by_operator
from mosaic_lab.evaluation.statistics.custom import Interval, Statistic
from mosaic_lab.keeper.states import State
from mosaic_lab.runs import Run
from mosaic_lab.table_files import write_csv, write_parquet
from mosaic_lab.validation import checked_methods
from mosaic_lab.workers.families import shown_as

if TYPE_CHECKING:
    import pandas as pd

    from mosaic_lab.evaluation.reports.estimate_table import Estimates


@checked_methods("ev")
class Results(Run):
    """The finished episodes of an evaluation, with their tables, statistics and plots."""

    @cached_property
    def plan(self) -> EvaluationPlan:
        """The evaluation's plan. Raises MosaicError if the folder is not an evaluation's."""
        try:
            return EvaluationPlan.from_config(self.folder.config())
        except (KeyError, TypeError, ValueError) as error:
            raise MosaicError(f"run {self.id} is not an evaluation that can be read: {error!r}") from None

    @cached_property
    def _episode_log(self) -> EpisodeLog:
        return EpisodeLog(self.folder.telemetry_path)

    @cached_property
    def _arena_steps(self) -> dict[str, EpisodeSteps]:
        return {}

    @cached_property
    def _jobs(self) -> list[EpisodeJob]:
        return self.plan.jobs()

    def records(self) -> list[Record]:
        """Return the finished episodes as plain data, in the order of the plan; `results` is the same as a
        table. Raises MosaicError if the telemetry has `damage`."""
        records = self._episode_log.read()
        if damage := self.damage:
            raise MosaicError(damage)
        return [records[job.key] for job in self._jobs if job.key in records]

    @property
    def damage(self) -> str:
        """A sentence about damaged telemetry lines and what to do about them; empty if there are none."""
        lines = self._episode_log.damage()
        if not lines:
            return ""
        return (
            f"{self.folder.telemetry_path} is damaged in {lines_text(lines)}: the checksum does not match, "
            f"so {self.id} gives no results. resume(), or `mosaic-lab evaluate --resume {self.id}`, drops "
            "the damaged lines and plays those episodes again"
        )

    @property
    def total(self) -> int:
        """The number of episodes."""
        return int(self.config.get("total_episodes", 0))

    @property
    def done(self) -> int:
        """The number of ended episodes, including failed ones."""
        return len(self._episode_log.read())

    @property
    def progress_text(self) -> str:
        """The number of ended episodes as text: ``412 of 1,000 episodes``."""
        done = self.total if self.state is State.COMPLETED else self.done
        return f"{done:,} of {self.total:,} episodes"

    @property
    def recent_return(self) -> None:
        """None, because each operator has its own returns; see `summary`."""
        return None

    @property
    def failed(self) -> int:
        """The number of episodes that could not be finished."""
        return sum(record["status"] == "failed" for record in self._episode_log.read().values())

    @property
    def versions(self) -> dict[str, dict[str, str]]:
        """The versions that each operator used: {operator: {package or worker: version}}."""
        return self.folder.document(self.path / VERSIONS)

    def results(self) -> pd.DataFrame:
        """Return a table with a row for each finished episode.

        Columns: operator, training (if an algorithm has played), category, seed, episode_index (on that
        seed), episode_seed, return (the sum over agents), length, how the episode ended, counts of the
        operator's errors, seconds, latency_ms (mean per call), tokens, status ("ok" or "failed"), error and,
        with several agents, the return of each.
        """
        return results_table(self.plan, self.records())

    def steps(self, operator: str, seed: int, episode: int = 0) -> pd.DataFrame:
        """Return every step of every agent in one episode; the columns are those of `Comparison.steps`.

        Actions are values of the action space; ``replay(…).table()`` has their names. Here, each training of
        an algorithm is an operator, named "PPO s1". Raises ConfigurationError if there is no such episode.
        """
        record = self._episode_log.read().get((operator, seed, episode))
        if record is None:
            labels = ", ".join(self.plan.lanes)
            raise ConfigurationError(
                f"no finished episode {episode} of {operator!r} on seed {seed}: the operators are {labels}; "
                f"{self.done} of {self.total} episodes are done"
            )
        arena = record["arena"]
        if arena not in self._arena_steps:
            self._arena_steps[arena] = EpisodeSteps(self.arena_path(arena))
        return self._arena_steps[arena].table(record["index"])

    def exchanges(self, operator: str | None = None) -> pd.DataFrame:
        """Return a table with a row for each request to a language model, in the order of play.

        ``operator`` selects one operator; unfinished episodes are included. Columns: operator, agent, seed,
        episode (on that seed), step, call (within the step), prompt, answer, parsed (the action in the
        answer), faults, input_tokens, output_tokens, cost_usd, latency_ms, model, recorded (whether the
        answer was replayed) and started (Unix seconds); NaN where unknown.

        Damaged lines of the recording are skipped with a warning. Raises ConfigurationError for an unknown
        operator.
        """
        if operator is not None:
            check_operator(operator, self.plan.lanes)
        return exchanges_table(self.recording, self._jobs, operator)

    @property
    def recording(self) -> Path:
        """The folder with the language models' recording, which `mosaic_lab.Lab.evaluate` can replay."""
        return self.path / EXCHANGES

    def spent(self) -> dict[str, Any]:
        """Return the cost of the language models so far as {"usd", "tokens", "calls"}; "usd" is None if the
        price of a call is unknown. Replayed answers cost nothing."""
        return self._spending.read()

    @cached_property
    def _spending(self) -> Spending:
        return Spending(self.recording)

    def arena_path(self, name: str) -> Path:
        """Return the folder of an arena by the name in an episode's record."""
        return arena_path(self.path, name)

    def summary(self, target: float | None = None, rng: int | None = None) -> Estimates:
        """Return each operator's mean, median, interquartile mean and, given a ``target`` return, optimality
        gap.

        All have 95% bootstrap intervals: for an algorithm (`mosaic_lab.operators.rl` of a group) over its
        trainings, whose scores are the mean returns of their episodes; for other operators over episodes. The
        table's note states which, and ``to_latex()`` uses it as the caption. Failed episodes are counted
        separately and excluded. The table also has the mean length and, if available, the success rate (with
        its 95% Wilson interval, or over trainings) and tokens. A notebook shows each estimate and its
        interval in one column; the table itself has ``mean``, ``mean_low``, ``mean_high`` and so on.

        ``rng`` seeds the resampling; by default the seed is derived from what is evaluated. It is stored in
        the table's ``attrs``, beside the `environment`, and the same seed gives the same intervals. See
        `mosaic_lab.evaluation.summary`. Raises ConfigurationError if ``target`` is not a finite number.
        """
        return summary_table(self.plan, self.records(), target, self._seed(rng))

    def statistic(
        self, function: Statistic, interval: Interval = "percentile", rng: int | None = None
    ) -> Estimates:
        """Return a statistic of your own for each operator, with its 95% bootstrap interval.

        ``function`` maps an array of scores, float64[n], to a number, such as `numpy.std` or ``lambda scores:
        (scores >= 475).mean()``; it is called for each of 2,000 resamples, or for many at once if it has an
        argument ``axis``. Scores and ``rng`` are as in `summary`, with several episodes on a fixed seed
        averaged. ``interval`` is "percentile" or "bca"; see `mosaic_lab.evaluation.statistic`.
        """
        return statistic_table(self.plan, self.records(), function, interval, self._seed(rng))

    def compare(self, first: str, second: str, rng: int | None = None) -> Versus:
        """Compare two operators on the seeds that both have played; ``rng`` as in `summary`.

        An algorithm is compared by its trainings, which have no pairs. One of its trainings can be compared
        as "PPO s1".
        """
        return versus(self.plan, self.records(), first, second, self._seed(rng))

    def interval_plot(self, target: float | None = None, rng: int | None = None) -> Plot:
        """Plot the estimates of `summary` with their intervals, a row for each operator."""
        table, title = self.summary(target, rng), self._title("Returns")
        return interval_plot(table, title, "return", self.played(), self.replay_of)

    def cost_plot(self, rng: int | None = None) -> Plot:
        """Plot each operator's mean return against the mean cost of its episodes, with the intervals of
        `summary`. Raises ConfigurationError if no language model has played."""
        return cost_plot(self.summary(rng=rng), self._title("Return and cost"), "return")

    def paired_plot(self, first: str, second: str, rng: int | None = None) -> Plot:
        """Plot the differences of `compare` for each seed, with their mean and its interval."""
        title = self._title("Differences of returns")
        return paired_plot(self.compare(first, second, rng), title, self.replay_of)

    def games(self) -> pd.DataFrame:
        """Return the episodes as games between two players (operators, by name).

        The table shows which player controlled which agent, and who won by having the higher return. See
        `mosaic_lab.policies.pairings` for a round robin.
        """
        return games_table(self.records(), self.arena_path)

    def ratings(self, rng: int | None = None) -> Estimates:
        """Return the Elo ratings of the players of `games` with 95% bootstrap intervals, and their results.
        ``rng`` as in `summary`. See `mosaic_lab.evaluation.elo`."""
        return ratings_table(self.games(), self._seed(rng))

    @property
    def environment(self) -> str:
        """The environment's id, with the worker that provides it unless it is the default one."""
        return shown_as(self.plan.env_id, self.plan.family)

    def _title(self, subject: str) -> str:
        return f"{subject} in {self.environment}, {self.done:,} of {self.total:,} episodes"

    def _seed(self, rng: int | None) -> int:
        return resampling_seed(self.plan, rng)

    def balrog_results(self, folder: Path | str, others: Sequence[Results] = ()) -> pd.DataFrame:
        """Write the results of operators made by `mosaic_lab.operators.balrog` to ``folder``, in BALROG's own
        file formats.

        Return the summary: progression in percent with its standard error, for each environment and over all
        of them (environment "all"). ``others`` are evaluations of the same operators in other environments.
        Raises MosaicError if no such operator has finished an episode.
        """
        from mosaic_lab.evaluation.reports.balrog import write_balrog_results

        return write_balrog_results([self, *others], Path(folder))

    def to_csv(self, path: Path | str) -> Path:
        """Write `results` to a CSV file."""
        return write_csv(self.results(), path)

    def to_parquet(self, path: Path | str) -> Path:
        """Write `results` to a Parquet file. Raises MosaicError without pyarrow: the extra ``parquet``."""
        return write_parquet(self.results(), path)

    def played(self) -> Mapping[str, Sequence[Record]]:
        """Return the episodes of each operator that were played to their end."""
        return completed_by_operator(self.plan, self.records())

    def replay_of(
        self, chosen: EpisodeOf, install: Callable[[str], None], progress: Progress
    ) -> Replay | Replays:
        """Replay an episode of a plot, with another handle, because each serves one reader at a time."""
        operators = chosen.operators if len(chosen.operators) > 1 else chosen.operators[0]
        handle = type(self)(self.folder, self.display)
        return replay(handle, operators, chosen.seed, chosen.episode, install, progress)

    def dataset(self, path: Path | str, operators: str | Iterable[str] | None = None) -> Path:
        """Write the finished episodes, played with ``record="observations"``, as a Minari dataset.

        Return its folder: ``path``, with a version appended to its name if it has none ("played-v0").
        ``operators`` selects some; default: all. Observations and actions are the environment's, before a
        policy's wrappers. The dataset also contains seeds, returns, operators and versions. Failed episodes
        are left out, with a warning; a dataset written there before is replaced. The first call builds the
        environment of worker "minari".

        Raises ConfigurationError if no observations were recorded, and MosaicError if it cannot be written.
        """
        facts = {"run": self.id, "operators": self.versions, "start": self.plan.request.start}
        return write_dataset(path, self.recorded_episodes(), operators, facts)

    def recorded_episodes(self) -> list[RecordedEpisode]:
        """Return the ended episodes, with the files of their observations if recorded."""
        return recorded_episodes(self)

    def fingerprint(self) -> str:
        """Return a SHA-256 hash of what was evaluated (including the contents of checkpoints), the versions
        used, and the outcome of every episode, without its duration.

        Equal fingerprints mean the same evaluation with the same outcome. Raises MosaicError before all
        episodes are done.
        """
        records = self.records()
        if self.done < self.total:
            raise MosaicError(
                f"{self.done} of {self.total} episodes are done: a fingerprint covers all of them"
            )
        return fingerprint(__version__, self.plan, self.versions, records)
