"""Cost of recorded observations: microseconds per step and bytes on disk, for vectors and images.

The time is measured from the end of an evaluation's first episode to the end of its last, in one arena,
everything included; evaluations with and without recordings take turns.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks.measuring import paired, print_table, ratio_row, size

import mosaic_lab as mosaic
from mosaic_lab.arenas.request import Record
from mosaic_lab.evaluation import Evaluation

PAIRS = size(5, 1)
GAMES = {  # episodes, maximum steps per episode
    "CartPole-v1": (size(400, 3), None),
    "MiniGrid-Empty-8x8-v0": (size(20, 2), 256),
    "ALE/Pong-v5": (size(4, 2), size(1_000, 20)),
}


def test_cost_of_recorded_observations(tmp_path: Path) -> None:
    lab = mosaic.Lab(tmp_path)
    rows = []
    for env, (episodes, max_steps) in GAMES.items():
        play = partial(_play, lab, env, episodes, max_steps)
        measured = paired(
            lambda play=play: _microseconds(play("observations")),
            lambda play=play: _microseconds(play(None)),
            PAIRS,
        )
        rows.append([*ratio_row(env, measured, "")[:4], f"{_bytes(play('observations')):,.0f}"])
    print_table(
        f"random actions, {PAIRS} pairs",
        ["µs a step", "recorded", "not recorded", "median ratio (range)", "bytes a step on the disk"],
        rows,
    )


def _play(
    lab: mosaic.Lab, env: str, episodes: int, max_steps: int | None, record: Record | None
) -> Evaluation:
    evaluation = lab.evaluate(
        env=env,
        operators={"random": mosaic.operators.random()},
        seeds=range(episodes),
        max_steps=max_steps,
        parallel=1,
        record=record,
    )
    return evaluation.wait(600)


def _microseconds(played: Evaluation) -> float:
    first, *others = sorted(played.records(), key=lambda record: record["timestamp"])
    steps = sum(record["steps"] for record in others)
    return float(1e6 * (others[-1]["timestamp"] - first["timestamp"]) / steps)


def _bytes(played: Evaluation) -> float:
    files = list(played.path.glob("arenas/*/observations/*.npz"))
    assert len(files) == played.total
    return sum(file.stat().st_size for file in files) / sum(record["steps"] for record in played.records())
