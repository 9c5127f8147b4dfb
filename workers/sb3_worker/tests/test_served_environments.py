"""Trainings on environments served by another process; here the worker serves its own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mosaic_contract import encode_line
from mosaic_contract.shared_values import unnamed_file
from shim_kit.training_worker import (
    SERVED_ENDS,
    Viewer,
    assert_ends,
    assert_killed_server_ends_it,
    assert_stopped_cleanly,
    served,
    stop_after_an_episode,
)
from support import PEERS
from test_protocol_page import commands

INTERRUPTED = Path(__file__).with_name("interrupted_calls.py")


@pytest.fixture(autouse=True)
def unruly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(PEERS))


def test_a_training_is_the_same_and_can_be_watched(worker: Any) -> None:
    viewer = Viewer()
    run = worker.train(viewer, **served(worker, "ppo"))
    assert run.code == 0, run.log
    assert run.returns == worker.trained("ppo").returns
    assert viewer.sizes == {(400, 600)}
    assert run.leftovers == []


@pytest.mark.parametrize("environment", SERVED_ENDS)
def test_the_end_of_an_environment_ends_the_training(worker: Any, environment: str) -> None:
    assert_ends(worker, environment, served(worker, "ppo", env_id=f"unruly:{environment}-v0"))


def test_a_killed_server_ends_the_training(worker: Any) -> None:
    assert_killed_server_ends_it(worker, served(worker, "ppo", total_timesteps=10_000_000))


def test_a_stopped_training_saves_and_leaves_no_server(worker: Any) -> None:
    assert_stopped_cleanly(
        worker.train(stop_after_an_episode, **served(worker, "ppo", total_timesteps=10_000_000))
    )


def test_a_server_that_cannot_make_the_environment_is_refused(worker: Any) -> None:
    error = worker.error(**served(worker, "ppo", env_id="ALE/Nowhere-v5"))
    assert error.startswith("environment 'ALE/Nowhere-v5' cannot be made here: Environment `Nowhere` doesn't")


def test_the_page_of_the_protocol_has_the_commands_and_the_fields_of_their_answers(worker: Any) -> None:
    memory, table = unnamed_file(), commands("Environment servers")
    one = {"index": 0}
    sent = {
        "open": {"memory": memory, "step_timeout": 60},
        "make": {"env_id": "CartPole-v1", "render_mode": "rgb_array"},
        "reset": {**one, "seed": 1},
        "step": {"indices": [0]},
        "render": one,
        "close": one,
    }
    lines = b"".join(encode_line({"cmd": command, **sent.get(command, {})}) for command in (*table, "?"))
    server = subprocess.run(
        [*worker.command(), "--environments"],
        input=lines,
        stdout=subprocess.PIPE,
        pass_fds=[memory],
        check=True,
    )
    os.close(memory)
    messages = map(json.loads, server.stdout.splitlines())
    *answers, unknown = (message for message in messages if message["type"] != "beat")  # on slow machines
    assert set(table) == set(unknown["message"].partition("known: ")[2].split(", "))
    assert "__ndarray__" in answers[-2]["picture"], "inside the message by default"
    for answer, (kind, fields) in zip(answers, table.values(), strict=True):
        assert answer.pop("type") == kind
        optional = {name for name, marks in fields.items() if "?" in marks}
        assert set(answer) | optional == set(fields), kind


def test_a_text_is_the_latest_after_an_interrupted_call(worker: Any, tmp_path: Path) -> None:
    """A text is sent only when it changes, so the client also keeps it from an answer that was discarded."""
    assert worker.output_of(str(INTERRUPTED), str(tmp_path)) == ["stop"] * 4
