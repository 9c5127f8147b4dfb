"""Writes the files of BALROG's eval.py without playing. Settings as upstream's: name=value."""

import csv
import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

DEFAULTS = {
    "agent.type": "naive",
    "client.client_name": "openai",
    "client.model_id": "gpt-4o",
    "envs.names": "babyai-crafter",
    "eval.max_steps_per_episode": "4",
    "stand_in.seconds": "0.01",
    "stand_in.fails": "",
}
TASKS = {
    "babyai": ["BabyAI-MixedTrainLocal-v0/goto", "BabyAI-MixedTrainLocal-v0/open"],
    "crafter": ["default"],
}


def main() -> None:
    arguments = dict(argument.partition("=")[::2] for argument in sys.argv[1:])
    settings = {**DEFAULTS, **{name: value.strip("'") for name, value in arguments.items()}}
    results = Path(settings["eval.resume_from"])
    log = (results / "eval.log").open("a", encoding="utf-8")
    if settings["stand_in.fails"]:
        raise SystemExit(settings["stand_in.fails"])
    print("the key is", "set" if os.environ.get("OPENAI_API_KEY") else "not set", file=log, flush=True)
    episodes: dict[str, Any] = {}
    for family in settings["envs.names"].split("-"):
        for task in TASKS.get(family, ["default"]):
            for index in range(int(settings.get(f"eval.num_episodes.{family}", 2))):
                file = results / family / task / f"{task}_run_{index:02d}"
                if not file.with_suffix(".json").exists():
                    play(settings, file, task, index)
                    print(f"Episode done: {family}, {task}, {index}", file=log, flush=True)
                episodes.setdefault(family, []).append(json.loads(file.with_suffix(".json").read_text()))
    progress = {
        family: 100 * sum(episode["progression"] for episode in family_episodes) / len(family_episodes)
        for family, family_episodes in episodes.items()
    }
    environments = {
        family: {
            "progression_percentage": mean,
            "standard_error": 0.0,
            "episodes_played": len(episodes[family]),
        }
        for family, mean in progress.items()
    }
    average = sum(progress.values()) / len(progress)
    summary = {"average_progress": average, "standard_error": 0.0, "environments": environments}
    (results / "summary.json").write_text(json.dumps(summary, indent=4))


def play(settings: dict[str, str], file: Path, task: str, index: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    seed = int(settings.get("envs.env_kwargs.seed", index))
    rng = random.Random(seed)
    steps = int(settings["eval.max_steps_per_episode"])
    with file.with_suffix(".csv").open("w", newline="") as rows:
        writer = csv.writer(rows)
        writer.writerow(["Step", "Action", "Reasoning", "Observation", "Reward", "Done"])
        for step in range(steps):
            time.sleep(float(settings["stand_in.seconds"]))
            writer.writerow([step, "wait", "", "nothing", 0.0, step == steps - 1])
            rows.flush()
    progression = float(rng.random() < 0.5)
    episode = {
        "task": task,
        "action_frequency": {"wait": steps},
        "input_tokens": 10 * steps,
        "output_tokens": steps,
        "done": True,
        "episode_return": progression,
        "num_steps": steps,
        "failed_candidates": ["wait"] * steps,
        "progression": progression,
        "seed": seed,
        "agent": {"type": settings["agent.type"]},
        "client": {"client_name": settings["client.client_name"], "model_id": settings["client.model_id"]},
    }
    with file.with_suffix(".json").open("w") as out:  # two writes: a reader may see an incomplete file
        text = json.dumps(episode, indent=4)
        out.write(text[:20])
        out.flush()
        time.sleep(float(settings["stand_in.seconds"]))
        out.write(text[20:])


if __name__ == "__main__":
    main()
