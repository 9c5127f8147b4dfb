"""The output of ``mosaic-lab workers list NAME``: a worker's algorithms and environments."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import Any

from mosaic_lab.text_table import text_table
from mosaic_lab.workers import WorkerEnvironment, WorkerInfo
from mosaic_lab.workers.catalog import replacement
from mosaic_lab.workers.families import families

_GROUP = 3  # minimum number of environments with a common prefix to form a group
_SHOWN_IDS = 20  # larger groups show only _SHORT_LIST ids
_SHORT_LIST = 5


def size(count: int) -> str:
    """Format a number of bytes: ``1.2 GB`` or ``340 MB``."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def upstream(worker_environment: WorkerEnvironment) -> str:
    """Return the upstream library of a worker environment, with its version."""
    return worker_environment.metadata.upstream or "-"


def head(info: WorkerInfo) -> str:
    """Return what is known about a worker without starting it, and how to install it if it is missing."""
    lines = [("worker", info.name), ("state", f"{info.state}{f': {info.detail}' if info.detail else ''}")]
    lines.append(("origin", info.origin))
    installed = info.worker_environment
    if installed is None:
        shim = info.shim
        contents = "environments" if shim and shim.environments else "algorithms"
        lines += [
            ("about", shim.description if shim else "-"),
            ("sources", ", ".join(source.name for source in shim.sources) if shim and shim.sources else "-"),
            ("install", f"mosaic-lab workers install {info.name}   (then its {contents} are shown here)"),
        ]
    else:
        lines += [
            ("about", installed.metadata.description or (info.shim.description if info.shim else "-")),
            ("upstream", upstream(installed)),
            ("source", f"{installed.source or '-'} ({installed.source_reason})"),
            ("torch", installed.torch or "-"),
            ("python", f"{installed.python_version}  {installed.python}"),
            ("packages", f"{len(installed.freeze)}, exact versions in {installed.freeze_path or 'no file'}"),
            ("size", size(installed.size_bytes) if installed.size_bytes else "-"),
            ("can", ", ".join(installed.capabilities.modes)),
            ("environments", ", ".join(installed.capabilities.env_families) or "-"),
            ("observations", ", ".join(installed.capabilities.observation_spaces) or "-"),
        ]
    if installed is not None and installed.replaces_ours:
        lines.append(("note", replacement(installed)))
    if globs := families().get(info.name):
        lines.append(("provides", f"environments of the ids {' '.join(globs)}"))
    return text_table(lines)


def algorithms_text(name: str, description: dict[str, Any]) -> str:
    """Return one row per algorithm: its properties and number of hyperparameters."""
    by_algorithm: dict[str, list[Any]] = description["hyperparameters"]
    facts: dict[str, dict[str, Any]] = description["capabilities"].get("algorithm_facts", {})
    columns = list(dict.fromkeys(column for algorithm in by_algorithm for column in facts.get(algorithm, {})))
    rows = [
        (algorithm, *(str(facts.get(algorithm, {}).get(column, "-")) for column in columns), str(len(table)))
        for algorithm, table in by_algorithm.items()
    ]
    count = f"{len(rows)} algorithm{'s' if len(rows) > 1 else ''}"
    listed = text_table([("algorithm", *columns, "hyperparameters"), *rows], "  ")
    return f"\n{count}; the hyperparameters of one: mosaic-lab workers list {name} --algorithm NAME\n{listed}"


def hyperparameters_text(description: dict[str, Any], only: str | None) -> str:
    """Return a table of the hyperparameters of all algorithms, or of one."""
    by_algorithm: dict[str, list[dict[str, Any]]] = description["hyperparameters"]
    chosen = {name: rows for name, rows in by_algorithm.items() if only in (None, name)}
    if only and not chosen:
        return f"\nno algorithm '{only}'; it has: {', '.join(by_algorithm) or 'none'}"
    return "\n".join(
        f"\n{algorithm}\n"
        + text_table(
            [
                ("hyperparameter", "type", "default", "what it is"),
                *(
                    (str(row["name"]), str(row["type"]), str(row.get("default")), _help(row))
                    for row in sorted(rows, key=lambda row: str(row["name"]))
                ),
            ],
            "  ",
        )
        for algorithm, rows in chosen.items()
    )


def environments_text(name: str, ids: Sequence[str]) -> str:
    """Return environment ids grouped by prefix; long groups are shortened."""
    tops = {_beginning(env_id, "") for env_id in ids}
    shared = tops.pop() if len(tops) == 1 else ""
    heads = Counter(_beginning(env_id, shared) for env_id in ids)
    groups: dict[str, list[str]] = {}
    for env_id in ids:
        head = _beginning(env_id, shared)
        groups.setdefault(head if heads[head] >= _GROUP else "", []).append(env_id)
    lines = [f"\n{len(ids)} environments"]
    for head, ids in sorted(groups.items(), key=lambda group: (not group[0], group[0])):
        visible = ids if len(ids) <= _SHOWN_IDS else [*ids[:_SHORT_LIST], "…"]
        text = f"  {head or 'others'} ({len(ids)}): {', '.join(visible)}"
        lines.append(textwrap.fill(text, 110, subsequent_indent="    ", break_on_hyphens=False))
    if any(len(ids) > _SHOWN_IDS for ids in groups.values()):
        lines.append(f"  All of them: mosaic-lab workers list {name} --environments '*'")
    return "\n".join(lines)


def _beginning(env_id: str, shared: str) -> str:
    """Return an id's group prefix after the prefix shared by all, such as "ALE/" of ALE/Pong-v5 or
    "MiniGrid-" of MiniGrid-Empty-8x8-v0."""
    match = re.match(r"\w+[/-]", env_id[len(shared) :])
    return shared + match[0] if match else ""


def _help(row: dict[str, Any]) -> str:
    choices = f" (one of {', '.join(map(str, row['choices']))})" if row.get("choices") else ""
    return f"{row.get('help') or ''}{choices}".strip()
