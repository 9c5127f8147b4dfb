"""`Suite`, evaluations of the same operators in several environments as one result.

Returns are first normalised by the bounds of their environment. All environments have equal weight, and
episodes are resampled within each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.episode_log import Record
from mosaic_lab.evaluation.evaluation import Evaluation
from mosaic_lab.evaluation.fingerprints import resampling_seed
from mosaic_lab.evaluation.reports.plot import Plot
from mosaic_lab.evaluation.reports.plots import interval_plot, profile_plot
from mosaic_lab.evaluation.reports.summary_table import check_operator, versus_text
from mosaic_lab.evaluation.reports.units import (
    INTERVALS,
    comparable_scores,
    completed_by_operator,
    scores_of,
    sentence,
    units_text,
)
from mosaic_lab.evaluation.statistics.averages import AVERAGES, summary
from mosaic_lab.evaluation.statistics.curves import Profile, performance_profile
from mosaic_lab.evaluation.statistics.custom import Interval, Statistic, statistic
from mosaic_lab.evaluation.statistics.paired import (
    mean_difference,
    paired_difference,
    probability_of_improvement,
)
from mosaic_lab.evaluation.statistics.resampling import Estimate, normalise_scores
from mosaic_lab.validation import Problems, checked_methods

if TYPE_CHECKING:
    from mosaic_lab.evaluation.reports.estimate_table import Estimates

THRESHOLDS = 101
"""Default number of scores at which a profile is evaluated."""

_UNIT = "normalised score"


@dataclass(frozen=True, repr=False)
class SuiteVersus:
    """A comparison of two operators over all environments.

    ``difference`` is the mean over environments of the difference in normalised scores (first minus second)
    on shared seeds, or between the means of trainings if either is an algorithm. ``probability`` is the mean
    over environments of the probability that an episode of the first (a training, if both are algorithms)
    scores higher. ``over`` states what the intervals are over, ``rng`` is the seed of the resampling.
    """

    first: str
    second: str
    difference: Estimate
    probability: Estimate
    rng: int
    over: str

    def __repr__(self) -> str:
        estimates = self.difference, self.probability
        return f"{versus_text(self.first, self.second, *estimates, ' in normalised score')}\n{self.over}"


@checked_methods("suite")
class Suite:
    """Completed evaluations of the same operators in several environments.

    ``bounds`` is {environment id: (low, high)}: the returns that normalise to 0 and 1, such as those of a
    random and a reference player ("human-normalised scores", Mnih et al. 2015). ``rng`` seeds the resampling
    in every method; by default the seed is derived from what was evaluated.

    Raises ConfigurationError with all problems: no evaluations, two of one environment, unfinished
    evaluations, operators missing from one of them or without a valid episode, and bounds that are missing,
    equal or for another environment.
    """

    def __init__(self, evaluations: Sequence[Evaluation], bounds: Mapping[str, tuple[float, float]]) -> None:
        self.evaluations = tuple(evaluations)
        self.bounds = dict(bounds)
        records = [evaluation.records() for evaluation in self.evaluations]
        _check(self.evaluations, records, self.bounds)
        self.environments = tuple(evaluation.plan.env_id for evaluation in self.evaluations)
        self.operators = tuple(self.evaluations[0].plan.lanes_by_operator)
        self._plans = {evaluation.plan.env_id: evaluation.plan for evaluation in self.evaluations}
        self._records = {
            env: {
                label: _normalised(completed, env, *self.bounds[env])
                for label, completed in completed_by_operator(self._plans[env], recorded).items()
            }
            for env, recorded in zip(self.environments, records, strict=True)
        }

    def summary(self, rng: int | None = None) -> Estimates:
        """Return a row per operator: the aggregate metrics of Agarwal et al. 2021 over normalised scores.

        The columns are the mean, median, interquartile mean, median over environments and optimality gap to
        1, with 95% stratified bootstrap intervals: for an algorithm over its trainings in each environment
        (its "runs"), for other operators over their episodes. ``attrs["rng"]`` is the seed.
        """
        from mosaic_lab.evaluation.reports.estimate_table import estimates_table

        seed = self._seed(rng)
        scores = {label: self._scores(label) for label in self.operators}
        summaries = summary(scores, rng=np.random.default_rng(seed), target=1.0)
        rows = []
        for label, estimated in summaries.items():
            episodes = sum(len(records[label]) for records in self._records.values())
            row = {"operator": label, "environments": len(estimated.tasks), "episodes": episodes}
            estimates = {name: getattr(estimated, name) for name in AVERAGES}
            rows.append(
                row | {name: estimate for name, estimate in estimates.items() if estimate is not None}
            )
        intervals = self._intervals(self.operators)
        return estimates_table(rows, "operator", rng=seed, over=intervals, note=f"{intervals}.")

    def statistic(
        self,
        function: Statistic,
        interval: Interval = "percentile",
        each_environment: bool = False,
        resample_environments: bool = False,
        rng: int | None = None,
    ) -> Estimates:
        """Return a statistic of your own for each operator, with its 95% bootstrap interval.

        ``function`` maps an array of normalised scores, float64[n, environments], to a number, such as
        ``lambda scores: scipy.stats.trim_mean(scores, 0.25, axis=None)`` (the interquartile mean). The n
        scores in an environment are those of trainings or episodes, as in `summary`. With
        ``each_environment``, it maps the scores in one environment, float64[n], and the statistic is its mean
        over environments, whose numbers of scores may then differ; ``interval`` may then be "bca" (see
        `mosaic_lab.evaluation.statistic`). With ``resample_environments``, environments are resampled as well
        (task bootstrap), for intervals that extend to similar environments. Raises ConfigurationError for
        unsupported combinations.
        """
        from mosaic_lab.evaluation.reports.estimate_table import estimates_table

        seed, rows = self._seed(rng), []
        for label in self.operators:
            scores = {
                env: [float(np.mean(unit)) for unit in units] for env, units in self._scores(label).items()
            }
            if not each_environment or resample_environments:
                _check_counts(label, scores)
            estimate = statistic(
                [*scores.values()] if each_environment else np.transpose([*scores.values()]),
                function,
                rng=np.random.default_rng(seed),
                interval=interval,
                resample_tasks=resample_environments,
                each_task=each_environment,
            )
            rows.append({"operator": label, "environments": len(scores), "statistic": estimate})
        intervals = self._intervals(self.operators, interval)
        intervals += "; environments are resampled too" if resample_environments else ""
        return estimates_table(rows, "operator", rng=seed, over=intervals, note=f"{intervals}.")

    def profile(self, thresholds: ArrayLike | None = None, rng: int | None = None) -> dict[str, Profile]:
        """Return, for each operator, the fraction of its scores above each threshold: scores of trainings for
        an algorithm, of episodes for other operators.

        ``thresholds`` are normalised scores of shape (m,); default: 101 from the lowest to the highest score.
        See `performance_profile`.
        """
        scores = {label: self._scores(label) for label in self.operators}
        if thresholds is None:
            units = chain.from_iterable(scored for by_env in scores.values() for scored in by_env.values())
            all_scores = np.concatenate([np.atleast_1d(unit) for unit in units])
            thresholds = np.linspace(min(all_scores), max(all_scores), THRESHOLDS)
        seed = self._seed(rng)
        return {
            label: performance_profile(operator_scores, thresholds, rng=np.random.default_rng(seed))
            for label, operator_scores in scores.items()
        }

    def compare(self, first: str, second: str, rng: int | None = None) -> SuiteVersus:
        """Compare two operators on their shared seeds, or algorithms by their trainings. Raises
        ConfigurationError for an unknown operator, and for an environment in which they share no seed."""
        for label in (first, second):
            check_operator(label, self.operators)
        seed = self._seed(rng)
        difference_rng, probability_rng = (np.random.default_rng([seed, number]) for number in range(2))
        if any(label in plan.trainings for plan in self._plans.values() for label in (first, second)):
            difference = mean_difference(self._scores(first), self._scores(second), rng=difference_rng).mean
        else:
            differences = {env: self._differences(env, first, second) for env in self.environments}
            difference = summary({"": differences}, rng=difference_rng)[""].mean
        pairs = {
            env: comparable_scores(self._plans[env], [(label, records[label]) for label in (first, second)])
            for env, records in self._records.items()
        }
        scores = ({env: pair[side] for env, pair in pairs.items()} for side in (0, 1))
        probability = probability_of_improvement(*scores, rng=probability_rng)
        return SuiteVersus(first, second, difference, probability, seed, self._intervals((first, second)))

    def interval_plot(self, rng: int | None = None) -> Plot:
        """Plot the estimates of `summary` with their intervals, a row for each operator."""
        return interval_plot(self.summary(rng), self._title("Normalised scores"), _UNIT)

    def profile_plot(self, thresholds: ArrayLike | None = None, rng: int | None = None) -> Plot:
        """Plot the curves of `profile`."""
        profiles = self.profile(thresholds, rng)
        algorithms = {label in plan.trainings for plan in self._plans.values() for label in self.operators}
        scored = "scores" if len(algorithms) > 1 else "trainings" if algorithms == {True} else "episodes"
        return profile_plot(
            profiles,
            self._title("Performance profiles"),
            f"share of {scored} above a {_UNIT}",
            _UNIT,
            self._intervals(self.operators, "pointwise"),
            self._seed(rng),
        )

    def __repr__(self) -> str:
        return f"<Suite of {', '.join(self.environments)}: {', '.join(self.operators)}>"

    def _title(self, subject: str) -> str:
        count = len(self.environments)
        return f"{subject} in {count} {'environment' if count == 1 else 'environments'}"

    def _scores(self, label: str) -> dict[str, Any]:
        """Return an operator's normalised scores by environment; see `Scores`."""
        return {
            env: scores_of(self._plans[env], label, records[label]) for env, records in self._records.items()
        }

    def _intervals(self, labels: Sequence[str], kind: str = "percentile") -> str:
        """Return what the intervals of operators are over, in words."""
        texts = {}
        for label in labels:
            units = [
                units_text(self._plans[env], label, records[label]) for env, records in self._records.items()
            ]
            texts[label] = " or ".join(dict.fromkeys(units))
            texts[label] += f" in each of {len(units)} environments" if len(units) > 1 else ""
        return sentence(texts, INTERVALS[kind])

    def _differences(self, env: str, first: str, second: str) -> tuple[float, ...]:
        pairs = (
            ([record["seed"] for record in records], [record["return"] for record in records])
            for records in (self._records[env][label] for label in (first, second))
        )
        try:
            return paired_difference(*pairs, rng=np.random.default_rng(0), resamples=1).differences
        except ConfigurationError as error:
            raise ConfigurationError(f"{env}: {error}") from None

    def _seed(self, rng: int | None) -> int:
        return resampling_seed((evaluation.plan for evaluation in self.evaluations), rng)


def _normalised(records: Sequence[Record], env: str, low: float, high: float) -> list[Record]:
    """Return the episodes with their returns normalised by the environment's bounds."""
    scores = normalise_scores({env: [record["return"] for record in records]}, {env: low}, {env: high})[env]
    return [{**record, "return": float(score)} for record, score in zip(records, scores, strict=True)]


def _check_counts(label: str, scores: Mapping[str, Sequence[float]]) -> None:
    """Raise ConfigurationError if an operator's numbers of scores differ between environments."""
    counts = {env: len(env_scores) for env, env_scores in scores.items()}
    if len(set(counts.values())) > 1:
        texts = ", ".join(f"{count:,} in {env}" for env, count in counts.items())
        raise ConfigurationError(
            f"{label} has different numbers of scores ({texts}): a statistic of all environments at once, or "
            "with resample_environments, needs the same number in each; each_environment=True averages a "
            "statistic of each environment"
        )


def _check(
    evaluations: Sequence[Evaluation], records: Sequence[Sequence[Record]], bounds: Mapping[str, Any]
) -> None:
    problems = Problems()
    if not evaluations:
        raise ConfigurationError(
            "there are no evaluations; pass [lab.evaluate(...), ...], one per environment"
        )
    environments = [evaluation.plan.env_id for evaluation in evaluations]
    for env, times in Counter(environments).items():
        if times > 1:
            problems.add("", f"{times} evaluations are of {env}: give one for each environment")
        if wrong := _wrong_bounds(env, bounds.get(env)):
            problems.add("", wrong)
    for env in bounds:
        if env not in environments:
            problems.add("", f"bounds are given for {env}, which has no evaluation")
    plans = [evaluation.plan for evaluation in evaluations]
    operators = list(dict.fromkeys(label for plan in plans for label in plan.lanes_by_operator))
    for label in operators:
        kinds = {label in plan.trainings: plan.env_id for plan in plans if label in plan.lanes_by_operator}
        if len(kinds) > 1:
            text = f"{label} is an algorithm in {kinds[True]} and a single policy in {kinds[False]}"
            problems.add("", f"{text}: use one or the other")
    for evaluation, recorded in zip(evaluations, records, strict=True):
        name, lanes = f"{evaluation.plan.env_id} ({evaluation.id})", evaluation.plan.lanes_by_operator
        if evaluation.done < evaluation.total:
            problems.add("", f"{name}: {evaluation.done:,} of {evaluation.total:,} episodes are done")
        if lacking := [label for label in operators if label not in lanes]:
            problems.add("", f"{name}: no operator {', '.join(lacking)}, which others have")
        for label, completed in completed_by_operator(evaluation.plan, recorded).items():
            if evaluation.done == evaluation.total and not completed:
                problems.add("", f"{name}: every episode of {label} failed")
    problems.check()


def _wrong_bounds(env: str, bounds: Any) -> str:
    """Return what is wrong with the bounds of an environment, as a sentence; empty if nothing is."""
    if bounds is None:
        return f"no bounds for {env}: give the returns that map to 0 and 1, {{{env!r}: (low, high)}}"
    try:
        low, high = map(float, bounds)
    except (TypeError, ValueError):
        return f"bounds of {env}: {bounds!r} are not two numbers, (low, high)"
    sound = math.isfinite(low) and math.isfinite(high) and low != high
    return "" if sound else f"bounds of {env}: {bounds!r} must be two finite numbers that differ"
