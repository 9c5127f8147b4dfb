"""``mosaic-lab runs``: list, show, stop and remove the runs of a store.

Crosses the boundary: `add_parser`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from mosaic_lab.listing import RunList, duration_text, progress_text
from mosaic_lab.supervisor import Run, RunGroup, Supervisor


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register ``mosaic-lab runs``."""
    parser = subparsers.add_parser("runs", help="list, show, stop and remove runs")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, help_text, function in (
        ("list", "the runs of the store, newest last", _list),
        ("show", "everything about one run", _show),
        ("stop", "stop runs: ask, wait, kill", _stop),
        ("remove", "delete the folders of finished runs", _remove),
    ):
        command = commands.add_parser(name, help=help_text, description=help_text)
        add_store(command)
        command.set_defaults(run=function)
        if name == "show":
            command.add_argument("id", help="the run's id, or an unambiguous beginning or end of it")
            command.add_argument("--lines", type=int, default=20, help="of the log (default: %(default)s)")
        elif name == "remove":
            command.add_argument("ids", nargs="+", metavar="ID")
        elif name == "stop":
            which = command.add_mutually_exclusive_group(required=True)
            which.add_argument("ids", nargs="*", default=[], metavar="ID")
            which.add_argument("--all", action="store_true", help="every run of the store that is alive")
            command.add_argument("--grace", type=float, metavar="SECONDS", help="between SIGTERM and SIGKILL")


def add_store(parser: argparse.ArgumentParser) -> None:
    """The option that names the run store."""
    parser.add_argument(
        "--store",
        type=Path,
        default=Path("mosaic_runs"),
        metavar="DIR",
        help="the run store (default: %(default)s here)",
    )


def _list(arguments: argparse.Namespace) -> int:
    print(RunList(Supervisor(arguments.store).runs()))
    return 0


def _show(arguments: argparse.Namespace) -> int:
    run = Supervisor(arguments.store).run(arguments.id)
    for name, value in _facts(run):
        print(f"{name:<12} {value}")
    print("history")
    for step in run.status.history:
        print(f"  {step.state}: {step.reason}")
    if text := run.log(arguments.lines):
        print(f"log (last lines of {run.folder.log_path})")
        print("\n".join(f"  {line}" for line in text.splitlines()))
    return 0


def _facts(run: Run) -> list[tuple[str, str]]:
    elapsed, outcome, memory = run.elapsed, run.outcome, run.memory_mb
    facts = [("run", run.id), ("label", run.label), ("state", str(run.state)), ("reason", run.reason)]
    facts += [("progress", progress_text(run)), ("folder", str(run.path))]
    if run.gpus:
        facts.append(("gpus", ", ".join(map(str, run.gpus))))
    if elapsed is not None:
        facts.append(("time", duration_text(elapsed)))
    if memory is not None:
        facts.append(("memory", f"{memory:,.0f} MB"))
    if outcome is not None and outcome.peak_memory_mb is not None:
        facts += [
            ("peak memory", f"{outcome.peak_memory_mb:,.0f} MB"),
            ("cpu time", f"{outcome.cpu_seconds} s"),
        ]
    trouble = {name: count for name, count in run.health.items() if count and name != "lines"}
    facts.append(("telemetry", f"{run.health['lines']:,} lines" + (f", {trouble}" if trouble else "")))
    return [(name, value) for name, value in facts if value]


def _stop(arguments: argparse.Namespace) -> int:
    supervisor = Supervisor(arguments.store)
    if arguments.all:
        runs = [run for run in supervisor.runs() if run.alive]
    else:
        runs = [supervisor.run(run_id) for run_id in arguments.ids]
    RunGroup(runs).stop(arguments.grace)
    print(RunList(runs))
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    supervisor = Supervisor(arguments.store)
    for run_id in arguments.ids:
        run = supervisor.run(run_id)
        supervisor.remove(run.id)
        print(f"removed {run.id}")
    return 0
