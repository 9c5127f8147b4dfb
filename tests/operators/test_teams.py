"""Link groups in real arenas: several agents share one operator process and one checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from arenas.comparison_fixtures import Compare
from operators.team_fixtures import ENV, save_policies

from mosaic_lab import operators

pytestmark = pytest.mark.usefixtures("odd_home")


def processes(comparison: Any) -> dict[str, str]:
    """Return the process in which each agent's last action was chosen."""
    (lane,) = comparison.view()["lanes"]
    return {move["agent"]: move["action_str"].rpartition(" ")[2] for move in lane["moves"]}


def returns(comparison: Any) -> dict[str, float]:
    comparison.play()
    comparison.wait(60)
    (lane,) = comparison.view()["lanes"]
    return dict(lane["returns"])


def test_each_agent_of_a_link_group_plays_its_own_policy_in_one_process(
    start_comparison: Compare, tmp_path: Path
) -> None:
    """The right actions differ by agent, so a policy acting for the wrong agent would earn no reward."""
    policies = operators.rl(save_policies(tmp_path, red_0=0, red_1=1, blue_0=2))
    comparison = start_comparison(ENV, {"all linked": policies})
    comparison.step()
    assert len(set(processes(comparison).values())) == 1
    assert returns(comparison) == {"red_0": 12.0, "red_1": 12.0, "blue_0": 12.0}


def test_a_policy_and_code_of_the_users_in_one_team(start_comparison: Compare, tmp_path: Path) -> None:
    policy = operators.rl(save_policies(tmp_path, red_0=0))

    def mine(observation: Any, agent: str) -> int:
        assert agent in ("red_1", "blue_0")
        return (int(observation) + 1) % 3

    comparison = start_comparison(ENV, {"mixed": {"red_0": policy, "*": mine}})
    assert returns(comparison) == {"red_0": 12.0, "red_1": 12.0, "blue_0": 0.0}
