"""Chess in real arenas: models, Stockfish, random and human players in PettingZoo's chess_v6."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from arenas.comparison_fixtures import Compare
from evaluation.evaluation_fixtures import Evaluate
from language.language_fixtures import FakeServer

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.planning import plan_evaluation
from mosaic_lab.evaluation.request import EvaluateRequest
from mosaic_lab.evaluation.scripts import read_script
from mosaic_lab.evaluation.sharing import open_bundle
from mosaic_lab.operators import OperatorSpec

SIDES = ("player_0", "player_1")


@pytest.fixture
def model(language_server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> OperatorSpec:
    """A model that requests its legal moves and plays the first one."""
    monkeypatch.setenv("OPENAI_API_KEY", language_server.key)
    return endpoint(language_server, "fake:chess")


def endpoint(server: FakeServer, name: str, **settings: object) -> OperatorSpec:
    return operators.chess(name, base_url=server.openai_url, api_key_env="OPENAI_API_KEY", **settings)


def test_random_stockfish_and_a_model_are_rated_in_one_evaluation(
    start_evaluation: Evaluate, model: OperatorSpec, stockfish: str, language_server: FakeServer
) -> None:
    players = {
        "model": model,
        "Stockfish": operators.engine("stockfish", nodes=1_000),
        "random": operators.random(),
        "mute": endpoint(language_server, "fake:say=I would rather not"),
    }
    games = [f"{side} against random" for side in ("Stockfish", "mute", "model")]
    games += ["random against Stockfish", "model against mute"]
    lanes = mosaic.policies.pairings(players, SIDES)
    lanes = {game: lanes[game] for game in games}
    evaluation = start_evaluation("chess_v6", lanes, seeds=[1], max_steps=60).wait(500)
    winner = evaluation.games().set_index("operator")["winner"]
    assert winner["Stockfish against random"] == winner["random against Stockfish"] == "Stockfish"
    results = evaluation.results().set_index("operator")
    assert results["forfeit"]["mute against random"] == "player_0", "its dialog failed"
    assert winner["mute against random"] == "random"
    assert winner["model against mute"] == "model"
    length = results["length"]["model against random"]
    assert length == 60 and winner["model against random"] is None, "a draw at max_steps"
    ratings = evaluation.ratings()
    assert (ratings.index[0], ratings.index[-1]) == ("Stockfish", "mute")
    assert ratings["wins"]["mute"] == 0 and ratings["draws"]["model"] >= 1


@pytest.mark.extended
def test_a_weakened_engine_without_a_model_is_replayed_from_its_recording(
    start_evaluation: Evaluate, stockfish: str, tmp_path: Path
) -> None:
    weak = operators.engine("stockfish", elo=1350)
    game = {"game": {"player_0": weak, "player_1": operators.random()}}
    played = start_evaluation("chess_v6", game, seeds=[1], max_steps=20).wait(300)
    assert played.verify().same
    again = start_evaluation("chess_v6", game, seeds=[1], max_steps=20, replay=played).wait(300)
    assert again.steps("game", 1)["action"].equals(played.steps("game", 1)["action"])
    bundle = open_bundle(played.bundle(tmp_path / "game.zip"), tmp_path / "opened")
    assert bundle.answers == bundle.path
    with pytest.raises(ConfigurationError, match="no language model or engine plays here"):
        two = {"game": operators.random()}
        plan_evaluation(EvaluateRequest(env="chess_v6", operators=two, seeds=[1], replay=played.path), no_run)


def no_run(name: str) -> None:
    raise AssertionError(f"{name} is not needed")


def test_an_engine_that_cannot_play_here_is_refused_before_anything_starts(stockfish: str) -> None:
    def game(engine: OperatorSpec, **more: bool) -> None:
        sides = {"player_0": engine, "player_1": operators.random()}
        request = EvaluateRequest(env="chess_v6", operators={"game": sides}, seeds=[1])
        plan_evaluation(request, no_run, **more)

    with pytest.raises(
        ConfigurationError, match="there is no engine 'stokfish' on this machine: install one"
    ):
        game(operators.engine("stokfish"))
    with pytest.raises(ConfigurationError, match=r"stockfish plays at an Elo from \d+ to \d+, not at 9000"):
        game(operators.engine(elo=9000))
    game(operators.engine("stokfish"), recorded=True)
    with pytest.raises(
        ConfigurationError, match="elo=1500 with nodes=300, depth=None: give the rating alone"
    ):
        operators.engine(elo=1500, nodes=300)


def test_a_person_names_moves_and_the_other_side_answers(start_comparison: Compare, stockfish: str) -> None:
    engine = operators.engine(nodes=500)
    comparison = start_comparison("chess_v6", {"game": {"player_0": operators.human(), "player_1": engine}})
    (lane,) = comparison.view()["lanes"]
    described = lane["described"]["player_0"]
    assert described["fen"].startswith("rnbqkbnr/") and len(described["legal_moves"]) == 20
    comparison.step(timeout=0)
    with pytest.raises(ConfigurationError, match=r"\'e2e5\' cannot be played by player_0 now: .*e2e4"):
        comparison.act("game", "player_0", "e2e5")
    while not comparison.act("game", "player_0", "e2e4"):
        pass
    comparison.wait(60)
    (lane,) = comparison.view()["lanes"]
    assert lane["step"] == 1 and lane["described"] == {} and lane["turn"] == ["player_1"]
    comparison.step()
    (lane,) = comparison.view()["lanes"]
    assert " w " in lane["described"]["player_0"]["fen"]
    assert lane["moves"][0]["action_str"] in ("e7e5", "c7c5", "e7e6", "c7c6", "d7d5", "g8f6", "d7d6")


def test_players_are_described_before_anything_starts(tmp_path: Path) -> None:
    engine = operators.engine("/usr/games/stockfish", elo=1500)
    assert (engine.category, engine.name, engine.worker) == ("engine", "stockfish 1500", "chess")
    assert engine.settings["nodes"] == 50_000 and operators.engine(depth=3).settings["nodes"] is None
    with pytest.raises(ConfigurationError) as wrong:
        operators.chess("gpt-5-mini", max_turns=0, on_failure="resign", structured=1)  # type: ignore[arg-type]
    for said in ("max_turns=0", "'forfeit', 'random'", "structured=1: must be True or False"):
        assert said in str(wrong.value)
    script = tmp_path / "games.json"
    one = {"kind": "chess", "model": "gpt-5-mini", "max_turns": 5}
    other = {"kind": "engine", "program": "stockfish", "elo": 1400}
    sides = {"player_0": one, "player_1": other}
    script.write_text(json.dumps({"env": "chess_v6", "operators": {"game": sides}, "seeds": [1]}))
    request, problems = read_script(script, find_run=lambda name: None)
    problems.check()
    made = request.operators["game"]
    assert made["player_0"].settings["max_turns"] == 5 and made["player_1"].settings["elo"] == 1400
