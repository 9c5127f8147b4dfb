"""A served game with the wrapper "atari": training, and acting on frames as an arena sends them."""

from __future__ import annotations

import json
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shim_kit.policies import begin
from shim_kit.training_worker import served

GAME = "ALE/Pong-v5"
FRAMES = np.random.default_rng(1).integers(256, size=(40, 210, 160, 3), dtype=np.uint8)
SMALL = {"num_envs": 2, "n_steps": 16, "batch_size": 16, "n_epochs": 1, "total_timesteps": 64}


@pytest.mark.extended
def test_a_policy_holds_its_action_for_four_frames(worker: Any, operators: Any) -> None:
    """Whether the environment shows every frame or skips some; frames without a number are refused."""
    settings = {"env_id": GAME, "wrappers": ["atari"], "env_kwargs": {"repeat_action_probability": 0.1}}
    run = worker.train(**served(worker, "ppo", **settings, **SMALL))
    assert run.code == 0, run.log
    assert run.events("run_completed")[0]["final_metrics"]["steps"] == 64
    checkpoint = run.checkpoints[-1]
    described = json.loads(checkpoint.with_suffix(".json").read_text())
    assert described["atari"]["sticky_actions"] == 0.1
    assert described["observation_space"]["shape"] == [210, 160, 3]

    begun = [played(operators, checkpoint, every=4, seed=seed) for seed in (1, 2, 3, 4, 1)]
    noops = [len(list(takewhile(lambda action: action == 0, actions))) for actions in begun]
    assert begun[0] == begun[-1]
    assert all(1 <= count < 40 for count in noops) and len(set(noops)) > 1, "drawn by the seed"

    described["atari"]["most_noops"] = 1
    checkpoint.with_suffix(".json").write_text(json.dumps(described))
    each, fourth = (played(operators, checkpoint, every) for every in (1, 4))
    assert (each[0], fourth[0]) == (0, 0)
    assert all(len(set(each[start : start + 4])) == 1 for start in range(1, 37, 4))
    assert len(set(fourth)) > 1

    refused = operators.ask("select_action", player_id="agent_0", observation=FRAMES[0])
    assert "acts by frame numbers" in refused["message"]


def played(operators: Any, checkpoint: Path, every: int, seed: int = 1) -> list[int]:
    """Return a policy's first 40 actions in an environment that shows one frame of each `every`."""
    begin(operators, checkpoint, deterministic=False)
    operators.ask("episode_begin", player_id="agent_0", seed=seed, episode_index=0)
    return [
        operators.act(frame, player_id="agent_0", info={"episode_frame_number": number * every})["action"]
        for number, frame in enumerate(FRAMES)
    ]
