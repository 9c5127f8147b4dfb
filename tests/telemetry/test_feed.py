"""Feed of a live run: agrees with the run's files, whatever the worker wrote into them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from mosaic_lab.telemetry import RunFeed
from mosaic_lab.telemetry.progress import RunClock, SpeedEstimate

START = 1_700_000_000.0


def event(name: str, at: float = 0.0, **payload: Any) -> dict[str, Any]:
    return {"event": name, "run_id": "r", "timestamp": START + at, "payload": payload}


def metrics(step: int, at: float = 0.0, **values: Any) -> dict[str, Any]:
    return event("metrics", at, step=step, values=values)


def write(folder: Path, *lines: dict[str, Any] | bytes) -> None:
    with (folder / "telemetry.jsonl").open("ab") as file:
        for line in lines:
            file.write((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n")


def read(folder: Path) -> RunFeed:
    feed = RunFeed(folder)
    catch_up(feed)
    return feed


def points(feed: RunFeed, name: str, axis: str = "step") -> tuple[list[float], list[float]]:
    """Return the x and y values of a metric's points."""
    pieces = feed.pieces(name)
    return (
        [x for piece in pieces for x in getattr(piece, axis).tolist()],
        [y for piece in pieces for y in piece.value.tolist()],
    )


def reach(speed: SpeedEstimate, second: float, step: float) -> None:
    speed.observe(np.array([second], dtype=float), np.array([step], dtype=float))


def catch_up(feed: RunFeed) -> None:
    while feed.poll() or feed.behind:
        pass


def test_a_whole_run_is_read(tmp_path: Path) -> None:
    write(
        tmp_path,
        event("run_started", 0, algo="ppo", config={"total_timesteps": 1000}),
        metrics(100, 2, loss=0.5, episode_return=20),
        {"type": "episode", "run_id": "r", "episode_index": 0, "total_reward": 20.0, "steps": 20},
        event("heartbeat", 3, step=150, episode=1, memory_mb=300.5, cpu_percent=99.0),
        metrics(200, 4, loss=0.25),
        event("checkpoint_saved", 5, checkpoint_path="a.pt", step=250, episode=1),
        event("run_completed", 6, episodes=1),
    )
    feed = read(tmp_path)
    assert feed.names == ["loss", "episode_return"]
    for axis, expected in {"step": [100, 200], "episode": [0, 1], "seconds": [2, 4]}.items():
        assert points(feed, "loss", axis) == (expected, [0.5, 0.25])
    assert (feed.seconds, feed.step, feed.episodes) == (6, 250, 1)
    assert feed.memory_mb == 300.5
    assert feed.health.counts() == {**dict.fromkeys(feed.health.counts(), 0), "lines": 7}


def test_poll_says_whether_anything_changed(tmp_path: Path) -> None:
    feed = RunFeed(tmp_path)
    assert not feed.poll()
    write(tmp_path, metrics(1, loss=1))
    assert feed.poll()
    assert not feed.poll()
    write(tmp_path, b"garbage")
    assert feed.poll()
    (tmp_path / "worker.log").write_text("hello\n")
    assert feed.poll()
    (tmp_path / "state.json").write_text("{}")
    assert feed.poll()
    assert not feed.poll()
    (tmp_path / "telemetry.jsonl").unlink()
    assert feed.poll()
    assert feed.missing
    assert not feed.poll()


def test_useless_lines_are_counted_and_the_stream_continues(tmp_path: Path) -> None:
    write(
        tmp_path,
        b"not json",
        b"[1, 2]",
        b'{"event": "metrics", "payload": {"step": 1}}',
        b'{"event": "metrics", "payload": {"step": 1e30, "values": {"loss": 1}}}',
        b'{"event": "metrics", "timestamp": 1e300, "payload": {"step": 1, "values": {"loss": 1}}}',
        b'{"deep": ' + b"[" * 100_000,
        b'{"event": "heartbeat", "payload": 7}',
        b'{"text": "\xff"}',
        b"x" * 2_000_000,
        {"event": "from_the_future", "payload": {}},
        {"neither": 1},
        metrics(1, good=1.0, none=None, text="high", flag=True),
        metrics(2, good=2.0),
    )
    feed = read(tmp_path)
    health = feed.health
    assert (health.malformed, health.invalid_utf8, health.oversize, health.unknown) == (7, 1, 1, 2)
    assert health.dropped_values == 3
    assert feed.names == ["good"]
    assert points(feed, "good")[1] == [1.0, 2.0]


def test_agents_of_one_episode_count_once(tmp_path: Path) -> None:
    for index in range(3):
        for agent in ("left", "right"):
            write(tmp_path, {"type": "episode", "episode_index": index, "agent_id": agent, "total_reward": 1})
    feed = read(tmp_path)
    assert (feed.episodes, feed.agents) == (3, 2)


def test_a_worker_that_numbers_every_episode_zero_is_still_counted(tmp_path: Path) -> None:
    write(tmp_path, *[{"type": "episode", "episode_index": 0, "total_reward": 1} for _ in range(5)])
    feed = read(tmp_path)
    assert (feed.episodes, feed.agents) == (5, 1)


def test_a_closed_feed_holds_no_file_and_reads_on_where_it_stopped(tmp_path: Path) -> None:
    write(tmp_path, metrics(0, loss=1.0))
    feed = read(tmp_path)
    before = psutil.Process().num_fds()
    feed.close()
    assert not feed.poll()
    assert psutil.Process().num_fds() == before - 1
    write(tmp_path, metrics(1, loss=2.0))
    assert feed.poll()
    assert (feed.count("loss"), feed.step, feed.health.replaced) == (2, 1, 0)


def test_a_replaced_stream_starts_a_new_model(tmp_path: Path) -> None:
    write(tmp_path, metrics(1000, old=1.0), event("run_failed", error="x"))
    feed = read(tmp_path)
    (tmp_path / "telemetry.jsonl").rename(tmp_path / "elsewhere")
    write(tmp_path, metrics(1, new=1.0))
    catch_up(feed)
    assert feed.names == ["new"]
    assert feed.step == 1
    assert feed.health.replaced == 1


def test_lines_that_the_worker_could_not_write_are_known(tmp_path: Path) -> None:
    write(tmp_path, event("heartbeat", step=1, dropped_lines=12))
    assert read(tmp_path).health.dropped_by_worker == 12


def test_time_never_goes_back_and_goes_on_after_a_clock_was_set_back() -> None:
    clock = RunClock()
    stamps = [100.0, 101.0, 100.9, 102.0, None, 50.0, 51.0, 53.0]
    seconds = [clock.seconds_at(np.array(some, dtype=float)) for some in (stamps[:3], stamps[3:])]
    assert np.concatenate(seconds).tolist() == [0, 1, 1, 2, 2, 2, 3, 5]


def test_speed_of_a_learner_that_reports_in_bursts_does_not_jump() -> None:
    speed, seen = SpeedEstimate(), []
    for second in range(300):
        burst = second // 8 * 2048  # 2,048 steps every 8 s: 256 steps/s
        reach(speed, second, burst)
        if second >= 24:
            assert speed.steps_per_second is not None
            seen.append(speed.steps_per_second)
    assert min(seen) == pytest.approx(256, rel=0.02)
    assert max(seen) == pytest.approx(256, rel=0.02)


def test_speed_follows_a_change_and_fades_when_the_run_stalls() -> None:
    speed = SpeedEstimate()
    assert speed.steps_per_second is None
    for second in range(120):
        reach(speed, second, 100 * second if second < 60 else 6000 + 300 * (second - 60))
    assert speed.steps_per_second == pytest.approx(300)
    for second in range(120, 1120, 5):
        reach(speed, second, 0)
    assert speed.steps_per_second is not None
    assert 0 < speed.steps_per_second < 12


def test_speed_leaves_out_the_time_before_the_first_steps() -> None:
    speed = SpeedEstimate()
    for second in range(60):  # the worker imports its libraries
        reach(speed, second, 0)
    reach(speed, 60, 100)
    reach(speed, 61, 200)
    assert speed.steps_per_second is None  # too early for an estimate
    reach(speed, 62, 300)
    assert speed.steps_per_second == pytest.approx(100)


def test_time_left_follows_from_the_speed(tmp_path: Path) -> None:
    write(tmp_path, event("run_started"), *[metrics(100 * i, i, loss=1) for i in range(11)])
    feed = read(tmp_path)
    assert feed.progress.steps_per_second == pytest.approx(100)
    assert feed.seconds_left(2000) == pytest.approx(10)
    assert feed.seconds_left(500) == 0
    assert RunFeed(tmp_path).seconds_left(2000) is None
