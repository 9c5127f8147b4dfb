"""Training under us against the same upstream script run bare: steps per second of CleanRL's PPO on CartPole.

Both write TensorBoard files, and both speeds are read from these: steps between the first and the last entry
over the time between them, so neither side's start-up counts. The worker's environment is installed first if
it is missing.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from benchmarks.measuring import children_cpu_seconds, paired, print_table, ratio_row
from benchmarks.trainings import steps_per_second

from mosaic_lab import Lab
from mosaic_lab.environments import Environment, ensure

STEPS = int(os.environ.get("MOSAIC_BENCHMARK_STEPS", "100000"))
PAIRS = int(os.environ.get("MOSAIC_BENCHMARK_PAIRS", "5"))
TIMEOUT = 1200
CONFIG = {"algorithm": "ppo", "env_id": "CartPole-v1", "seed": 1, "total_timesteps": STEPS}


def test_training_throughput(tmp_path: Path) -> None:
    environment = ensure("cleanrl", print)
    lab = Lab(tmp_path / "runs")
    arguments = _upstream_arguments(environment, tmp_path)
    our_cpu: list[float] = []
    bare_cpu: list[float] = []

    def ours() -> float:
        run = lab.train("cleanrl", algorithm="ppo", env="CartPole-v1", seed=1, total_timesteps=STEPS)
        outcome = run.wait(TIMEOUT).outcome
        assert outcome is not None and outcome.cpu_seconds is not None
        our_cpu.append(outcome.cpu_seconds)
        return steps_per_second(environment, run.path / "tensorboard")

    def bare() -> float:
        folder = tmp_path / f"bare{len(bare_cpu)}"
        folder.mkdir()
        before = children_cpu_seconds()
        subprocess.run(
            [str(environment.python), "-m", "cleanrl.ppo", *arguments],
            check=True,
            cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1", "SDL_VIDEODRIVER": "dummy"},
            capture_output=True,
            timeout=TIMEOUT,
        )
        bare_cpu.append(children_cpu_seconds() - before)
        return steps_per_second(environment, folder)

    measured = paired(ours, bare, PAIRS)
    seconds = list(zip(our_cpu, bare_cpu, strict=True))
    print_table(
        f"CleanRL PPO on CartPole-v1, {STEPS:,} steps, {PAIRS} pairs ({environment.source})",
        ["", "ours", "bare", "median ratio (range)", "wanted"],
        [
            ratio_row("training, steps/s", measured, ">= 0.98"),
            ratio_row("whole run, CPU seconds", seconds, "-"),
        ],
    )


def _upstream_arguments(environment: Environment, folder: Path) -> list[str]:
    """The command line that the worker gives to upstream's script, as its dry run tells it."""
    file = folder / "config.json"
    file.write_text(json.dumps({**CONFIG, "run_id": "dry", "run_dir": str(folder)}))
    command = [*environment.command(), "--config", str(file), "--dry-run"]
    answer = subprocess.run(command, check=True, capture_output=True, timeout=120)
    arguments: list[str] = json.loads(answer.stdout)["arguments"]
    return arguments
