"""Create the folder of a new worker from a template. ``workers/templates`` has one template per kind. Each is
a complete worker named ``placeholder``; the parts for its author to replace are marked ``FILL IN``."""

from __future__ import annotations

import keyword
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mosaic_lab.errors import WorkerEnvironmentError
from mosaic_lab.workers.catalog import catalog
from mosaic_lab.workers.shims import bundled_folder

KINDS = {
    "training": "trains, and acts with what it has trained",
    "operator": "acts, and does not train",
    "environment": "provides environments",
}
"""The kinds of workers with a template."""

MARK = "FILL IN"

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*")


@dataclass(frozen=True)
class Placeholder:
    """A marked line of a new worker: its file, relative to the working folder at creation, its line number
    and its text.
    """

    file: Path
    line: int
    text: str


def new(name: str, kind: str = "training", folder: str | Path = ".") -> Path:
    """Create worker ``name`` in the new folder ``<folder>/<name>_worker`` and return that folder.

    The new worker can be installed and passes the conformance suite unchanged; `places` lists the lines to
    fill in. ``kind`` is one of `KINDS`. Raises WorkerEnvironmentError, with all problems, for a name that is
    not a valid package name or is taken, an unknown kind or an existing folder; then no file is written.
    """
    target = Path(folder).expanduser() / f"{name}_worker"
    if problems := list(_problems(name, kind, target)):
        raise WorkerEnvironmentError("No worker is written: " + "; ".join(problems))
    try:
        shutil.copytree(bundled_folder() / "templates" / kind, target, ignore=_LEFT_OUT)
        _rename(target, name)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    return target


def places(worker: Path) -> list[Placeholder]:
    """Return the marked lines of a new worker's folder."""
    return [
        Placeholder(file, number, line.strip().removeprefix("#").strip())
        for file in sorted(worker.rglob("*"))
        if file.is_file()
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if MARK in line
    ]


def _problems(name: str, kind: str, target: Path) -> Iterator[str]:
    if kind not in KINDS:
        yield f"kind {kind!r} is not one of {', '.join(KINDS)}"
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        yield (
            f"{name!r} is not a valid name of a worker and its Python package: use lower-case letters, "
            f"digits and '_', beginning with a letter, at most 40 of them{_suggestion(name)}"
        )
        return
    if name.endswith("_worker"):
        yield f"'_worker' is added to the name: give {name.removesuffix('_worker')!r}"
    if namesake := next((info for info in catalog() if info.name == name), None):
        yield f"there is already a worker {name!r} ({namesake.origin}, {namesake.state}): give another name"
    elif name in sys.stdlib_module_names:
        yield (
            f"{name!r} is the name of a module of Python's standard library: give another, such as "
            f"'{name}_rl'"
        )
    if target.exists():
        yield f"{target} already exists: give another name, or move it away"
    elif not target.parent.is_dir():
        yield f"there is no folder {target.parent}"


def _suggestion(name: str) -> str:
    near = re.sub(r"\W+", "_", name.lower(), flags=re.ASCII).strip("_").removesuffix("_worker")
    return f", such as {near!r}" if _NAME.fullmatch(near) and not keyword.iskeyword(near) else ""


def _rename(worker: Path, name: str) -> None:
    """Rename the files of a copied template, and the names in them, to the worker's."""
    for file in [file for file in worker.rglob("*") if file.is_file()]:
        text = file.read_text(encoding="utf-8").replace(
            "placeholder-worker", f"{name.replace('_', '-')}-worker"
        )
        text = text.replace("placeholder", name).replace("Placeholder", name.title().replace("_", ""))
        file.write_text(text, encoding="utf-8")
    (worker / "placeholder_worker").rename(worker / f"{name}_worker")
