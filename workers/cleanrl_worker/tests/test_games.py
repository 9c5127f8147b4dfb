"""Trainings on Atari games, and their policies. The release lacks them: they need a checkout of upstream."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GAME = "ALE/Breakout-v5"
UPSTREAM = Path(__file__).with_name("upstream_games.py")
REMEMBERS = Path(__file__).with_name("upstream_remembers.py")
OFF_POLICY = {"learning_starts": 150, "batch_size": 8, "buffer_size": 1000, "total_timesteps": 200}
SMALL: dict[str, dict[str, Any]] = {
    "ppo_atari": {"num_envs": 2, "num_steps": 32, "update_epochs": 1, "total_timesteps": 128},
    "ppo_atari_lstm": {
        "num_envs": 2,
        "num_steps": 32,
        "num_minibatches": 2,
        "update_epochs": 1,
        "total_timesteps": 128,
    },
    "dqn_atari": OFF_POLICY,
    "c51_atari": OFF_POLICY,
    "rainbow_atari": OFF_POLICY,
    "sac_atari": OFF_POLICY,
}

with_checkout = [
    pytest.mark.extended,
    pytest.mark.skipif(
        "MOSAIC_TEST_CLEANRL_CHECKOUT" not in os.environ, reason="no checkout of current upstream is named"
    ),
]


def test_the_release_refuses_games(worker: Any) -> None:
    """The error names the algorithm that the release lacks and, for the LSTM, an alternative."""
    if worker.legacy:
        assert "ppo_atari is not available with CleanRL 0.4.8" in worker.error(algorithm="ppo", env_id=GAME)
        said = worker.error(algorithm="ppo_atari_lstm", env_id=GAME)
        assert "ppo_atari_lstm is not available with CleanRL 0.4.8" in said
        assert "recurrent_ppo" in said


class TestCurrentUpstream:
    pytestmark = with_checkout

    @pytest.fixture
    def upstream(self, workers: Callable[[str], Any]) -> Any:
        return workers("checkout")

    @pytest.mark.parametrize("env_id", ["BreakoutNoFrameskip-v4", "PongNoFrameskip-v4"])
    def test_a_policy_sees_what_upstreams_wrappers_show(self, upstream: Any, env_id: str) -> None:
        """Bit for bit, with lives lost and FIRE pressed as in training."""
        found = upstream.output_of(str(UPSTREAM), env_id, "100")
        assert found["compared"] == found["same"] == 100
        assert env_id.startswith("Pong") or found["lives"] > 0

    @pytest.mark.parametrize("algorithm", SMALL)
    def test_a_training_counts_its_own_steps_and_records_what_it_saw(
        self, upstream: Any, algorithm: str
    ) -> None:
        """Neither the four frames of each step nor the frames that begin an episode count."""
        run = upstream.train(algorithm=algorithm, env_id=GAME, **SMALL[algorithm])
        assert run.code == 0, run.log
        assert run.events("run_started")[0]["algo"] == algorithm
        assert run.events("run_completed")[0]["final_metrics"]["steps"] == SMALL[algorithm]["total_timesteps"]
        described = json.loads(run.checkpoints[-1].with_suffix(".json").read_text())
        assert described["wrappers"] == ["atari"]
        assert described["atari"]["sticky_actions"] == 0.25
        assert described["atari"]["stacked"] == (1 if algorithm == "ppo_atari_lstm" else 4)
        assert described["observation_space"]["shape"] == [210, 160, 3]
        assert all(episode["total_reward"] >= 0 for episode in run.episodes)

    def test_a_recurrent_policy_remembers_as_upstreams_does(self, upstream: Any) -> None:
        """The drawn actions equal upstream's over several lives, each of which resets the memory."""
        small = {**SMALL["ppo_atari_lstm"], "env_id": "BreakoutNoFrameskip-v4"}
        run = upstream.train(algorithm="ppo_atari_lstm", **small)
        found = upstream.output_of(str(REMEMBERS), str(run.checkpoints[-1]), "120")
        assert found["played"] == found["upstream"]
        assert len(set(found["played"])) == 4
        assert found["lives"] > 1

    def test_minibatches_of_whole_environments_are_checked(self, upstream: Any) -> None:
        said = upstream.error(algorithm="ppo_atari_lstm", env_id=GAME, num_envs=6)
        assert "num_envs must be a multiple of num_minibatches (4), got 6" in said

    def test_what_is_not_a_game_is_refused(self, upstream: Any) -> None:
        assert "is for games" in upstream.error(algorithm="ppo_atari", env_id="CartPole-v1")
        assert "no others" in upstream.error(algorithm="ppo_atari", env_id=GAME, wrappers=["atari", "flat"])
