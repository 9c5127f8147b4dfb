"""Leagues: ratings over several evaluations, checkpoints of a training as players, players added later."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.widgets.evaluation.plot_widgets import PlotFigures

GAME = "tictactoe_v3"
AGENTS = ("player_1", "player_2")

POLICY = '''
import json
import random

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]

class Careful:
    """Wins where it can, and with some skill prevents a loss."""

    def __init__(self, checkpoint):
        with open(checkpoint) as file:
            self.skill = json.load(file)

    def select_action(self, observation, action_mask):
        legal = [cell for cell in range(9) if action_mask[cell]]
        for side in (0, 1):
            marks = observation["observation"][:, :, side].reshape(-1)
            for line in LINES if random.random() < self.skill else ():
                free = [cell for cell in line if not marks[cell]]
                if len(free) == 1 and free[0] in legal:
                    return free[0]
        return random.choice(legal)
'''
TRAINING = """
import json, os
for step in (10, 20, 30, 40):
    path = os.path.join(os.environ["MOSAIC_CHECKPOINTS_DIR"], f"step-{step}.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        json.dump(step / 40, file)
    print(json.dumps({"event": "checkpoint_saved", "payload": {"checkpoint_path": path, "step": step}}))
"""


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[mosaic.Lab]:
    monkeypatch.chdir(tmp_path)
    lab = mosaic.Lab(tmp_path / "runs", max_running=4)
    yield lab
    lab.stop_all(grace=0)


@pytest.fixture
def training(lab: mosaic.Lab, tmp_path: Path) -> mosaic.Run:
    """A script's training with checkpoints at steps 10, 20, 30 and 40, each better than the one before."""
    (tmp_path / "policy.py").write_text(POLICY)
    (tmp_path / "training.py").write_text(TRAINING)
    run = lab.train("script", command=[sys.executable, "training.py"])
    assert isinstance(run, mosaic.Run)
    return run.wait(120)


def careful(checkpoint: Any) -> Any:
    return operators.python("policy.py:Careful", checkpoint=str(checkpoint.path))


@pytest.mark.extended
def test_checkpoints_of_a_training_play_each_other_and_the_pool_grows(
    lab: mosaic.Lab, training: mosaic.Run
) -> None:
    players = {"careful": training, "random": operators.random()}
    league = lab.league(GAME, players, checkpoints=2, operator=careful, seeds=range(6)).wait(300)
    assert list(league.players) == ["careful 10", "careful 40", "random"]
    assert league.trained == {"careful 10": ("careful", 10), "careful 40": ("careful", 40)}
    assert len(league.games()) == 3 * 2 * 6
    before = league.ratings()
    assert list(before.index[:1]) == ["careful 40"] and (before["games"] == 24).all()

    league.add({"careful": training}, checkpoints=4, operator=careful, seeds=range(4))
    league.add({"lazy": operators.passive()}, opponents=["random", "careful 40"])
    league.wait(300)
    games = league.games()
    assert len(games) == 36 + (2 * 3 + 1) * 2 * 4 + 2 * 2 * 6, "pairs that have played do not play again"
    assert list(games["evaluation"].unique()) == [one.id for one in league.evaluations]
    ratings = league.ratings()
    assert set(ratings.index) == {*(f"careful {step}" for step in (10, 20, 30, 40)), "random", "lazy"}
    assert ratings["games"]["lazy"] == 24 and ratings["games"]["random"] == 24 + 16 + 12
    assert ratings.equals(league.ratings(rng=ratings.attrs["rng"]))

    again = mosaic.League.of(lab.run(league.evaluations[1].id))
    assert again.evaluations == league.evaluations and again.ratings().equals(ratings)
    with pytest.raises(mosaic.ConfigurationError, match="no new games"):
        again.add({"careful": training}, operator=careful)

    plot = league.training_plot()
    (facet,) = plot.facets
    line, *across = facet.marks
    assert line.line is not None and line.band is not None
    assert list(line.line[0]) == [10, 20, 30, 40]
    assert list(line.line[1]) == [ratings["rating"][f"careful {step}"] for step in (10, 20, 30, 40)]
    assert {mark.label for mark in across} == {"random", "lazy"}
    figures = PlotFigures(plot)
    assert next(iter(figures.box.children[0].legend))["label"] == "careful"
    figures.close()
    assert league.rating_plot().facets[0].rows == tuple(ratings.index)


def test_who_comes_later_plays_those_who_are_there_and_no_others(lab: mosaic.Lab) -> None:
    league = lab.league(
        GAME, {"a": operators.random(), "b": operators.passive()}, seeds=range(2), agents=AGENTS
    )
    league.wait(300).add({"c": operators.random()}, opponents=["a"])
    league.wait(300)
    games = league.games()
    assert [set(pair) for pair in games[list(AGENTS)].to_numpy().tolist()] == [{"a", "b"}] * 4 + [
        {"a", "c"}
    ] * 4
    assert dict(league.ratings()["games"]) == {"a": 8, "b": 4, "c": 4}
    assert mosaic.League.of(lab.run(league.evaluations[0].id)).evaluations == league.evaluations
    with pytest.raises(mosaic.ConfigurationError, match="c: a player of this name already exists"):
        league.add({"c": operators.random()})


@pytest.mark.extended
def test_evaluations_that_were_made_apart_are_rated_together(lab: mosaic.Lab) -> None:
    """Players not connected by a chain of games have no ratings."""
    pool = {name: operators.random() for name in "abcd"}
    first, second, between = (
        lab.evaluate(
            env=GAME,
            operators=mosaic.policies.pairings({name: pool[name] for name in pair}, AGENTS),
            seeds=range(3),
        )
        for pair in ("ab", "cd", "bc")
    )
    for one in (first, second, between):
        one.wait(300)
    with pytest.raises(mosaic.ConfigurationError, match="connect"):
        mosaic.League([first, second]).ratings()
    league = mosaic.League([mosaic.League([first, between]), second])
    assert league.evaluations == (first, between, second)
    assert list(league.players) == list("abcd")
    assert league.ratings()["rating"].mean() == pytest.approx(1500)
    assert set(map(frozenset, permutations("ab"))) <= {
        frozenset(pair) for pair in league.games()[list(AGENTS)].to_numpy().tolist()
    }
    with pytest.raises(mosaic.ConfigurationError, match=r"no player is a checkpoint"):
        league.training_plot()
    with pytest.raises(mosaic.ConfigurationError, match=r"was not started by lab\.league"):
        mosaic.League.of(lab.run(first.id))
    assert np.isfinite(league.ratings()[["rating_low", "rating_high"]].to_numpy()).all()


def test_games_that_do_not_count_together_are_refused_with_all_reasons(lab: mosaic.Lab) -> None:
    players = {"a": operators.random(), "b": operators.random()}
    lanes = mosaic.policies.pairings(players, AGENTS)
    others = mosaic.policies.pairings({"a": operators.passive(), "c": operators.random()}, AGENTS)
    first = lab.evaluate(env=GAME, operators=lanes, seeds=range(2), parallel=1)
    other = lab.evaluate(env=GAME, operators=others, seeds=[1], max_steps=4, parallel=1)
    for one in (first, other):
        one.wait(300)
    with pytest.raises(mosaic.ConfigurationError) as refused:
        mosaic.League([first, other, first])
    assert f"{other.id} has max_steps=4, {first.id} has None" in str(refused.value)
    assert f"'a' is a different operator in {other.id} than in {first.id}" in str(refused.value)
    assert f"{first.id} has games that are also in {first.id}" in str(refused.value)


@pytest.mark.parametrize(
    ("env", "players", "more", "reason"),
    [
        (GAME, {"a": operators.random()}, {}, r"a league needs at least two players, not 1 \(a\)"),
        (GAME, {}, {}, "must map names to operators or runs"),
        (GAME, {"a": operators.random(), "b": "ghost"}, {}, "b: no run 'ghost'"),
        (GAME, {"a": operators.random(), "b": operators.random()}, {"agents": ["x"]}, "has two sides"),
        (GAME, {"a": operators.random(), "b": operators.random()}, {"checkpoints": 0}, "an integer ≥ 1"),
        (GAME, {"a": operators.random(), "b": operators.passive()}, {"seeds": 5}, r"write seeds=\[5\]"),
        ("CartPole-v1", {"a": operators.random(), "b": operators.random()}, {},
         "CartPole-v1 is not a game of two sides: its agents are agent_0"),
    ],
)  # fmt: skip
def test_an_invalid_league_is_refused(
    lab: mosaic.Lab, env: str, players: dict[str, Any], more: dict[str, Any], reason: str
) -> None:
    with pytest.raises(mosaic.ConfigurationError, match=reason):
        lab.league(env, players, **more)
    assert not lab.runs
