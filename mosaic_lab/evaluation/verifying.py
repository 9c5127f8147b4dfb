"""Playing episodes again and saying which differ, and from which step.

Crosses the boundary: `verify` and the `Verification` that it returns.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.fingerprints import digests, outcomes
from mosaic_lab.evaluation.ledger import Record
from mosaic_lab.evaluation.plan import Key, Plan

if TYPE_CHECKING:
    import pandas as pd

    from mosaic_lab.evaluation.handle import Evaluation

_COMPARED = ["agent_id", "action", "reward", "terminated", "truncated"]

Start = Callable[[Plan], "Evaluation"]


@dataclass(frozen=True)
class Difference:
    """An episode that came out otherwise: ``what`` of it did; ``step`` is the first that differs, None where
    no step does (or none was recorded)."""

    operator: str
    seed: int
    episode: int
    what: tuple[str, ...]
    step: int | None


@dataclass(frozen=True)
class Verification:
    """``episodes`` were played again, of which these differ. ``versions`` that are others now:
    {operator: {package: (then, now)}}."""

    episodes: int
    differences: tuple[Difference, ...]
    versions: dict[str, dict[str, tuple[str | None, str | None]]]

    @property
    def same(self) -> bool:
        """Whether every episode came out as before."""
        return not self.differences


def verify(
    evaluation: Evaluation, records: Sequence[Record], sample: int | None, start: Start
) -> Verification:
    """``records`` are the episodes that ended, ``sample`` how many of them to play again (None: all).

    ``start`` begins an evaluation of a plan; it is waited for, and its folder stays for whoever wants to
    look. Raises ConfigurationError where a checkpoint is another one now, or for a sample that is none.
    """
    plan = evaluation.plan
    if sample is not None and (type(sample) is not int or not sample >= 1):
        raise ConfigurationError(f"sample={sample!r}: give how many episodes to play again, or None for all")
    now = digests(plan.operators.values())
    if changed := [path for path, known in plan.digests.items() if now.get(path) != known]:
        raise ConfigurationError(f"the checkpoint {changed[0]} is not what it was when it was evaluated")
    before = {_key(record): record for record in records}
    keys = list(before)
    if sample is not None and sample < len(keys):
        keys = random.Random(len(keys)).sample(keys, sample)  # the same each time
    again = start(replace(plan, only=keys, on_failure="skip")).wait()
    differences = []
    for record in again.records():
        key = _key(record)
        (then,), (after,) = outcomes([before[key]]), outcomes([record])
        what = tuple(name for name in then if repr(then[name]) != repr(after[name]))  # NaN is NaN here
        step = _first_difference(evaluation.steps(*key), again.steps(*key))
        if what or step is not None:
            differences.append(Difference(*key, what or ("steps",), step))
    versions = _changes(evaluation.versions, again.versions)
    return Verification(len(keys), tuple(differences), versions)


def _key(record: Record) -> Key:
    return record["operator"], record["seed"], record["episode"]


def _first_difference(then: pd.DataFrame, now: pd.DataFrame) -> int | None:
    shared = min(len(then), len(now))
    for name in _COMPARED:
        ours, theirs = then[name].head(shared).map(repr), now[name].head(shared).map(repr)
        shared = min([shared, *(index for index in range(shared) if ours[index] != theirs[index])])
    if shared < len(then):
        return int(then["step_index"][shared])
    return int(now["step_index"][shared]) if shared < len(now) else None


def _changes(
    then: dict[str, dict[str, str]], now: dict[str, dict[str, str]]
) -> dict[str, dict[str, tuple[str | None, str | None]]]:
    found = {}
    for label, versions in now.items():
        known = then.get(label, {})
        names = sorted({*known, *versions})
        changed = {n: (known.get(n), versions.get(n)) for n in names if known.get(n) != versions.get(n)}
        if changed:
            found[label] = changed
    return found
