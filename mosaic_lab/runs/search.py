"""Runs found by what their users wrote about them, and by what they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.runs.annotations import checked_tags, read_annotations
from mosaic_lab.runs.run_record import RunRecord

R = TypeVar("R", bound=RunRecord)


def search(runs: Iterable[R], text: str = "", tags: Iterable[str] = ()) -> list[R]:
    """Return the runs that have all of these tags, and every word of ``text`` in their id, name, label,
    group, state, tags or notes, in capitals or not. Raises ConfigurationError for what is neither.
    """
    if not isinstance(text, str):
        raise ConfigurationError(f"search({text!r:.80}): give words to search for as one text")
    words, wanted = text.casefold().split(), set(checked_tags(tags))
    return [run for run in runs if _fits(run, words, wanted)]


def _fits(run: RunRecord, words: list[str], wanted: set[str]) -> bool:
    found = read_annotations(run.folder)
    if not wanted <= set(found.tags):
        return False
    if not words:
        return True
    about = [run.id, found.name, run.label, run.group or "", run.state, *found.tags, found.notes]
    everything = "\n".join(about).casefold()
    return all(word in everything for word in words)
