"""The differences between two runs: configuration, packages, code, machine and results, side by side."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mosaic_lab.keeper.environment_variables import RUN_DIR_VARIABLE, requested
from mosaic_lab.number_format import duration, memory, number, setting_text
from mosaic_lab.overview.column_pool import ColumnPool
from mosaic_lab.overview.results import results
from mosaic_lab.runs import Run
from mosaic_lab.text_table import shortened

MAX_ROWS = 1_000
"""Maximum number of rows of one section."""
LONGEST_VALUE = 1_000
"""Maximum number of displayed characters of a value; values are compared in full."""
_DEPTH = 3
_RUN_FIELDS = ("run_id", "run_dir", "hyperparameters")
_PACKAGE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(==|@)\s*(.+)")
_EDITABLE = re.compile(r"(-e\s+.*(?:#egg=|/))([A-Za-z0-9._-]+)")

Facts = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """A fact about two runs as texts, empty if a run does not have it, and whether they agree."""

    name: str
    values: tuple[str, str]
    same: bool


@dataclass(frozen=True)
class Section:
    """Facts of one kind, in the order of the first run, followed by those only the second run has."""

    title: str
    rows: list[Row] = field(default_factory=list)


def difference(first: Run, second: Run, pool: ColumnPool) -> list[Section]:
    """Return all recorded facts of two runs in sections, without empty sections.

    Rows on which the runs agree are included and marked. ``pool`` reads their metrics.
    """
    sections = [
        Section(title, rows_of(facts(first), facts(second), text))
        for title, facts, text in (
            ("Configuration", _configuration, _text),
            ("Hyperparameters", lambda run: run.hyperparameters, _text),
            ("Code", _code, _text),
            ("Packages", _packages, _text),
            ("Hardware", _hardware, _text),
            ("Results", lambda run: _results(run, pool), _result_text),
        )
    ]
    return [section for section in sections if section.rows]


def rows_of(first: Mapping[str, Any], second: Mapping[str, Any], text: Callable[[Any], str]) -> list[Row]:
    """Return a row for each fact of either run, with values formatted by ``text``. After the first 1,000, one
    more row states how many are omitted."""
    names = list(dict.fromkeys((*first, *second)))
    rows = [_row(name, first, second, text) for name in names[:MAX_ROWS]]
    if omitted := names[MAX_ROWS:]:
        differing = sum(not _is_equal(first, second, name) for name in omitted)
        rows.append(Row(f"{len(omitted):,} more, {differing:,} of which differ", ("…", "…"), not differing))
    return rows


# ------------------------------------------------------------------------ facts


def _configuration(run: Run) -> Facts:
    launched = run.folder.document(run.folder.launch_path)
    names = launched.get("environment_names")
    facts: Facts = {"worker": run.worker}
    facts |= _leaves({name: value for name, value in run.config.items() if name not in _RUN_FIELDS})
    if run.total_timesteps is not None:
        facts["steps in whole updates"] = run.total_timesteps
    for name in ("gpus", "threads", "grace_seconds", "films"):
        if launched.get(name) is not None:
            facts[name] = launched[name]
    if isinstance(names, list) and (requested_names := requested(names, besides=RUN_DIR_VARIABLE)):
        facts["environment variables"] = ", ".join(requested_names)
    return facts


def _code(run: Run) -> Facts:
    provenance = run.provenance
    facts = _git("git", provenance.get("git")) | {"folder": provenance.get("cwd")}
    program = provenance.get("program")
    if isinstance(program, Mapping):
        facts |= {"program": program.get("path")} | _git("program's git", program.get("git"))
    return {name: value for name, value in facts.items() if value is not None}


def _git(prefix: str, state: object) -> Facts:
    if not isinstance(state, Mapping):
        return {}
    dirty = state.get("dirty")
    changed = "yes" if dirty is True else "no" if dirty is False else "unknown"
    return {f"{prefix} commit": state.get("commit"), f"{prefix} uncommitted changes": changed}


def _packages(run: Run) -> Facts:
    provenance = run.provenance
    environment = provenance.get("environment")
    described: Mapping[str, Any] = environment if isinstance(environment, Mapping) else {}
    facts = {
        "mosaic_lab": provenance.get("mosaic_lab"),
        "worker's version": described.get("worker_version"),
        "worker's Python": described.get("python"),
        "upstream": described.get("upstream"),
        "upstream's source": described.get("source"),
    }
    frozen = described.get("freeze")
    packages = dict(map(_package, frozen)) if isinstance(frozen, list) else {}
    return {name: value for name, value in facts.items() if value} | dict(sorted(packages.items()))


def _package(line: object) -> tuple[str, str]:
    """Return the name and version in a line of ``pip freeze``."""
    text = str(line)
    if match := _PACKAGE.fullmatch(text):
        return re.sub(r"[-_.]+", "-", match[1]).lower(), match[3]
    if match := _EDITABLE.match(text):
        return match[2], text
    return text, "installed"


def _hardware(run: Run) -> Facts:
    provenance, gpus = run.provenance, run.gpus
    facts = {name: provenance.get(name) for name in ("node", "platform", "machine")}
    if gpus:
        names = provenance.get("gpus")
        names = names if isinstance(names, Mapping) else {}  # not recorded by runs older than 2026-11-28
        facts["GPUs given"] = "; ".join(f"{index} {names.get(str(index), '')}".strip() for index in gpus)
    return {name: value for name, value in facts.items() if value is not None}


def _results(run: Run, pool: ColumnPool) -> Facts:
    status, summary = run.status, results(run, pool)
    facts: Facts = {"state": str(status.state), "reason": run.explained(status), "step": summary.returns.step}
    facts["return, mean of the last 20"] = summary.returns.last
    facts["return, best mean of 20"] = summary.returns.best
    if status.outcome is not None:
        facts["duration"] = duration(run.seconds(status))
        facts["processor time"] = duration(status.outcome.cpu_seconds)
        facts["peak memory"] = memory(status.outcome.peak_memory_mb)
    facts |= {f"last {name}": value for name, value in summary.last.items()}
    if not summary.complete:
        facts["telemetry"] = "read in part, so the metrics are not the last ones"
    return {name: value for name, value in facts.items() if value is not None}


# ------------------------------------------------------------------------ values


def _leaves(table: Mapping[str, Any], prefix: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, Any]]:
    """Yield the values of nested tables, with names such as ``checkpoint.every_timesteps``."""
    for name, value in table.items():
        if isinstance(value, Mapping) and value and depth > 1:
            yield from _leaves(value, f"{prefix}{name}.", depth - 1)
        else:
            yield f"{prefix}{name}", value


def _row(name: str, first: Mapping[str, Any], second: Mapping[str, Any], text: Callable[[Any], str]) -> Row:
    same = _is_equal(first, second, name)
    first_text, second_text = (text(facts[name]) if name in facts else "" for facts in (first, second))
    if not same and first_text == second_text:  # same text, such as 0.1 + 0.2 and 0.3, or 3 and "3"
        first_text, second_text = (
            shortened(repr(facts[name]), LONGEST_VALUE) if name in facts else "" for facts in (first, second)
        )
    return Row(name, (first_text, second_text), same)


def _is_equal(first: Mapping[str, Any], second: Mapping[str, Any], name: str) -> bool:
    if (name in first) != (name in second):
        return False
    left, right = first[name], second[name]
    return bool(left == right) or repr(left) == repr(right)  # NaN does not equal itself


def _text(value: Any) -> str:
    if isinstance(value, float):
        return setting_text(value)
    return shortened(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), LONGEST_VALUE
    )


def _result_text(value: Any) -> str:
    """Format a number as in the page's other views."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return number(value) if isinstance(value, float) else _text(value)
