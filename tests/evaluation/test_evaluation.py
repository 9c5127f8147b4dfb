"""Evaluations with real environments and operators: complete, replayable, independent of the kernel."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from textwrap import indent

import numpy as np
import pandas as pd
import pytest
from evaluation.evaluation_fixtures import Evaluate, outcomes
from mosaic_contract.episode_recording import read_recording
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.arenas import CompareRequest, compare
from mosaic_lab.cli import main
from mosaic_lab.errors import ConfigurationError, MosaicError, UnknownRun
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.evaluation.sharing import archive, open_bundle
from mosaic_lab.widgets.notebook_display import ProgressLine

CARTPOLE = "CartPole-v1"
NOISE = """
import os
import gymnasium, numpy

class Noise(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 255, (40, 40, 3), "uint8")
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return self.colour(), {}

    def step(self, action):
        self.steps += 1
        return self.colour(), 1.0, self.steps == 5, False, {}

    def colour(self):
        return numpy.full((40, 40, 3), list(os.urandom(3)), "uint8")
"""


def two() -> dict[str, object]:
    return {"random": operators.random(), "still": operators.passive()}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> mosaic.Lab:
    return mosaic.Lab(tmp_path_factory.mktemp("played"))


@pytest.fixture(scope="module")
def played(lab: mosaic.Lab) -> Evaluation:
    """Two operators on 20 seeds."""
    return lab.evaluate(env=CARTPOLE, operators=two(), seeds=range(20)).wait(120)


def test_every_operator_plays_every_seed(lab: mosaic.Lab, played: Evaluation) -> None:
    assert isinstance(played, mosaic.Evaluation)
    assert played in lab.runs
    assert isinstance(lab.runs[0], mosaic.Evaluation)
    table = played.results()
    assert list(table["seed"]) == [seed for seed in range(20) for _ in range(2)]
    assert list(table["operator"]) == ["random", "still"] * 20
    assert list(table["category"]) == ["random", "passive"] * 20
    assert list(table["episode_seed"]) == list(table["seed"])
    assert (table["return"] == table["length"]).all()
    assert table["terminated"].all()
    assert (table["status"] == "ok").all()
    assert (table[["illegal", "late", "errors", "input_tokens", "output_tokens"]] == 0).all(axis=None)
    assert (played.done, played.total, played.failed, played.progress) == (40, 40, 0, 1.0)
    assert "40 of 40 episodes" in repr(lab.run(played.id))
    assert played.versions["random"]["gymnasium"]
    with pytest.raises(UnknownRun, match="no run 'nothing'"):
        lab.run("nothing")


def test_an_episode_is_that_of_a_comparison_step_by_step(tmp_path: Path, played: Evaluation) -> None:
    one = {"random": operators.random()}
    comparison = compare(tmp_path / "compared", CompareRequest(env=CARTPOLE, operators=one, seeds=[5]))
    try:
        comparison.play()
        comparison.wait(60)
        theirs = comparison.steps(0)
    finally:
        comparison.close()
    columns = ["step_index", "agent_id", "action", "reward", "terminated", "truncated", "episode_seed"]
    pd.testing.assert_frame_equal(played.steps("random", 5)[columns], theirs[columns])
    with pytest.raises(ConfigurationError, match="no finished episode 0 of 'random' on seed 20"):
        played.steps("random", 20)


def test_an_episode_is_replayed_from_its_actions(
    tmp_path: Path, played: Evaluation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mosaic.Lab(tmp_path / "runs")
    monkeypatch.setattr(ProgressLine, "interval", 0.0)
    capsys.readouterr()
    replay = played.replay("random", seed=3)
    progress = "replaying: step 1 of 11\nreplaying: step 11 of 11\n"
    assert capsys.readouterr() == ("", progress), "standard output is reserved for a script's results"
    steps = played.steps("random", 3)
    assert (replay.difference, replay.verified, replay.versions) == (None, True, {})
    assert [step.actions["agent_0"] for step in replay] == steps["action"].tolist()
    assert {name for step in replay for name in step.names.values()} == {"push left", "push right"}
    table = replay.table()
    assert (
        table["return"].iloc[-1]
        == played.results().query("operator == 'random' and seed == 3")["return"].item()
    )
    assert list(table["terminated"]) == [False] * (len(replay) - 1) + [True]
    start = replay[0].observations["agent_0"]
    assert start.shape == (4,) and abs(start).max() < 0.05
    assert replay.picture(len(replay)).startswith(b"\x89PNG") and replay.picture(0) != replay.picture(-1)
    assert replay.save(tmp_path / "episode.mp4").stat().st_size > 1_000
    assert "11 steps, return 11; as recorded" in repr(replay)


def test_replays_side_by_side_say_where_they_differ(tmp_path: Path, played: Evaluation) -> None:
    both = played.replay(["random", "still"], seed=3)
    ours, theirs = (played.steps(name, 3)["action"].tolist() for name in ("random", "still"))
    step = both.first_difference
    assert step is not None and ours[:step] == theirs[:step] and ours[step] != theirs[step]
    assert both["still"].operator == "still" and f"differ from step {both.first_difference}" in repr(both)
    assert both.start_at(step) == both["random"].start_at(step) == both["still"].start_at(step)
    with pytest.raises(
        ConfigurationError, match=rf"differ from step {step} on.*replays\['random'\].start_at"
    ):
        both.start_at(step + 1)
    request = both["random"].continued(step + 1)
    assert request.operators is not None and list(request.operators) == ["random", "still"]
    assert both.save(tmp_path / "both.gif").read_bytes().startswith(b"GIF89a")


def test_a_replay_that_differs_says_from_which_step(tmp_path: Path, played: Evaluation) -> None:
    def changed(change: Callable[[bytes], bytes]) -> Evaluation:
        """Return a copy of the evaluation with ``change`` applied to each recorded line of its arenas."""
        copy = tmp_path / f"copy-{len([*tmp_path.iterdir()])}"
        shutil.copytree(played.path, copy)
        for file in copy.glob("arenas/*/telemetry.jsonl"):
            file.write_bytes(b"".join(change(line) for line in file.read_bytes().splitlines(keepends=True)))
        return Evaluation(copy)

    mark = b'"step_index":4,'
    other = changed(
        lambda line: line.replace(b'"observation_hash":', b'"observation_hash":1') if mark in line else line
    )
    assert str(other.replay("random", seed=3).difference) == "differs from step 4 on: the observation"
    ended = changed(lambda line: line.replace(b'"end_hash":', b'"end_hash":1'))
    assert str(ended.replay("random", seed=3).difference) == "differs from step 10 on: the last observation"
    earlier = changed(lambda line: re.sub(rb',"(observation|end)_hash":\d+', b"", line))
    assert "no observations were recorded" in repr(earlier.replay("random", seed=3))
    without = changed(lambda line: b"" if b'"type":"step"' in line else line)
    with pytest.raises(MosaicError, match="random, seed 3 has no recorded actions"):
        without.replay("random", seed=3)


def test_an_episode_that_its_environment_does_not_repeat_is_shown_as_recorded(
    tmp_path: Path, start_evaluation: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "noise.py").write_text(NOISE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    given = {"seeds": [1], "pass_env_vars": ["PYTHONPATH"], "record": "observations"}
    played = start_evaluation("noise:Noise", {"random": operators.random()}, **given).wait(120)
    (file,) = played.path.glob("arenas/*/observations/0.npz")
    observed = read_recording(file)[1]["observations"]
    opened = open_bundle(played.bundle(tmp_path / "share.zip"), tmp_path / "opened")
    monkeypatch.delenv("PYTHONPATH")
    replay = opened.replay("random", seed=1, run_code=True)
    assert str(replay.difference) == "differs from step 0 on: the observation"
    assert replay.note == "the recorded observations and pictures are shown"
    assert replay.pictured == [0, 1, 2, 3, 4, 5]
    for step in replay:
        for shown in (step.observations["agent_0"], step.pixels):
            np.testing.assert_array_equal(shown, observed[step.index])
    monkeypatch.setattr(archive.unpack_bundle, "__defaults__", (archive.Limits(members=3),))
    with pytest.raises(MosaicError, match="the maximum is 3; recordings=False leaves out its recordings"):
        played.bundle(tmp_path / "large.zip")


def test_what_cannot_be_replayed_is_refused(played: Evaluation) -> None:
    with pytest.raises(ConfigurationError, match="no operator 'radnom', did you mean 'random'"):
        played.replay("radnom", seed=3)
    with pytest.raises(ConfigurationError, match="seed 40: the nearest of its seeds are 16, 17, 18, 19"):
        played.replay("random", seed=40)
    with pytest.raises(ConfigurationError, match="must be the name of an operator, or a list of names"):
        played.replay([], seed=3)


def test_order_and_parallelism_change_nothing(start_evaluation: Evaluate) -> None:
    arguments = {"episodes": 2, "max_steps": 30}
    one = start_evaluation(CARTPOLE, two(), seeds=[3, 1, 2], parallel=1, **arguments).wait(120)
    three = start_evaluation(CARTPOLE, two(), seeds=[1, 2, 3], parallel=3, **arguments).wait(120)
    order = ["operator", "seed", "episode_index"]
    ours, theirs = (outcomes(found).sort_values(order, ignore_index=True) for found in (one, three))
    pd.testing.assert_frame_equal(ours, theirs)
    assert len(ours) == 12
    assert ours["episode_seed"].nunique() == 6  # one per episode, shared by the operators
    verification = one.verify(sample=3)
    assert (verification.same, verification.episodes, verification.versions) == (True, 3, {})
    with pytest.raises(ConfigurationError, match="sample=0"):
        one.verify(0)


def test_fixed_seeds_isolate_the_agent(
    start_evaluation: Evaluate, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluation = start_evaluation(CARTPOLE, two(), seeds=[4], episodes=6, seed_sequence="fixed").wait(120)
    table = evaluation.results()
    assert set(table["episode_seed"]) == {4}
    different = table.groupby("operator")["return"].nunique()
    assert different["still"] == 1, "the environment starts the same each time"
    assert different["random"] > 1, "the operator's own random numbers differ"
    assert list(table["episode_index"]) == [*range(6)] * 2
    summary = evaluation.summary()
    assert (
        summary.loc["random", "mean_low"] < summary.loc["random", "mean"] < summary.loc["random", "mean_high"]
    )
    assert summary.loc["still", "mean_low"] == summary.loc["still", "mean_high"]
    assert main(["runs", "show", evaluation.id, "--store", str(evaluation.path.parent)]) == 0
    assert f"results\n{indent(repr(summary), '  ')}\n" in capsys.readouterr().out

    # A repeated seed, as in evaluation scripts for a fixed environment, requests the same.
    again = start_evaluation(CARTPOLE, two(), seeds=[4] * 6, parallel=2).wait(120)
    assert (again.plan.seeds, again.plan.request.episodes, again.plan.request.seed_sequence) == (
        [4],
        6,
        "fixed",
    )
    pd.testing.assert_frame_equal(outcomes(again), outcomes(evaluation))
    assert again.fingerprint() == evaluation.fingerprint()
    versus = again.compare("random", "still")
    assert (versus.difference.seeds, versus.probability.low > 0.5) == ((4,), True)


def test_several_agents_have_returns_of_their_own(start_evaluation: Evaluate) -> None:
    mixed = {"agent_0": operators.random(), "*": operators.passive()}
    evaluation = start_evaluation("simple_spread_v3", {"mixed": mixed}, seeds=[1, 2], max_steps=5).wait(120)
    table = evaluation.results()
    own = [f"return agent_{number}" for number in range(3)]
    assert list(table.columns[-3:]) == own
    assert table["return"].to_list() == pytest.approx(table[own].sum(axis=1).to_list())
    assert list(table["category"]) == ["random, passive"] * 2
    assert len(evaluation.steps("mixed", 1)) == 15


def test_the_summary_has_intervals_that_come_again(played: Evaluation) -> None:
    summary = played.summary(target=500)
    assert list(summary.index) == ["random", "still"]
    assert (summary["mean_low"] <= summary["mean"]).all()
    html = summary._repr_html_()
    assert "mean_low" not in html and "<th>mean</th>" in html
    assert re.search(r"<td>[\d.]+ \[[\d.]+, [\d.]+\]</td>", html)
    assert type(summary[["mean", "mean_low"]]) is pd.DataFrame, "a selection of columns is an ordinary table"
    assert summary["mean"]["random"] == played.results().query("operator == 'random'")["return"].mean()
    assert (summary["optimality_gap"] > 400).all()
    again = Evaluation(played.path)
    pd.testing.assert_frame_equal(summary, again.summary(target=500))
    assert summary.attrs["rng"] == again.summary().attrs["rng"]
    assert played.summary(rng=7).attrs["rng"] == 7
    versus = played.compare("random", "still")
    assert versus.difference.mean.low > 0
    assert versus.probability.value > 0.9
    assert versus.failed == {"random": 0, "still": 0}
    assert re.fullmatch(
        r"random − still: \+[\d.]+ \[[\d.]+, [\d.]+\] on \d+ seeds; P\(better\) = [\d.]+ \[[\d.]+, [\d.]+\]"
        r"\n95% stratified bootstrap intervals over \d+ episodes",
        repr(versus),
    )
    with pytest.raises(ConfigurationError, match="no operator 'absent': the operators are random, still"):
        played.compare("random", "absent")


def test_results_go_into_a_file(tmp_path: Path, played: Evaluation, monkeypatch: pytest.MonkeyPatch) -> None:
    table = played.results()
    read = pd.read_csv(played.to_csv(tmp_path / "results.csv"))
    assert read["return"].to_list() == table["return"].to_list()
    stored = pd.read_parquet(played.to_parquet(tmp_path / "results.parquet"))
    pd.testing.assert_frame_equal(stored.astype(table.dtypes.to_dict()), table)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MosaicError, match=r"pyarrow, which is not installed .*\[parquet\].* to_csv"):
        played.to_parquet(tmp_path / "results.parquet")


def test_what_is_wrong_is_reported_at_once_and_nothing_starts(tmp_path: Path) -> None:
    lab = mosaic.Lab(tmp_path)
    with pytest.raises(ConfigurationError) as caught:
        lab.evaluate(
            env=CARTPOLE,
            operators={"me": operators.human(), "code": lambda observation: 0, "": operators.random()},
            seeds=[1, 1],
            episodes=0,
            on_failure="weep",
            parallel=0,
            step_delay=-1.0,
            step_timeout=float("inf"),
        )
    text = str(caught.value)
    for part in (
        "9 problems",
        "me: human answers in this kernel",
        "code: lambda exists only in this kernel",
        "lab.compare",
        "'' is not a valid lane name",
        "seeds has duplicates: 1",
        "episodes=0: must be an integer ≥ 1",
        "on_failure='weep': must be one of stop, skip, retry",
        "parallel=0",
        "step_delay=-1.0: must be a number of seconds",
        "step_timeout=inf: must be a number of seconds > 0",
    ):
        assert part in text
    with pytest.raises(ConfigurationError, match="seeds is empty"):
        lab.evaluate(env=CARTPOLE, operators=two(), seeds=[])
    with pytest.raises(ConfigurationError, match="write env='CartPole-v1' if it is an environment"):
        lab.evaluate(CARTPOLE, operators=two())
    assert not lab.runs


def test_an_evaluation_survives_its_kernel(tmp_path: Path) -> None:
    code = """
        import sys
        import mosaic_lab as mosaic
        from mosaic_lab import operators
        lab = mosaic.Lab(sys.argv[1])
        players = {"random": operators.random()}
        print(lab.evaluate(env="CartPole-v1", operators=players, seeds=range(8), step_delay=0.05).id)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    lab = mosaic.Lab(tmp_path)
    evaluation = lab.run(done.stdout.split()[-1])
    wait_until(lambda: evaluation.done, 60)
    assert evaluation.alive
    with pytest.raises(MosaicError, match="it can be resumed when it has ended"):
        evaluation.resume()
    assert any(arena.alive for arena in evaluation.arenas)
    assert len(evaluation.wait(120).results()) == 8
