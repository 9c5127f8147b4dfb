"""Columns and tables hold every point of a run's file, whatever happens to it; an ended run is cached."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mosaic_lab.telemetry import JsonlFollower, RunFeed, metrics_table
from mosaic_lab.telemetry import column_chunks as chunks
from mosaic_lab.telemetry.column_cache import ColumnCache, version_of
from mosaic_lab.telemetry.columns import RunColumns
from mosaic_lab.telemetry.stream import TEXT_BYTES, Health, parse

START = 1_760_000_000.0


@pytest.fixture
def cache(tmp_path: Path) -> ColumnCache:
    return ColumnCache(tmp_path / "cache")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def metrics(step: int | None, values: dict[str, Any], seconds: float | None = 0.0) -> bytes:
    payload = {"values": values} if step is None else {"step": step, "values": values}
    event: dict[str, Any] = {"event": "metrics", "run_id": "r", "payload": payload}
    if seconds is not None:
        event["timestamp"] = START + seconds
    return json.dumps(event).encode() + b"\n"


def lines(begin: int, end: int) -> bytes:
    """Metrics lines with a loss each, and a return in every third."""
    return b"".join(
        metrics(10 * i, {"loss": i / 7, **({"return": float(i)} if i % 3 == 0 else {})}, i)
        for i in range(begin, end)
    )


def write(folder: Path, data: bytes) -> None:
    with (folder / "telemetry.jsonl").open("ab") as file:
        file.write(data)


def read(columns: RunColumns, ended: bool = True, max_bytes: int = 1 << 20) -> RunColumns:
    while columns.read(lambda: ended, max_bytes):
        pass
    return columns


def column(columns: RunColumns, name: str, what: str) -> np.ndarray:
    return np.concatenate([np.empty(0), *(getattr(piece, what) for piece in columns.pieces(name))])


def assert_true(columns: RunColumns, folder: Path) -> None:
    """Assert that the columns equal the points in the file's lines, bit for bit."""
    written, step = [], 0
    for line in JsonlFollower(folder / "telemetry.jsonl").lines():
        message = parse(line, Health())
        if message is None or message.payload is None or message.payload.values is None:
            continue
        step = step if message.payload.step is None else message.payload.step
        written += [
            (step, message.timestamp, name, float(value)) for name, value in message.payload.values.items()
        ]
    points = pd.DataFrame(written, columns=["step", "timestamp", "name", "value"])
    assert columns.names == list(dict.fromkeys(points["name"]))
    table = metrics_table(columns)
    assert list(table["name"]) == list(points["name"])
    for name in ("step", "timestamp", "value"):
        np.testing.assert_array_equal(table[name], points[name].astype(float))
    for name in columns.names:
        np.testing.assert_array_equal(
            metrics_table(columns, name)["value"], table["value"][table["name"] == name]
        )


def cached(cache: ColumnCache) -> list[Path]:
    return sorted(cache.folder.glob("*.columns"))


@pytest.mark.parametrize("max_bytes", [100, 1 << 20])
def test_columns_are_all_points_of_the_file_in_slices_and_again_from_the_cache(
    folder: Path, cache: ColumnCache, max_bytes: int
) -> None:
    write(folder, lines(0, 200))
    write(folder, metrics(None, {"loss": "-Infinity", "late": "NaN"}, None))
    columns = RunColumns(folder, cache)
    assert columns.read(lambda: True, 100) and columns.unread and not cached(cache)
    read(columns, max_bytes=max_bytes)
    assert_true(columns, folder)
    assert column(columns, "loss", "seconds")[:3].tolist() == [0, 1, 2] and len(cached(cache)) == 1
    again = RunColumns(folder, cache)
    assert not again.read(lambda: pytest.fail("what is in the cache is not asked for"), 1)
    assert_true(again, folder)
    np.testing.assert_array_equal(*(column(one, "loss", "seconds") for one in (columns, again)))
    assert sorted(path.name for path in folder.iterdir()) == ["telemetry.jsonl"]


@pytest.mark.parametrize("size", [TEXT_BYTES - 200, TEXT_BYTES, 3 * TEXT_BYTES])
def test_lines_longer_than_the_texts_that_are_read_at_once_are_whole(
    folder: Path, cache: ColumnCache, size: int
) -> None:
    long = metrics(20_000, {"loss": 1.0}).replace(b'"run_id"', b'"text": "' + b"x" * size + b'", "run_id"')
    write(folder, lines(0, 2_000) + long + lines(2_001, 2_002) + long + lines(2_002, 2_010))
    unended = metrics(30_000, {"loss": 2.0})
    write(folder, unended[:-1])
    columns = read(RunColumns(folder, cache), ended=False)
    assert len(column(columns, "loss", "value")) == 2_011, "the last line is still incomplete"
    assert_true(columns, folder)
    write(folder, unended[-1:])
    assert column(read(columns), "loss", "value")[-3:].tolist() == [2_008 / 7, 2_009 / 7, 2.0]
    assert columns.health.malformed == columns.health.oversize == 0
    assert_true(columns, folder)


def test_the_facts_of_a_run_are_those_of_its_live_panel_and_cached_too(
    folder: Path, cache: ColumnCache
) -> None:
    def episode(index: int, agent: str) -> bytes:
        return json.dumps({"type": "episode", "episode_index": index, "agent_id": agent}).encode() + b"\n"

    heartbeat = {"event": "heartbeat", "timestamp": START, "payload": {"episode": 7}}
    write(folder, metrics(1, {"x": 1, "y": 2}) + episode(0, "a") + episode(0, "b") + metrics(2, {"x": 1}))
    write(
        folder,
        episode(1, "a") + metrics(3, {"x": 1, "episode_return": 3}) + json.dumps(heartbeat).encode() + b"\n",
    )
    write(folder, metrics(4, {f"many/{i}": i for i in range(400)} | {"x": 1, "z" * 501: 1}))
    write(folder, b"no message\n")
    feed, columns = RunFeed(folder), read(RunColumns(folder, cache))
    while feed.poll() or feed.behind:
        pass
    for one in (columns, read(RunColumns(folder, cache))):
        assert one.names == feed.names
        assert column(one, "x", "episode").tolist() == [0, 1, 2, 7]
        assert one.facts == feed.facts
        assert one.health.counts() == feed.health.counts()
    assert (feed.step, feed.episodes, feed.agents, feed.returns.best) == (4, 7, 2, 3.0)
    assert feed.health.malformed == 1 and feed.health.dropped_values


def test_the_machines_load_is_a_second_stream(folder: Path, cache: ColumnCache) -> None:
    write(folder, lines(0, 5))
    load = {"step": 40, "episode": 3, "values": {"system/cpu_percent": 50.0}}
    event = {"event": "metrics", "timestamp": START - 1, "payload": load}
    (folder / "system.jsonl").write_text(json.dumps(event) + "\n")
    for columns in (read(RunColumns(folder, cache)), read(RunColumns(folder, cache))):
        assert columns.names == ["loss", "return", "system/cpu_percent"]
        [piece] = columns.pieces("system/cpu_percent")
        assert [piece.step, piece.episode, piece.time, piece.value] == [[40], [3], [START - 1], [50]]
        assert piece.seconds == [0], "the run's time begins with the worker's first line"
    assert len(cached(cache)) == 2


def test_a_live_run_grows_in_memory_and_is_cached_when_it_has_ended(folder: Path, cache: ColumnCache) -> None:
    columns = RunColumns(folder, cache)
    assert not columns.read(lambda: False) and columns.names == []
    for begin in range(0, 300, 100):
        write(folder, lines(begin, begin + 100) + b'{"half a')
        read(columns, ended=False)
        assert len(column(columns, "loss", "value")) == begin + 100
        with (folder / "telemetry.jsonl").open("r+b") as file:
            file.truncate(file.seek(0, os.SEEK_END) - len(b'{"half a'))
        read(columns, ended=False)
    assert not cached(cache)
    assert_true(read(columns), folder)
    assert len(cached(cache)) == 1
    write(folder, lines(300, 310))  # the run is resumed
    assert_true(read(columns, ended=False), folder)


def test_a_long_live_run_is_bounded_in_memory(
    folder: Path, cache: ColumnCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 50)
    write(folder, lines(0, 1000))
    columns = read(RunColumns(folder, cache), ended=False, max_bytes=1000)
    pieces = columns.pieces("loss")
    assert len(pieces) > 10 and all(isinstance(piece.value.base, object) for piece in pieces)
    assert max(len(piece.value) for piece in pieces) < 70
    assert_true(columns, folder)
    assert not list(cache.folder.iterdir()), "full chunks must be in an unnamed file"
    columns = read(columns)
    assert_true(columns, folder)
    assert_true(read(RunColumns(folder, cache)), folder)


def test_a_file_that_is_replaced_or_cut_short_is_read_again(folder: Path, cache: ColumnCache) -> None:
    write(folder, lines(0, 50))
    live, ended = RunColumns(folder, cache), RunColumns(folder, cache)
    read(live, ended=False), read(ended)
    path = folder / "telemetry.jsonl"
    (folder / "other").write_bytes(lines(7, 80))
    (folder / "other").replace(path)
    assert_true(read(live, ended=False), folder)
    assert_true(read(ended), folder)
    path.write_bytes(lines(3, 5))
    assert_true(read(live, ended=False), folder)
    assert_true(read(ended), folder)
    path.unlink()
    assert not ended.read(lambda: True)
    assert len(column(ended, "loss", "value")) == 2, "points of a removed run must stay"


def test_broken_files_are_read_as_far_as_they_can_be(folder: Path, cache: ColumnCache) -> None:
    write(folder, lines(0, 3) + b"\x00\xff\n" + b"[1]\n" + b'{"event": "metrics", "payload": 3}\n')
    write(folder, metrics(5, {"x" * 2_000_000: 1}) + metrics(6, {"loss": "?", "return": 1.5}))
    write(folder, b'{"event": "metrics"' * 100 + b"\n" + lines(10, 12) + b'{"torn')
    for columns in (read(RunColumns(folder, cache), max_bytes=5000), read(RunColumns(folder, cache))):
        assert_true(columns, folder)
    (folder / "system.jsonl").mkdir()
    with pytest.raises(OSError, match=r"system\.jsonl is a folder"):
        read(RunColumns(folder, cache))


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "end", "index", "other"])
def test_a_damaged_or_foreign_cache_file_is_written_again(
    folder: Path, cache: ColumnCache, damage: str, tmp_path: Path
) -> None:
    write(folder, lines(0, 100))
    read(RunColumns(folder, cache))
    [file] = cached(cache)
    data = file.read_bytes()
    if damage == "other":  # a complete one, of another run
        other = tmp_path / "other"
        other.mkdir()
        write(other, lines(0, 9))
        read(RunColumns(other, cache))
        [theirs] = set(cached(cache)) - {file}
        theirs.replace(file)
    else:
        middle = len(data) - 300
        file.write_bytes(
            {
                "empty": b"",
                "text": b"no columns" * 100,
                "cut": data[: len(data) // 2],
                "end": data[:-1] + b"?",
                "index": data[:middle] + b"#" + data[middle + 1 :],
            }[damage]
        )
    assert_true(read(RunColumns(folder, cache)), folder)
    assert file.read_bytes() == data


def test_the_cache_is_bounded_and_keeps_what_was_used_last(tmp_path: Path) -> None:
    folders = []
    for index in range(5):
        folders.append(tmp_path / f"run{index}")
        folders[-1].mkdir()
        write(folders[-1], lines(0, 1000))
    sizes = ColumnCache(tmp_path / "all")
    read(RunColumns(folders[0], sizes))
    size = cached(sizes)[0].stat().st_size
    cache = ColumnCache(tmp_path / "cache", max_bytes=3 * size + size // 2)
    for index, folder in enumerate(folders):
        read(RunColumns(folder, cache))
        for path in cached(cache):
            os.utime(path, (path.stat().st_mtime - 1000,) * 2)  # time passes
        read(RunColumns(folders[0], cache))
        assert len(cached(cache)) == min(3, index + 1)
    kept = [
        cache.load(source) is not None
        for folder in folders
        if (source := version_of(folder / "telemetry.jsonl"))
    ]
    assert kept == [True, False, False, True, True]
    (tmp_path / "huge").mkdir()
    write(tmp_path / "huge", lines(0, 3000))
    assert_true(read(RunColumns(tmp_path / "huge", cache)), tmp_path / "huge")
    assert len(cached(cache)) == 3, "one run must not fill the cache"


def test_without_a_place_for_a_cache_columns_are_as_good(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = ColumnCache(tmp_path / "file" / "cache")
    write(folder, lines(0, 100))
    columns = read(RunColumns(folder, cache))
    assert_true(columns, folder)
    assert not columns.read(lambda: pytest.fail("it is not tried again")), "until the file changes"


READER = """
import sys
from pathlib import Path
from mosaic_lab.telemetry.column_cache import ColumnCache
from mosaic_lab.telemetry.columns import RunColumns
cache = ColumnCache(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
for folder in sys.argv[2:]:
    columns = RunColumns(Path(folder), cache)
    while columns.read(lambda: True):
        pass
    print(sum(piece.value.sum() for piece in columns.pieces("loss")), flush=True)
"""


def test_two_processes_share_one_cache(tmp_path: Path) -> None:
    folders = [tmp_path / f"run{index}" for index in range(12)]
    for index, folder in enumerate(folders):
        folder.mkdir()
        write(folder, lines(0, 400 + index))
    cache = ColumnCache(tmp_path / "cache")
    command = [sys.executable, "-c", READER, str(cache.folder), *map(str, folders)]
    both = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for process in both:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    outputs = [process.communicate("go\n", timeout=60)[0].split() for process in both]
    expected = [sum(i / 7 for i in range(400 + index)) for index in range(12)]
    for output in outputs:
        assert [float(number) for number in output] == pytest.approx(expected)
    assert sorted(path.suffix for path in cache.folder.iterdir()) == [".columns"] * 12
    for folder in folders:
        assert_true(read(RunColumns(folder, cache)), folder)
