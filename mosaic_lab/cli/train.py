"""``mosaic-lab train``: trainings without a notebook. The runs are the same as those started in a notebook:
they continue if this command is killed, and a notebook that uses the same store finds them."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mosaic_lab.cli.parsing import INTERRUPTED, show_until
from mosaic_lab.cli.runs import add_store, result_facts
from mosaic_lab.errors import ConfigurationError, RunFailed
from mosaic_lab.keeper.states import State
from mosaic_lab.number_format import duration, number
from mosaic_lab.runs import Run, RunGroup, Supervisor
from mosaic_lab.runs.films import Films
from mosaic_lab.runs.request import Argument, arguments_of
from mosaic_lab.runs.run_names import run_or_path
from mosaic_lab.runs.stages import read_curriculum
from mosaic_lab.runs.train_request import TrainRequest, nested_hyperparameters
from mosaic_lab.runs.training import Trainer
from mosaic_lab.telemetry import RunFeed
from mosaic_lab.telemetry.metrics import LAST
from mosaic_lab.text_table import text_table

_LAB_KEYWORDS = re.compile(r"lab\.train's (\w+=(?:, \w+=)*)(?!\{)")
_FLAGS = {
    "--no-frames": "publish no frames until a notebook enables them",
    "--detach": "start the runs and return",
}
"""Options without a value, with their help."""
_RESERVED = ("self", *TrainRequest.__struct_fields__)
"""Names reserved for arguments, unavailable to hyperparameters."""
_FORMAT = """\
FILE of --curriculum has a table for each stage, in TOML:

  [[curriculum]]
  env = "CartPole-v0"
  until = 150                             # the mean return of the last 20 episodes (window = 20)
  steps = 50_000                          # at most

  [[curriculum]]
  env = "CartPole-v1"
  learning_rate = 1e-4                    # a hyperparameter of this stage alone"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register ``mosaic-lab train``."""
    parser = subparsers.add_parser(
        "train",
        help="train with a worker and watch the progress",
        description="Trains in the background and shows the progress. Ctrl-C stops the runs.",
        epilog=_FORMAT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # --frames 4 would be read as --frames-grid 4
    )
    add = parser.add_argument
    add("worker", metavar="WORKER", help="such as cleanrl")
    for argument in arguments_of(TrainRequest).values():
        if argument.name not in _NO_OPTION:
            add(_option(argument.name), **_argument(argument))
    for flag, text in _FLAGS.items():
        add(flag, action="store_true", help=text)
    grid = "environments to show side by side (default: %(default)s)"
    add("--frames-grid", type=int, default=1, metavar="N", help=grid)
    add(
        "--max-running",
        type=_count,
        metavar="N",
        help="runs that train at once (default: number of CPU cores)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="hyperparameters",
        metavar="KEY=VALUE",
        type=_assignment,
        help="a hyperparameter under upstream's name, or env_kwargs.NAME; JSON or text; --set can be omitted",
    )
    add_store(parser)
    parser.set_defaults(run=_train, unknown=_as_hyperparameter)


def _option(keyword: str) -> str:
    return f"--{keyword.replace('_', '-')}"


def _argument(argument: Argument) -> dict[str, Any]:
    """Return the arguments of ``add_argument`` for a keyword of `Lab.train`."""
    default = list(argument.default) if isinstance(argument.default, tuple) else argument.default
    options: dict[str, Any] = {"default": default, "help": argument.help}
    if argument.choices:
        options["choices"] = argument.choices
    elif argument.type is int and default is None:
        options |= {"type": _count, "metavar": "N"}
    elif argument.type in (int, float):
        options |= {"type": argument.type, "metavar": "N" if argument.type is int else "SECONDS"}
    return options | _ARGUMENTS.get(argument.name, {})


def with_options(argv: Sequence[str]) -> list[str]:
    """Convert ``KEY=VALUE`` to ``--set=KEY=VALUE``, because argparse accepts free arguments in one place
    only. Values of options, and all words after ``--wrappers``, stay unchanged."""
    if list(argv[:1]) != ["train"]:
        return list(argv)
    words, option, is_value = [], "", False
    for word in argv:
        if word.startswith("--"):
            option, is_value = word, "=" not in word and word not in _FLAGS
        elif not (is_value or option == "--wrappers") and _is_hyperparameter(word):
            word = f"--set={word}"
        else:
            is_value = False
        words.append(word)
    return words


def _is_hyperparameter(word: str) -> bool:
    """Return whether a word is NAME=VALUE or TABLE.NAME=VALUE with a name that is not reserved; the parser
    reports reserved names."""
    match = re.match(r"([A-Za-z_]\w*(?:\.\w+)*)=", word)
    return match is not None and match[1] not in _RESERVED


def _as_hyperparameter(arguments: argparse.Namespace, unknown: Sequence[str]) -> str:
    """Return the correct form of ``--learning-starts 500``, ``--learning-starts=500`` or
    ``learning_starts 500``, and of the words of a script's command."""
    if arguments.worker == "script":
        command = "command=" + json.dumps(list(unknown), separators=(",", ":"))
        return f"give the script's command as {shlex.quote(command)}"
    name, _, value = unknown[0].lstrip("-").partition("=")
    if name in _RESERVED:
        return f"{name} is not a hyperparameter; --help lists the options"
    words = [word for word in unknown[1:] if word != "="]
    following = words[0] if words and not words[0].startswith("--") else "VALUE"
    return (
        f"give hyperparameters as {name.replace('-', '_')}={value.lstrip('=') or following} "
        f"(mosaic-lab workers list {arguments.worker} names them all)"
    )


def _train(arguments: argparse.Namespace) -> int:
    supervisor = Supervisor(arguments.store, arguments.max_running)
    try:
        started = _started(supervisor, arguments)
    except ConfigurationError as error:
        raise ConfigurationError(_LAB_KEYWORDS.sub(_as_options, str(error))) from None
    group = started if isinstance(started, RunGroup) else RunGroup([started])
    for run in group:
        print(f"{run.label}: {run.path}", flush=True)
    if arguments.detach:
        return 0
    try:
        _watch(group)
    except KeyboardInterrupt:
        print("\nCtrl-C: stopping the runs, so that they can save what they have.", flush=True)
        print("Press it again to leave now; the runs then stop in the background.", flush=True)
        group.stop()
        _report(group)
        return INTERRUPTED
    return _report(group)


def _started(supervisor: Supervisor, arguments: argparse.Namespace) -> Run | RunGroup:
    options = {name: value for name, value in vars(arguments).items() if name in _RESERVED}
    options["frames"] = {"enabled": not arguments.no_frames, "grid": arguments.frames_grid}
    if arguments.curriculum is not None:
        options["curriculum"] = read_curriculum(arguments.curriculum)
    options["resume_from"] = run_or_path(arguments.resume_from, supervisor.store)
    if isinstance(arguments.seed, list):
        seeds = [seed for group in arguments.seed for seed in group]
        options["seed"] = seeds[0] if len(seeds) == 1 else seeds  # a single seed is a run, not a group
    hyperparameters = dict(arguments.hyperparameters)
    if len(hyperparameters) < len(arguments.hyperparameters):
        names = [name for name, _ in arguments.hyperparameters]
        twice = next(name for name in names if names.count(name) > 1)
        values = [f"{twice}={value!r}" for name, value in arguments.hyperparameters if name == twice]
        raise ConfigurationError(f"{' and '.join(values)}: set {twice} only once")
    options["hyperparameters"] = nested_hyperparameters(hyperparameters)
    return Trainer(supervisor).start(TrainRequest(**options))


def _as_options(match: re.Match[str]) -> str:
    """Return keywords of `Lab.train` as options, such as ``--total-timesteps``."""
    return re.sub(r"(\w+)=", lambda keyword: _option(keyword[1]), match[1])


def _watch(group: RunGroup) -> None:
    """Show progress until all runs have ended."""
    feeds = [RunFeed(run.path) for run in group]
    show_until(lambda: group.finished, lambda: _line(group, feeds), lambda: [run.state for run in group])


def _line(group: RunGroup, feeds: list[RunFeed]) -> str:
    for feed in feeds:
        feed.poll()
    states = [run.state for run in group]
    parts = [
        f"{states.count(state)} {state}" if len(group) > 1 else str(state) for state in dict.fromkeys(states)
    ]
    total = sum(run.total_timesteps or 0 for run in group)
    step = sum(feed.step for feed in feeds)
    if total:
        parts.append(f"{min(1.0, step / total):.0%} ({step:,} of {total:,} steps)")
    speed = sum(feed.progress.steps_per_second or 0.0 for feed in feeds)
    if speed:
        parts.append(f"{speed:,.0f} steps/s")
        parts.append(f"{duration(max(0, total - step) / speed)} remaining")
    returns = [last for feed in feeds if (last := feed.last_return) is not None]
    if returns:
        parts.append(f"{LAST}: {number(sum(returns) / len(returns))}")
    return ", ".join(parts)


def _report(group: RunGroup) -> int:
    code = 0
    for run in group:
        try:
            run.wait(0)
            print(f"{run.label}: {run.state}, {run.reason}")
            if facts := result_facts(run):
                print(text_table(facts, indent="  "))
            if films := Films(run.folder).status:
                print(f"  {films}")
            code = code or int(run.state is not State.COMPLETED)
        except RunFailed as error:
            print(f"mosaic-lab: {error}", file=sys.stderr)
            code = 1
    return code


def _count(text: str) -> int:
    try:
        count = float(text.replace("_", "").replace(",", ""))
    except ValueError:
        count = 0.0
    if not count.is_integer() or count < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r}: must be an integer number of steps, such as 3000, 100_000 or 1e6"
        )
    return int(count)


def _seeds(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: give integers, such as 1 2 3 or 1,2,3") from None


def _gpus(text: str) -> int | list[int]:
    try:
        return [int(part) for part in text.split(",") if part] if "," in text else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r}: must be a number of GPUs, such as 1, or their indices, such as 0,1 (a single one: 0,)"
        ) from None


def _wrapper(text: str) -> Any:
    name, equals, _ = text.partition("=")
    return dict([_named_value(text)]) if equals and ".py:" not in name else text


def _evaluation(text: str) -> dict[str, Any]:
    if not text.startswith("{"):
        first, dash, last = text.partition("-")
        if dash and first.isdecimal() and last.isdecimal():
            return {"seeds": range(int(first), int(last) + 1)}
        try:
            return {"seeds": [int(part) for part in text.split(",")]}
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r}: give seeds, such as 0-9 or 0,1,2") from None
    try:
        return dict(json.loads(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not JSON: {error}") from None


_NO_OPTION = ("worker", "frames", "env_vars", "hyperparameters")
_ARGUMENTS: dict[str, dict[str, Any]] = {
    "curriculum": {"type": Path, "metavar": "FILE"},
    "seed": {"type": _seeds, "nargs": "+"},
    "gpus": {"type": _gpus, "metavar": "GPUS"},
    "resume_from": {"metavar": "PATH"},
    "evaluate": {"type": _evaluation, "metavar": "SEEDS"},
    "wrappers": {"type": _wrapper, "nargs": "+", "metavar": "NAME[=VALUE]"},
    "pass_env_vars": {"action": "append", "metavar": "NAME"},
    "on": {"metavar": "CLUSTER"},
}
"""Overrides for options whose value is not a single string or number."""


def _assignment(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.replace(".", "_").isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r}: give hyperparameters as NAME=VALUE")
    if name in _RESERVED:
        raise argparse.ArgumentTypeError(
            f"{text!r}: {name} is not a hyperparameter; --help lists the options"
        )
    if value.startswith("="):
        raise argparse.ArgumentTypeError(f"{text!r}: write one equals sign, {name}={value.lstrip('=')}")
    return _named_value(text)


def _named_value(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, {"True": True, "False": False, "None": None}.get(value, value)
