"""Arenas that do not answer: the failure is one sentence, and the arena's process ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mosaic_lab.arenas.arena_client import ArenaClient, ArenaFailed, ArenaLoop
from mosaic_lab.arenas.environment_info import EnvironmentInfo
from mosaic_lab.arenas.plan import ArenaPlan, ArenaSetup
from mosaic_lab.arenas.request import CompareRequest
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.states import State
from mosaic_lab.policies import Assignment

PLAN = ArenaPlan(
    request=CompareRequest(step_timeout=60.0),
    env_id="Odd-v0",
    settings={},
    family="odd",
    operators={},
    lanes={"a": {}},
    seeds=[1],
    pass_env_vars=[],
)


class Owner:
    """Owner that records its arena's failure and does not end the arena."""

    failure: ArenaFailed | None = None

    def opened(self, arena: ArenaClient, environment: EnvironmentInfo, assignment: Assignment) -> None:
        raise AssertionError("no operator fits an empty mapping")

    def received(self, arena: ArenaClient, message: dict[str, Any]) -> None:
        message["missing"]

    def failed(self, failure: ArenaFailed) -> None:
        self.failure = failure


ERROR = (
    '{"type": "error", "where": "open", "error_type": "ConfigError", "message": "no such game", "log": ""}'
)


@pytest.mark.parametrize(
    ("program", "text", "log"),
    [
        ("print('hello')", "its arena sent an invalid message (DecodeError(", []),
        ("print('{}')", "its arena sent an invalid message (KeyError('missing')): {}", []),
        (f"print({ERROR!r})", "no such game", []),
        ("sys.stderr.write('out of ink')", "its arena ended with exit code 0", ["out of ink"]),
        ("os.kill(os.getpid(), 9)", "its arena was killed by signal 9 (SIGKILL)", []),
        ("os.close(1); time.sleep(600)", "its arena has closed its output", []),  # but keeps running
    ],
)
def test_an_arena_that_does_not_answer(tmp_path: Path, program: str, text: str, log: list[str]) -> None:
    command = [sys.executable, "-c", f"import os, sys, time; sys.stdin.readline(); {program}"]
    setup = ArenaSetup(plan=PLAN, arena=command, commands={}, variables=os.environ, folder=tmp_path)
    loop, owner = ArenaLoop(), Owner()
    arena = loop.add(ArenaClient(owner, setup, "a", {}, tmp_path / "0-a"))
    while owner.failure is None:
        loop.work(loop.wait())
    assert str(owner.failure).startswith(text)
    assert owner.failure.log == log
    assert owner.failure.refused == (text == "no such game")
    assert not owner.failure.usable
    loop.close(State.FAILED, str(owner.failure))
    assert (loop.arenas, arena.ended()) == ([], True)
    assert RunFolder(arena.path).status().reason == str(owner.failure)


def test_an_arena_that_cannot_be_started(tmp_path: Path) -> None:
    setup = ArenaSetup(
        plan=PLAN, arena=[str(tmp_path / "gone")], commands={}, variables=os.environ, folder=tmp_path
    )
    with pytest.raises(ArenaFailed, match=r"its arena could not be started: .*No such file"):
        ArenaClient(Owner(), setup, "a", {}, tmp_path / "0-a")
    assert RunFolder(tmp_path / "0-a").status().state is State.FAILED
