"""Evaluations of an algorithm: the policy of each training plays, and intervals are over trainings."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from evaluation.evaluation_fixtures import Evaluate
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation import Evaluation, MeanDifference, PairedDifference, statistic, summary
from mosaic_lab.evaluation.fingerprints import digest, identity
from mosaic_lab.evaluation.planning import plan_script
from mosaic_lab.operators import Algorithm
from mosaic_lab.runs import RunGroup
from mosaic_lab.runs.kinds import code_of

SEEDS = range(10, 14)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, cleanrl_environment: object) -> Iterator[mosaic.Lab]:
    return mosaic.Lab(tmp_path_factory.mktemp("trainings"))


@pytest.fixture(scope="module")
def group(lab: mosaic.Lab) -> RunGroup:
    """Three short trainings of CleanRL's PPO."""
    return lab.train(
        "cleanrl", algorithm="ppo", env="CartPole-v1", seed=[1, 2, 3], total_timesteps=512, frames=False
    ).wait(600)


@pytest.fixture(scope="module")
def played(lab: mosaic.Lab, group: RunGroup) -> Evaluation:
    both = {"PPO": operators.rl(group), "random": operators.random()}
    return lab.evaluate(env="CartPole-v1", operators=both, seeds=SEEDS, parallel=1).wait(600)


def dice(count: int) -> Algorithm:
    """Random operators in place of trained policies, each with its own random numbers."""
    return Algorithm({f"s{number}": operators.random().with_(name=f"{number}") for number in range(count)})


def test_every_training_plays_every_seed(played: Evaluation) -> None:
    table = played.results()
    ppo = table[table["operator"] == "PPO"]
    for name in ("s1", "s2", "s3"):
        assert sorted(ppo[ppo["training"] == name]["seed"]) == list(SEEDS)
    assert table[table["operator"] == "random"]["training"].isna().all()
    assert len(played.steps("PPO s2", SEEDS[0])) > 0
    checkpoints = {played.plan.mapping(f"PPO s{seed}")["*"].settings["checkpoint"] for seed in (1, 2, 3)}
    assert len(checkpoints) == 3


def test_intervals_are_over_trainings_and_say_so(played: Evaluation) -> None:
    table = played.results()
    means = table[table["operator"] == "PPO"].groupby("training")["return"].mean().to_dict()
    found = played.summary(rng=5)
    assert list(found.index) == ["PPO", "random"]
    assert list(found["episodes"]) == [12, 4]
    assert found.attrs["trainings"] == {"PPO": pytest.approx(means)}
    expected = summary({"PPO": list(means.values())}, rng=np.random.default_rng(5))["PPO"]
    for name in ("mean", "median", "iqm"):
        estimate = getattr(expected, name)
        ends = (estimate.value, estimate.low, estimate.high)
        assert tuple(found.loc["PPO", [name, f"{name}_low", f"{name}_high"]]) == pytest.approx(ends)
    rough = "intervals over fewer than 5 trainings are rough"
    assert f"over 3 trainings × 4 greedy episodes (PPO), 4 episodes (random); {rough}." in repr(found)
    own = played.statistic(np.std, interval="bca", rng=5)
    theirs = statistic(list(means.values()), np.std, rng=np.random.default_rng(5), interval="bca")
    assert own.loc["PPO", "std_low"] == pytest.approx(theirs.low)


def test_a_plot_has_a_row_for_the_algorithm_with_ticks_for_its_trainings(played: Evaluation) -> None:
    plot = played.interval_plot()
    assert plot.facets[0].rows == ("PPO", "random")
    ppo, chance = plot.facets[0].marks
    means = played.summary().attrs["trainings"]["PPO"].values()
    assert [x[0] for x, _ in ppo.thin] == list(means)
    assert chance.thin == ()
    assert plot.note == played.summary().attrs["over"]


def test_algorithms_are_compared_without_pairs(played: Evaluation) -> None:
    versus = played.compare("PPO", "random")
    means = played.summary()["mean"]
    assert isinstance(versus.difference, MeanDifference)
    assert versus.difference.mean.value == pytest.approx(means["PPO"] - means["random"])
    assert "over 3 trainings × 4 greedy episodes (PPO), 4 episodes (random);" in versus.over
    with pytest.raises(ConfigurationError, match="trainings of an algorithm have no pairs"):
        played.paired_plot("PPO", "random")
    alone = played.compare("PPO s1", "PPO s2")
    assert isinstance(alone.difference, PairedDifference)
    assert alone.difference.seeds == tuple(SEEDS)
    assert alone.over.endswith("do not cover the variation between training seeds")


def test_a_table_for_print(played: Evaluation) -> None:
    found = played.summary()
    text = found.to_latex(label="tab:returns", columns=["mean", "iqm"])
    assert (
        r"\caption{Results in CartPole-v1 with 95\% stratified bootstrap intervals over 3 trainings $\times$"
        in text
    )
    assert r"Operator & Mean & IQM \\" in text
    assert text.count(r"\textbf{") == 2
    best = found["mean"].idxmax()
    (row,) = (line for line in text.splitlines() if line.startswith(f"{best} & "))
    assert r"\textbf{" in row and "[" in row
    lowest = found["mean"].idxmin()
    (row,) = (line for line in text.splitlines() if line.startswith(f"{lowest} & "))
    shown, printed = found.compact()["mean"][lowest], row.split(" & ")[1]
    assert float(printed.split()[0]) == float(shown.split()[0]), "no digit of the summary is lost"
    with pytest.raises(ConfigurationError, match="'length': the estimates are mean, median, iqm"):
        found.to_latex(columns=["length"])


def test_a_bundle_has_the_trainings_and_can_be_reproduced(played: Evaluation, tmp_path: Path) -> None:
    bundle = mosaic.open_bundle(played.bundle(tmp_path / "share.zip"), into=tmp_path / "opened")
    for stored, own in ((bundle.summary(), played.summary()), (bundle.results(), played.results())):
        pd.testing.assert_frame_equal(stored, own)
        assert stored.attrs == own.attrs
    assert bundle.plan.trainings == played.plan.trainings
    assert digest(identity(bundle.plan)) == digest(identity(played.plan))
    assert len(bundle.records()) == 16
    assert played.verify(sample=2).same


def test_its_request_and_its_code_play_the_same_episodes(played: Evaluation) -> None:
    def no_run(name: str) -> Any:
        raise AssertionError(name)

    again = plan_script(played.folder.request_path, no_run)
    assert digest(identity(again)) == digest(identity(played.plan))
    assert "mosaic.operators.Algorithm(" in code_of(mosaic.Lab(played.path.parent).run(played.id))


def test_one_policy_is_chosen_where_one_is_needed(
    lab: mosaic.Lab, group: RunGroup, played: Evaluation
) -> None:
    algorithm = operators.rl(group)
    several = r"has several policies, .* write operators\.rl\(group\[0\]\)"
    with pytest.raises(ConfigurationError, match=several):
        lab.compare("CartPole-v1", {"PPO": algorithm}, seeds=[1])
    with pytest.raises(ConfigurationError, match=several):
        lab.evaluate(env="CartPole-v1", operators={"mixed": {"*": algorithm}}, seeds=[1])
    with pytest.raises(ConfigurationError, match=r"write mosaic\.operators\.rl\(group\), or"):
        lab.evaluate(env="CartPole-v1", operators={"PPO": group}, seeds=[1])
    both = {"PPO": algorithm, "PPO s1": operators.random()}
    with pytest.raises(
        ConfigurationError, match="'PPO s1' names both a training of PPO and another operator"
    ):
        lab.evaluate(env="CartPole-v1", operators=both, seeds=[1])
    with pytest.raises(ConfigurationError, match=r"never started: seed 4.* operators\.rl\(group\[:\]\)"):
        operators.rl(RunGroup(group, "PPO", missing=[4]))


def test_trainings_that_are_not_alike_are_noticed(lab: mosaic.Lab, group: RunGroup, tmp_path: Path) -> None:
    longer = lab.train(
        "cleanrl", algorithm="ppo", env="CartPole-v1", seed=4, total_timesteps=1024, frames=False
    ).wait(600)
    with pytest.warns(UserWarning, match=r"from different steps: s1 512, s2 512, s3 512, s4 1,024") as warned:
        algorithm = operators.rl(RunGroup([*group, longer]))
    assert warned[0].filename == __file__
    assert list(algorithm.trainings) == ["s1", "s2", "s3", "s4"]
    other = Path(shutil.copytree(longer.path, tmp_path / longer.id))
    for description in other.glob("checkpoints/*.json"):
        description.write_text(description.read_text().replace('"ppo"', '"dqn"'))
    with pytest.raises(ConfigurationError, match=r"not trainings of one algorithm .*: ppo .*; dqn"):
        operators.rl(RunGroup([*group, mosaic.Lab(tmp_path).runs[0]]))


def test_a_stopped_evaluation_of_an_algorithm_is_resumed(start_evaluation: Evaluate) -> None:
    evaluation = start_evaluation("CartPole-v1", {"dice": dice(2)}, seeds=range(3), step_delay=0.05)
    wait_until(lambda: evaluation.done > 0)
    evaluation.stop()
    assert "are recorded: these numbers cover only those" in repr(evaluation.summary())
    evaluation.resume().wait(120)
    assert list(evaluation.summary()["episodes"]) == [6]
    assert "over 2 trainings × 3 episodes;" in repr(evaluation.summary())


def test_a_suite_is_of_trainings_in_each_environment(start_evaluation: Evaluate) -> None:
    both = {"A": dice(3), "B": dice(4)}
    poles = start_evaluation("CartPole-v1", both, seeds=range(3))
    cars = start_evaluation("MountainCarContinuous-v0", both, seeds=range(2), max_steps=20).wait(240)
    bounds = {"CartPole-v1": (0.0, 50.0), "MountainCarContinuous-v0": (-2.0, 0.0)}
    suite = mosaic.Suite([poles.wait(240), cars], bounds)
    scores = np.array(
        [
            [(mean - low) / (high - low) for mean in ev.summary().attrs["trainings"]["A"].values()]
            for ev in (poles, cars)
            for low, high in [bounds[ev.plan.env_id]]
        ]
    ).T
    found = suite.summary().loc["A"]
    assert found["episodes"] == 15
    assert found["mean"] == pytest.approx(scores.mean())
    assert found["optimality_gap"] == pytest.approx(np.maximum(1 - scores, 0).mean())
    assert "3 trainings × 3 episodes or 3 trainings × 2 episodes in each of 2 environments (A)" in repr(
        suite.summary()
    )
    mean = suite.statistic(np.mean, resample_environments=True).loc["A"]
    assert mean["statistic"] == pytest.approx(scores.mean())
    assert mean["statistic_high"] - mean["statistic_low"] > found["mean_high"] - found["mean_low"]
    skewed = suite.statistic(np.median, interval="bca", each_environment=True)
    assert skewed.loc["A"]["statistic"] == pytest.approx(np.median(scores, axis=0).mean())
    assert "accelerated bootstrap" in skewed.attrs["over"]
    versus = suite.compare("A", "B")
    assert math.isfinite(versus.probability.low)
    assert "4 trainings × 2 episodes" in versus.over
    assert suite.profile_plot().facets[0].title == "share of trainings above a normalised score"
