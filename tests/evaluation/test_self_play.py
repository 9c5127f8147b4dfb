"""Self-play: one policy is trained on both sides of a game, and a league rates its checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab import operators

RLLIB = {
    "algorithm": "ppo",
    "total_timesteps": 4_000,
    "num_env_runners": 0,
    "num_envs_per_env_runner": 8,
    "train_batch_size_per_learner": 1_000,
    "lr": 1e-3,
}
TIANSHOU = {"algorithm": "dqn", "total_timesteps": 8_000, "eps_training": 0.2, "films": "last"}


@pytest.mark.extended
@pytest.mark.parametrize(("worker", "training"), [("rllib", RLLIB), ("tianshou", TIANSHOU)])
@pytest.mark.parametrize("env", ["tictactoe_v3", "OpenSpiel/tic_tac_toe"])
def test_a_policy_gets_better_at_a_game_by_playing_itself(
    tmp_path: Path, env: str, worker: str, training: dict[str, Any]
) -> None:
    """PettingZoo's game runs in the training's process; another worker serves OpenSpiel's."""
    lab = mosaic.Lab(tmp_path / "runs")
    every = training["total_timesteps"] // 2
    run = lab.train(worker, env=env, checkpoint_every=every, **training)
    assert isinstance(run, mosaic.Run)
    try:
        run.wait(900)
        assert run.episodes()["agent_id"].nunique() == 2
        wait_until(lambda: not run.films.being_made, timeout=300)
        assert len(run.films) == int("films" in training)
        players = {"self-play": run, "random": operators.random()}
        league = lab.league(env, players, checkpoints=2, seeds=range(20)).wait(600)
    finally:
        lab.stop_all()
    (evaluation,) = league.evaluations
    assert evaluation.results()["illegal"].sum() == 0
    ratings = league.ratings()
    assert len(ratings) == 3
    newest = max(league.trained, key=lambda player: league.trained[player].step)
    assert ratings["rating"][newest] > ratings["rating"]["random"]
