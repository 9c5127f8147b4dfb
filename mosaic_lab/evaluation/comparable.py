"""Whether games of several evaluations count together: the same environment, the same players by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mosaic_lab.evaluation.fingerprints import digest, identity
from mosaic_lab.evaluation.plan import EvaluationPlan
from mosaic_lab.evaluation.results import Results
from mosaic_lab.validation import Problems

_SAME = ("env_id", "family", "settings", "max_steps")


def check_comparable(evaluations: Sequence[Results]) -> None:
    """Raise ConfigurationError with everything that keeps the games of evaluations from counting together."""
    problems = Problems()
    if not evaluations:
        problems.add("", "there are no evaluations; pass [lab.evaluate(...), ...]")
    seen: dict[str, tuple[str, str]] = {}
    played: dict[str, str] = {}
    for evaluation in evaluations:
        _check_environment(evaluations[0], evaluation, problems)
        for name, known in _identities(evaluation.plan).items():
            first, other = seen.setdefault(name, (known, evaluation.id))
            if first != known:
                problems.add("", f"{name!r} is another operator in {evaluation.id} than in {other}")
        games = {digest(game) for game in _games(evaluation.plan)}
        if twice := {played[game] for game in games & set(played)}:
            problems.add("", f"{evaluation.id} has games that are in {', '.join(sorted(twice))} too")
        played |= dict.fromkeys(games, evaluation.id)
    problems.check()


def _check_environment(first: Results, other: Results, problems: Problems) -> None:
    for name in _SAME:
        one, two = (getattr(evaluation.plan, name) for evaluation in (first, other))
        if one != two:
            problems.add("", f"{other.id} has {name}={two!r:.200}, {first.id} has {one!r:.200}")
    ours, theirs = (_versions(evaluation.versions.values()) for evaluation in (first, other))
    for package in sorted(set(ours) & set(theirs)):
        if ours[package] != theirs[package]:
            texts = [" and ".join(sorted(one[package])) for one in (theirs, ours)]
            problems.add("", f"{other.id} was played with {package} {texts[0]}, {first.id} with {texts[1]}")


def _versions(of_lanes: Iterable[Mapping[str, str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for versions in of_lanes:
        for package, version in versions.items():
            found.setdefault(package, set()).add(version)
    return found


def _identities(plan: EvaluationPlan) -> dict[str, str]:
    """Return by the name of each player what it is, checkpoints by their contents."""
    lanes = identity(plan)["operators"].values()
    return {one["name"]: digest(one) for lane in lanes for one in lane.values()}


def _games(plan: EvaluationPlan) -> Iterable[list[Any]]:
    """Return the games: who plays for whom, and the seeds."""
    sides = {
        label: sorted((pattern, spec.name) for pattern, spec in plan.mapping(label).items())
        for label in plan.lanes
    }
    return ([sides[job.label], job.episode_seed, job.operator_seed] for job in plan.jobs())
