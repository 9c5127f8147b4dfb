"""``mosaic-lab runs rename``, ``tag`` and ``note``: what users write about their runs."""

from __future__ import annotations

import argparse
import sys

from mosaic_lab.runs import Supervisor
from mosaic_lab.runs.annotations import LONGEST_NOTES

ID = "the run's id, an unambiguous beginning or end of it, or its name"


def add_rename(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mosaic-lab runs rename``."""
    command.add_argument("id", metavar="ID", help=ID)
    command.add_argument("name", metavar="NAME", help='"" gives it the name back that it began with')
    command.set_defaults(run=_rename)


def add_tag(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mosaic-lab runs tag``."""
    command.add_argument("ids", nargs="+", metavar="ID", help=ID)
    command.add_argument("--add", nargs="+", default=[], metavar="TAG")
    command.add_argument("--remove", nargs="+", default=[], metavar="TAG")
    command.set_defaults(run=_tag)


def add_note(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mosaic-lab runs note``."""
    command.add_argument("id", metavar="ID", help=ID)
    command.add_argument(
        "text", nargs="?", metavar="TEXT", help="in place of the notes; - reads it from standard input"
    )
    command.add_argument("--append", action="store_true", help="add it below the notes instead")
    command.set_defaults(run=_note)


def _rename(arguments: argparse.Namespace) -> int:
    run = Supervisor(arguments.store).run(arguments.id)
    run.name = arguments.name
    print(f"{run.id}: {run.name}")
    return 0


def _tag(arguments: argparse.Namespace) -> int:
    supervisor = Supervisor(arguments.store)
    runs = [supervisor.run(run_id) for run_id in arguments.ids]  # all of them are there before any changes
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
