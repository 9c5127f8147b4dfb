"""Metadata, command-line options and modes of the platform's worker installed in this environment.

Its metadata comes from its own package, whose import may be slow, and is cached in a file until the package
changes. Its options and modes, which it does not declare, are read from its source text.
"""

from __future__ import annotations

import ast
import json
import os
import re
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Mapping

GROUP = "mosaic.workers"

_CACHE = Path(__file__).with_name("introduction.json")
_OPTION = re.compile(r"""["'](--[a-z][a-z0-9-]*)["']""")
_SPACES = {
    "discrete": "Discrete",
    "continuous": "Box",
    "box": "Box",
    "multidiscrete": "MultiDiscrete",
    "multibinary": "MultiBinary",
}
_PARADIGMS = {"sequential": "aec", "turn_based": "aec", "simultaneous": "parallel", "parallel": "parallel"}


@dataclass(frozen=True)
class Introduction:
    """The worker's name here, the module to run, its options, the fields of its configuration, its metadata.

    `sections` has the fields of each field that is itself a configuration. `stamp` identifies the state of
    its package.
    """

    name: str
    module: str
    options: list[str]
    fields: list[str]
    sections: dict[str, list[str]]
    metadata: dict[str, Any]
    capabilities: dict[str, Any]
    stamp: list[int]


@cache
def introduction() -> Introduction:
    """Return the worker's introduction. Raises `LookupError` unless there is exactly one worker."""
    adapter, worker = _entry_points()
    folder = _folder(worker.module)
    stamp = _stamp(folder)
    with suppress(OSError, ValueError, TypeError):
        cached = Introduction(**json.loads(_CACHE.read_text(encoding="utf-8")))
        if cached.stamp == stamp and cached.name == adapter.name:
            return cached
    new = _read_worker(adapter, worker, folder, stamp)
    with suppress(OSError):  # without write access, the package is read each time
        part = _CACHE.with_name(f".{os.getpid()}.json")
        part.write_text(json.dumps(asdict(new)), encoding="utf-8")
        part.replace(_CACHE)
    return new


def _entry_points() -> tuple[EntryPoint, EntryPoint]:
    """Return the adapter's entry point and the worker's."""
    points = list(entry_points(group=GROUP))
    adapters = [point for point in points if point.module == f"{__package__}.cli"]
    workers = {point.value: point for point in points if point not in adapters}
    if len(adapters) != 1 or len(workers) != 1:
        names = ", ".join(point.name for point in workers.values()) or "none"
        raise LookupError(f"the adapter needs one worker of the platform in its environment; it has: {names}")
    return adapters[0], next(iter(workers.values()))


def _folder(module: str) -> Path:
    spec = find_spec(module.partition(".")[0])
    if spec is None or spec.origin is None:
        raise LookupError(f"the module {module} of the worker cannot be found")
    return Path(spec.origin).parent


def _stamp(folder: Path) -> list[int]:
    times = [file.stat().st_mtime_ns for file in folder.rglob("*.py")]
    return [len(times), max(times)]


def _read_worker(adapter: EntryPoint, worker: EntryPoint, folder: Path, stamp: list[int]) -> Introduction:
    texts = {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8", errors="replace")
        for file in folder.rglob("*.py")
    }
    command = "cli.py" if "cli.py" in texts else "__main__.py"
    options = sorted(set(_OPTION.findall(texts.get(command, ""))))
    metadata, capabilities = (_document(part) for part in worker.load()())
    fields, sections = _configuration(texts.get("config.py", ""))
    return Introduction(
        name=adapter.name,
        module=f"{folder.name}.cli" if command == "cli.py" else folder.name,
        options=options,
        fields=fields,
        sections=sections,
        metadata=_metadata(metadata, adapter.name, worker),
        capabilities=_capabilities(capabilities, _modes(options, "".join(texts.values()))),
        stamp=stamp,
    )


def _configuration(text: str) -> tuple[list[str], dict[str, list[str]]]:
    """Return the fields of the configuration class, recognized by its field `run_id` (without such a class,
    the fields that the platform prescribes), and the fields of each field whose type is a class in this
    text."""
    classes = {
        node.name: _fields(node) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)
    }
    for fields in classes.values():
        if "run_id" in fields:
            sections = {name: classes[kind] for name, kind in fields.items() if classes.get(kind)}
            return list(fields), {name: list(names) for name, names in sections.items()}
    return ["run_id", "algo", "env_id", "total_timesteps", "seed", "extras"], {}


def _fields(node: ast.ClassDef) -> dict[str, str]:
    """Return the annotated names of a class, with the source text of their types."""
    assignments = [statement for statement in node.body if isinstance(statement, ast.AnnAssign)]
    return {
        assignment.target.id: ast.unparse(assignment.annotation)
        for assignment in assignments
        if isinstance(assignment.target, ast.Name)
    }


def _document(metadata: Any) -> dict[str, Any]:
    """Return the fields of metadata, which the platform's classes have as attributes, without None values."""
    return {name: value for name, value in vars(metadata).items() if value is not None}


def _metadata(fields: Mapping[str, Any], name: str, worker: EntryPoint) -> dict[str, Any]:
    package = worker.dist.name if worker.dist is not None else worker.module
    values = {"upstream_library": package, **fields, "name": name}
    return {
        **values,
        "description": f"{fields.get('description', '')} (a worker of the MOSAIC platform)".strip(),
    }


def _capabilities(fields: Mapping[str, Any], modes: list[str]) -> dict[str, Any]:
    spaces = (re.sub(r"[^a-z]", "", str(space).lower()) for space in fields.get("action_spaces", ()))
    paradigms = {
        _PARADIGMS[paradigm] for paradigm in fields.get("supported_paradigms", ()) if paradigm in _PARADIGMS
    }
    return {
        **fields,
        "supported_paradigms": sorted(paradigms | {"single_agent"}),
        "action_spaces": sorted({_SPACES[space] for space in spaces if space in _SPACES}),
        "env_families": sorted(map(str, fields.get("env_families", ()))),
        "observation_spaces": sorted(map(str, fields.get("observation_spaces", ()))),
        "modes": modes,
    }


def _modes(options: list[str], text: str) -> list[str]:
    """Return the modes of the worker, whose source text names its commands as strings."""

    def has_command(command: str) -> bool:
        return re.search(rf"""["']{command}["']""", text) is not None

    modes = []
    if "--config" in options:
        modes.append("train")
    if "--interactive" in options and has_command("select_action"):
        modes.append("operate")
    if "--interactive" in options and has_command("reset") and has_command("step"):
        modes.append("arena")
    return modes
