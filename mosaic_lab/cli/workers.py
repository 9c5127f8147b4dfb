"""``mosaic-lab workers``: list, install, check and remove worker environments.

Each command is one function of ``mosaic_lab.environments``, printed. Exit codes: 0, or 1 where a check
failed; errors are raised as MosaicError for ``mosaic-lab`` to print.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from mosaic_lab import environments
from mosaic_lab.environments import Environment, WorkerInfo
from mosaic_lab.environments.families import families


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register ``mosaic-lab workers``."""
    workers = subparsers.add_parser("workers", help="list, install, check and remove worker environments")
    commands = workers.add_subparsers(dest="command", required=True, metavar="COMMAND")

    list_ = commands.add_parser("list", help="what there is; with NAME, its algorithms and hyperparameters")
    list_.add_argument("name", nargs="?", metavar="NAME")
    list_.add_argument("--algorithm", metavar="ALGORITHM", help="show the hyperparameters of this one only")
    list_.set_defaults(run=_list)

    install = commands.add_parser("install", help="build or register a worker's environment")
    install.add_argument(
        "name", metavar="NAME | ./folder", help="a worker's name, or a third party's shim folder"
    )
    install.add_argument(
        "--source",
        metavar="NAME | PATH",
        help="where upstream comes from, or a checkout of it (default: what can be reached)",
    )
    install.add_argument(
        "--torch",
        default="auto",
        metavar="BUILD",
        help="auto (suits this machine), cpu, or cu128 and the like",
    )
    install.add_argument(
        "--python",
        metavar="PATH",
        help="an interpreter you have (registered as it is if its environment has the worker), or a version",
    )
    install.set_defaults(run=_install)

    check = commands.add_parser("check", help="run the conformance suite on an installed worker")
    check.add_argument("name", metavar="NAME")
    check.set_defaults(run=_check)

    remove = commands.add_parser("remove", help="remove a worker's environment")
    remove.add_argument("name", metavar="NAME")
    remove.set_defaults(run=_remove)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows as columns of text, as wide as they need."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def size(count: int) -> str:
    """A number of bytes for people."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def _say(line: str) -> None:
    print(line, flush=True)


def _install(arguments: argparse.Namespace) -> int:
    environments.install(
        arguments.name,
        source=arguments.source,
        torch=arguments.torch,
        python=arguments.python,
        progress=_say,
    )
    return 0


def _check(arguments: argparse.Namespace) -> int:
    from mosaic_contract.conformance import format_report

    results = environments.check(arguments.name, on_result=lambda result: _say(format_report([result])))
    failed = sum(not result.passed for result in results)
    _say(
        f"{arguments.name}: {failed} of {len(results)} checks failed"
        if failed
        else f"{arguments.name}: all checks passed"
    )
    return 1 if failed else 0


def _remove(arguments: argparse.Namespace) -> int:
    environments.remove(arguments.name, progress=_say)
    return 0


def _list(arguments: argparse.Namespace) -> int:
    if arguments.name:
        info = environments.info(arguments.name)
        _say(_profile(info))
        if info.environment is not None and info.state != "broken":
            _say(_hyperparameters(environments.describe(info.environment), arguments.algorithm))
        return 0
    header = ("NAME", "STATE", "UPSTREAM", "SOURCE", "PYTHON", "SIZE", "ORIGIN")
    found = environments.catalog()
    _say(table(header, [_row(info) for info in found]))
    held = ", ".join(f"{name} ({' '.join(globs)})" for name, globs in families().items())
    if held:
        _say(f"Environments to compare operators in come from: {held}.")
    for info in found:
        if info.detail:
            _say(
                f"{info.name} is {info.state}: {info.detail}. Mend it: mosaic-lab workers install {info.name}"
            )
    return 0


def _row(info: WorkerInfo) -> tuple[str, ...]:
    environment = info.environment
    if environment is None:
        return (info.name, info.state, "-", "-", (info.shim and info.shim.python) or "-", "-", info.origin)
    return (
        info.name,
        info.state,
        _upstream(environment),
        environment.source or "-",
        environment.python_version,
        size(environment.size_bytes) if environment.size_bytes else "-",
        info.origin,
    )


def _upstream(environment: Environment) -> str:
    about = environment.metadata
    return f"{about.upstream_library} {about.upstream_version}".strip() or "-"


def _profile(info: WorkerInfo) -> str:
    lines = [("worker", info.name), ("state", f"{info.state}{f': {info.detail}' if info.detail else ''}")]
    lines.append(("origin", info.origin))
    environment = info.environment
    if environment is None:
        shim = info.shim
        lines += [
            ("about", shim.description if shim else "-"),
            ("sources", ", ".join(source.name for source in shim.sources) if shim and shim.sources else "-"),
            (
                "install",
                f"mosaic-lab workers install {info.name}   (then its hyperparameters are shown here)",
            ),
        ]
    else:
        lines += [
            ("about", environment.metadata.description or "-"),
            ("upstream", _upstream(environment)),
            ("source", f"{environment.source or '-'} ({environment.source_reason})"),
            ("torch", environment.torch or "-"),
            ("python", f"{environment.python_version}  {environment.python}"),
            (
                "packages",
                f"{len(environment.freeze)}, exact versions in {environment.freeze_path or 'no file'}",
            ),
            ("size", size(environment.size_bytes) if environment.size_bytes else "-"),
            ("can", ", ".join(environment.capabilities.modes)),
            ("environments", ", ".join(environment.capabilities.env_families) or "-"),
        ]
    if globs := families().get(info.name):
        lines.append(("holds", f"environments of the ids {' '.join(globs)}"))
    return "\n".join(f"{label:<13} {value}" for label, value in lines)


def _hyperparameters(description: dict[str, Any], only: str | None) -> str:
    by_algorithm: dict[str, list[dict[str, Any]]] = description["hyperparameters"]
    chosen = {name: rows for name, rows in by_algorithm.items() if only in (None, name)}
    if only and not chosen:
        return f"\nno algorithm '{only}'; it has: {', '.join(by_algorithm) or 'none'}"
    return "\n".join(
        f"\n{algorithm}\n"
        + table(
            ("  hyperparameter", "type", "default", "what it is"),
            [
                (f"  {row['name']}", str(row["type"]), str(row.get("default")), _help(row))
                for row in sorted(rows, key=lambda row: str(row["name"]))
            ],
        )
        for algorithm, rows in chosen.items()
    )


def _help(row: dict[str, Any]) -> str:
    choices = f" (one of {', '.join(map(str, row['choices']))})" if row.get("choices") else ""
    return f"{row.get('help') or ''}{choices}".strip()
