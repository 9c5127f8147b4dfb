"""The small model that comes with the worker's environment, for real, in processes of their own."""

from __future__ import annotations

import psutil
from language_calls import Asker

from mosaic_lab.environments import Environment

LOCAL = {"model": "local", "provider": "local", "max_tokens": 8}


def test_the_same_seed_gives_the_same_answers_in_every_process(worker: Environment) -> None:
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
