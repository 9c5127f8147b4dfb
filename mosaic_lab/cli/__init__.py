"""The command line ``mosaic-lab``, which mirrors the notebook interface.

Each command module registers itself with ``add_parser`` and sets its parser's default ``run``: a function
that takes the parsed arguments and returns the exit code.
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from mosaic_contract.stdio import reserve_standard_streams

from mosaic_lab._version import __version__
from mosaic_lab.cli import clusters, demo, evaluate, export, runs, sweep, train, workers
from mosaic_lab.cli.parsing import INTERRUPTED, Parser
from mosaic_lab.errors import MosaicError
from mosaic_lab.sanitize import sanitize

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command. Return 0 on success, 1 on failure, 2 for wrong usage, 130 after Ctrl-C."""
    reserve_standard_streams()
    typed = train.with_options(sys.argv[1:] if argv is None else argv)
    arguments = _parser().parse_args(runs.with_command(typed))
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code: int = arguments.run(arguments)
        sys.stdout.flush()
    except MosaicError as error:
        print(f"mosaic-lab: {sanitize(str(error))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("mosaic-lab: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # `mosaic-lab runs list | head`
        _drop_output()
        return 1
    except OSError as error:
        if error.errno in _FULL:
            _drop_output()
            subject = error.filename or "the output"
            message = f"{subject} cannot be written: {error.strerror}; free some space"
        else:  # such as missing permissions
            message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        print(f"mosaic-lab: {message}", file=sys.stderr)
        return 1
    return code


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"mosaic-lab: {sanitize(str(message))}", file=sys.stderr)


def _drop_output() -> None:
    """Discard unwritten output, because no process reads it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> Parser:
    parser = Parser(
        prog="mosaic-lab", description="Run and watch trainings, each in its own process and environment."
    )
    parser.add_argument("--version", action="version", version=f"mosaic-lab {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (demo, workers, train, sweep, evaluate, export, runs, clusters):
        command.add_parser(commands)
    return parser
