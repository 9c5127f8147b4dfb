"""``mosaic-lab sweep``: hyperparameter searches without a notebook. The run is the same as one started in a
notebook: it continues if this command is killed, and a notebook that uses the same store finds it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic_lab.cli.parsing import INTERRUPTED, show_until
from mosaic_lab.cli.runs import add_store
from mosaic_lab.keeper.states import State
from mosaic_lab.number_format import number
from mosaic_lab.runs import Supervisor
from mosaic_lab.runs.kinds import of_class
from mosaic_lab.runs.training import Trainer
from mosaic_lab.text_table import text_table

if TYPE_CHECKING:
    from mosaic_lab.sweeps import Sweep

BEST = 5
"""Number of trials in the final table."""
_DESCRIPTION = """\
Searches in the background and shows the progress, then the best trials. Ctrl-C stops the sweep and its
trials; --resume continues it."""
_FORMAT = """\
FILE has the arguments of lab.sweep, in TOML or JSON:

  worker = "cleanrl"
  algorithm = "ppo"
  env = "CartPole-v1"
  total_timesteps = 50_000
  trials = 40
  seeds = [1, 2, 3]                       # of each trial, or { first = 1, count = 3 }
  sampler = "tpe"
  pruner = "asha"

  [search]
  num_envs = [4, 8, 16]
  learning_rate = { low = 1e-5, high = 1e-2, log = true }
  gamma = { low = 0.9, high = 0.999 }
  num_steps = { low = 64, high = 256, whole = true }

They include the arguments of lab.train for the trials. The request.json in a sweep's folder is also such a
file."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register ``mosaic-lab sweep``."""
    parser = subparsers.add_parser(
        "sweep",
        help="search hyperparameters from a file",
        description=_DESCRIPTION,
        epilog=_FORMAT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        keys="mosaic_lab.sweeps.request:SweepRequest",
    )
    add = parser.add_argument
    add("file", nargs="?", metavar="FILE", help="a .toml or .json file")
    add("--resume", metavar="ID", help="resume a sweep that ended early")
    add("--trials", type=int, metavar="N", help="with --resume: number of trials to add")
    add("--detach", action="store_true", help="start the sweep and return")
    add("--csv", type=Path, metavar="PATH", help="write the trials to a CSV file when the sweep ends")
    add("--parquet", type=Path, metavar="PATH", help="write the trials to a Parquet file when the sweep ends")
    add_store(parser)
    parser.set_defaults(run=_sweep, parser=parser)


def _sweep(arguments: argparse.Namespace) -> int:
    # Imported here, because no other command needs Optuna.
    from mosaic_lab.sweeps.sweep import Sweep, read_sweep, start_sweep

    if (arguments.file is None) == (arguments.resume is None):
        arguments.parser.error("give either a FILE or --resume ID")
    if arguments.trials is not None and arguments.resume is None:
        arguments.parser.error("--trials requires --resume; a file has its own")
    if arguments.detach and (arguments.csv or arguments.parquet):
        arguments.parser.error("--csv and --parquet write the trials when the sweep ends: leave out --detach")
    supervisor = Supervisor(arguments.store, warm=True)
    if arguments.resume is not None:
        sweep = of_class(supervisor.run(arguments.resume), Sweep).resume(arguments.trials)
    else:
        sweep = start_sweep(Trainer(supervisor), read_sweep(arguments.file))
    print(f"{sweep.label}: {sweep.path}", flush=True)
    if arguments.detach:
        return 0
    try:
        show_until(lambda: sweep.finished, lambda: _line(sweep))
    except KeyboardInterrupt:
        print("\nCtrl-C: stopping; finished trials are kept.", flush=True)
        sweep.stop()
        _report(sweep, arguments)
        print(f"mosaic-lab sweep --resume {sweep.id} continues it")
        return INTERRUPTED
    return _report(sweep, arguments)


def _line(sweep: Sweep) -> str:
    parts = [f"{sweep.state}", sweep.progress_text]
    if (best := sweep.best) is not None:
        parts.append(f"best {sweep.plan.metric} {number(best.value)}")
    return ", ".join(parts)


def _report(sweep: Sweep, arguments: argparse.Namespace) -> int:
    """Print the outcome and the best trials and write the requested files; return the exit code."""
    print(_line(sweep) if sweep.state is State.COMPLETED else f"{_line(sweep)}: {sweep.reason}")
    if best := sweep.ranked()[:BEST]:
        names = list(dict.fromkeys(name for trial in best for name in trial.parameters))
        rows = [
            [str(trial.number), number(trial.value), *(str(trial.parameters.get(name, "")) for name in names)]
            for trial in best
        ]
        print(text_table([["trial", sweep.plan.metric, *names], *rows]))
    for write, path in ((sweep.to_csv, arguments.csv), (sweep.to_parquet, arguments.parquet)):
        if path is not None:
            print(write(path))
    return 0 if sweep.state is State.COMPLETED else 1
