"""``mosaic-lab demo``: train an agent in a notebook, from installation to a standalone page."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mosaic_lab import workers
from mosaic_lab.cli.parsing import INTERRUPTED
from mosaic_lab.errors import MosaicError
from mosaic_lab.keeper.states import State
from mosaic_lab.number_format import number
from mosaic_lab.runs import Run, RunGroup, Supervisor
from mosaic_lab.telemetry.feed import RunFeed

NOTEBOOK = "01_train_and_watch.ipynb"
EXECUTED = "01_train_and_watch.executed.ipynb"
LAST_EPISODES = 20
REPORT_EVERY_SECONDS = 3.0


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register ``mosaic-lab demo``."""
    parser = subparsers.add_parser(
        "demo",
        help="train CleanRL's PPO on CartPole from the first example notebook",
        description="Builds the CleanRL worker, executes the first example notebook and writes the "
        "executed notebook and a stand-alone HTML page.",
    )
    parser.add_argument(
        "--open", action="store_true", help="open JupyterLab on the notebook instead of executing it"
    )
    parser.add_argument(
        "--dir", type=Path, default=Path("mosaic_demo"), help="where to write (default: %(default)s)"
    )
    parser.set_defaults(run=demo)


def demo(arguments: argparse.Namespace) -> int:
    folder: Path = arguments.dir.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    print("1. The CleanRL worker's environment")
    worker_environment = workers.ensure("cleanrl", progress=lambda line: print(f"   {line}", flush=True))
    print(f"   ready: {worker_environment.root}")
    if worker_environment.fallback:
        print(f"   {worker_environment.fallback}")
    if arguments.open:
        return open_in_jupyterlab(folder)
    return execute_notebook(folder)


def open_in_jupyterlab(folder: Path) -> int:
    """Start JupyterLab on copies of the notebook and the other examples, keeping existing copies."""
    for example in examples_folder().glob("*.ipynb"):
        if not (folder / example.name).exists():
            shutil.copyfile(example, folder / example.name)
    notebook = folder / NOTEBOOK
    print(f"2. JupyterLab on {notebook} (Ctrl-C twice ends it)")
    command = [sys.executable, "-m", "jupyterlab", notebook.name]
    if os.geteuid() == 0:
        command.append("--allow-root")  # the server listens locally only and requires a token
    return subprocess.call(command, cwd=folder)


def execute_notebook(folder: Path) -> int:
    # These import the notebook machinery, which no other command needs.
    from nbclient.exceptions import CellExecutionError, CellTimeoutError

    from mosaic_lab import notebooks

    # Not the copy that the user may edit with `--open`: this file is overwritten each time.
    executed, page = folder / EXECUTED, folder / Path(EXECUTED).with_suffix(".html").name
    runs = Supervisor(folder / "mosaic_runs")
    before = {run.id for run in runs.runs()}

    def started() -> list[Run]:
        return sorted((run for run in runs.runs() if run.id not in before), key=lambda run: run.id)

    print(f"2. Executing {NOTEBOOK}")
    try:
        with narrated(runs, ignore=before):
            notebooks.execute(
                examples_folder() / NOTEBOOK,
                executed,
                on_cell=lambda cell, total: print(f"   cell {cell} of {total}", flush=True),
            )
    except KeyboardInterrupt:
        print(f"\nCtrl-C: stopping the demo's trainings; what ran is in {executed}", flush=True)
        RunGroup(started()).stop()
        return INTERRUPTED
    except (CellExecutionError, CellTimeoutError) as error:
        raise MosaicError(
            f"the notebook stopped at a failing cell; what ran is in {executed}\n{error}"
        ) from error
    notebooks.to_html(executed, page)
    print("3. Done")
    for run in started():
        returns = run.episodes()["total_reward"]
        print(
            f"   {run.label}: {len(returns)} episodes, mean return of the last {LAST_EPISODES}: "
            f"{number(returns.tail(LAST_EPISODES).mean())} "
            f"(of the first {LAST_EPISODES}: {number(returns.head(LAST_EPISODES).mean())})"
        )
    print(f"   executed notebook   {executed}")
    print(f"   stand-alone page    {page}")
    print(f"   the runs' folders   {folder / 'mosaic_runs'}")
    print("   Open it live:       mosaic-lab demo --open")
    return 0


def examples_folder() -> Path:
    """Return the folder of the example notebooks: in the installed package, or next to it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_example_notebooks"
    return installed if installed.is_dir() else package.parent / "example_notebooks"


@contextmanager
def narrated(runs: Supervisor, ignore: set[str]) -> Iterator[None]:
    """Print a progress line for every new live run every few seconds, while the block runs."""
    ended = threading.Event()

    def narrate() -> None:
        feeds: dict[str, RunFeed] = {}
        while not ended.wait(REPORT_EVERY_SECONDS):
            for run in runs.runs():
                if run.id not in ignore and run.state is State.RUNNING:
                    feed = feeds.setdefault(run.id, RunFeed(run.path))
                    feed.poll()
                    print(f"   {progress_line(run, feed)}", flush=True)

    narrator = threading.Thread(target=narrate, name="demo-progress", daemon=True)
    narrator.start()
    try:
        yield
    finally:
        ended.set()
        narrator.join(timeout=10)


def progress_line(run: Run, feed: RunFeed) -> str:
    text = f"{run.label}: {feed.step:,} of {run.total_timesteps or 0:,} steps"
    last = feed.returns.last
    return text if last is None else f"{text}, return {number(last)}"
