"""A panel's header and its static table: members in, plain dictionaries and HTML out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import heapify, heapreplace
from html import escape
from typing import Any

from mosaic_lab.keeper.states import State
from mosaic_lab.widgets.charts.formats import duration, memory, number
from mosaic_lab.widgets.runs.run_view import FINAL_EPISODES, Member

_ORDER = list(State)


def header(members: Sequence[Member], title: str, detail: str, again: str) -> dict[str, Any]:
    """What the header shows, every number as text. ``progress`` is None when no end is known.

    ``again`` says how to show the panel again; the page needs it when the kernel is gone.
    """
    states = Counter(member.status.state for member in members)
    ordered = sorted(states, key=_ORDER.index)
    alone = len(members) == 1
    live = any(not member.finished for member in members)
    parts = [member.progress() for member in members]
    known = [part for part in parts if part is not None]
    return {
        "title": title,
        "detail": detail,
        "again": again,
        "state": _overall(states),
        "chips": [
            {"state": state, "text": state if alone else f"{states[state]} {state}"} for state in ordered
        ],
        # A failure's reason is a notice, in full.
        "reason": reason(members[0])
        if alone and members[0].status.state not in (State.FAILED, State.LOST)
        else "",
        "progress": round(sum(known) / len(parts), 4) if len(known) == len(parts) else None,
        "facts": _facts(members, live),
        "stop": "" if not live else "Stop" if alone else "Stop all",
    }


def table(members: Sequence[Member], notes: Sequence[str] = ()) -> str:
    """A small HTML table, one row a run: state, steps, episodes, returns, duration, peak memory."""
    words, numbers = (
        ["run", "state"],
        ["steps", "episodes", f"return, last {FINAL_EPISODES}", "best", "time", "peak memory"],
    )
    rows = [_row(member) for member in members]
    if len(members) == 1:  # its name is the title already
        words, rows = words[1:], [(own[1:], figures) for own, figures in rows]
    head = _cells("th", words, "left") + _cells("th", numbers, "right")
    body = "".join(
        f"<tr>{_cells('td', own, 'left')}{_cells('td', figures, 'right')}</tr>" for own, figures in rows
    )
    lines = "".join(f'<div style="opacity:.75">{escape(note)}</div>' for note in notes)
    return f'<table style="margin:4px 0"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{lines}'


def _cells(tag: str, texts: Sequence[str], side: str) -> str:
    return "".join(f'<{tag} style="text-align:{side}">{escape(text)}</{tag}>' for text in texts)


def _row(member: Member) -> tuple[list[str], list[str]]:
    why = reason(member)
    return [member.label, member.status.state + (f": {why}" if why else "")], [
        f"{member.feed.step:,}",
        f"{member.feed.episodes:,}",
        number(member.final_return()),
        number(member.best_return()),
        duration(member.elapsed()),
        memory(member.memory_mb()),
    ]


def reason(member: Member) -> str:
    """Why a run is in its state, where that says more than the state does."""
    if doing := member.doing():
        return doing
    state, recorded = member.status.state, member.status.reason
    says_nothing = member.reason == state or (state is State.RUNNING and member.reason == recorded)
    return "" if says_nothing else member.reason


def _overall(states: Counter[State]) -> State:
    """The state that the whole is in: the liveliest member's, or the worst end."""
    live = (State.RUNNING, State.STARTING, State.STOPPING, State.QUEUED)
    ends = (State.FAILED, State.LOST, State.CANCELLED, State.COMPLETED, State.REMOVED)
    return next(state for state in (*live, *ends) if states[state])


def _facts(members: Sequence[Member], live: bool) -> list[list[str]]:
    steps, totals = (
        sum(member.feed.step for member in members),
        [member.run.total_timesteps for member in members],
    )
    whole = f" / {number(sum(filter(None, totals)))}" if all(totals) else ""
    facts = [[f"{number(steps)}{whole}", "steps"]]
    elapsed = _elapsed(members)
    speed = _speed(members) if live else steps / elapsed if elapsed else None
    if speed:
        facts.append([number(_rounded(speed)), "steps/s"])
    left = _left(members)
    if left is not None:
        facts.append([duration(left), "left"])
    facts.append([number(sum(member.feed.episodes for member in members)), "episodes"])
    facts.append([duration(elapsed), "elapsed" if live else "in all"])
    # An ended run's memory is its peak, which nothing uses any more while others are at work.
    used = _known(member.memory_mb() for member in members if not (live and member.finished))
    if used:
        facts.append([memory(sum(used) if live else max(used)), "memory" if live else "peak"])
    return facts


def _elapsed(members: Sequence[Member]) -> float | None:
    """Seconds from the first run's start to the last one's end, or to now."""
    spans = [span for member in members if (span := member.span()) is not None]
    return max(end for _, end in spans) - min(begin for begin, _ in spans) if spans else None


def _speed(members: Sequence[Member]) -> float:
    """Steps per second of the runs at work together."""
    return sum(_known(member.speed() for member in members))


def _left(members: Sequence[Member]) -> float | None:
    """Estimated seconds until all have ended, as many at a time as now; ``None`` unless all of it is known.

    A queued run takes the place that is free first, and is as fast as the others are on average.
    """
    waiting = [member for member in members if member.status.state is State.QUEUED]
    working = [member for member in members if not member.finished and member not in waiting]
    ends, speeds = _known(member.left() for member in working), _known(member.speed() for member in working)
    totals = _known(member.run.total_timesteps for member in waiting)
    if not working or len(ends) < len(working) or len(totals) < len(waiting) or not sum(speeds):
        return None
    heapify(ends)
    for total in totals:
        heapreplace(ends, ends[0] + total * len(speeds) / sum(speeds))
    return max(ends)


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _rounded(speed: float) -> float:
    return round(speed) if speed >= 10 else speed
