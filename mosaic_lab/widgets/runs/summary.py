"""The numbers of a panel's header, and its static table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import heapify, heapreplace
from typing import Any

from mosaic_lab.keeper.states import State
from mosaic_lab.number_format import duration, memory, number
from mosaic_lab.overview.results import mean_speed
from mosaic_lab.runs.checkpoint_path import continued_run
from mosaic_lab.runs.films import planned_films
from mosaic_lab.runs.kinds import kind_of
from mosaic_lab.telemetry.metrics import BEST, LAST
from mosaic_lab.widgets.page.saved_form import html_notes, html_table
from mosaic_lab.widgets.runs.run_view import RunView
from mosaic_lab.widgets.runs.system_charts import memory_peak

_ORDER = list(State)


def header_summary(
    views: Sequence[RunView], title: str, detail: str, again: str, at_work: Sequence[RunView]
) -> dict[str, Any]:
    """Return the content of the header, every number as text. ``progress`` is None if the total is unknown.

    ``again`` says how to show the panel again, which the page needs once the kernel is gone. ``at_work`` are
    all runs whose memory is counted.
    """
    states = Counter(view.status.state for view in views)
    store = views[0].run.path.parent
    ordered = sorted(states, key=_ORDER.index)
    alone = len(views) == 1
    live = any(not view.finished for view in views)
    parts = [view.progress() for view in _not_continued(views)]
    reported = [part for part in parts if part is not None]
    return {
        "title": title,
        "detail": detail,
        "again": again,
        "state": _overall(states),
        "chips": [
            {"state": state, "text": state if alone else f"{states[state]} {state}"} for state in ordered
        ],
        # A failure's reason is shown in full as a notice.
        "reason": state_reason(views[0])
        if alone and views[0].status.state not in (State.FAILED, State.LOST)
        else "",
        "progress": round(sum(reported) / len(parts), 4) if len(reported) == len(parts) else None,
        "facts": _facts(views, at_work, live),
        "stop": "" if not live else "Stop" if alone else "Stop all",
        "store": str(store),
        "runs": [view.run.id for view in views if view.run.path.parent == store],
    }


def runs_table(views: Sequence[RunView], notes: Sequence[str]) -> str:
    """Return a small HTML table, one row per run: state, steps, episodes, returns, duration, peak memory."""
    kind = kind_of(views[0].run)
    columns = ["run", "state", kind.unit, kind.episodes, LAST, BEST, "time", "peak memory"]
    first = 1 if len(views) == 1 else 0  # the title already names a single run
    table = html_table(columns[first:], (_row(view)[first:] for view in views), words=2 - first)
    return table + html_notes(notes)


def _row(view: RunView) -> list[str]:
    why = state_reason(view)
    return [
        view.label,
        view.status.state + (f": {why}" if why else ""),
        f"{view.step:,}",
        f"{view.feed.episodes:,}",
        number(view.feed.last_return),
        number(view.feed.returns.best),
        duration(view.elapsed()),
        memory(view.memory_mb()),
    ]


def state_reason(view: RunView) -> str:
    """Return the reason of a run's state if it adds information."""
    if doing := view.doing():
        return doing
    state, recorded = view.status.state, view.status.reason
    says_nothing = view.reason == state or (state is State.RUNNING and view.reason == recorded)
    return "" if says_nothing else view.reason


def _overall(states: Counter[State]) -> State:
    """Return the overall state: the most active view's state, or the worst final state."""
    live = (State.RUNNING, State.STARTING, State.STOPPING, State.QUEUED)
    final = (State.FAILED, State.LOST, State.CANCELLED, State.COMPLETED, State.REMOVED)
    return next(state for state in (*live, *final) if states[state])


def _facts(views: Sequence[RunView], at_work: Sequence[RunView], live: bool) -> list[list[str]]:
    last = _not_continued(views)
    steps, totals = sum(view.step for view in last), [view.run.total_timesteps for view in last]
    planned, requested = sum(_defined(totals)), sum(_defined(view.run.requested_timesteps for view in last))
    kind = kind_of(views[0].run)
    unit = kind.unit
    facts = [[number(steps) + (f" / {number(planned)}" if all(totals) else ""), unit]]
    if all(totals) and planned != requested:  # in full, because the two are close together
        facts = [[f"{steps:,} / {planned:,}", f"steps ({requested:,} requested)"]]
    elapsed = _elapsed(views)
    speed = mean_speed(sum(view.trained() for view in views), elapsed)
    if live:
        speed = sum(_defined(view.speed() for view in views if not view.finished))
    if speed:
        facts.append([number(round(speed) if speed >= 10 else speed), f"{unit}/s"])
    seconds_left = _seconds_left(views)
    if seconds_left is not None:
        facts.append([duration(seconds_left), "left"])
    if unit == "steps":
        films = [planned_films(view.run.config) for view in views]
        planned_text = f" of {number(sum(_defined(films)))}" if all(films) else ""
        facts.append([number(sum(view.feed.episodes for view in views)) + planned_text, kind.episodes])
    facts.append([duration(elapsed), "elapsed" if live else "total"])
    # The memory of an ended run is its peak, which is no longer in use while other runs are active.
    memories = _defined(view.memory_mb() for view in at_work if not (live and view.finished))
    if memories:
        facts.append([memory(sum(memories) if live else memory_peak(at_work)), "memory" if live else "peak"])
    return facts


def _not_continued(views: Sequence[RunView]) -> list[RunView]:
    """Return the views of runs that no other run continues, because a continuation counts the steps of
    both."""
    continued = {continued_run(view.run) for view in views}
    return [view for view in views if view.run.id not in continued]


def _elapsed(views: Sequence[RunView]) -> float | None:
    """Return the seconds during which at least one run was active."""
    spans = sorted(span for view in views if (span := view.span()) is not None)
    total, latest_end = 0.0, -math.inf
    for begin, end in spans:
        total += max(0.0, end - max(begin, latest_end))
        latest_end = max(latest_end, end)
    return total if spans else None


def _seconds_left(views: Sequence[RunView]) -> float | None:
    """Return the estimated seconds until all have ended at the current concurrency; ``None`` if unknown.
    Queued runs are assumed to take the first free slot and to be as fast as the others are on average."""
    waiting = [view for view in views if view.status.state is State.QUEUED]
    working = [view for view in views if not view.finished and view not in waiting]
    end_times = _defined(view.seconds_left() for view in working)
    speeds = _defined(view.speed() for view in working)
    totals = _defined(view.run.total_timesteps for view in waiting)
    if not working or len(end_times) < len(working) or len(totals) < len(waiting) or not sum(speeds):
        return None
    heapify(end_times)
    for total in totals:
        heapreplace(end_times, end_times[0] + total * len(speeds) / sum(speeds))
    return max(end_times)


def _defined(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
