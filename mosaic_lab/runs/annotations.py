"""Users' annotations of a run (name, tags and notes) in ``annotations.json`` of the run's folder.

A notebook, the page and the command line may change them at the same time: each change reads and replaces the
file under a lock on the folder, so that concurrent changes of different fields are all kept.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.keeper.run_store import RunFolder, write_json
from mosaic_lab.sanitize import sanitize

FILE = "annotations.json"
LONGEST_NAME = 200
LONGEST_TAG = 50
MAX_TAGS = 50
LONGEST_NOTES = 100_000
_LOCK_SECONDS = 5.0


@dataclass(frozen=True)
class Annotations:
    """A run's annotations. ``name`` is empty if the user set none; ``notes`` are Markdown."""

    name: str = ""
    tags: tuple[str, ...] = ()
    notes: str = ""


def read_annotations(folder: RunFolder) -> Annotations:
    """Return the annotations of a run; fields that are missing or of the wrong type are empty."""
    document = folder.document(folder.path / FILE)
    name, tags, notes = document.get("name"), document.get("tags"), document.get("notes")
    return Annotations(
        sanitize(name)[:LONGEST_NAME] if isinstance(name, str) else "",
        tuple(_readable(tags)) if isinstance(tags, list) else (),
        sanitize(notes)[:LONGEST_NOTES] if isinstance(notes, str) else "",
    )


def annotate(folder: RunFolder, changes: Mapping[str, Any]) -> Annotations:
    """Change some of a run's annotations and return all of them.

    ``changes``: new values of any of "name", "tags" and "notes". Raises ConfigurationError for an invalid
    value, and MosaicError if the run's folder cannot be written.
    """
    checked: dict[str, Any] = {field: _CHECKS[field](value) for field, value in changes.items()}
    try:
        with _locked(folder.path):
            annotations = replace(read_annotations(folder), **checked)
            write_json(folder.path / FILE, asdict(annotations))
    except OSError as error:
        raise MosaicError(f"run {folder.run_id} could not be annotated: {error}") from error
    return annotations


def checked_name(name: Any) -> str:
    """Return a name without surrounding whitespace. An empty name means the run's label."""
    if not isinstance(name, str) or "\n" in name or len(name.strip()) > LONGEST_NAME:
        raise ConfigurationError(
            f"name={name!r:.80}: must be one line of at most {LONGEST_NAME} characters, or '' for the label"
        )
    return sanitize(name).strip()


def checked_tags(tags: Any) -> tuple[str, ...]:
    """Return the tags in the given order, without duplicates."""
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        raise ConfigurationError(f'tags={tags!r:.80}: must be a list, such as ["baseline", "paper"]')
    texts = list(tags)
    for tag in texts:
        if not isinstance(tag, str) or not tag.strip() or "\n" in tag or len(tag.strip()) > LONGEST_TAG:
            raise ConfigurationError(
                f"tags: {tag!r:.80} is not a tag: it must have 1 to {LONGEST_TAG} characters"
            )
    kept = tuple(dict.fromkeys(sanitize(tag).strip() for tag in texts))
    if len(kept) > MAX_TAGS:
        raise ConfigurationError(f"tags: a run can have at most {MAX_TAGS}, not {len(kept)}")
    return kept


def checked_notes(notes: Any) -> str:
    """Return the notes as they will be stored."""
    if not isinstance(notes, str) or len(notes) > LONGEST_NOTES:
        raise ConfigurationError(
            f"notes={notes!r:.80}: must be a string of at most {LONGEST_NOTES:,} characters"
        )
    return sanitize(notes)


_CHECKS = {"name": checked_name, "tags": checked_tags, "notes": checked_notes}


def _readable(tags: Iterable[Any]) -> Iterator[str]:
    for tag in list(tags)[:MAX_TAGS]:
        if isinstance(tag, str) and (text := sanitize(tag).strip()[:LONGEST_TAG]):
            yield text


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        deadline = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"another process has been changing {folder} for a while") from None
                time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)
