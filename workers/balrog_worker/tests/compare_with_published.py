"""Replay the BabyAI episodes that BALROG's leaderboard publishes, and recompute its BabyAI column.

Needs a checkout of github.com/balrog-ai/experiments, which has a JSON and a CSV file of each episode.

    python tests/compare_with_published.py CHECKOUT

Run it with the Python of the worker's environment, like `compare_with_upstream.py`. For each submission, the
mean progression and its standard error are computed from the files of its episodes and compared with the
published ones. The logged actions are then played in this worker's environment with the published seed. Every
observation and reward, the return and the progression are compared.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
import statistics
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Iterator

from balrog_worker.environments.babyai import BabyAI
from balrog_worker.games import GRID_ACTIONS

_FEEDBACK = re.compile(
    r"\s*Your previous output.*?Defaulted to action: go forward\s*(Observation:)?\n", re.DOTALL
)
_ACTIONS = tuple(GRID_ACTIONS)


def episodes_of(submission: Path) -> Iterator[tuple[str, Path, dict[str, Any]]]:
    """Yield the task, file and parsed content of each BabyAI episode."""
    for path in sorted(submission.glob("babyai/**/*_run_*.json")):
        content = json.loads(path.read_text())
        yield content["task"].rpartition("/")[2], path, content


def steps_of(log: Path) -> list[dict[str, str]]:
    """Return the steps in an episode's log; none without a log."""
    if not log.is_file():
        return []
    with log.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def replays(task: str, episode: dict[str, Any], steps: list[dict[str, str]]) -> bool:
    """Return whether the logged actions reproduce the logged observations, rewards and final scores."""
    environment = BabyAI(task)
    environment.reset(seed=episode["seed"])
    total = 0.0
    for step in steps:
        action = step["Action"] if step["Action"] in _ACTIONS else environment.default_action
        reward = environment.step(_ACTIONS.index(action))[1]
        total += reward
        observation = _FEEDBACK.sub("", step["Observation"], count=1).strip()
        if observation != environment.long_term.strip() or not math.isclose(reward, float(step["Reward"])):
            return False
    same = math.isclose(total, episode["episode_return"], abs_tol=1e-6)
    assert same and environment.progression == episode["progression"], "equal steps must give equal scores"
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path)
    total: dict[str, Counter[str]] = defaultdict(Counter)
    for summary in sorted(parser.parse_args().checkout.glob("submissions/*/*/summary.json")):
        progress, logged, same = [], 0, 0
        for task, path, episode in episodes_of(summary.parent):
            progress.append(100 * episode["progression"])
            steps = steps_of(path.with_suffix(".csv"))
            if not steps:
                continue
            logged += 1
            is_same = replays(task, episode, steps)
            same += is_same
            total[task].update(logged=1, same=int(is_same))
        if not progress:
            continue
        published = json.loads(summary.read_text())["environments"]["babyai"]
        mean = statistics.fmean(progress)
        error = statistics.pstdev(progress) / math.sqrt(len(progress))
        listed = published["progression_percentage"], published["standard_error"]
        verdict = "as published" if all(map(math.isclose, (mean, error), listed)) else f"published {listed}"
        print(f"{summary.parent.name}: {mean:.1f} ± {error:.2f}, {verdict}; {same} of {logged} logs replay")
    print({task: dict(counts) for task, counts in total.items()})


if __name__ == "__main__":
    main()
