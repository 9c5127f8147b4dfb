"""Batched evaluations: the results do not depend on how many episodes an arena plays at once."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pandas as pd
import pytest
from evaluation.evaluation_fixtures import Evaluate, odd, outcomes
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.keeper.states import State

LIBRARIES = [
    ("sb3", "ppo", "CartPole-v1", {"n_steps": 64, "batch_size": 64}, (1, 16)),
    *(
        pytest.param(*library, (1, 4, 16), marks=pytest.mark.extended)
        for library in (
            ("sb3", "sac", "Pendulum-v1", {"learning_starts": 32}),
            ("cleanrl", "ppo", "CartPole-v1", {}),
            ("cleanrl", "ppo_continuous", "Pendulum-v1", {"num_steps": 256}),
            ("tianshou", "ppo", "CartPole-v1", {"collection_step_num_env_steps": 200}),
            ("xuance", "ppo", "CartPole-v1", {"parallels": 4, "horizon_size": 64}),
            ("rllib", "ppo", "CartPole-v1", {"train_batch_size_per_learner": 200, "minibatch_size": 100}),
        )
    ),
]


@pytest.mark.parametrize(("worker", "algorithm", "env", "settings", "sizes"), LIBRARIES)
def test_results_do_not_depend_on_the_size_of_batches(
    worker: str,
    algorithm: str,
    env: str,
    settings: dict[str, int],
    sizes: tuple[int, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lab = mosaic.Lab(tmp_path)
    run = lab.train(worker, algorithm=algorithm, env=env, total_timesteps=512, frames=False, **settings).wait(
        300
    )
    policies = {"best": operators.rl(run), "sampled": operators.rl(run, deterministic=False)}
    played: list[Evaluation] = []
    for batch in sizes:
        monkeypatch.setattr("mosaic_lab.evaluation.launch.BATCH", batch)
        played.append(lab.evaluate(env=env, operators=policies, seeds=range(18), max_steps=30).wait(300))
    assert [evaluation.config["batches"]["best"] for evaluation in played] == list(sizes)
    assert len({evaluation.fingerprint() for evaluation in played}) == 1
    columns = ["step_index", "action", "reward", "observation_hash"]
    for operator in policies:
        alone, *together = [evaluation.steps(operator, 17)[columns] for evaluation in played]
        assert len(alone) > 5
        for steps in together:
            pd.testing.assert_frame_equal(steps, alone)


@pytest.mark.usefixtures("odd_home")
def test_killed_and_resumed_it_plays_what_is_missing(start_evaluation: Evaluate) -> None:
    slow = operators.worker("odd", behaviour="slow", at=1, seconds=0.001)
    arguments = odd(operators={"one": slow}, seeds=range(60))
    undisturbed, disturbed = start_evaluation(**arguments), start_evaluation(**arguments)
    wait_until(lambda: disturbed.done >= 5 or disturbed.finished)
    assert disturbed.state is State.RUNNING
    pid = disturbed.status.worker_pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: disturbed.finished)
    assert disturbed.done < 60
    disturbed.resume().wait(60)
    pd.testing.assert_frame_equal(outcomes(disturbed), outcomes(undisturbed.wait(60)))
