"""Language models that play chess, through a real SDK: dialogs, failures, token counts."""

from __future__ import annotations

from typing import Any

import pytest
from language.language_fixtures import FakeServer
from operators.chess_fixtures import MATE, START, move, sit_down
from operators.conversation import Conversation


@pytest.fixture
def seat(talk: Conversation, language_server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Seat a player whose model gives these replies in turn; returns the model's name."""

    def one(*replies: str, **settings: Any) -> str:
        model = language_server.script(f"scripted {len(replies)}", *(f"say={reply}" for reply in replies))
        endpoint = {"model": model, "provider": "openai", "base_url": language_server.openai_url}
        sit_down(talk, **endpoint, api_key_env="OPENAI_API_KEY", retries=0, **settings)
        return model

    return one


def test_a_dialog_shows_the_board_and_the_moves_until_a_move_is_made(
    talk: Conversation, seat: Any, language_server: FakeServer
) -> None:
    model = seat(
        "I'd like GET_CURRENT_BOARD please", "get_legal_moves", "make_move e2e5", "So: make_move d2d4"
    )
    answer = move(talk, START)
    assert (answer["action"], answer["action_str"]) == (12, "d2d4")
    exchanges = answer["exchanges"]
    assert [one["parsed"] for one in exchanges] == [
        *("get_current_board", "get_legal_moves", None, "make_move d2d4")
    ]
    assert [one["faults"] for one in exchanges] == [[], [], ["illegal"], ["repair"]]
    sent = [turn["text"] for turn in exchanges[-1]["prompt"] if turn["role"] == "user"]
    assert "with the white pieces" in sent[0]
    assert sent[1].splitlines()[-1] == "♖ ♘ ♗ ♕ ♔ ♗ ♘ ♖"
    assert sent[2] == "e2e4,d2d4,g1f3,a2a3"
    assert sent[3] == "Failed to make move: e2e5 is not a legal move here."
    assert answer["input_tokens"] == sum(one["input_tokens"] for one in exchanges) > 0
    second = move(talk, MATE)  # the last reply again, in a new dialog without the first one's turns
    assert [len(one["prompt"]) for one in second["exchanges"]] == [1, 3, 5]
    assert len(language_server.requests(model)) == 4 + 3


def test_a_failed_dialog_forfeits_the_game(talk: Conversation, seat: Any) -> None:
    seat("Knight to f3!", "make_move e9", "make_move a1a1")
    answer = move(talk, START)
    assert answer["forfeit"] == "3 replies in one dialog were not a usable action"
    assert [one["faults"] for one in answer["exchanges"]] == [
        *(["unparsed"], ["unparsed", "repair"], ["illegal", "repair"])
    ]
    seat("get_legal_moves", max_turns=4)
    answer = move(talk, START)
    assert answer["forfeit"] == "no move after 4 replies in one dialog" and len(answer["exchanges"]) == 4


def test_or_plays_a_legal_move_at_random_that_follows_from_the_seed(talk: Conversation, seat: Any) -> None:
    def played() -> list[int]:
        seat("no idea", on_failure="random", max_failures=2)
        return [move(talk, START)["action"] for _ in range(6)]

    first = played()
    assert first == played() and set(first) <= {11, 12, 13, 14} and len(set(first)) > 1
    last = move(talk, START)["exchanges"][-1]
    assert last["parsed"] is None and last["faults"] == ["unparsed", "repair", "default"]


def test_replies_can_be_restricted_to_what_is_understood(
    talk: Conversation, seat: Any, language_server: FakeServer
) -> None:
    model = seat("make_move g1f3", structured=True)
    assert move(talk, START)["action"] == 13
    (request,) = language_server.requests(model)
    assert "make_move g1f3" in str(request["body"]["response_format"])
