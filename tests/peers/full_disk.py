"""A run store on a 4 MiB disk that fills up; runs in its own mount namespace, prints the outcome as JSON.

``full_disk.py SCENARIO FOLDER`` mounts the disk in FOLDER, which must be empty.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from support import PEERS, at_work, start_peer, wait_until

from mosaic_lab import operators
from mosaic_lab.errors import MosaicError
from mosaic_lab.evaluation.launch import evaluate
from mosaic_lab.evaluation.request import EvaluateRequest
from mosaic_lab.runs import Run, Supervisor


def fill(disk: Path) -> Path:
    """Use up all free space, including space freed by others in the meantime."""
    filler = disk / "filler"
    with filler.open("ab", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1 << 8, 1):
            while True:
                try:
                    file.write(b"x" * size)
                except OSError:
                    break
    return filler


def outcome(run: Run) -> dict[str, object]:
    steps = run.metrics("value")["step"].tolist()
    return {"state": run.state, "reason": run.reason, "steps": steps, "health": run.health}


def start_steady(supervisor: Supervisor, folder: Path, *, name: str) -> Run:
    """Start a worker built on the contract that reports until the file ``<name>-go`` exists."""
    config = {
        "algorithm": "steady",
        "env_id": "Disk-v0",
        "seed": 1,
        "total_timesteps": 1_000_000,
        "hyperparameters": {"go": str(folder / f"{name}-go")},
    }
    return supervisor.start([sys.executable, str(PEERS / "steady.py")], config, worker="steady")


def fills_and_empties(disk: Path, elsewhere: Path) -> dict[str, object]:
    """The disk fills while a run trains, and space is freed again: the run continues and reports the lines
    that it dropped."""
    run = at_work(start_steady(Supervisor(disk / "runs"), elsewhere, name="steady"))
    filler = fill(disk)
    wait_until(lambda: "disk is full" in run.reason)
    reason = run.reason
    written = len(run.metrics("value"))
    filler.unlink()
    wait_until(lambda: run.health["dropped_by_worker"] > 0)
    wait_until(lambda: len(run.metrics("value")) > written)
    (elsewhere / "steady-go").touch()
    run.wait(60)
    return {**outcome(run), "reason_then": reason}


def stays_full(disk: Path, elsewhere: Path) -> dict[str, object]:
    """The disk stays full: the outcome of its runs is still recorded, and a run in another store is
    unaffected."""
    other = start_peer(Supervisor(elsewhere / "runs"), "train", total_timesteps=100)
    supervisor = Supervisor(disk / "runs")
    steady = at_work(start_steady(supervisor, elsewhere, name="steady"))
    stopped = at_work(start_peer(supervisor, "hang", grace_seconds=0.5))
    fill(disk)
    (elsewhere / "steady-go").touch()
    wait_until(lambda: steady.finished)
    fill(disk)
    stopped.stop()
    filler = fill(disk)
    refused = [refusal(lambda: start_peer(supervisor, "train"))]
    with filler.open("ab") as file:
        file.truncate(filler.stat().st_size - (40 << 10))  # room for the run's small files only
    refused.append(refusal(lambda: start_peer(supervisor, "train")))
    return {
        "steady": outcome(steady),
        "stopped": outcome(stopped),
        "refused": refused,
        "runs": len(supervisor.runs()),
        "other": outcome(other.wait(60)),
    }


def fills_under_an_evaluation(disk: Path, elsewhere: Path) -> dict[str, object]:
    """The disk fills during an evaluation; space is freed before the evaluation is resumed."""
    player = {"one": operators.worker("odd")}
    request = EvaluateRequest(
        env="Odd-v0", family="odd", operators=player, seeds=range(200), step_delay=0.001
    )
    evaluation = evaluate(Supervisor(disk / "runs"), request)
    wait_until(lambda: evaluation.done >= 3)
    filler = fill(disk)
    wait_until(lambda: evaluation.finished)
    fill(disk)
    end = {"state": evaluation.state, "reason": evaluation.reason, "done": evaluation.done}
    refused, summary = refusal(evaluation.resume), repr(evaluation.summary())
    state = evaluation.state
    filler.unlink()
    evaluation.resume().wait(120)
    return {
        **end,
        "refused": refused,
        "state_then": state,
        "summary": summary,
        "at_last": [evaluation.state, evaluation.done, repr(evaluation.summary())],
    }


def refusal(start: Callable[[], object]) -> str:
    try:
        start()
    except MosaicError as error:
        return str(error)
    return ""


def main() -> None:
    scenario, folder = sys.argv[1], Path(sys.argv[2])
    disk, elsewhere = folder / "disk", folder / "elsewhere"
    disk.mkdir()
    elsewhere.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)], check=True)
    scenarios = (fills_and_empties, stays_full, fills_under_an_evaluation)
    run = {one.__name__: one for one in scenarios}[scenario]
    print(json.dumps(run(disk, elsewhere)))
    sys.stdout.flush()
    os._exit(0)


main()
