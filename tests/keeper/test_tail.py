"""Reads of the end of a telemetry file are bounded and never raise, whatever the content."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.tail import (
    final_message,
    last_lines,
    progress,
    recent_returns,
    recent_values,
    saved_at,
)
from mosaic_lab.runs.checkpoints import read_checkpoints

COMPLETED = b'{"event": "run_completed", "payload": {"episodes": 7}}\n'
METRICS = b'{"event": "metrics", "payload": {"step": 5, "values": {}}}\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "telemetry.jsonl"


@pytest.mark.parametrize(
    "after", [b"", b"\n", b"not json\n", b"\xff\xfe\n", b'{"event": "torn', METRICS, b"[" * 10**5]
)
def test_the_final_message_is_found_behind_whatever_follows(file: Path, after: bytes) -> None:
    file.write_bytes(METRICS + COMPLETED + after)
    final = final_message(file)
    assert final is not None and final["event"] == "run_completed"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        METRICS,
        b'"run_completed"\n',
        b'{"event": ["run_completed"]}\n',
        b'{"x": "run_failed"}\n',
        b"[" * 10**6,
    ],
)
def test_there_may_be_no_final_message(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    assert final_message(file) is None


def test_the_latest_of_several_counts(file: Path) -> None:
    file.write_bytes(b'{"event": "run_failed", "payload": {}}\n' + COMPLETED)
    final = final_message(file)
    assert final is not None and final["event"] == "run_completed"


def test_a_message_of_a_megabyte_is_found(file: Path) -> None:
    text = json.dumps({"event": "run_failed", "payload": {"traceback": "x" * ((1 << 20) - 100)}})
    file.write_bytes(METRICS * 10_000 + text.encode() + b"\n")
    assert final_message(file) is not None


def test_a_missing_file_says_nothing(file: Path) -> None:
    assert final_message(file) is None
    assert progress(file) == {}
    assert last_lines(file, 5) == []


@pytest.mark.parametrize("step", ["NaN", "Infinity", "-1", "1e300", '"7"', "null", "[]"])
def test_progress_is_a_number_that_counts(file: Path, step: str) -> None:
    file.write_bytes(
        METRICS + b'{"event": "heartbeat", "payload": {"step": %s, "episode": 3}}\n' % step.encode()
    )
    assert progress(file) == {"step": 5, "episode": 3}


def test_progress_reads_a_bounded_part_of_a_large_file(file: Path) -> None:
    with file.open("wb") as stream:
        stream.write(METRICS)
        os.truncate(stream.fileno(), 1 << 33)  # 8 GiB of zeros
    assert progress(file) == {}
    assert final_message(file) is None


def test_the_last_lines_of_a_log(file: Path) -> None:
    file.write_bytes(b"one\r\ntwo\n 10%\r 50%\r100%\ncaf\xe9\n")
    assert last_lines(file, 3) == ["two", "100%", "caf\ufffd"]
    assert last_lines(file, 99)[0] == "one"


def test_checkpoints_with_nonsense_in_them(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    (tmp_path / "good").touch()
    payloads = [
        '{"checkpoint_path": "good", "step": Infinity, "episode": "x", "metrics": 3}',
        '{"checkpoint_path": 7}',
        '{"checkpoint_path": ""}',
        '{"checkpoint_path": "gone"}',
        f'{{"checkpoint_path": "{"x" * 5000}", "step": 9}}',
        "[]",
    ]
    lines = [f'{{"event": "checkpoint_saved", "payload": {payload}}}\n' for payload in payloads]
    folder.telemetry_path.write_text("".join(lines) + '"checkpoint_saved"\n')
    assert saved_at(folder.telemetry_path) is None
    (checkpoint,) = read_checkpoints(folder)
    assert (checkpoint.path, checkpoint.step, checkpoint.metrics) == (tmp_path / "good", 0, {})


def test_recent_values_are_the_last_ones_of_the_first_metric_that_is_there(file: Path) -> None:
    nonsense = ['"NaN"', "Infinity", "NaN", "1" + "0" * 400, "null", "[]"]
    rows = [f'{{"second": {value}, "third": 0}}' for value in (*range(30), *nonsense)]
    lines = [f'{{"event": "metrics", "payload": {{"values": {row}}}}}\n' for row in (*rows, "[]")]
    file.write_text("".join(lines))
    found = recent_values(file, ("first", "second", "third"), 20)
    assert found == [float(number) for number in range(10, 30)]


def test_recent_returns_are_means_of_the_agents_of_the_last_episodes(file: Path) -> None:
    lines = [
        f'{{"type": "episode", "episode_index": {number}, "total_reward": {reward}}}\n'
        for number in range(30)
        for reward in (number, number + 2, '"NaN"', "Infinity")
    ]
    file.write_text("".join(lines))
    assert recent_returns(file, 20) == [float(number) for number in range(11, 31)]


def test_the_newest_checkpoint_that_is_there_counts(file: Path) -> None:
    for name in ("a", "b"):
        (file.parent / name).touch()
    saves = [
        {"event": "checkpoint_saved", "payload": {"checkpoint_path": name, "step": step}}
        for step, name in enumerate(["a", "b", "gone"])
    ]
    file.write_text("".join(json.dumps(one) + "\n" for one in saves))
    assert saved_at(file) == 1
