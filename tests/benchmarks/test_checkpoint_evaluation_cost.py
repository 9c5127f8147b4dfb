"""Cost of checkpoint evaluations for a training: CleanRL's PPO on CartPole with and without them, in turns.

Ratios are taken within a pair. If all cores are busy, a training loses at most the share of a core that
evaluations get at their low priority.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

from benchmarks.measuring import paired, print_table, ratio_row, size
from benchmarks.trainings import steps_per_second

import mosaic_lab as mosaic
from mosaic_lab.runs import Run
from mosaic_lab.workers import ensure

STEPS = size(100_000, 15_000)
PAIRS = size(5, 2)


def test_cost_of_evaluated_checkpoints_for_a_training(tmp_path: Path) -> None:
    environment, lab = ensure("cleanrl", print), mosaic.Lab(tmp_path)
    speeds: list[float] = []
    shares: list[float] = []

    def train(evaluated: bool) -> float:
        """Return the CPU seconds of a training, and record its speed."""
        evaluate = {"seeds": range(10)} if evaluated else None
        run = lab.train(
            "cleanrl", algorithm="ppo", env="CartPole-v1", total_timesteps=STEPS, evaluate=evaluate
        ).wait(1200)
        ours = _cpu_seconds(run)
        speeds.append(steps_per_second(environment, run.path / "tensorboard"))
        for one in [other for other in lab.runs if other.parent == run.id]:
            theirs = _cpu_seconds(one.wait(1200))
            shares.append(theirs / (ours + theirs))
        return ours

    cpu = paired(lambda: train(True), lambda: train(False), PAIRS)
    both = [speeds[at : at + 2] for at in range(0, 2 * PAIRS, 2)]
    by_pair = [(b, a) if index % 2 else (a, b) for index, (a, b) in enumerate(both)]
    print_table(
        f"PPO on CartPole-v1, {STEPS:,} steps, 10 checkpoints of 10 episodes, {PAIRS} pairs",
        ["", "evaluated", "not evaluated", "median ratio (range)", "target", "verdict"],
        [
            ratio_row("steps/s of the training", by_pair, ">= 0.9"),
            ratio_row("CPU seconds of the training", cpu, "<= 1.1"),
        ],
    )
    print(f"  the evaluations' share of the CPU time: {median(shares):.0%}")
    assert len(shares) == PAIRS


def _cpu_seconds(run: Run) -> float:
    outcome = run.outcome
    assert outcome is not None and outcome.cpu_seconds is not None
    return outcome.cpu_seconds
