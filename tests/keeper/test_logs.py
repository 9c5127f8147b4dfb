"""Logs of runs and operators are bounded in size; old comparisons of a store are deleted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from arenas.comparison_fixtures import Compare
from evaluation.evaluation_fixtures import Evaluate, odd
from support import start_peer, store, wait_until

from mosaic_lab import operators
from mosaic_lab.arenas.comparison import MAX_KEPT
from mosaic_lab.keeper import logs

WRITER = """
import sys, time
for number in range(int(sys.argv[1])):
    sys.stderr.write(f"line {number} " + 1000 * "x" + "\\n")
sys.stderr.write("the last line\\n")
"""


def size_of(path: Path) -> int:
    return path.stat().st_size


def is_cut(log: Path) -> bool:
    return "dropped here" in log.read_text()[:80] and size_of(log) <= logs.LIMIT


def test_all_that_was_dropped_is_counted(tmp_path: Path) -> None:
    log, written = tmp_path / "worker.log", 3 * (logs.LIMIT + 1_000)
    log.write_bytes(b"")
    for _ in range(3):
        with log.open("ab") as stderr:
            stderr.write(1_000 * b"x" + b"\n" + (logs.LIMIT - 1) * b"y")
        logs.cut(log)
    megabytes = int(log.read_text()[1:].split()[0])
    assert abs(megabytes - (written - size_of(log)) / 1e6) < 3


def test_the_beginning_goes_and_the_end_stays(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    logs.cut(log)
    assert not log.exists()
    log.write_bytes(b"small\n")
    logs.cut(log)
    assert log.read_bytes() == b"small\n"
    with log.open("ab") as stderr:
        subprocess.run([sys.executable, "-c", WRITER, "40000"], stderr=stderr, check=True)
        whole = size_of(log)
        assert whole > logs.LIMIT
        logs.cut(log)
        stderr.write(b"and one more\n")
    lines = log.read_text().splitlines()
    assert lines[0] == f"[{(whole - logs.KEPT) / 1e6:,.0f} MB of older lines were dropped here]"
    assert lines[1].startswith("line ") and len(lines[1]) > 1000, "the first line kept must be complete"
    assert lines[-2:] == ["the last line", "and one more"]
    assert size_of(log) <= logs.KEPT + 1000


def test_a_line_that_comes_again_and_again_is_counted(tmp_path: Path) -> None:
    log, bounded = tmp_path / "worker.log", logs.BoundedLog()
    around = [f"episode {number}: return {number}" for number in range(200)]
    for times in (20_000, 50_000):
        with log.open("a") as file:
            file.write("the first line\n" if file.tell() == 0 else "later\n")
            for number in range(times):
                seconds = f"{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}"
                file.write(
                    f"2026-01-02 {seconds},123 WARNING pid={number} no samples; increase the timeout\n"
                )
                file.write("  in step\n")
            file.write("\n".join(around) + "\n")
        bounded.bound(log)
    text = log.read_text()
    assert len(text) < logs.FOLDED_FROM / 10
    lines = text.splitlines()
    assert lines[0] == "the first line" and "later" in lines
    assert lines[-200:] == around and text.count(around[7]) == 2, "distinct lines must all be kept"
    marks = [line for line in lines if "more times" in line]
    assert marks == [f"[the line above came {70_000 - 20:,} more times]"] * 2
    assert text.count("no samples") == 20


def test_a_run_that_prints_without_end(tmp_path: Path) -> None:
    with store(tmp_path) as supervisor:
        run = start_peer(supervisor, "shout")
        wait_until(lambda: run.state == "running")
        wait_until(lambda: is_cut(run.folder.log_path))
        run.stop()
        assert run.log(1).endswith("shouted enough")


@pytest.mark.usefixtures("odd_home")
def test_an_operator_that_prints_without_end(start_comparison: Compare, start_evaluation: Evaluate) -> None:
    loud = operators.worker("odd", behaviour="shout", at=1)
    comparison = start_comparison("Odd-v0", {"a": loud})
    comparison.step()
    folder = comparison.lanes[0].folder
    assert folder is not None
    wait_until(lambda: is_cut(folder / "operator-a.log"))
    evaluation = start_evaluation(**odd(operators={"a": loud}, seeds=[1], step_delay=0.1)).wait(60)
    (log,) = evaluation.path.glob("arenas/*/operator-a.log")
    assert is_cut(log)


@pytest.mark.usefixtures("odd_home")
def test_a_store_keeps_the_newest_of_the_comparisons_that_have_ended(
    start_comparison: Compare, tmp_path: Path
) -> None:
    alive = start_comparison("Odd-v0", {"a": operators.worker("odd")})
    folder = alive.lanes[0].folder
    assert folder is not None
    later = [folder.parents[1] / f"20990101-0000{number:02}-Odd-v0-abcd" for number in range(MAX_KEPT + 3)]
    foreign = [folder.parents[1] / name for name in ("my notes", f"best {later[0].name}")]
    for one in (*later, *foreign):
        (one / "0-a").mkdir(parents=True)
        (one / "comparison.json").write_text("{}")
    (folder / "keeper.lock").unlink()
    start_comparison("Odd-v0", {"a": operators.worker("odd")})
    assert folder.exists(), "a comparison with a live lane must stay"
    assert all(one.exists() for one in foreign), "folders that a user added or renamed must stay"
    assert [one.exists() for one in later] == [False] * 3 + [True] * MAX_KEPT
