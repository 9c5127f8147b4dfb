"""Observations as text: correct for each family of environments, in the worker that provides them."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from mosaic_contract import AgentSetup
from mosaic_contract.language.describers import Describer
from support import PEERS

from mosaic_lab import workers

SCRIPT = PEERS / "describe_environments.py"

SAID = {  # after a reset with seed 3; in board games, after playing the first legal move three times
    "tictactoe_v3": "O | 4 | 7\nX | 5 | 8\nO | 6 | 9\nFree cells: 4, 5, 6, 7, 8, 9.",
    "connect_four_v3": "O . . . . . .\nX . . . . . .\nO . . . . . .",
    "go_v5": "19 O X O . ",
    "rps_v2": "Your opponent's last move: rock.",
    "leduc_holdem_v4": "Your card: queen.\nPublic card: not yet shown.\nIn the pot: 1 chip of yours,",
    "texas_holdem_v4": "(your two and the public ones): 5 of clubs, 7 of clubs.\nRaises so far: none.",
    "texas_holdem_no_limit_v6": "jack of hearts, 10 of diamonds.\nChips that you have put in: 1; the",
    "hanabi_v5": "Fireworks so far: red 0, yellow 1, green 1, white 0, blue 0.\nHint tokens: 8. Lives: 2.",
    "simple_spread_v3": "- your position: (-0.829, -0.526)\n- landmark 1: 0.787 to the right, 0.154 down",
    "simple_tag_v3": "- the agent's velocity: (0, 0)",
    "FrozenLake-v1": "You are at row 1, column 1 of a lake of 4 rows and 4 columns.\n"
    "The lake (*: you, S: start, F: ice, H: hole, G: goal):\n*FFF\nFHFH\nFFFH\nHFFG",
    "Taxi-v4": "The taxi is at row 1, column 3. The passenger waits at the red stop (row 1, column 1), and",
    "CliffWalking-v1": "You are at row 4, column 1.",
    "Blackjack-v1": "Your cards sum up to 7. The dealer shows a 10.",
    "CartPole-v1": "- angle of the pole, rad (negative: leans to the left): 0.0301",
    "Pendulum-v1": "- angular velocity, rad/s: -0.526",
    "BipedalWalker-v3": "[0.00275, -2.3e-05, ",
    "ALE/Pong-v5": "an array of shape (210, 160, 3) with values from 0 to 228, mean 86.8: too large",
}
NAMES = {
    "BabyAI-GoToRedBall-v0": ["turn left", "turn right", "go forward", "pick up", "drop", "toggle", "done"],
    "hanabi_v5": ["discard card 1", "discard card 2", "discard card 3"],
    "go_v5": ["A19", "B19", "C19"],
    "tictactoe_v3": ["cell 1", "cell 2", "cell 3"],
}


def run(*arguments: str) -> Any:
    python = workers.ensure("gymnasium").python
    done = subprocess.run([str(python), str(SCRIPT), *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_each_family_reads_as_it_is() -> None:
    found = run(*dict.fromkeys([*SAID, *NAMES]))
    for env_id, text in SAID.items():
        assert text in found[env_id]["text"], (env_id, found[env_id]["text"])
    for env_id, names in NAMES.items():
        assert found[env_id]["actions"][: len(names)] == names
    unknown = {
        env_id for env_id, one in found.items() if "an environment that reports numbers" in one["rules"]
    }
    assert unknown == {"BipedalWalker-v3", "ALE/Pong-v5"}


@pytest.mark.parametrize("env_id", ["BabyAI-UnlockPickup-v0", "MiniGrid-KeyCorridorS3R2-v0"])
def test_objects_in_view_are_where_the_grid_has_them(env_id: str) -> None:
    """Check kind, colour, door state and place of each object, and the carried one, over 200 random steps."""
    assert run("--views", env_id)[env_id]["objects"] > 100


@pytest.mark.parametrize(
    ("env_id", "numbers", "roles"),
    [
        ("simple_spread_v3", 18, ["You cover landmark 1.", "You cover landmark 2.", "You cover landmark 3."]),
        ("waterworld_v4", 242, ["You lead: ", "You support: ", "You lead: "]),
    ],
)
def test_each_agent_of_a_team_has_a_role(env_id: str, numbers: int, roles: list[str]) -> None:
    team = [f"agent_{number}" for number in range(len(roles))]
    space = {"type": "Box", "shape": [numbers], "dtype": "float32", "low": -1.0, "high": 1.0}
    for agent, role in zip(team, roles, strict=True):
        settings = {"env_id": env_id, "teammates": [other for other in team if other != agent]}
        setup = AgentSetup(agent, env_id, 3, space, {"type": "Discrete", "n": 5}, settings)
        assert Describer(setup).role.startswith(role)
