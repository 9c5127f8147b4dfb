"""Missing CPUs and GPUs are refused; busy ones are waited for, with a log message, until a stop."""

from __future__ import annotations

import signal
from typing import Any

import pytest
from mosaic_contract.conformance.observed_process import ObservedProcess
from shim_kit.training_worker import SECONDS

from mosaic_lab.runs.run import DEFAULT_GRACE

MORE_THAN_THERE_ARE = 1000


def until_log(trial: ObservedProcess, expected: str) -> None:
    assert trial.wait(SECONDS, until=lambda: expected in trial.stderr_path.read_text())
    assert expected in trial.stderr_path.read_text(), trial.log_tail()


def stop(trial: ObservedProcess) -> None:
    trial.signal(signal.SIGTERM)
    assert trial.wait(DEFAULT_GRACE), trial.log_tail()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(
            {"address": None, "num_learners": 1},
            "this machine's: lower num_gpus_per_learner, or request them",
            marks=pytest.mark.extended,
        ),
        ({"num_learners": 0}, "this machine's: lower num_gpus_per_learner, or request them"),
        pytest.param(
            {"num_learners": 1},
            "lower num_gpus_per_learner or num_learners, or add a node that has them",
            marks=pytest.mark.extended,
        ),
    ],
)
def test_gpus_that_are_not_there_are_refused(worker: Any, settings: dict[str, Any], expected: str) -> None:
    """On this machine, if the learner runs here, or on the cluster."""
    gpus = {"num_gpus_per_learner": MORE_THAN_THERE_ARE}
    run = worker.train(**{**worker.configuration("ppo"), **gpus, **settings})
    assert run.code == 2, run.log
    (failed,) = run.events("run_failed")
    assert failed["error"].startswith("this training needs 1000 GPUs for its")
    assert expected in failed["error"]


def test_more_cpus_than_a_cluster_has_are_refused(worker: Any) -> None:
    run = worker.train(**{**worker.configuration("ppo"), "num_env_runners": MORE_THAN_THERE_ARE})
    assert run.code == 2, run.log
    (failed,) = run.events("run_failed")
    assert f"needs {MORE_THAN_THERE_ARE} CPUs" in failed["error"]
    assert "lower num_env_runners or num_learners, or add a node that has them" in failed["error"]


@pytest.mark.extended
def test_a_training_waits_for_cpus_that_others_use_and_says_so(worker: Any) -> None:
    """A waiting run that is stopped saves nothing; otherwise it trains once the CPUs are free."""
    waiting = {**worker.configuration("ppo"), "num_env_runners": 1}

    def waits(trial: ObservedProcess) -> None:
        until_log(trial, "0 of the cluster's 2 CPUs are free, this training needs 1; waiting for others'")

    def waits_and_is_stopped(trial: ObservedProcess) -> None:
        waits(trial)
        stop(trial)

    def while_another_trains(first: ObservedProcess) -> None:
        until_log(first, "the first iteration has begun")
        stopped = worker.train(waits_and_is_stopped, **waiting)
        assert stopped.code == 143, stopped.log
        assert len(stopped.events("run_cancelled")) == 1
        assert (stopped.checkpoints, stopped.leftovers) == ([], [])

        def waits_and_trains(trial: ObservedProcess) -> None:
            waits(trial)
            first.signal(signal.SIGTERM)

        trained = worker.train(waits_and_trains, **waiting)
        assert trained.code == 0, trained.log

    greedy = {**worker.configuration("ppo"), "num_env_runners": 2, "total_timesteps": 50_000_000}
    assert worker.train(while_another_trains, **greedy).code == 143


@pytest.mark.extended
def test_a_stop_is_heard_while_upstream_waits_for_its_runners(worker: Any) -> None:
    """Upstream waits for ever: no node has the CPUs that one runner needs, though all nodes together have."""
    cluster = worker.cluster
    node = cluster.add(f"--address={cluster.address}", "--num-cpus=1")

    def stop_while_building(trial: ObservedProcess) -> None:
        assert trial.wait(SECONDS, until=lambda: "{'CPU': 3.0}: 1+ pending" in cluster.status())
        stop(trial)

    wide = {**worker.configuration("ppo"), "num_env_runners": 1, "num_cpus_per_env_runner": 3}
    run = worker.train(stop_while_building, **wide)
    cluster.lose(node)
    assert run.code == 143, run.log
    assert len(run.events("run_cancelled")) == 1
    assert (run.checkpoints, run.leftovers) == ([], [])
    assert cluster.status()
