"""A worker of the MOSAIC platform, installed unchanged: it acts, trains and provides an environment."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from evaluation.evaluation_fixtures import Evaluate, outcomes
from support import PEERS, at_work, wait_until

import mosaic_lab as mosaic
from mosaic_lab import operators, workers
from mosaic_lab.cli import main
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.workers import WorkerEnvironment

WALKER = PEERS / "platform_walker"
NAME = "mosaic-random"  # prefixed: mosaic_lab has its own "random"


@pytest.fixture(scope="module")
def walker(mosaic_home: Path) -> Iterator[WorkerEnvironment]:
    """The platform's worker, installed for the duration of this module."""
    assert main(["workers", "install", "--mosaic", str(WALKER)]) == 0
    installed = workers.find(NAME)
    assert installed is not None
    yield installed
    workers.remove(NAME)


@pytest.fixture
def lab(walker: WorkerEnvironment, tmp_path: Path) -> mosaic.Lab:
    return mosaic.Lab(tmp_path / "mosaic_runs")


def test_it_is_listed_under_a_name_of_its_own_and_passes_the_check(
    walker: WorkerEnvironment, capfd: pytest.CaptureFixture[str]
) -> None:
    assert walker.capabilities.modes == ["train", "operate", "arena"]
    assert walker.capabilities.action_spaces == ["Discrete"]
    assert (walker.metadata.version, walker.metadata.upstream_library) == ("0.3.0", "walker-worker")
    assert workers.info("random").origin != "third party"
    assert workers.info(NAME).state == "installed"

    checked = main(["workers", "check", NAME])

    printed = capfd.readouterr().out
    assert checked == 0, printed
    assert f"{NAME}: all checks passed, of the plain protocol" in printed


def test_it_acts_in_evaluations_and_the_same_seeds_give_the_same_episodes(
    walker: WorkerEnvironment, start_evaluation: Evaluate
) -> None:
    them: dict[str, OperatorSpec] = {"theirs": operators.worker(NAME, category="random")}
    arguments = {"seeds": [1, 2], "max_steps": 30}
    first = start_evaluation("Taxi-v4", {**them, "ours": operators.random()}, **arguments).wait(180)
    second = start_evaluation("Taxi-v4", them, **arguments, parallel=1).wait(180)
    table = outcomes(first)
    assert list(table["status"]) == ["ok"] * 4 and not table["illegal"].any()
    theirs = table[table["operator"] == "theirs"].reset_index(drop=True)
    pd.testing.assert_frame_equal(theirs, outcomes(second).reset_index(drop=True), check_dtype=False)
    played = [list(first.steps("theirs", seed)["action"]) for seed in (1, 2)]
    assert played[0] != played[1] and len(set(played[0])) > 2


def test_it_plays_in_its_own_environment(walker: WorkerEnvironment, start_evaluation: Evaluate) -> None:
    own = {"it": operators.passive()}  # the only action is to continue
    first = start_evaluation("Corridor", own, family=NAME, seeds=[1, 2, 3]).wait(120)
    table = first.results()
    assert list(table["status"]) == ["ok"] * 3
    assert list(table["return"]) == [-length for length in table["length"]]
    assert table["length"].min() >= 5
    again = start_evaluation("Corridor", own, family=NAME, seeds=[1, 2, 3]).wait(120)
    pd.testing.assert_frame_equal(outcomes(again), outcomes(first))
    with pytest.raises(mosaic.MosaicError, match="no option --policy-path"):
        start_evaluation("Corridor", own, family=NAME, seeds=[1], env_kwargs={"policy_path": "x"}).wait(60)


def test_it_trains_and_reports(lab: mosaic.Lab) -> None:
    run = lab.train(NAME, algorithm="walk", env="Hill-v0", seed=7, total_timesteps=50, stride=0.75, wind=0.25)
    assert run.wait().state == "completed"
    assert list(run.episodes()["total_reward"]) == [5.0, 10.0, 15.0, 20.0, 25.0]
    heights = run.metrics("height")
    assert list(heights["step"]) == [10, 20, 30, 40, 50] and list(heights["value"])[-1] == 25.0
    assert set(run.metrics("seed")["value"]) == {7.0}, "the worker receives the seed on its command line"
    assert (
        list(run.metrics("climbed")["step"])
        == list(run.metrics("wind/speed")["step"])
        == [10, 20, 30, 40, 50]
    )
    assert "metric 'sky' is left out: 'blue' is not a number" in run.log()
    printed, checkpoint = run.checkpoints
    assert (printed.step, printed.path.name, checkpoint.step) == (0, "begin.json", 50)
    trained = json.loads(checkpoint.path.read_text())
    assert trained["algo"] == "walk" and trained["extras"]["algo_params"] == {"stride": 0.75}
    assert trained["weather"] == {"wind": 0.25}, "wind goes to the section that has this field"
    assert checkpoint.path.is_relative_to(run.folder.path)
    assert f"walking from {run.folder.path}" in run.log(), "output that is not a message goes to the log"


def test_its_failure_its_refusal_and_a_stop(lab: mosaic.Lab) -> None:
    arguments = {"algorithm": "walk", "env": "Hill-v0"}
    failed = lab.train(NAME, **arguments, total_timesteps=50, fail_at=20)  # type: ignore[arg-type]
    with pytest.raises(mosaic.RunFailed, match="PathError: the path has ended"):
        failed.wait()
    with pytest.raises(
        mosaic.ConfigurationError, match=r"refuses the configuration.*unknown parameter 'pace'"
    ):
        lab.train(NAME, **arguments, total_timesteps=50, pace=2)  # type: ignore[arg-type]
    run = at_work(lab.train(NAME, **arguments, total_timesteps=10**9))  # type: ignore[arg-type]
    wait_until(lambda: len(run.episodes()) > 2)
    assert run.stop().state == "cancelled"


def test_what_the_adapter_does_not_have_is_named(walker: WorkerEnvironment) -> None:
    for code, said in {
        "import gym_gui.services.actor": "gym_gui.services.actor of the MOSAIC platform is not provided",
        "from gym_gui.core.worker import discover_workers": "cannot import name 'discover_workers'",
        "from gym_gui.services.trainer.proto import trainer_pb2; trainer_pb2.X": "trainer daemon",
    }.items():
        done = subprocess.run([walker.python, "-c", code], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and said in done.stderr


CHECKOUT = os.environ.get("MOSAIC_PLATFORM_CHECKOUT", "")


@pytest.mark.extended
@pytest.mark.skipif(not CHECKOUT, reason="MOSAIC_PLATFORM_CHECKOUT names no checkout of the MOSAIC platform")
@pytest.mark.parametrize("name", ["random", "passive"])
def test_the_platforms_own_baselines_run_unchanged(
    name: str, tmp_path: Path, own_home: Path, start_evaluation: Evaluate
) -> None:
    folder = Path(CHECKOUT, "3rd_party", "workers", "mosaic", f"{name}_worker")
    workers.install(folder, platform=True)
    assert all(result.passed for result in workers.check(f"mosaic-{name}"))
    them = {"theirs": operators.worker(f"mosaic-{name}", category=name), "ours": operators.random()}
    table = start_evaluation("CartPole-v1", them, seeds=range(3)).wait(300).results()
    assert list(table["status"]) == ["ok"] * 6 and not table["illegal"].any()
    own = start_evaluation(
        "CartPole-v1", {"it": operators.passive()}, family=f"mosaic-{name}", seeds=range(3)
    ).wait(120)
    assert list(own.results()["status"]) == ["ok"] * 3


@pytest.mark.extended
@pytest.mark.skipif(not CHECKOUT, reason="MOSAIC_PLATFORM_CHECKOUT names no checkout of the MOSAIC platform")
def test_the_platforms_own_self_play_trains_unchanged(own_home: Path, tmp_path: Path) -> None:
    folder = Path(CHECKOUT, "3rd_party", "workers", "mctx_worker")
    also = ["jax==0.7.2", "jaxlib==0.7.2", "mctx", "pgx", "flax", "optax", "tensorboard", "torch==2.13.0"]
    workers.install(folder, platform=True, also=also)
    lab = mosaic.Lab(tmp_path / "mosaic_runs")
    given = {"algorithm": "alphazero", "env": "tic_tac_toe", "total_timesteps": 4_000, "device": "cpu"}
    with pytest.raises(mosaic.ConfigurationError, match="did you mean 'learning_rate'"):
        lab.train("mosaic-mctx", **given, learning_rat=0.1)  # type: ignore[arg-type]
    small = {"num_res_blocks": 1, "channels": 16, "games_per_iteration": 32, "min_buffer_size": 100}
    run = lab.train("mosaic-mctx", **given, **small, batch_size=32, checkpoint_interval=5)  # type: ignore[arg-type]
    assert isinstance(run, mosaic.Run) and run.wait(400).state == "completed", run.log()
    policy = run.metrics("policy_loss")
    assert policy["step"].iloc[-1] >= 4_000 and policy["value"].notna().all()
    assert run.checkpoints and all(saved.path.is_file() for saved in run.checkpoints)


@pytest.mark.extended
@pytest.mark.skipif(not CHECKOUT, reason="MOSAIC_PLATFORM_CHECKOUT names no checkout of the MOSAIC platform")
def test_the_platforms_own_xuance_trains_unchanged(own_home: Path, tmp_path: Path) -> None:
    folder = Path(CHECKOUT, "3rd_party", "workers", "xuance_worker")
    own = f"xuance @ {(folder / 'xuance').resolve().as_uri()}"
    pins = ["torch==2.13.0", "numpy==1.26.4", "gymnasium==1.2.3", "wandb==0.31.0", "tensorboard==2.21.0"]
    workers.install(folder, platform=True, also=[own, *pins, "opencv-python-headless<4.12", "pygame-ce"])
    lab = mosaic.Lab(tmp_path / "mosaic_runs")
    run = lab.train(
        "mosaic-xuance", algorithm="ppo", env="CartPole-v1", total_timesteps=2_000, parallels=2, frames=False
    )
    assert isinstance(run, mosaic.Run) and run.wait(300).state == "completed", run.log()
    assert len(run.metrics("episode_return")) > 10 and len(run.metrics("policy_loss")) > 1
