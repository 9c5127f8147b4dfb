"""Runs as a table, in text and in HTML, and the notices of a new `Lab` about its store."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, overload

from mosaic_contract.config import nearest

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keeper.files import folders_in
from mosaic_lab.keeper.run_store import RunStore
from mosaic_lab.keeper.states import State
from mosaic_lab.number_format import duration, memory, number
from mosaic_lab.runs import Run
from mosaic_lab.runs.annotations import checked_tags, read_annotations
from mosaic_lab.runs.exporting import export
from mosaic_lab.runs.isolation import isolated
from mosaic_lab.runs.kinds import as_kind, kind_of
from mosaic_lab.runs.supervisor import this_notebook
from mosaic_lab.text_table import shortened, text_table
from mosaic_lab.validation import checked_methods

if TYPE_CHECKING:
    import pandas as pd

NOTHING_TO_STOP = "nothing to stop: no run is alive"
_MAX_ROWS = 50
_COMPARISON = re.compile(r"\w+ *[<>]=? *\S+")
_FIELDS: dict[str, Callable[[Run], Iterable[str]]] = {
    "state": lambda run: map(str, State),
    "kind": lambda run: [kind_of(run).name],
    "worker": lambda run: [run.worker],
    "algorithm": lambda run: [run.algorithm],
    "env": lambda run: [run.env],
    "tags": lambda run: run.tags,
}
"""The fields that the runs panel can search, each with a run's values."""
_FIELD = re.compile(rf"\b({'|'.join(_FIELDS)}):(\S+)")
_MAX_NAME_LENGTH = 60
_COLUMNS = {
    "name": "12em",
    "run": "13em",
    "tags": "6em",
    "state": "7em",
    "started": "6em",
    "progress": "7.5em",
    "time": "5.5em",
    "return, last 20": "5.5em",
    "group": "9em",
    "reason": "auto",
}
"""Columns and their widths in HTML, chosen to leave space for the reason on a small screen."""
_CLAMPED = (
    "display:-webkit-box; -webkit-box-orient:vertical; -webkit-line-clamp:3; overflow:hidden; "
    "overflow-wrap:anywhere; text-align:left"
)
"""A style that shows at most three lines and an ellipsis; the tooltip has the full text."""


@checked_methods("lab.runs")
class RunList(Sequence[Run]):
    """Runs, oldest first; displayed as a table of the newest fifty with ``notes`` below, or as the text
    ``empty``.

    Items have the class of their run kind, as returned by `Lab.run`. A list is an immutable snapshot of the
    store; `Run.remove` deletes a run.
    """

    def __init__(self, runs: Iterable[Run] = (), empty: str = "no runs", notes: Iterable[str] = ()) -> None:
        self._runs = tuple(runs)
        self._empty = empty
        self._notes = list(notes)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> RunList: ...
    def __getitem__(self, index: int | slice) -> Run | RunList:
        if isinstance(index, slice):
            return RunList(self._runs[index], self._empty)
        return as_kind(self._runs[index])

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return map(as_kind, self._runs)

    def search(self, text: str = "", tags: Iterable[str] = ()) -> RunList:
        """Return the runs that have all of ``tags``, and every word of ``text`` (case-insensitive) in their
        id, name, label, group, state, tags or notes; numbers match only as whole words.

        Raises ConfigurationError if ``text`` is not a string or compares values, or ``tags`` is not a list.
        """
        if not isinstance(text, str):
            raise ConfigurationError(f"search({text!r:.80}): must be one string of the words to search for")
        if field := _FIELD.search(text):
            raise ConfigurationError(
                f"search() finds words, not {field[0]!r}{_word(self._runs, *field.groups())}"
            )
        if compared := next(iter(_COMPARISON.findall(text)), None):
            raise ConfigurationError(
                f"search() finds words, not values such as {compared!r}: filter the table, for example "
                '`table = lab.runs.table(); table[table["params.learning_rate"] < 0.001]`'
            )
        words, required_tags = text.casefold().split(), set(checked_tags(tags))
        return RunList((run for run in self._runs if _matches(run, words, required_tags)), "no such runs")

    def table(self) -> pd.DataFrame:
        """Return a table with one row per run, in the order of the runs.

        Columns: id, name, kind ("training", "evaluation" …), state, tags (a tuple), worker, algorithm, env,
        seed, group, step, total_steps, last_return (mean of the last 20 episodes), best_return (best mean
        over 20 consecutive episodes), speed (steps per second over the last 12 seconds or, for ended runs,
        over the whole duration, as in panels and lists), duration (seconds), created, started, ended (UTC);
        each hyperparameter, given or upstream's default, as "params.<name>" (of tables, such as
        ``env_kwargs``, each value as "params.<name>.<key>"; lists as tuples); the last value of each metric
        other than ``steps_per_second`` as "metrics.<name>"; mosaic_lab, worker_version, upstream, python (the
        worker's), platform, git_commit, git_dirty; notes. Absent values are missing (NaN, NA or None).

        The first call reads all telemetry, later calls only new data.
        """
        from mosaic_lab.overview.results import data_frame

        return data_frame(self._runs)

    def export(self, to: str, out: Path | str) -> list[Path]:
        """Write the runs for another tool below the folder ``out``; see `Run.export`."""
        return export(self, to, out)

    def __repr__(self) -> str:
        if not self:
            return self._empty
        rows = [[_first_line(cell) for cell in row] for row in self._cells()]
        return "\n".join([*self._older(), text_table(rows), *self._notes])

    def _repr_html_(self) -> str:
        if not self:
            return f"<p>{html.escape(self._empty)}</p>"
        head, *rows = self._cells()
        widths = "".join(f'<col style="width:{_COLUMNS[name]}">' for name in head)
        body = "".join(_line("td", row) for row in rows)
        older = "".join(f"<p>{html.escape(text)}</p>" for text in self._older())
        notes = "".join(f"<p>{html.escape(text)}</p>" for text in self._notes)
        return (
            f'{older}<table style="table-layout:fixed; width:100%; min-width:60em"><colgroup>{widths}'
            f"</colgroup><thead>{_line('th', head)}</thead><tbody>{body}</tbody></table>{notes}"
        )

    def _cells(self) -> list[list[str]]:
        """Return the header and the rows, without empty columns."""
        rows = [isolated(partial(_row, run), partial(_unreadable, run)) for run in self[-_MAX_ROWS:]]
        columns = [column for column in _COLUMNS if any(row[column] for row in rows)]
        return [columns, *([row[column] for column in columns] for row in rows)]

    def _older(self) -> list[str]:
        hidden = len(self) - _MAX_ROWS
        return [f"({hidden} older runs are not shown)"] if hidden > 0 else []


def _row(run: Run) -> dict[str, str]:
    run = as_kind(run)
    elapsed, recent, created = run.elapsed, run.recent_return, run.created
    cells = (
        shortened(run.name, _MAX_NAME_LENGTH),
        run.id,
        ", ".join(run.tags),
        str(run.state),
        "" if created is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(created)),
        run.progress_text,
        "" if elapsed is None else duration(elapsed),
        "" if recent is None else number(recent),
        run.group or "",
        run.reason,
    )
    return dict(zip(_COLUMNS, cells, strict=True))


def _unreadable(run: Run, reason: str) -> dict[str, str]:
    return {**dict.fromkeys(_COLUMNS, ""), "run": run.id, "state": str(State.LOST), "reason": reason}


def _word(runs: Iterable[Run], field: str, value: str) -> str:
    """Return the end of an error about a field: the word to search for instead, or the nearest value."""
    reads = (partial(_FIELDS[field], run) for run in runs)
    values = {text for read in reads for text in isolated(read, lambda reason: ()) if text}
    match = next((text for text in values if text.casefold() == value.casefold()), None)
    if match is not None:
        return f": search for {match!r} alone"
    return f", and no run has the {field} {value!r}{nearest(value, values)}"


def _first_line(text: str) -> str:
    first, more, _ = text.partition("\n")
    return f"{first} …" if more else first


def _line(tag: str, cells: Iterable[str]) -> str:
    texts = [html.escape(cell) for cell in cells]
    cells_html = (f'<{tag}><div style="{_CLAMPED}" title="{text}">{text}</div></{tag}>' for text in texts)
    return f"<tr>{''.join(cells_html)}</tr>"


def _matches(run: Run, words: list[str], required_tags: set[str]) -> bool:
    annotations = read_annotations(run.folder)
    if not required_tags <= set(annotations.tags):
        return False
    if not words:
        return True
    texts = [
        run.id,
        annotations.name,
        run.label,
        run.group or "",
        run.state,
        *annotations.tags,
        annotations.notes,
    ]
    text = "\n".join(texts).casefold()
    # Numbers match as whole words, because "2" is in the id of every run.
    return all(re.search(rf"\b{word}\b", text) if word.isdecimal() else word in text for word in words)


def new_store_notice(root: Path) -> str:
    """Return the notice about a new store, which mentions the nearest store of this name in a parent
    folder."""
    line = f"{root} does not exist: the first run creates this run store."
    above = (folder / root.name for folder in root.parent.parents)
    if other := next((store for store in above if folders_in(store) and RunStore(store).folders()), None):
        count = len(RunStore(other).folders())
        line += (
            f'\nA store with {count} run{"s" if count > 1 else ""} is in {other}: Lab("{other}") opens it.'
        )
    return line


def alive_notice(runs: list[Run], root: Path) -> str:
    """Return the notice about live runs, for users who restarted the kernel to free memory. Runs of other
    notebooks are only counted, because the notice is saved in the notebook."""
    own_runs = [run for run in runs if run.notebook == this_notebook()]
    other_count = len(runs) - len(own_runs)
    lines = []
    if own_runs:
        count = "1 run is" if len(own_runs) == 1 else f"{len(own_runs)} runs are"
        lines.append(f"{count} still alive in {root}:")
        lines += map(_alive_line, own_runs)
        run_id = own_runs[-1].id
        lines.append(f'`run = lab.run("{run_id}")` gets that run: `run` shows it live, `run.stop()` ends it.')
        lines.append("lab.stop_all() stops them all.")
    if other_count:
        count = "1 run that was" if other_count == 1 else f"{other_count} runs that were"
        verb = "is" if other_count == 1 else "are"
        lines.append(f"{count} started elsewhere {verb} alive in {root}: lab.runs lists all.")
    return "\n".join(lines)


def _alive_line(run: Run) -> str:
    memory_used, elapsed = run.memory_mb, run.elapsed
    facts = [str(run.state), as_kind(run).progress_text]
    facts.append("" if memory_used is None else memory(memory_used))
    facts.append("" if elapsed is None else f"for {duration(elapsed)}")
    return f"  {run.id}  " + ", ".join(fact for fact in facts if fact)
