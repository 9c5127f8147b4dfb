"""The bundled local model, and the termination of an operator's process during a call."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import psutil
import pytest
from language.language_calls import Asker
from language.language_fixtures import FakeServer
from mosaic_contract import decode_line, encode_line
from operators.conversation import Conversation

from mosaic_lab.workers import WorkerEnvironment

Settings = Callable[..., dict[str, Any]]

LOCAL = {"model": "local", "provider": "local", "max_tokens": 8}


def test_the_same_seed_gives_the_same_answers_in_every_process(worker: WorkerEnvironment) -> None:
    answers = []
    for _ in range(2):
        with Asker(LOCAL | {"temperature": 1.0}, steps=2, python=str(worker.python)) as asker:
            first = asker.answer()
            asker.play()
            answers.append((first["answer"], asker.answer()["answer"]))
            assert first["loaded"] == ["xllamacpp"]
            process = psutil.Process(asker.process.pid)
            assert process.net_connections("inet") == [], "it listens on no port"
    assert answers[0] == answers[1] and all(answers[0])


def test_it_names_a_known_move_of_a_game_in_text_or_writes_a_text_of_the_space(talk: Conversation) -> None:
    text = {"type": "Text", "min_length": 5, "max_length": 9, "characters": "[abhinst ]"}
    talk.agent(text, settings={**LOCAL, "max_tokens": 48})
    move = talk.act("You hold 20. [hit] or [stand]?", info={"legal_moves": ["[hit]", "[stand]"]})
    assert move["action"] in ("[hit]", "[stand]")
    word = talk.act("Say something.")
    assert 5 <= len(word["action"]) <= 9 and set(word["action"]) <= set(text["characters"])
    assert [exchange["faults"] for answer in (move, word) for exchange in answer["exchanges"]] == [[], []]


@pytest.mark.parametrize("which", ["local", "endpoint"])
def test_it_stops_in_the_middle_of_a_call(worker: WorkerEnvironment, fake: Settings, which: str) -> None:
    slow = fake("slow=60+say=I would go", timeout=900.0)
    settings = slow if which == "endpoint" else LOCAL | {"max_tokens": 4_000, "env_id": "Test-v0"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAKE_KEY", FakeServer.key)
        command = [*worker.command(), "--interactive"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert process.stdin and process.stdout
    try:
        commands: list[dict[str, Any]] = [
            {"cmd": "init_agent", "action_space": {"type": "Discrete", "n": 2}, "settings": settings},
            {"cmd": "select_action", "observation": "Tell a long story."},
        ]
        for command_line in commands:
            process.stdin.write(encode_line(command_line))
        kinds = [decode_line(process.stdout.readline())["type"] for _ in range(2)]
        assert kinds == ["agent_ready", "partial"], "generation has begun"
        process.terminate()
        assert process.wait(20) == 143
    finally:
        process.kill()
        process.stdin.close()
        process.stdout.close()
        process.wait()
