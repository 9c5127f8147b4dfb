"""How fast an evaluation is: episodes of a CleanRL policy a second, against the same policy in a plain loop
of one process with the same libraries; and what a step costs, all told.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from statistics import median

from benchmarks.measuring import print_table

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.environments import ensure
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.supervisor import Run

ENV = "CartPole-v1"
EPISODES = int(os.environ.get("MOSAIC_BENCHMARK_EPISODES", "1000"))
ROUNDS = int(os.environ.get("MOSAIC_BENCHMARK_PAIRS", "3"))

PLAIN_LOOP = """
import json, sys, time
import gymnasium
from cleanrl_worker.operator import operate
from mosaic_contract import AgentSetup, describe_space

env = gymnasium.make("CartPole-v1")
spaces = describe_space(env.observation_space), describe_space(env.action_space)
policy = operate(AgentSetup("agent_0", "CartPole-v1", 0, *spaces, {"checkpoint": sys.argv[1]}))
returns, steps, began = [], 0, time.perf_counter()
for seed in range(int(sys.argv[2])):
    observation, _ = env.reset(seed=seed)
    policy.episode_begin(seed, 0)
    total, ended = 0.0, False
    while not ended:
        observation, reward, terminated, truncated, _ = env.step(policy.select_action(observation))
        total += float(reward)
        steps += 1
        ended = terminated or truncated
    returns.append(total)
print(json.dumps([time.perf_counter() - began, steps, returns]))
"""


def test_a_policy_on_a_thousand_seeds(tmp_path: Path) -> None:
    lab = mosaic.Lab(tmp_path)
    run = lab.train("cleanrl", algorithm="ppo", env=ENV, total_timesteps=50_000, frames=False)
    assert isinstance(run, Run)
    policy = operators.rl(run.wait(600))
    plain: list[float] = []
    ours: list[float] = []
    for _ in range(ROUNDS):
        seconds, steps, returns = _plain_loop(policy.settings["checkpoint"])
        plain.append(seconds)
        evaluation = lab.evaluate(env=ENV, family="cleanrl", operators={"PPO": policy}, seeds=range(EPISODES))
        ours.append(_seconds(evaluation.wait(600)))
        assert evaluation.results()["return"].to_list() == returns
    cores = os.cpu_count() or 1
    ratios = sorted(one / other for one, other in zip(plain, ours, strict=True))
    rows = [
        ["plain loop", f"{EPISODES / median(plain):.0f}", f"{1e6 * median(plain) / steps:.1f}", "", ""],
        [
            "evaluation",
            f"{EPISODES / median(ours):.0f}",
            f"{1e6 * median(ours) / steps:.1f}",
            f"{median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
            ">= 1.5 on 2 cores",
        ],
    ]
    print_table(
        f"{EPISODES} episodes of {ENV} ({steps:,} steps), CleanRL's PPO, {ROUNDS} rounds, on {cores} cores",
        ["", "episodes/s", "µs a step, all told", "ratio (range)", "wanted"],
        rows,
    )


def _plain_loop(checkpoint: str) -> tuple[float, int, list[float]]:
    python = str(ensure("cleanrl").python)
    command = [python, "-c", PLAIN_LOOP, checkpoint, str(EPISODES)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, timeout=600, env=environment)
    seconds, steps, returns = json.loads(done.stdout.splitlines()[-1])
    return seconds, steps, returns


def _seconds(evaluation: Evaluation) -> float:
    """From the first episode's beginning to the last one's end: starting the arenas does not count, as the
    imports of the plain loop do not."""
    records = [json.loads(line) for line in evaluation.folder.telemetry_path.read_bytes().splitlines()]
    episodes = [record for record in records if record.get("type") == "episode"]
    begun = min(record["timestamp"] - record["duration_seconds"] for record in episodes)
    ended = max(record["timestamp"] for record in episodes)
    return float(ended - begun)
