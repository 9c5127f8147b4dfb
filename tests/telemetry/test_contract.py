"""Readers receive exactly what a worker sends through the contract."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

from mosaic_contract.messages import DATA, EVENTS

from mosaic_lab.keeper import events
from mosaic_lab.telemetry import RunFeed, metrics_table, read_episodes

WORKER = """
import numpy
from mosaic_contract import Telemetry
telemetry = Telemetry.take_stdout("a-run")
print("a library's own print")
config = {"text": "\u00fcber"}
telemetry.run_started(worker_type="toy", algo="ppo", env_id="CartPole-v1", seed=1, config=config)
telemetry.checkpoint_loaded("before.pt", step=0)
telemetry.metrics(10, {"loss": numpy.float32(0.5), "nan": float("nan"), "inf": float("-inf")})
telemetry.step(step_index=1, episode_index=0, action=numpy.arange(2), reward=1.0)
telemetry.episode(total_reward=21.5, steps=20, terminated=True, episode_seed=7, step=12)
telemetry.heartbeat(memory_mb=123.4, cpu_percent=50.0)
telemetry.metrics(20, {"loss": 0.25})
telemetry.checkpoint_saved("after.pt", metrics={"episode_return": 21.5}, format="torch")
telemetry.run_failed(ValueError("out of luck"))
telemetry.run_completed()
"""


def test_everything_the_contract_writes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.jsonl"
    with path.open("wb") as stdout:
        subprocess.run(
            [sys.executable, "-c", WORKER], check=True, stdout=stdout, stderr=subprocess.PIPE, timeout=60
        )
    feed = RunFeed(tmp_path)
    feed.poll()
    assert feed.health.counts() == {**dict.fromkeys(feed.health.counts(), 0), "lines": 9}
    assert (feed.step, feed.episodes) == (20, 1)
    assert feed.memory_mb == 123.4
    assert [piece.value.tolist() for piece in feed.pieces("loss")] == [[0.5, 0.25]]

    metrics = metrics_table(feed).set_index(["step", "name"])["value"]
    assert math.isnan(metrics[10, "nan"])
    assert metrics[10, "inf"] == -math.inf
    episode = read_episodes(path).iloc[0]
    assert (episode["total_reward"], episode["steps"], episode["episode_seed"], episode["step"]) == (
        21.5,
        20,
        7,
        12,
    )


def test_the_keeper_knows_messages_by_the_names_of_the_contract() -> None:
    names = {name for constant, name in vars(events).items() if constant.isupper()}
    names -= {events.TERMINAL, events.SYSTEM_PREFIX, events.EVALUATED}
    assert names < {*EVENTS, *DATA}
    assert set(events.TERMINAL) == {name for name, kind in EVENTS.items() if kind.TERMINAL}
