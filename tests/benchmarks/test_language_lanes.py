"""Fifty lanes of a language model, compared with the endpoint's own time: calls of an evaluation while all
lanes play, and steps of a comparison, against a server with a latency of 500 ms.

The server is the fake one of the tests; the SDK, the streams, the recording and the arenas are the real ones.
"""

from __future__ import annotations

import os
import time
from typing import Any

import pytest
from arenas.comparison_fixtures import Compare
from benchmarks.measuring import judged, print_table
from evaluation.evaluation_fixtures import Evaluate
from language.language_fixtures import FakeServer
from support import wait_until

from mosaic_lab import operators
from mosaic_lab.operators import OperatorSpec

LANES = int(os.environ.get("MOSAIC_BENCHMARK_LANES", "50"))
SECONDS = float(os.environ.get("MOSAIC_BENCHMARK_SECONDS", "30"))
LATENCY = 0.5  # seconds
STEPS = 20
START_SECONDS = 900  # for all lanes to play: each imports an SDK, and cores are few
ENV = "FrozenLake-v1"
ENDLESS: dict[str, Any] = {"env_kwargs": {"is_slippery": False, "max_episode_steps": 1_000_000}}

Lanes = dict[str, OperatorSpec]


def test_fifty_lanes_at_once(
    language_server: FakeServer,
    start_evaluation: Evaluate,
    start_comparison: Compare,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", language_server.key)
    lanes = {f"lane {number}": _model(language_server, number) for number in range(LANES)}
    rows = [_evaluation(start_evaluation, lanes, language_server), _comparison(start_comparison, lanes)]
    print_table(
        f"{LANES} lanes at once, {1e3 * LATENCY:g} ms of latency",
        ["", "wall time", "ideal", "ratio", "target", "verdict"],
        rows,
    )


def _model(server: FakeServer, number: int) -> OperatorSpec:
    name = server.script(f"lane-{number}", f"latency={LATENCY}+legal")
    key = {"base_url": server.openai_url, "api_key_env": "OPENAI_API_KEY"}
    return operators.llm(name, **key, concurrency=2 * LANES)


def _evaluation(start: Evaluate, lanes: Lanes, server: FakeServer) -> list[str]:
    """The time of the calls that were made within `SECONDS` in which all lanes played."""
    evaluation = start(ENV, lanes, seeds=[1], parallel=LANES, **ENDLESS)

    def all_play() -> bool:
        assert evaluation.state in ("queued", "starting", "running"), evaluation.reason
        since = time.time() - 10 * LATENCY
        recent = {request["model"] for request in server.requests() if request["began"] > since}
        return len(recent) == LANES

    wait_until(all_play, START_SECONDS)
    before, began = server.count, time.perf_counter()
    time.sleep(SECONDS)
    calls, seconds = server.count - before, time.perf_counter() - began
    assert all_play(), "a lane has ended while the calls were counted"
    evaluation.stop()
    what = f"evaluation, {calls} calls while all lanes play"
    return _row(what, seconds, ideal=LATENCY * calls / LANES)


def _comparison(start: Compare, lanes: Lanes) -> list[str]:
    """The time of `STEPS` steps in lockstep."""
    comparison = start(ENV, lanes, **ENDLESS)
    comparison.step(timeout=START_SECONDS)
    began = time.perf_counter()
    comparison.step(STEPS, timeout=START_SECONDS)
    seconds = time.perf_counter() - began
    assert {lane.step for lane in comparison.lanes} == {STEPS + 1}
    return _row(f"comparison, {STEPS} steps in lockstep", seconds, ideal=LATENCY * STEPS)


def _row(what: str, seconds: float, ideal: float) -> list[str]:
    return [
        what,
        f"{seconds:.1f} s",
        f"{ideal:.1f} s",
        f"{seconds / ideal:.2f}",
        *judged(seconds / ideal, "<= 1.3"),
    ]
