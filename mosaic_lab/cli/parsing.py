"""The command line's input and output: an argument parser that suggests the nearest command or option for a
misspelt one, and a command's line of progress."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
import time
from collections.abc import Callable, Iterable
from pkgutil import resolve_name
from typing import Any, NoReturn

from mosaic_lab.runs.request import arguments_of

INTERRUPTED = 130
"""The exit code of shells for Ctrl-C."""

_INVALID_CHOICE = re.compile(r"invalid choice: '(.*?)' \(choose from (.*)\)")
PLAIN_LINE_EVERY = 10.0  # seconds between lines without a terminal
_LOOK = 0.25  # seconds
_WIDTH = 119


class Parser(argparse.ArgumentParser):
    """An argparse parser with an optional default ``unknown``: a function that converts the parsed and the
    unknown arguments to a hint appended to the error.

    ``keys`` is the import path of the request whose arguments are the keys of a file; the help lists them.
    """

    def __init__(self, *args: Any, keys: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        self._keys = keys

    def format_help(self) -> str:
        """Return the help, ending with the keys of a file."""
        if not self._keys:
            return super().format_help()
        arguments = arguments_of(resolve_name(self._keys)).values()  # imported for the help only
        lines = [f"  {argument.name:<15} {argument.help}\n" for argument in arguments if argument.help]
        return f"{super().format_help()}\nkeys:\n{''.join(lines)}"

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Exit with an error for unknown arguments; argparse also calls this for a command's parser."""
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            explain = self.get_default("unknown")
            options = re.findall(r"--[a-z-]+", self.format_usage())
            hint = _nearest(unknown[0].partition("=")[0], options)
            if not hint and explain:
                hint = f"; {explain(parsed, unknown)}"
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        """Print usage and message to stderr and exit with code 2."""
        if wrong := _INVALID_CHOICE.search(message):
            message += _nearest(wrong[1], re.findall(r"[\w-]+", wrong[2]))
        super().error(message)


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    description: str,
    run: Callable[[argparse.Namespace], int],
) -> argparse.ArgumentParser:
    """Add a command and return its parser. ``run`` executes it; the parsed arguments contain the parser as
    ``parser``."""
    parser = commands.add_parser(name, help=description, description=description)
    parser.set_defaults(run=run, parser=parser)
    return parser


def _nearest(word: str, words: Iterable[str]) -> str:
    """Return ``; did you mean 'train'?``, or an empty string if no known word is similar."""
    close = difflib.get_close_matches(word, list(words), n=1, cutoff=0.7)
    return f"; did you mean {close[0]!r}?" if close else ""


def show_until(
    finished: Callable[[], bool], line: Callable[[], str], state: Callable[[], object] = lambda: None
) -> None:
    """Print ``line()`` until ``finished()``. Without a terminal, print it every ten seconds and whenever
    ``state()`` changes."""
    terminal = sys.stdout.isatty()
    last_state: object = None
    next_line = 0.0
    while not finished():
        if terminal:
            print(f"\r{line()[:_WIDTH]:<{_WIDTH}}", end="", flush=True)
        elif (now := state()) != last_state or time.monotonic() >= next_line:
            last_state, next_line = now, time.monotonic() + PLAIN_LINE_EVERY
            print(line(), flush=True)
        time.sleep(_LOOK)
    if terminal:
        print("\r" + " " * _WIDTH + "\r", end="")
