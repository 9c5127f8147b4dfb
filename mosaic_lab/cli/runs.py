"""``mosaic-lab runs``: list, show, name, tag, stop, resume and remove runs."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from textwrap import indent

from mosaic_lab.cli.parsing import add_command
from mosaic_lab.errors import MosaicError
from mosaic_lab.keeper.states import State
from mosaic_lab.number_format import duration, memory, number, setting_text
from mosaic_lab.run_list import NOTHING_TO_STOP, RunList
from mosaic_lab.runs import Run, RunGroup, Supervisor
from mosaic_lab.runs.annotations import LONGEST_NOTES, read_annotations
from mosaic_lab.runs.kinds import as_kind, kind_of
from mosaic_lab.runs.run import last_log, traceback_end
from mosaic_lab.sanitize import sanitize
from mosaic_lab.text_table import text_table

_ID = "the run's id, an unambiguous beginning or end of it, or its name"
_WHOLE_ID = "the run's whole id or name"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register ``mosaic-lab runs``."""
    parser = subparsers.add_parser(
        "runs",
        help="list, show, name, tag, stop, resume and remove runs",
        description="Manages the runs of a store. The default command is 'list'.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, summary: str, run: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        parser = add_command(commands, name, summary, run)
        add_store(parser)
        return parser

    lists = command("list", "the runs of the store, newest last", _list)
    only = "only runs with this tag (repeatable)"
    lists.add_argument("--tag", action="append", default=[], metavar="TAG", help=only)
    words = "only runs with all of these words in their id, name, group, state, tags or notes"
    lists.add_argument("--search", default="", metavar="TEXT", help=words)
    lists.add_argument("--json", action="store_true", help="print a JSON array with every field of each run")

    show = command("show", "everything about one run", _show)
    show.add_argument("id", help=_ID)
    show.add_argument("--lines", type=int, default=20, help="log lines to show (default: %(default)s)")

    rename = command("rename", "rename a run", _rename)
    rename.add_argument("id", metavar="ID", help=_ID)
    rename.add_argument("name", metavar="NAME", help='the new name; "" restores the original one')

    tag = command("tag", "show the tags of runs, add some, remove some", _tag)
    tag.add_argument("ids", nargs="+", metavar="ID", help=_ID)
    tag.add_argument("--add", nargs="+", default=[], metavar="TAG")
    tag.add_argument("--remove", nargs="+", default=[], metavar="TAG")

    note = command("note", "show the notes on a run, or write them", _note)
    note.add_argument("id", metavar="ID", help=_ID)
    text = "the new notes; - reads them from standard input"
    note.add_argument("text", nargs="?", metavar="TEXT", help=text)
    note.add_argument("--append", action="store_true", help="append to the notes instead")

    stop = command("stop", "stop runs, and kill those that do not end in time", _stop)
    which = stop.add_mutually_exclusive_group(required=True)
    which.add_argument("ids", nargs="*", default=[], metavar="ID", help=_WHOLE_ID)
    which.add_argument("--all", action="store_true", help="every live run of the store")
    stop.add_argument("--grace", type=float, metavar="SECONDS", help="time for a run to end by itself")

    resume = "continue a run that has ended early, a training from its newest checkpoint"
    command("resume", resume, _resume).add_argument("id", help=_ID)
    remove = command("remove", "delete the folders of finished runs", _remove)
    remove.add_argument("ids", nargs="+", metavar="ID", help=_WHOLE_ID)


def with_command(argv: Sequence[str]) -> list[str]:
    """Insert the default command: ``mosaic-lab runs`` and ``mosaic-lab runs --tag paper`` list runs."""
    lists = list(argv[:1]) == ["runs"] and (len(argv) == 1 or argv[1].startswith("-"))
    return list(argv) if not lists or "-h" in argv or "--help" in argv else ["runs", "list", *argv[1:]]


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add the option for the run store."""
    parser.add_argument(
        "--store",
        type=Path,
        default=Path("mosaic_runs"),
        metavar="DIR",
        help="the run store (default: %(default)s here)",
    )


def _list(arguments: argparse.Namespace) -> int:
    supervisor = Supervisor(arguments.store)
    runs = RunList(supervisor.runs(), notes=supervisor.incomplete())
    if arguments.tag or arguments.search:
        runs = runs.search(arguments.search, arguments.tag)
    print(_json(runs) if arguments.json else runs)
    return 0


def _json(runs: RunList) -> str:
    import msgspec  # not imported for text output

    from mosaic_lab.overview.column_pool import ColumnPool
    from mosaic_lab.overview.results import whole_row

    pool = ColumnPool()
    rows = msgspec.json.encode([whole_row(run, pool)[0] for run in runs])  # NaN becomes null
    return msgspec.json.format(rows, indent=1).decode()


def _show(arguments: argparse.Namespace) -> int:
    run = Supervisor(arguments.store).run(arguments.id)
    facts = [*_settings(run), *_progress(run), *_cost(run)]
    print(text_table((name, sanitize(value)) for name, value in facts if value))
    with suppress(MosaicError):  # no result yet, or damaged files
        if (table := as_kind(run).result_table()) is not None:
            print(f"results\n{indent(repr(table), '  ')}")
    if notes := run.notes:
        print("notes")
        print("\n".join(f"  {line}" for line in notes.splitlines()))
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


def result_facts(run: Run) -> list[tuple[str, str]]:
    """Return the known results of a run so far, as names and texts."""
    elapsed, saved = run.elapsed, run.checkpoints
    facts = []
    if (recent := as_kind(run).recent_return) is not None:
        facts.append(("return", f"{number(recent)} (mean of the last 20 episodes)"))
    if elapsed is not None:
        facts.append(("time", duration(elapsed)))
    if saved:
        facts.append(("checkpoints", f"{len(saved)}, newest (step {saved[-1].step:,}): {saved[-1].path}"))
        if run.state in (State.CANCELLED, State.FAILED, State.LOST):
            options = shlex.join(["--store", str(run.path.parent), run.id])
            facts.append(("resume with", f"mosaic-lab runs resume {options}"))
    return facts


def _settings(run: Run) -> list[tuple[str, str]]:
    recorded = run.config.get("hyperparameters")
    hyperparameters = recorded if isinstance(recorded, dict) else {}
    annotations = read_annotations(run.folder)
    facts = [("run", run.id), ("name", annotations.name), ("tags", ", ".join(annotations.tags))]
    facts += [("worker", run.worker), ("cluster", run.on or ""), ("group", run.group or "")]
    for name, key in (("algorithm", "algorithm"), ("environment", "env_id"), ("seed", "seed")):
        facts.append((name, str(run.config.get(key, ""))))
    facts.append(("kind", _kind_name(run)))
    requested, planned = run.requested_timesteps, run.total_timesteps
    steps = f"{requested:,}" if requested else ""
    facts.append(
        ("steps requested", steps if planned == requested else f"{steps} ({planned:,} in whole updates)")
    )
    text = ", ".join(f"{name}={setting_text(value)}" for name, value in hyperparameters.items())
    if _kind_name(run) == "training":
        text = text or "upstream's defaults"
    return [*facts, ("hyperparameters", text)]


def _progress(run: Run) -> list[tuple[str, str]]:
    starts = [step.timestamp for step in run.status.history if step.state is State.STARTING]
    videos = run.path / "videos"
    return [
        ("state", str(run.state)),
        ("reason", run.reason),
        ("progress", as_kind(run).progress_text),
        ("started", time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(starts[0])) if starts else ""),
        *result_facts(run),
        ("videos", str(videos) if videos.is_dir() and any(videos.iterdir()) else ""),
        ("folder", str(run.path)),
    ]


def _kind_name(run: Run) -> str:
    return "curriculum" if "curriculum" in run.config else kind_of(run).name


def _cost(run: Run) -> list[tuple[str, str]]:
    outcome, health = run.outcome, run.health
    facts = [("gpus", ", ".join(map(str, run.gpus)))]
    if (memory_mb := run.memory_mb) is not None:
        facts.append(("memory", memory(memory_mb)))
    in_other_runs = _kind_name(run) in ("curriculum", "sweep")
    if outcome is not None and outcome.peak_memory_mb is not None and not in_other_runs:
        facts.append(("peak memory", memory(outcome.peak_memory_mb)))
        facts.append(("cpu time", f"{outcome.cpu_seconds} s"))
    trouble = {name: count for name, count in health.items() if count and name != "lines"}
    facts.append(("telemetry", f"{health['lines']:,} lines" + (f", {trouble}" if trouble else "")))
    return facts


def _stop(arguments: argparse.Namespace) -> int:
    supervisor = Supervisor(arguments.store)
    if arguments.all:
        runs = [run for run in supervisor.runs() if run.alive]
    else:
        runs = [supervisor.exact_run(name) for name in arguments.ids]
    RunGroup(runs).stop(arguments.grace)
    print(RunList(runs, empty=NOTHING_TO_STOP))
    return 0


def _resume(arguments: argparse.Namespace) -> int:
    run = Supervisor(arguments.store).run(arguments.id).resume()
    print(f"{run.label}: {run.path}", flush=True)
    if run.finished:
        print("nothing remains to do")
    else:
        options = shlex.join(["--store", str(run.path.parent), run.id])
        print(f"it runs in the background; mosaic-lab runs show {options} shows its progress")
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    supervisor = Supervisor(arguments.store)
    runs = RunGroup(dict.fromkeys(supervisor.exact_run(name) for name in arguments.ids))
    runs.remove()
    for run in runs:
        print(f"removed {run.id}")
    return 0


def _rename(arguments: argparse.Namespace) -> int:
    run = Supervisor(arguments.store).run(arguments.id)
    run.name = arguments.name
    print(f"{run.id}: {run.name}")
    return 0


def _tag(arguments: argparse.Namespace) -> int:
    supervisor = Supervisor(arguments.store)
    runs = [supervisor.run(run_id) for run_id in arguments.ids]  # fail before any change if a run is unknown
    for run in runs:
        if arguments.add or arguments.remove:
            run.tags = [tag for tag in (*run.tags, *arguments.add) if tag not in arguments.remove]
        print(f"{run.id}: {', '.join(run.tags) or 'no tags'}")
    return 0


def _note(arguments: argparse.Namespace) -> int:
    run = Supervisor(arguments.store).run(arguments.id)
    if arguments.text is not None:
        text = sys.stdin.read(LONGEST_NOTES + 1) if arguments.text == "-" else arguments.text
        run.notes = "\n".join(filter(None, (run.notes, text))) if arguments.append else text
    print(run.notes or "no notes")
    return 0
