"""Find runs by the names under which users see them: ids, names, titles in lists, labels in charts. Functions
without a store of their own, such as `mosaic_lab.workspace`, look in the store of the latest `Lab`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from mosaic_lab.errors import ConfigurationError, UnknownRun
from mosaic_lab.keeper.files import folders_in
from mosaic_lab.keeper.run_store import COMPARISONS, RunFolder, RunStore
from mosaic_lab.runs.annotations import read_annotations
from mosaic_lab.runs.checkpoint_path import source_of
from mosaic_lab.runs.group import RunGroup
from mosaic_lab.runs.isolation import isolated
from mosaic_lab.runs.run import Run, RunDisplay
from mosaic_lab.runs.run_labels import (
    comparison_label,
    group_label,
    is_shown_as,
    run_settings,
    title_and_labels,
)

AnyRuns = Run | str | Iterable[Run | str | Iterable[Run]]
"""A run or its name, or several, which may be groups."""

_NAMED = 5  # maximum runs or groups listed in an error
_RESUMED = re.compile(r"(.+) \(resumed(?: ([2-9]|[1-9]\d{1,5}))?\)")

_latest: tuple[RunStore, RunDisplay | None] | None = None


def use_store(store: RunStore, display: RunDisplay | None) -> None:
    """From now on, find runs in this store, that of the latest `Lab`, and show them on ``display``."""
    global _latest
    _latest = store, display


def latest_root() -> Path | None:
    """Return the folder of the store of the latest `Lab`; None without one."""
    return None if _latest is None else _latest[0].root


def latest_display() -> RunDisplay | None:
    """Return the display of the latest `Lab`; None without one."""
    return None if _latest is None else _latest[1]


def find_run(run: Run | str, store: RunStore | None = None, display: RunDisplay | None = None) -> Run:
    """Return the run with this id or name; a `Run` is returned as it is.

    In this order: an id, a displayed name (the user's, or the label), the title of a resumed run, as in "NAME
    (resumed 2)", the label that a user has replaced, an unambiguous prefix or suffix of an id, words of the
    label and settings, as in lists and charts. Of runs that continue each other, the last is returned unless
    a title is given. ``store`` defaults to that of the latest `Lab`. Raises UnknownRun, with the nearest
    name.
    """
    if isinstance(run, Run):
        return run
    if store is None:
        store, display = _latest or (RunStore("mosaic_runs"), None)
    if not isinstance(run, str):
        raise UnknownRun(f"no run {run!r}: give its id or its name as a string")
    if (folder := store.exact(run)) is not None:
        return Run(folder, display)
    named = _all(store, display) if run else []
    if matches := next(_named(named, run), None):
        return _only(matches, run, store)
    try:
        return Run(store.folder(run), display)
    except UnknownRun as error:
        if matches_shown := _shown_as([entry.run for entry in named], run):
            return _only(matches_shown, run, store)
        hint = _suggestion(named, run) or _comparison_called(store, run)
        raise UnknownRun(f"{error}{hint}") from None


def exact_run(name: str, store: RunStore, display: RunDisplay | None = None) -> Run:
    """Return the run with exactly this id or displayed name, to stop or remove it. Raises UnknownRun, with
    the nearest runs, if there is none or several have the name."""
    if (folder := store.exact(name)) is not None:
        return Run(folder, display)
    displayed = next(_displayed(_all(store, display), name), [])
    if len(displayed) == 1:
        return displayed[0]
    if displayed:
        raise UnknownRun(_several(displayed, name, store))
    near = find_run(name, store)
    raise UnknownRun(f"no run has the whole id or name {name!r}: give {near.id} if you mean it")


def find_group(name: str, groups: Mapping[str, RunGroup], root: Path) -> RunGroup:
    """Return the group with this name, or with this title in a panel or list, among the groups in the store
    ``root``. Raises UnknownRun, with the groups that have this title or the most similar names."""
    if name in groups:
        return groups[name]
    titled = [
        group for key, group in groups.items() if name in (title_and_labels(group)[0], group_label(key))
    ]
    runs = [run for group in groups.values() for run in group]
    titled = titled or [group for group in groups.values() if _is_titled(group, name, runs)]
    if len(titled) == 1:
        return titled[0]
    if titled:
        choices = ", ".join(str(group.name) for group in titled[-_NAMED:])
        raise UnknownRun(f"{name!r} is the title of {len(titled)} groups in {root}: give a name ({choices})")
    names = sorted(groups, key=lambda other: SequenceMatcher(None, other, name).ratio(), reverse=True)
    listed = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    raise UnknownRun(f"no group {name!r} in {root} (groups: {listed or 'none'})")


def find_runs(runs: AnyRuns) -> list[Run]:
    """Return the runs in a run or its name, a group, or any nesting of these, each once. Raises UnknownRun
    for a name without a run, and ConfigurationError for anything else."""
    if isinstance(runs, Run | str):
        return [find_run(runs)]
    if not isinstance(runs, Iterable):
        raise ConfigurationError(
            "give runs, their names, or groups of runs, such as run, lab.group(name) or lab.runs, "
            f"not {runs!r:.100}"
        )
    return list(dict.fromkeys(run for item in runs for run in find_runs(item)))


def run_or_path(source: Any, store: RunStore | None = None) -> Any:
    """Return the run named by a string that is not the path of an existing file; return other values
    unchanged. Raises ConfigurationError for a bare name that is neither a run nor a file."""
    if not isinstance(source, str) or Path(source).exists() or Path(source).name != source:
        return source
    try:
        return find_run(source, store)
    except UnknownRun as error:
        raise ConfigurationError(f"there is no file or folder {source!r} here, and {error}") from None


def resumed_title(run: Run) -> str:
    """Return the name of a run; if it continues another, with the title's number: "NAME (resumed 2)".
    `resumedTitles` in `js/src/views/runs/tree.ts` does the same."""
    if source_of(run) is None:
        return run.name
    number = _resumed(_all(RunStore(run.path.parent)), run.name).index(run) + 1
    return f"{run.name} (resumed)" if number == 1 else f"{run.name} (resumed {number})"


class _NamedRun(NamedTuple):
    """A run, with its own names and that of its group."""

    run: Run
    group: str
    label: str
    name: str


def _all(store: RunStore, display: RunDisplay | None = None) -> list[_NamedRun]:
    """Return the runs of a store with their names, without unreadable ones."""
    runs = (Run(folder, display) for folder in store.folders())
    return [names for run in runs if (names := isolated(partial(_names, run), lambda reason: None))]


def _names(run: Run) -> _NamedRun:
    return _NamedRun(run, run.group or "", run.label, run.name)


def _displayed(named: Sequence[_NamedRun], text: str) -> Iterator[list[Run]]:
    """Yield the runs that are displayed under this name, and those with this title of a resumed run."""
    if matches := [entry.run for entry in named if entry.name == text]:
        yield matches
    if (title := _RESUMED.fullmatch(text)) and (resumed := _resumed(named, title[1])):
        yield resumed[int(title[2] or 1) - 1 :][:1]


def _named(named: Sequence[_NamedRun], text: str) -> Iterator[list[Run]]:
    """Yield the runs of this name, for each way in which it may be meant."""
    yield from _displayed(named, text)
    if matches := [entry.run for entry in named if entry.label == text]:
        yield matches


def _resumed(named: Sequence[_NamedRun], name: str) -> list[Run]:
    """Return the runs of this name that continue others, in the order of their titles' numbers."""
    return [entry.run for entry in named if entry.name == name and source_of(entry.run) is not None]


def _is_titled(group: RunGroup, text: str, runs: Sequence[Run]) -> bool:
    text = text.removesuffix(f" {str(group.name).rpartition('-')[2]}")
    return len(_shown_as(group, text, runs)) == len(group)


def _shown_as(runs: Sequence[Run], text: str, context: Sequence[Run] = ()) -> list[Run]:
    """Return the runs that lists and charts show as ``text``, beside these runs or each other."""
    settings = {
        name for run in context or runs for name in isolated(partial(run_settings, run), lambda reason: {})
    }
    return [run for run in runs if isolated(partial(is_shown_as, run, text, settings), lambda reason: False)]


def _only(candidates: Sequence[Run], text: str, store: RunStore) -> Run:
    """Return the one of these runs that their common name refers to. Raises UnknownRun if there are
    several."""
    sources = {run.id: source_of(run) for run in candidates}
    last = {sources[run.id]: run for run in candidates if sources[run.id] is not None}
    candidates = [
        run
        for run in candidates
        if run.id not in sources.values()
        # If it was stopped before its first checkpoint, another run continues its source in its place.
        and (run.checkpoints or last.get(sources[run.id], run) is run)
    ] or candidates
    if len(candidates) > 1:
        raise UnknownRun(_several(candidates, text, store))
    return candidates[0]


def _several(runs: Sequence[Run], text: str, store: RunStore) -> str:
    names = ("…, " if len(runs) > _NAMED else "") + ", ".join(run.id for run in runs[-_NAMED:])
    return f"{text!r} is the name of {len(runs)} runs in {store.root} ({names}): give an id"


def _suggestion(named: Sequence[_NamedRun], text: str) -> str:
    """Return how to name a group, or the name or label most similar to this unknown one."""
    if text and any(entry.group == text for entry in named):
        return f". It is a group: lab.group({text!r})"
    names = {name.casefold(): name for entry in named for name in (entry.label, entry.name) if name}
    near = get_close_matches(text.casefold(), names, 1, 0.8)
    return f"; did you mean {names[near[0]]!r}?" if near else ""


def _comparison_called(store: RunStore, text: str) -> str:
    """Return where the comparison with this id or name is found; empty if there is none."""
    for folder in folders_in(store.root / COMPARISONS) if text else ():
        names = [folder.name, read_annotations(RunFolder(folder)).name, comparison_label(folder)]
        names += [f"{name} {folder.name.rpartition('-')[2]}" for name in names]
        if text in names or folder.name.endswith(text):
            return (
                ". It is a comparison, which ends with its kernel: the runs panel lists it, and its "
                f"lanes are recorded in {folder}"
            )
    return ""
