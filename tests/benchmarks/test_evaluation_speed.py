"""Speed of an evaluation: a CleanRL policy's episodes per second, compared with the same policy in a plain
loop of one process with the same libraries, and the time per step; and a policy of Stable-Baselines3,
compared with its own `evaluate_policy` on one environment and on 16.

One loop calls the PyTorch network directly; a second loop uses the evaluation's operator, which acts faster.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from statistics import median

import pytest
from benchmarks.measuring import judged, print_table, size

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.runs import Run
from mosaic_lab.workers import ensure

ENV = "CartPole-v1"
EPISODES = size(1000, 5)
ROUNDS = size(3, 1)

LOOP = """
import json, sys, time
import gymnasium

env = gymnasium.make("CartPole-v1")
act = policy_of(env, sys.argv[1])
returns, steps, began = [], 0, time.perf_counter()
for seed in range(int(sys.argv[2])):
    observation, _ = env.reset(seed=seed)
    total, ended = 0.0, False
    while not ended:
        observation, reward, terminated, truncated, _ = env.step(act(observation))
        total += float(reward)
        steps += 1
        ended = terminated or truncated
    returns.append(total)
print(json.dumps([time.perf_counter() - began, steps, returns]))
"""

WITH_PYTORCH = """
import torch
from torch import nn

def policy_of(env, checkpoint):
    torch.set_num_threads(1)
    actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
    weights = torch.load(checkpoint, weights_only=True)["modules"]["agent"].items()
    actor.load_state_dict({name[6:]: weight for name, weight in weights if name.startswith("actor.")})

    @torch.no_grad()
    def act(observation):
        return int(actor(torch.from_numpy(observation).unsqueeze(0)).argmax())

    return act
"""

WITH_OPERATOR = """
from cleanrl_worker.operator import operate
from mosaic_contract import AgentSetup, describe_space

def policy_of(env, checkpoint):
    spaces = describe_space(env.observation_space), describe_space(env.action_space)
    setup = AgentSetup("agent_0", "CartPole-v1", 0, *spaces, {"checkpoint": checkpoint})
    return operate(setup).select_action
"""


EVALUATE_POLICY = """
import json, sys, time
import gymnasium, stable_baselines3, torch
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

torch.set_num_threads(1)
model = PPO.load(sys.argv[1], device="cpu")
speeds = []
for count, episodes in ((1, int(sys.argv[2]) // 10 + 1), (16, int(sys.argv[2]))):
    env = DummyVecEnv([lambda: Monitor(gymnasium.make("CartPole-v1"))] * count)
    began = time.perf_counter()
    _, lengths = evaluate_policy(model, env, n_eval_episodes=episodes, return_episode_rewards=True)
    speeds.append(sum(lengths) / (time.perf_counter() - began))
libraries = stable_baselines3, gymnasium, torch
print(json.dumps([*speeds, ", ".join(f"{one.__name__} {one.__version__}" for one in libraries)]))
"""


@pytest.mark.timeout(3600)
def test_an_sb3_policy_beside_evaluate_policy(tmp_path: Path) -> None:
    lab = mosaic.Lab(tmp_path)
    steps = size(50_000, 512)
    run = lab.train("sb3", algorithm="ppo", env=ENV, total_timesteps=steps, n_steps=256, frames=False)
    assert isinstance(run, Run)
    policy = operators.rl(run.wait(600))
    command = [str(ensure("sb3").python), "-c", EVALUATE_POLICY, policy.settings["checkpoint"], str(EPISODES)]
    one: list[float] = []
    vectorised: list[float] = []
    ours: list[float] = []
    for _ in range(ROUNDS):
        done = subprocess.run(command, check=True, capture_output=True, timeout=600)
        alone, together, versions = json.loads(done.stdout.splitlines()[-1])
        one.append(alone)
        vectorised.append(together)
        evaluation = lab.evaluate(env=ENV, operators={"PPO": policy}, seeds=range(EPISODES)).wait(600)
        ours.append(evaluation.results()["length"].sum() / _seconds(evaluation))
    rows = [["evaluation", f"{median(ours):,.0f}", "", *judged(median(ours), ">= 33,000")]]
    for name, theirs, target in (("1 environment", one, ""), ("16 environments", vectorised, ">= 1.5")):
        ratios = sorted(our / their for our, their in zip(ours, theirs, strict=True))
        spread = f"{median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        rows.append([f"evaluate_policy, {name}", f"{median(theirs):,.0f}", spread])
        rows[-1] += judged(median(ratios), target)
    print_table(
        f"{EPISODES} episodes of {ENV}, {ROUNDS} rounds in turns, {evaluation.plan.parallel} arenas on "
        f"{os.cpu_count()} cores; {versions}",
        ["", "steps/s", "evaluation is faster by (range)", "target", "verdict"],
        rows,
    )


@pytest.mark.timeout(3600)  # a training and nine passes over all episodes
def test_a_policy_on_a_thousand_seeds(tmp_path: Path) -> None:
    lab = mosaic.Lab(tmp_path)
    run = lab.train("cleanrl", algorithm="ppo", env=ENV, total_timesteps=size(50_000, 1_024), frames=False)
    assert isinstance(run, Run)
    policy = operators.rl(run.wait(600))
    loops = {"plain loop, PyTorch": WITH_PYTORCH, "plain loop, our operator": WITH_OPERATOR}
    plain: dict[str, list[float]] = {name: [] for name in loops}
    ours: list[float] = []
    for _ in range(ROUNDS):
        for name, code in loops.items():
            seconds, steps, returns = _plain_loop(code + LOOP, policy.settings["checkpoint"])
            plain[name].append(seconds)
        evaluation = lab.evaluate(env=ENV, family="cleanrl", operators={"PPO": policy}, seeds=range(EPISODES))
        ours.append(_seconds(evaluation.wait(600)))
        assert evaluation.results()["return"].to_list() == returns
    rows = [["evaluation", *_speed(ours, steps), "", "", ""]]
    for name, target in zip(loops, (">= 1.5 on 2 cores", ""), strict=True):
        ratios = sorted(one / other for one, other in zip(plain[name], ours, strict=True))
        spread = f"{median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        rows.append([name, *_speed(plain[name], steps), spread, *judged(median(ratios), target)])
    print_table(
        f"{EPISODES} episodes of {ENV} ({steps:,} steps), CleanRL's PPO, {ROUNDS} rounds, on "
        f"{os.cpu_count()} cores",
        [
            "",
            "episodes/s",
            "µs a step, everything included",
            "evaluation is faster by (range)",
            "target",
            "verdict",
        ],
        rows,
    )


def _speed(seconds: list[float], steps: int) -> tuple[str, str]:
    return f"{EPISODES / median(seconds):.0f}", f"{1e6 * median(seconds) / steps:.1f}"


def _plain_loop(code: str, checkpoint: str) -> tuple[float, int, list[float]]:
    python = str(ensure("cleanrl").python)
    command = [python, "-c", code, checkpoint, str(EPISODES)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, timeout=600, env=environment)
    seconds, steps, returns = json.loads(done.stdout.splitlines()[-1])
    return seconds, steps, returns


def _seconds(evaluation: Evaluation) -> float:
    """Return the seconds from the first step to the end of the last episode: starting the arenas does not
    count, nor do the imports of the plain loop."""
    lines = [line for file in evaluation.path.glob("arenas/*/telemetry.jsonl") for line in file.open("rb")]
    begun = min(json.loads(line)["ts_unix_ns"] for line in lines if b'"type":"step"' in line) / 1e9
    records = [json.loads(line) for line in evaluation.folder.telemetry_path.read_bytes().splitlines()]
    return float(max(record["timestamp"] for record in records if record.get("type") == "episode") - begun)
