"""``mosaic-lab runs``: list, show, stop and remove the runs of a store."""

from __future__ import annotations

import argparse
import shlex
import time
from pathlib import Path

from mosaic_lab.keeper.states import State
from mosaic_lab.number_format import number
from mosaic_lab.run_table import NOTHING_TO_STOP, RunList, duration_text, progress_text
from mosaic_lab.runs import Run, RunGroup, Supervisor
from mosaic_lab.runs.failure_report import last_log, traceback_end
from mosaic_lab.sanitize import sanitize
from mosaic_lab.text_table import text_table


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register ``mosaic-lab runs``."""
    parser = subparsers.add_parser("runs", help="list, show, stop and remove runs")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, help_text, function in (
        ("list", "the runs of the store, newest last", _list),
        ("show", "everything about one run", _show),
        ("stop", "stop runs: SIGTERM, wait, SIGKILL", _stop),
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
    """Add the option that names the run store."""
    parser.add_argument(
        "--store",
        type=Path,
        default=Path("mosaic_runs"),
        metavar="DIR",
        help="the run store (default: %(default)s here)",
    )


def _list(arguments: argparse.Namespace) -> int:
    supervisor = Supervisor(arguments.store)
    print(RunList(supervisor.runs(), notes=supervisor.incomplete()))
    return 0


def _show(arguments: argparse.Namespace) -> int:
    run = Supervisor(arguments.store).run(arguments.id)
    facts = [*_settings(run), *_progress(run), *_cost(run)]
    print(text_table((name, sanitize(value)) for name, value in facts if value))
    print("history")
    for step in run.status.history:
        print(f"  {step.state}: {step.reason}")
    for title, lines in (
        ("traceback (its end)", traceback_end(run.folder)),
        (f"log (last lines of {run.folder.log_path})", last_log(run.folder, arguments.lines)),
    ):
        if lines:
            print(title)
            print("\n".join(f"  {line}" for line in lines))
    return 0


def results(run: Run) -> list[tuple[str, str]]:
    """Return the results of a run so far, as names and texts, without unknown ones."""
    recent, elapsed, saved = run.recent_return, run.elapsed, run.checkpoints
    facts = []
    if recent is not None:
        facts.append(("return", f"{number(recent)} (mean of the last 20 episodes)"))
    if elapsed is not None:
        facts.append(("time", duration_text(elapsed)))
    if saved:
        facts.append(("checkpoints", f"{len(saved)}, newest (step {saved[-1].step:,}): {saved[-1].path}"))
        if run.state is State.CANCELLED:
            facts.append(("go on with", f"--resume-from {shlex.quote(str(saved[-1].path))}"))
    return facts


def _settings(run: Run) -> list[tuple[str, str]]:
    given = run.config.get("hyperparameters")
    hyperparameters = given if isinstance(given, dict) else {}
    facts = [("run", run.id), ("worker", run.worker), ("group", run.group or "")]
    for name, key in (("algorithm", "algorithm"), ("environment", "env_id"), ("seed", "seed")):
        facts.append((name, str(run.config.get(key, ""))))
    facts.append(("steps requested", f"{run.total_timesteps:,}" if run.total_timesteps else ""))
    facts.append(
        (
            "hyperparameters",
            ", ".join(f"{name}={value!r}" for name, value in hyperparameters.items())
            or "upstream's defaults",
        )
    )
    return facts


def _progress(run: Run) -> list[tuple[str, str]]:
    begun = [step.timestamp for step in run.status.history if step.state is State.STARTING]
    videos = run.path / "videos"
    return [
        ("state", str(run.state)),
        ("reason", run.reason),
        ("progress", progress_text(run)),
        ("started", time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(begun[0])) if begun else ""),
        *results(run),
        ("videos", str(videos) if videos.is_dir() and any(videos.iterdir()) else ""),
        ("folder", str(run.path)),
    ]


def _cost(run: Run) -> list[tuple[str, str]]:
    outcome, memory, health = run.outcome, run.memory_mb, run.health
    facts = [("gpus", ", ".join(map(str, run.gpus)))]
    if memory is not None:
        facts.append(("memory", f"{memory:,.0f} MB"))
    if outcome is not None and outcome.peak_memory_mb is not None:
        facts.append(("peak memory", f"{outcome.peak_memory_mb:,.0f} MB"))
        facts.append(("cpu time", f"{outcome.cpu_seconds} s"))
    trouble = {name: count for name, count in health.items() if count and name != "lines"}
    facts.append(("telemetry", f"{health['lines']:,} lines" + (f", {trouble}" if trouble else "")))
    return facts


def _stop(arguments: argparse.Namespace) -> int:
    supervisor = Supervisor(arguments.store)
    if arguments.all:
        runs = [run for run in supervisor.runs() if run.alive]
    else:
        runs = [supervisor.run(run_id) for run_id in arguments.ids]
    RunGroup(runs).stop(arguments.grace)
    print(RunList(runs, empty=NOTHING_TO_STOP))
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    supervisor = Supervisor(arguments.store)
    runs = RunGroup(dict.fromkeys(supervisor.run(run_id) for run_id in arguments.ids))
    runs.remove()
    for run in runs:
        print(f"removed {run.id}")
    return 0
