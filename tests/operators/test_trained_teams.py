"""A team of a policy trained by CleanRL and a random one: real checkpoint, environment and processes."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import PEERS

import mosaic_lab as mosaic
from mosaic_lab import workers
from mosaic_lab.cli import main
from mosaic_lab.errors import ConfigurationError

FAMILY = PEERS / "carts_family"
ENV = "Carts-v0"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, cleanrl_environment: object) -> Iterator[mosaic.Lab]:
    """A lab with the worker "carts" installed and a PPO trained on CartPole-v1."""
    workers.install(FAMILY)
    lab = mosaic.Lab(tmp_path_factory.mktemp("teams"))
    run = lab.train(  # deterministic, seeds 1 to 5 return 150 to 500; random returns at most 26
        "cleanrl", algorithm="ppo", env="CartPole-v1", total_timesteps=20_000, seed=1, frames=False
    )
    run.wait(300)
    yield lab
    workers.remove("carts")


@pytest.fixture(scope="module")
def ppo(lab: mosaic.Lab) -> mosaic.operators.OperatorSpec:
    (run,) = lab.runs
    return mosaic.operators.rl(run)


def test_side_by_side(lab: mosaic.Lab, ppo: mosaic.operators.OperatorSpec) -> None:
    team = {"red_0": ppo, "*": mosaic.operators.random()}
    with pytest.warns(UserWarning, match="ppo was trained on CartPole-v1 and acts in Carts-v0 here") as said:
        comparison = lab.compare(
            ENV, {"dice": mosaic.operators.random()}, policies=team, seeds=[1, 2, 3, 4, 5]
        )
    assert said[0].filename == __file__, "the warning points to the user's line"
    for _ in comparison.seeds:
        comparison.play()
        comparison.wait(120)
        comparison.next_seed()
    table = comparison.results().set_index("lane")
    assert set(table.loc["policies", "operator"]) == {"ppo, random"}
    assert set(table.loc["policies", "category"]) == {"rl, random"}
    returns = table.loc["policies", ["return red_0", "return red_1"]].mean()
    assert returns["return red_0"] > 2 * returns["return red_1"]
    shown = {one["name"]: one for one in comparison.view()["lanes"][1]["operators"]}
    assert (shown["ppo"]["agents"], shown["random"]["agents"]) == (["red_0"], ["red_1"])
    assert (shown["ppo"]["trained_on"], shown["random"]["trained_on"]) == ("CartPole-v1", None)
    comparison.stop()


def test_unattended(lab: mosaic.Lab, ppo: mosaic.operators.OperatorSpec) -> None:
    team = {"red_0": ppo, "red_1": mosaic.operators.random()}
    with pytest.warns(UserWarning, match="trained on CartPole-v1") as said:
        evaluation = lab.evaluate(env=ENV, policies=team, seeds=range(5), parallel=1).wait(120)
    assert said[0].filename == __file__
    table = evaluation.results()
    assert set(table["operator"]) == {"policies"}
    assert table["return red_0"].mean() > 2 * table["return red_1"].mean()


def test_in_a_shell(
    ppo: mosaic.operators.OperatorSpec, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    team = {
        "red_0": {"kind": "rl", "checkpoint": str(ppo.settings["checkpoint"])},
        "red_1": {"kind": "random"},
    }
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"env": ENV, "operators": {"team": team}, "seeds": [1]}))
    assert main(["evaluate", str(script), "--store", str(tmp_path / "runs")]) == 0
    first_line = capsys.readouterr().err.splitlines()[0]
    assert first_line.startswith("mosaic-lab: ppo was trained on CartPole-v1 and acts in Carts-v0 here")
    team["red_7"] = team.pop("red_1")
    script.write_text(json.dumps({"env": ENV, "operators": {"team": team}, "seeds": [1]}))
    assert main(["evaluate", str(script), "--store", str(tmp_path / "runs")]) == 1
    assert capsys.readouterr().err.startswith("mosaic-lab: team: 'red_7' names no agent"), "only the error"


def test_a_policy_that_does_not_fit_is_refused_with_its_training_environment(
    lab: mosaic.Lab, ppo: mosaic.operators.OperatorSpec
) -> None:
    with warnings.catch_warnings(), pytest.raises(ConfigurationError) as caught:
        warnings.simplefilter("error", UserWarning)  # no warning beside the error
        lab.compare("simple_spread_v3", policies={"agent_0": ppo, "*": mosaic.operators.random()}, seeds=[1])
    said = "ppo cannot act for agent_0: its observations are Box(18), the policy was trained for Box(4)"
    assert f"{said} in CartPole-v1" in str(caught.value)
