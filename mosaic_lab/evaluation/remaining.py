"""The estimate of the time that an evaluation still takes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from operator import itemgetter
from statistics import fmean

from mosaic_lab.evaluation.episode_log import Record
from mosaic_lab.evaluation.plan import Job, Key

_RECENT = 50  # episodes for the speed
_QUIET_SECONDS, _QUIET_GAPS = 10.0, 3  # without an ended episode, after which the speed is unknown


def remaining_seconds(
    ended: Mapping[Key, Record], jobs: Iterable[Job], parallel: int, now: float
) -> float | None:
    """Return the estimated seconds until all ``jobs`` have ended, ``parallel`` at a time.

    Operators' episodes differ in length, so each operator's remaining episodes count with the mean duration
    of its recent ones, or with the mean of the other operators' where none of its own has ended. ``now`` is
    in Unix seconds. Return None before two episodes have ended, when none remains, and when none has ended
    for much longer than the recent ones took.
    """
    remaining = Counter(job.label for job in jobs if job.key not in ended)
    records = sorted(ended.values(), key=itemgetter("timestamp"))
    means = {label: fmean(recent[-_RECENT:]) for label, recent in _durations(records).items()}
    if len(records) < 2 or not remaining or not means:
        return None
    stamps: list[float] = [record["timestamp"] for record in records[-_RECENT:]]
    quiet = max(0.0, now - stamps[-1])
    longest = max(later - earlier for earlier, later in pairwise(stamps))
    if quiet > max(_QUIET_SECONDS, _QUIET_GAPS * longest):
        return None
    others = fmean(means.values())
    work = sum(count * means.get(label, others) for label, count in remaining.items())
    return max(quiet, work / min(parallel, remaining.total()))


def _durations(records: Iterable[Record]) -> dict[str, list[float]]:
    """Return the seconds that each operator's episodes took, in the order of their ends.

    They are from the end of the arena's previous episode, with the reset and all that is around an episode;
    an arena's first episode counts from its first step.
    """
    found: dict[str, list[float]] = defaultdict(list)
    previous: dict[str, float] = {}
    for record in records:
        arena, end = record["arena"], record["timestamp"]
        seconds = end - previous[arena] if arena in previous else record["seconds"]
        previous[arena] = end
        if seconds is not None:
            found[record["operator"]].append(seconds)
    return found
