"""Policy mappings: each agent gets the intended operator, or the refusal lists every problem."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from operators.team_fixtures import discrete, save_policies

from mosaic_lab import operators
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.policies import assign, check_lanes, pairings

BOX = {"type": "Box", "shape": [8], "dtype": "float32", "low": -1.0, "high": 1.0}


def facts(**observations: Any) -> SimpleNamespace:
    """Stub of an arena's agents (red_0=4: observes Discrete(4)), in teams by the prefix of their names."""
    spaces = {
        agent: {"observation": seen if isinstance(seen, dict) else discrete(seen), "action": discrete(3)}
        for agent, seen in observations.items()
    }
    teams: dict[str, list[str]] = {}
    for agent in spaces:
        teams.setdefault(agent.split("_")[0], []).append(agent)
    return SimpleNamespace(agents=list(spaces), spaces=spaces, teams=teams)


ARENA = facts(red_0=4, red_1=6, blue_0=4, blue_1=BOX)


def refusal(mapping: Any, arena: Any = ARENA) -> str:
    with pytest.raises(ConfigurationError) as caught:
        assign(mapping, arena)
    return str(caught.value)


def test_one_operator_acts_for_all() -> None:
    random = operators.random()
    made = assign(random, ARENA)
    assert made.operators == {"random": random}
    assert made.agents_of("random") == ["red_0", "red_1", "blue_0", "blue_1"]


def test_agents_teams_patterns_and_the_default() -> None:
    agent, team, pattern, rest = (operators.random() for _ in range(4))
    made = assign({"red_1": agent, "blue": team, "*": rest}, ARENA)
    chosen = {one: made.operators[key] for one, key in made.seats.items()}
    assert chosen == {"red_0": rest, "red_1": agent, "blue_0": team, "blue_1": team}
    made = assign({"*_0": pattern, "*": rest}, ARENA)
    assert [made.operators[made.seats[one]] for one in ARENA.agents] == [pattern, rest, pattern, rest]


def test_the_same_object_is_a_link_group_and_two_calls_are_two_operators() -> None:
    shared = operators.random()
    linked = assign({"red_0": shared, "blue": shared, "red_1": operators.random()}, ARENA)
    assert linked.agents_of("random") == ["red_0", "blue_0", "blue_1"]
    assert linked.agents_of("random-2") == ["red_1"]

    def mine(observation: Any) -> int:
        return 0

    assert list(assign({"red": mine, "blue": mine}, ARENA).operators) == ["mine"]


def test_keys_are_fit_for_file_names_and_differ() -> None:
    names = ["a/../b", "a-..-b", "a-..-b-2", "ü", ".."]
    mapping = {
        agent: operators.random().with_(name=name)
        for agent, name in zip(["x_0", "x_1", "x_2", "x_3", "x_4"], names, strict=True)
    }
    made = assign(mapping, facts(**dict.fromkeys(mapping, 4)))
    assert list(made.operators) == ["a-..-b", "a-..-b-2", "a-..-b-2-2", "random", "random-2"]


def test_everything_that_is_wrong_is_said_at_once_with_the_table() -> None:
    text = refusal(
        {
            "red_0": operators.passive(),
            "red_*": operators.random(),
            "bleu_0": operators.random(),
            "green_*": operators.random(),
            "blue_0": operators.random(),
        }
    )
    problems, table = text.split("\n\n")
    assert problems.splitlines() == [
        "'bleu_0' names no agent (did you mean 'blue_0'?): the agents are red_0, red_1, blue_0, blue_1 "
        "(teams: red: red_0, red_1; blue: blue_0, blue_1)",
        "the pattern 'green_*' fits none of the agents",
        "red_0 has 2 operators, by the keys 'red_0' and 'red_*': keep only one of them",
        'no operator for blue_1: name it, or give "*" for all that are not named',
    ]
    assert table.splitlines() == [
        "agent   observation  action       operator",
        "red_0   Discrete(4)  Discrete(3)  passive or random?",
        "red_1   Discrete(6)  Discrete(3)  random",
        "blue_0  Discrete(4)  Discrete(3)  random",
        "blue_1  Box(8)       Discrete(3)  none",
    ]


def test_a_policy_acts_only_where_its_spaces_are_those_it_was_trained_for(tmp_path: Path) -> None:
    policies = operators.rl(save_policies(tmp_path, red_0=0, red_1=1))
    assert assign({"red": policies, "*": operators.random()}, ARENA).agents_of("linear") == ["red_0", "red_1"]
    text = refusal({"red": policies, "blue": policies})
    assert "linear has no policy for blue_0: its checkpoint has those of red_0, red_1" in text
    other = facts(red_0=5, red_1=BOX)
    text = refusal(policies, other)
    assert "linear cannot act for red_0: its observations are Discrete(5), the policy was trained for" in text
    assert "linear cannot act for red_1: its observations are Box(8), the policy was trained for" in text
    assert "red_1  Box(8)       Discrete(3)  linear" in text


@pytest.mark.parametrize(
    ("mapping", "text"),
    [
        ({}, "no operators given"),
        ({1: operators.random()}, "1 names no agent: keys are agent ids, team names or patterns"),
        ({"red_0": 3}, "3 is not an operator. Operators are mosaic_lab.operators.random()"),
        (operators.random, "operators.random is a function: call it, operators.random(...)"),
    ],
)
def test_an_invalid_mapping_is_refused(mapping: Any, text: str) -> None:
    assert text in refusal(mapping)


def test_what_all_checkpoints_of_a_league_lack_is_one_reason_with_the_count(tmp_path: Path) -> None:
    trained = operators.rl(save_policies(tmp_path, red_0=0, blue_0=0))
    players = {f"ppo {step:,}": trained.with_() for step in (10, 100, 1_000, 10_000, 100_000)}
    lanes = pairings({**players, "random": operators.random()}, ["red", "blue"])
    with pytest.raises(ConfigurationError) as caught:
        check_lanes(lanes, facts(red_0=6, blue_0=6))
    text = str(caught.value)
    assert text.startswith(
        "ppo 10 against ppo 100, ppo 10 against ppo 1,000, ppo 10 against ppo 10,000 and 17 "
    )
    assert text.count("cannot act for red_0") == text.count("cannot act for blue_0") == 2
    assert "ppo 10 against random, ppo 100 against random, ppo 1,000 against random and 2 more: " in text
