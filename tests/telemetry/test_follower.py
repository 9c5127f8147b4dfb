"""Following a file that another process writes: torn lines, deletion and truncation, in bounded reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic_lab.telemetry import JsonlFollower


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "telemetry.jsonl"


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_lines_arrive_once_and_in_order(path: Path) -> None:
    follower = JsonlFollower(path)
    append(path, b"one\ntwo\n")
    assert follower.poll() == [b"one", b"two"]
    assert follower.poll() == []
    append(path, b"three\n")
    assert follower.poll() == [b"three"]
    assert follower.health.lines == 3


def test_a_torn_last_line_waits_for_its_end(path: Path) -> None:
    follower = JsonlFollower(path)
    append(path, b'one\n{"half')
    assert follower.poll() == [b"one"]
    assert follower.poll() == []
    append(path, b' way": 1}\n')
    assert follower.poll() == [b'{"half way": 1}']


def test_one_poll_reads_a_bounded_amount_and_says_that_there_is_more(path: Path) -> None:
    follower = JsonlFollower(path)
    append(path, b"0123456789\n" * 1000)
    first = follower.poll(max_bytes=110)
    assert len(first) == 10
    assert follower.behind
    rest = 0
    while follower.behind:
        rest += len(follower.poll(max_bytes=1100))
    assert rest == 990


def test_a_deleted_file_is_read_to_its_end_and_reported(path: Path) -> None:
    follower = JsonlFollower(path)
    append(path, b"one\n")
    assert follower.poll() == [b"one"]
    append(path, b"two\n")
    path.unlink()
    assert follower.poll() == [b"two"]
    assert follower.poll() == []
    assert follower.missing


def test_a_file_cut_short_is_read_from_its_start(path: Path) -> None:
    follower = JsonlFollower(path)
    append(path, b"a long first line\nand a torn")
    follower.poll()
    path.write_bytes(b"new\n")
    assert follower.poll() == [b"new"]
    assert follower.health.replaced == 1
