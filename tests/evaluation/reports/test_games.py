"""Games between operators: pairings, winners and ratings."""

from __future__ import annotations

import pytest
from evaluation.evaluation_fixtures import Evaluate

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.errors import ConfigurationError

AGENTS = ("player_1", "player_2")


def test_everybody_plays_everybody_on_both_sides_and_is_rated(start_evaluation: Evaluate) -> None:
    players = {"dice": operators.random(), "coin": operators.random(), "still": operators.passive()}
    lanes = mosaic.policies.pairings(players, AGENTS)
    assert list(lanes)[:3] == ["dice against coin", "dice against still", "coin against dice"]
    assert len(lanes) == 6
    evaluation = start_evaluation("tictactoe_v3", lanes, seeds=range(8)).wait(300)
    games = evaluation.games()
    assert len(games) == 48
    table = evaluation.results()
    for place, game in games.iterrows():
        assert game["operator"] == f"{game['player_1']} against {game['player_2']}"
        returns = {game[agent]: table[f"return {agent}"][place] for agent in AGENTS}
        winner = max(returns, key=lambda name: returns[name])
        assert game["winner"] == (winner if len(set(returns.values())) == 2 else None)
        assert game["result"] == {game["player_1"]: 1.0, game["player_2"]: 0.0, None: 0.5}[game["winner"]]
    for shown in (repr(evaluation.summary()), evaluation.summary()._repr_html_()):
        assert "The returns of the agents cancel out: .ratings() and .games() show who won." in shown
    for seed in range(8):
        sides = [
            evaluation.steps(lane, seed)["action"] for lane in ("dice against coin", "coin against dice")
        ]
        assert not sides[0].equals(sides[1]), "exchanging the sides changes the game"

    ratings = evaluation.ratings()
    assert set(ratings.index) == set(players)
    assert ratings["rating"].mean() == pytest.approx(1500)
    assert ratings["rating"].is_monotonic_decreasing
    assert (ratings["games"] == 32).all()
    assert (ratings["wins"] + ratings["draws"] + ratings["losses"] == 32).all()
    won = (games["winner"] == "dice").sum()
    assert (ratings["wins"]["dice"], ratings["win"]["dice"]) == (won, won / 32)
    assert ratings["win_low"]["dice"] < won / 32 < ratings["win_high"]["dice"]
    assert (ratings["rating_low"] < ratings["rating"]).all()
    assert ratings.equals(evaluation.ratings(rng=ratings.attrs["rng"]))
    with pytest.raises(
        ConfigurationError, match=r"'dice' acts in lanes such as 'dice against coin': .*\.ratings"
    ):
        evaluation.compare("dice", "coin")


def test_results_of_other_than_two_player_games_are_refused(start_evaluation: Evaluate) -> None:
    alone = start_evaluation("tictactoe_v3", {"both": operators.random()}, seeds=[1]).wait(120)
    with pytest.raises(ConfigurationError, match=r"both: a game has two players, not 1 \(both\)"):
        alone.games()
    two = {agent: operators.random() for agent in AGENTS}
    twins = start_evaluation("tictactoe_v3", {"twins": two}, seeds=[1]).wait(120)
    with pytest.raises(ConfigurationError, match="twins: two operators are called 'random'; see policies"):
        twins.ratings()
    with pytest.raises(ConfigurationError, match="needs at least two players"):
        mosaic.policies.pairings({"one": operators.random()}, AGENTS)
    with pytest.raises(ConfigurationError, match="a game has two sides"):
        mosaic.policies.pairings({"a": operators.random(), "b": operators.random()}, ["x"])
