"""``mosaic-lab evaluate``: an evaluation without a notebook.

Crosses the boundary: `add_parser`. The run is the same as a notebook's: it lives on when this command is
killed, and a notebook on the same store finds it.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from mosaic_lab.cli.parsing import INTERRUPTED
from mosaic_lab.cli.runs import add_store
from mosaic_lab.errors import RunFailed
from mosaic_lab.listing import duration_text
from mosaic_lab.supervisor import State, Supervisor

if TYPE_CHECKING:
    from mosaic_lab.evaluation import Evaluation

_LOOK = 0.25  # seconds
_PLAIN_LINE_EVERY = 10.0  # seconds between lines where there is no terminal
_WIDTH = 119


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register ``mosaic-lab evaluate``."""
    parser = subparsers.add_parser(
        "evaluate",
        help="play operators on many seeds, as a script says",
        description="Plays in the background and shows the progress, then the summary. Ctrl-C stops the "
        "run; --resume goes on with it.",
    )
    parser.add_argument("script", nargs="?", metavar="SCRIPT", help="a .toml or .json file")
    parser.add_argument("--resume", metavar="ID", help="go on with an evaluation that has ended early")
    parser.add_argument("--detach", action="store_true", help="start the run and leave")
    add_store(parser)
    parser.set_defaults(run=_evaluate, parser=parser)


def _evaluate(arguments: argparse.Namespace) -> int:
    from mosaic_lab.evaluation import making  # NumPy and the rest, which other commands do without
    from mosaic_lab.evaluation.handle import find

    if (arguments.script is None) == (arguments.resume is None):
        arguments.parser.error("give either a SCRIPT or --resume ID")
    supervisor = Supervisor(arguments.store)
    if arguments.resume is not None:
        evaluation = find(supervisor, arguments.resume).resume()
    else:
        evaluation = making.evaluate_script(supervisor, arguments.script)
    print(f"{evaluation.label}: {evaluation.path}", flush=True)
    if arguments.detach:
        return 0
    try:
        _watch(evaluation)
    except KeyboardInterrupt:
        print("\nCtrl-C: stopping; what has been played stays.", flush=True)
        evaluation.stop()
        _report(evaluation)
        print(f"mosaic-lab evaluate --resume {evaluation.id} goes on")
        return INTERRUPTED
    return _report(evaluation)


def _watch(evaluation: Evaluation) -> None:
    """Progress until the end: one line that is redrawn on a terminal, plain lines elsewhere."""
    terminal = sys.stdout.isatty()
    due = 0.0
    while not evaluation.finished:
        if terminal:
            print(f"\r{_line(evaluation)[:_WIDTH]:<{_WIDTH}}", end="", flush=True)
        elif time.monotonic() >= due:
            due = time.monotonic() + _PLAIN_LINE_EVERY
            print(_line(evaluation), flush=True)
        time.sleep(_LOOK)
    if terminal:
        print("\r" + " " * _WIDTH + "\r", end="")


def _line(evaluation: Evaluation) -> str:
    parts = [f"{evaluation.state}", f"{evaluation.done:,} of {evaluation.total:,} episodes"]
    if failed := evaluation.failed:
        parts.append(f"{failed:,} failed")
    if (left := evaluation.time_left) is not None:
        parts.append(f"{duration_text(left)} left")
    return ", ".join(parts)


def _report(evaluation: Evaluation) -> int:
    if evaluation.done:
        print(evaluation.summary().to_string())
    try:
        evaluation.wait(0)
    except RunFailed as error:
        print(f"mosaic-lab: {error}", file=sys.stderr)
        return 1
    print(f"{_line(evaluation)}: {evaluation.reason}")
    return int(evaluation.state is not State.COMPLETED or evaluation.failed > 0)
