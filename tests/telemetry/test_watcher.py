"""One thread serves all watched runs, and none of them or of their audience harms another."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mosaic_lab.telemetry import RunFeed, Watcher, watcher

DEADLINE = 60.0


@pytest.fixture
def watching() -> Iterator[Watcher]:
    one = Watcher()
    yield one
    one.close()


def run_folder(root: Path, name: str) -> Path:
    folder = root / name
    folder.mkdir()
    return folder


def write(folder: Path, step: int, count: int = 1) -> None:
    line = json.dumps(
        {"event": "metrics", "timestamp": 1.7e9, "payload": {"step": step, "values": {"x": step}}}
    )
    with (folder / "telemetry.jsonl").open("a") as file:
        file.write((line + "\n") * count)


def when(condition: Callable[[RunFeed], bool]) -> tuple[threading.Event, Callable[[RunFeed], None]]:
    """An event, and a callback that sets it when the feed meets ``condition``."""
    met = threading.Event()

    def callback(feed: RunFeed) -> None:
        if condition(feed):
            met.set()

    return met, callback


def test_a_subscriber_is_notified_of_what_is_known_and_every_change(
    tmp_path: Path, watching: Watcher
) -> None:
    folder = run_folder(tmp_path, "run")
    write(folder, 1)
    at_1, callback_1 = when(lambda feed: feed.step == 1)
    at_2, callback_2 = when(lambda feed: feed.step == 2)
    feed = watching.feed(folder)
    watching.subscribe(feed, callback_1)
    watching.subscribe(feed, callback_2)
    assert at_1.wait(DEADLINE)
    write(folder, 2)
    assert at_2.wait(DEADLINE)


def test_a_late_subscriber_is_notified_without_a_change(tmp_path: Path, watching: Watcher) -> None:
    folder = run_folder(tmp_path, "run")
    write(folder, 1)
    feed = watching.feed(folder)
    for _ in range(2):
        called, callback = when(lambda feed: feed.step == 1)
        watching.subscribe(feed, callback)
        assert called.wait(DEADLINE)


def test_after_unsubscribing_no_callback_is_called(tmp_path: Path, watching: Watcher) -> None:
    folder = run_folder(tmp_path, "run")
    feed = watching.feed(folder)
    called, callback = when(lambda feed: True)
    calls = []
    unsubscribe = watching.subscribe(feed, calls.append)
    watching.subscribe(feed, callback)
    assert called.wait(DEADLINE)
    unsubscribe()
    unsubscribe()  # harmless
    write(folder, 1)
    for step in (2, 3):  # a whole round begins and ends between these two
        called, callback = when(lambda feed, step=step: feed.step == step)  # type: ignore[misc]
        watching.subscribe(feed, callback)
        write(folder, step)
        assert called.wait(DEADLINE)
    before = len(calls)
    called, callback = when(lambda feed: feed.step == 4)
    watching.subscribe(feed, callback)
    write(folder, 4)
    assert called.wait(DEADLINE)
    assert len(calls) == before


def test_a_callback_that_fails_is_reported_once_and_harms_no_other(
    tmp_path: Path, watching: Watcher, caplog: pytest.LogCaptureFixture
) -> None:
    folder = run_folder(tmp_path, "run")
    feed = watching.feed(folder)
    failed_first, failed_last = threading.Event(), threading.Event()

    def failing(feed: RunFeed) -> None:
        (failed_last if feed.step == 3 else failed_first).set()
        raise ZeroDivisionError("drawn over")

    watching.subscribe(feed, failing)
    with caplog.at_level(logging.ERROR):
        for step in range(1, 4):
            called, callback = when(lambda feed, step=step: feed.step == step)  # type: ignore[misc]
            watching.subscribe(feed, callback)
            write(folder, step)
            assert called.wait(DEADLINE)
        assert failed_first.wait(DEADLINE)
        assert failed_last.wait(DEADLINE)
    reports = [record for record in caplog.records if "failing" in record.getMessage()]
    assert len(reports) == 1
    assert reports[0].exc_info is not None


def test_a_run_that_cannot_be_read_is_reported_once_and_harms_no_other(
    tmp_path: Path, watching: Watcher, caplog: pytest.LogCaptureFixture
) -> None:
    broken, good = run_folder(tmp_path, "broken"), run_folder(tmp_path, "good")
    (broken / "telemetry.jsonl").symlink_to("telemetry.jsonl")
    watching.subscribe(watching.feed(broken), lambda feed: None)
    with caplog.at_level(logging.ERROR):
        for step in range(1, 4):
            called, callback = when(lambda feed, step=step: feed.step == step)  # type: ignore[misc]
            watching.subscribe(watching.feed(good), callback)
            write(good, step)
            assert called.wait(DEADLINE)
        (broken / "telemetry.jsonl").unlink()
        mended, callback = when(lambda feed: feed.step == 1)
        watching.subscribe(watching.feed(broken), callback)
        write(broken, 1)
        assert mended.wait(DEADLINE)
    assert len([record for record in caplog.records if "broken" in record.getMessage()]) == 1


def test_catching_up_on_a_long_run_does_not_starve_another(tmp_path: Path, watching: Watcher) -> None:
    long, live = run_folder(tmp_path, "long"), run_folder(tmp_path, "live")
    write(long, 1, count=150_000)
    long_feed, live_feed = watching.feed(long), watching.feed(live)
    told_while_behind, caught_up = threading.Event(), threading.Event()

    def long_callback(feed: RunFeed) -> None:
        if feed.behind:
            write(live, live_feed.step + 1)
        else:
            caught_up.set()

    def live_callback(feed: RunFeed) -> None:
        if feed.step > 0 and long_feed.behind:
            told_while_behind.set()

    watching.subscribe(long_feed, long_callback)
    watching.subscribe(live_feed, live_callback)
    assert caught_up.wait(DEADLINE)
    assert told_while_behind.is_set()
    assert long_feed.health.lines == 150_000


def test_all_viewers_of_a_run_share_one_feed(tmp_path: Path, watching: Watcher) -> None:
    folder = run_folder(tmp_path, "run")
    feed = watching.feed(folder)
    assert watching.feed(folder / ".." / "run") is feed
    assert watcher() is watcher()


def test_the_interpreter_ends_while_runs_are_watched(tmp_path: Path) -> None:
    script = """
import sys, threading, time
from mosaic_lab.telemetry import watcher
called = threading.Event()
watcher().subscribe(watcher().feed(sys.argv[1]), lambda feed: called.set())
watcher().subscribe(watcher().feed(sys.argv[1]), lambda feed: threading.Event().wait())
assert called.wait(60)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], timeout=DEADLINE, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
