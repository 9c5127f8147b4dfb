"""Policies act from their checkpoints as upstream's own do; one process serves a team."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shim_kit.kernel_policies import assert_answers_agree
from shim_kit.policies import Refusals, begin, play_to_end, sampled_twice

import mosaic_lab as mosaic

UPSTREAM = Path(__file__).with_name("upstream_acts.py")
TEAM = ["agent_0", "agent_1", "agent_2"]


@pytest.mark.extended
def test_actions_are_those_of_upstreams_own_policy(worker: Any, operators: Any, tmp_path: Path) -> None:
    """Best actions, requested agent by agent, although upstream acts for the entire team."""
    checkpoints = {name: worker.trained(name).checkpoints[-1] for name in worker.small}
    pairs = [f"{name}={path}" for name, path in checkpoints.items()]
    upstream = worker.output_of(str(UPSTREAM), str(tmp_path), *pairs)
    for name, checkpoint in checkpoints.items():
        agents, size = (["agent_0"], 4) if name == "dqn" else (TEAM, 18)
        for agent in agents:
            begin(operators, checkpoint, agent)
        generator = np.random.default_rng(3)
        for expected in upstream[name]:
            seen = {agent: generator.normal(size=size).astype(np.float32) for agent in agents}
            found = [operators.act(seen[agent], player_id=agent)["action"] for agent in agents]
            assert np.asarray(found).tolist() == expected, name
        assert len({str(actions) for actions in upstream[name]}) > 1, name


@pytest.mark.extended
@pytest.mark.parametrize("name", ["mappo", "qmix", "coma", "maddpg"])
def test_sampled_actions_are_determined_by_the_seed(worker: Any, operators: Any, name: str) -> None:
    checkpoint = worker.trained(name).checkpoints[-1]
    sampled_twice(operators, checkpoint, [np.zeros(18, np.float32)] * 100, "agent_1")


@pytest.mark.extended
def test_an_unusable_checkpoint_is_refused(worker: Any, operators: Any, tmp_path: Path) -> None:
    refused = Refusals(operators, worker.trained("mappo").checkpoints[-1], tmp_path)
    refused.check_all("Discrete(5)")
    unknown = "mappo of simple_spread_v3 has no policy for red_0; it has those of agent_0, agent_1, agent_2"
    assert unknown in refused.message("red_0", settings=refused.settings)
    assert "lacks the spaces" in refused.of_copy("mute", refused.whole, agents={"agent_0": {}})


@pytest.mark.extended
def test_a_team_plays_with_the_settings_that_it_was_trained_with(worker: Any, tmp_path: Path) -> None:
    """The team was trained with continuous actions; the environment's default is discrete."""
    lab = mosaic.Lab(tmp_path / "runs")
    team = {"team": mosaic.operators.rl(worker.trained("maddpg").checkpoints[-1])}
    given = {"continuous_actions": True}
    with pytest.raises(mosaic.MosaicError, match=r"its actions are Discrete\(5\)") as refused:
        lab.compare("simple_spread_v3", team, seeds=[7], env_kwargs={})
    advice = (
        f"maddpg was trained with continuous_actions=True: give the environment the same (env_kwargs={given})"
    )
    assert str(refused.value).count(advice) == 1
    with pytest.warns(UserWarning, match="is made with env_kwargs={'continuous_actions': True}"):
        results, _ = play_to_end(lab.compare("simple_spread_v3", team, seeds=[7]))
    assert list(results["length"]) == [25]


@pytest.mark.extended
def test_a_team_is_one_operator_in_a_comparison(worker: Any, tmp_path: Path) -> None:
    """A link group: one process serves all agents of a checkpoint, also where one agent is random."""
    lab = mosaic.Lab(tmp_path / "runs")
    team = mosaic.operators.rl(worker.trained("mappo").checkpoints[-1])
    mixed = {"agent_0": mosaic.operators.random(), "*": team}
    results, lanes = play_to_end(lab.compare("simple_spread_v3", {"team": team, "mixed": mixed}, seeds=[7]))
    team_only, with_random = ([one["agents"] for one in lane["operators"]] for lane in lanes)
    assert list(results["length"]) == [25, 25]
    assert results.loc["team", "return"] != pytest.approx(results.loc["mixed", "return"])
    assert team_only == [TEAM]
    assert sorted(with_random) == [TEAM[:1], TEAM[1:]]


@pytest.mark.extended
@pytest.mark.parametrize(
    ("algorithm", "agent", "provides"),
    [("dqn", None, ("action_values", "value")), ("mappo", "agent_0", ()), ("maddpg", "agent_0", ())],
)
def test_answers_in_the_kernel_agree(
    worker: Any, algorithm: str, agent: str | None, provides: tuple[str, ...]
) -> None:
    """Single calls, arrays and queries give the same answers."""
    assert_answers_agree(worker.trained(algorithm).checkpoints[-1], provides, agent)
