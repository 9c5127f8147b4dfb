"""A game through the wrapper "atari", trained and acted in by frames as an arena sends them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from shim_kit.policies import begin

GAME = "ALE/Pong-v5"
SMALL = {"num_envs": 2, "n_steps": 16, "batch_size": 16, "n_epochs": 1, "total_timesteps": 64}


def test_a_policy_holds_its_action_for_four_frames(worker: Any, operators: Any) -> None:
    """Whether the environment shows each frame or skips some; and it plays by numbered frames only."""
    run = worker.train(algorithm="ppo", env_id=GAME, wrappers=["atari"], **SMALL)
    assert run.code == 0, run.log
    assert run.events("run_completed")[0]["final_metrics"]["steps"] == 64
    described = json.loads(run.checkpoints[-1].with_suffix(".json").read_text())
    assert described["atari"]["sticky_actions"] == 0.25
    assert described["observation_space"]["shape"] == [210, 160, 3]

    frames = np.random.default_rng(1).integers(256, size=(40, 210, 160, 3), dtype=np.uint8)

    def played(every: int) -> list[int]:
        begin(operators, run.checkpoints[-1], deterministic=False)
        return [
            operators.act(frames[number], player_id="agent_0", info={"episode_frame_number": number})[
                "action"
            ]
            for number in range(0, 40, every)
        ]

    each, fourth = played(1), played(4)
    assert len(fourth) == 10
    assert all(len(set(each[start : start + 4])) == 1 for start in range(0, 40, 4))
    assert len(set(fourth)) > 1

    refused = operators.ask("select_action", player_id="agent_0", observation=frames[0])
    assert "acts by the numbers of frames" in refused["message"]
