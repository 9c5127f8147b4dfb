"""Build the table of a worker's README: train every algorithm, act from its checkpoint, and resume it.

Each shim's `matrix.py` imports this module in the worker's interpreter, so it uses only the contract and the
standard library.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mosaic_contract.conformance.observed_process import ObservedProcess

Messages = list[dict[str, Any]]
Train = Callable[[Path, dict[str, Any]], Messages]


class Trained(NamedTuple):
    """A training, and the training resumed from its last checkpoint."""

    messages: Messages
    seconds: float
    resumed: Messages
    resumed_seconds: float

    @property
    def outcome(self) -> str:
        """The last two cells of a row."""
        return f"yes | to step {checkpoints(self.resumed)[-1]['step']}"


def train(command: Sequence[str], seconds: float, folder: Path, config: dict[str, Any]) -> Messages:
    """Train with a worker's command line and return the messages; raise `RuntimeError` on failure."""
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    with ObservedProcess([*command, "--config", str(path)], folder) as trial:
        trial.wait(seconds)
        if trial.code != 0:
            raise RuntimeError(f"{trial.ending}: {trial.log_tail()}")
        return trial.messages()


def train_and_resume(
    train: Train,
    acts: Callable[[str], None],
    folder: Path,
    config: Mapping[str, Any],
    *,
    beyond_last: bool = False,
) -> Trained:
    """Train, act from the last checkpoint with `acts(path)`, and resume from it for the same number of steps.

    `beyond_last` counts the steps from the last checkpoint, for trainings that may overshoot.
    """

    def timed(name: str, config: Mapping[str, Any]) -> tuple[Messages, float]:
        runs = folder / name
        runs.mkdir(parents=True)
        began = time.monotonic()
        return train(runs, {"run_id": name, "seed": 1, **config}), time.monotonic() - began

    messages, seconds = timed("first", config)
    last = checkpoints(messages)[-1]
    acts(last["checkpoint_path"])
    steps = config["total_timesteps"]
    more = {
        **config,
        "total_timesteps": steps + (last["step"] if beyond_last else steps),
        "checkpoint": {"resume_from": last["checkpoint_path"]},
    }
    return Trained(messages, seconds, *timed("second", more))


def checkpoints(messages: Messages) -> list[dict[str, Any]]:
    """Return the payload of each saved checkpoint."""
    return [m["payload"] for m in messages if m.get("event") == "checkpoint_saved"]


def metric_names(messages: Messages) -> set[str]:
    """Return the names of all reported metrics."""
    return {name for m in messages if m.get("event") == "metrics" for name in m["payload"]["values"]}


def losses(messages: Messages) -> str:
    """Return the names of the losses in the final metrics, without their agent and network prefixes."""
    final = messages[-1]["payload"]["final_metrics"]
    return ", ".join(sorted({name.split("/")[-1] for name in final if "loss" in name.lower()}))


def print_table(
    columns: Sequence[str], names: Iterable[str], row: Callable[[str, Path], Sequence[object]]
) -> int:
    """Print a table with a row for each name; return 1 if any row failed, else 0.

    `row` takes a name and the path for its folder, and returns the cells after the name.
    """
    failed = 0
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            try:
                cells = row(name, Path(folder, name.replace(" ", "-")))
                print(f"| {name} | {' | '.join(map(str, cells))} |", flush=True)
            except Exception:
                failed = 1
                print(f"| {name} | FAILED |\n{traceback.format_exc()}", flush=True)
    return failed


def chosen(names: Iterable[str]) -> list[str]:
    """Return the names given on the command line, else all names."""
    return sys.argv[1:] or list(names)
