"""Faults stay in their lane: real arenas, with environments and operators that misbehave on demand."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import psutil
import pytest
from arenas.comparison_fixtures import Compare, states
from support import let_sigint_through, marked_processes, wait_until

from mosaic_lab import operators
from mosaic_lab.arenas import Comparison
from mosaic_lab.errors import RunFailed, RunTimeout
from mosaic_lab.overview.index import RunIndex
from mosaic_lab.runs.run import Run
from mosaic_lab.widgets.comparison.page_state import page_state

pytestmark = pytest.mark.usefixtures("odd_home")


def odd(behaviour: str = "", **settings: Any) -> operators.OperatorSpec:
    return operators.worker("odd", behaviour=behaviour, **settings)


def three(
    start: Compare, tmp_path: Path, trouble: str, step_timeout: float = 300, **settings: Any
) -> Comparison:
    """Start three lanes; ``trouble`` occurs once, in the first lane to reach it."""
    all_settings = {"trouble": trouble, "once": str(tmp_path / "once"), **settings}
    return start(
        "Odd-v0", {name: odd() for name in "abc"}, env_kwargs=all_settings, step_timeout=step_timeout
    )


def test_a_lane_whose_environment_cannot_be_built(start_comparison: Compare, tmp_path: Path) -> None:
    comparison = three(start_comparison, tmp_path, "unbuildable")
    failed = [one for one in comparison.lanes if one.state == "failed"]
    assert len(failed) == 1
    assert failed[0].reason.endswith("RuntimeError: the environment could not be built")
    assert "in make" in failed[0].log
    comparison.step(4)
    assert sorted(states(comparison)) == [("failed", 0), ("ready", 4), ("ready", 4)]
    assert failed[0].folder is not None
    wait_until(lambda: Run(failed[0].folder).state == "failed")
    comparison.restart(failed[0])
    assert states(comparison) == [("ready", 4)] * 3
    comparison.step()
    assert states(comparison) == [("ready", 5)] * 3


def test_when_no_environment_can_be_built_the_error_is_raised(
    start_comparison: Compare, tmp_path: Path
) -> None:
    with pytest.raises(RunFailed) as caught:
        start_comparison("Odd-v0", {"a": odd(), "b": odd()}, env_kwargs={"trouble": "unbuildable"})
    assert str(caught.value).startswith("every lane has failed\n\na, b: Odd-v0 cannot be made: RuntimeError")
    assert not marked_processes(tmp_path)


def test_an_environment_that_raises_in_step(start_comparison: Compare, tmp_path: Path) -> None:
    comparison = three(start_comparison, tmp_path, "raise", at=3)
    comparison.play()
    comparison.wait(60)
    assert sorted(states(comparison)) == [("failed", 2), ("finished", 20), ("finished", 20)]
    failed = next(one for one in comparison.lanes if one.state == "failed")
    assert failed.reason.endswith("RuntimeError: the environment broke")
    assert "in step" in failed.log
    comparison.reset()  # its arena is alive, so the lane resets too
    assert states(comparison) == [("ready", 0)] * 3


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        ("die", "bad was killed by signal 9 (SIGKILL)"),
        ("illegal", "17 is not an action from 0 to 1"),
        ("refuse", "I do not want"),
        ("spend", "the budget of $2.00 is spent: $1.98 in 412 calls"),
    ],
)
def test_an_operator_that_fails(start_comparison: Compare, behaviour: str, said: str) -> None:
    comparison = start_comparison("Odd-v0", {"a": odd(), "bad": odd(behaviour), "c": odd()})
    comparison.step(5)
    bad = comparison.lanes[1]
    assert bad.state == "failed"
    assert said in bad.reason
    if behaviour == "die":
        assert bad.log == "goodbye, cruel world"
        comparison.reset()  # does not restart a dead operator
        assert states(comparison) == [("ready", 0), ("failed", 2), ("ready", 0)]
        comparison.restart("bad")
        assert states(comparison) == [("ready", 0)] * 3


def test_what_a_model_writes_is_there_while_it_writes(start_comparison: Compare, tmp_path: Path) -> None:
    finished = tmp_path / "finished"
    comparison = start_comparison("Odd-v0", {"a": odd("write", at=1, finished=str(finished)), "b": odd()})
    lane = comparison.lanes[0]
    comparison.step(timeout=0)
    wait_until(lambda: lane.progress.partial)
    assert lane.progress.partial == {"agent_0": "I could go on"}
    finished.touch()
    comparison.wait(30)
    assert (lane.progress.partial, lane.step) == ({}, 1)
    (move,) = lane.progress.moves
    assert move["exchanges"] == [{"prompt": "go on?", "answer": "I could go on", "cost_usd": None}]
    assert move["fault_text"].startswith("a message to 'all' was not delivered: there are no other agents")


def test_an_arena_that_dies(start_comparison: Compare, tmp_path: Path) -> None:
    comparison = start_comparison("Odd-v0", {"a": odd(), "b": odd(), "c": odd()})
    comparison.step(6)
    dead = comparison.lanes[1]
    assert dead.arena is not None
    family = [psutil.Process(dead.arena.pid), *psutil.Process(dead.arena.pid).children(recursive=True)]
    assert len(family) == 2
    family[0].kill()
    wait_until(lambda: dead.state == "failed")
    assert dead.reason == "its arena was killed by signal 9 (SIGKILL)"
    wait_until(lambda: not any(one.is_running() for one in family))
    comparison.restart(1)
    assert states(comparison) == [("ready", 6)] * 3
    assert [path.name for path in dead.folders] == ["1-b", "1-b.2"]
    assert Run(dead.folders[0]).state == "failed"
    assert list(comparison.steps("b")["step_index"]) != []


def test_an_environment_that_hangs_in_step(start_comparison: Compare, tmp_path: Path) -> None:
    comparison = three(start_comparison, tmp_path, "hang", at=2)
    comparison.step()
    with pytest.raises(RunTimeout, match="waiting for"):
        comparison.step(timeout=0.3)
    hung = next(one for one in comparison.lanes if one.state == "stepping")
    wait_until(lambda: comparison.view()["lanes"][hung.index]["thinking"])
    shown = page_state(comparison.view(), ended=False, early={})["lanes"][hung.index]
    assert re.fullmatch(r"no step for [\d.]+ s, waiting for the environment", shown["thinking"])
    comparison.restart(hung)
    comparison.wait(30)
    comparison.step()
    assert states(comparison) == [("ready", 3)] * 3


def test_an_environment_that_hangs_fails_its_lane(start_comparison: Compare, tmp_path: Path) -> None:
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        comparison = three(start_comparison, tmp_path, "hang", step_timeout=1, at=1)
        comparison.step()
    failed = next(one for one in comparison.lanes if one.state == "failed")
    assert failed.reason == "the environment's step took longer than 1 s (step_timeout)"
    assert "time.sleep(3600)" in failed.log
    assert sorted(states(comparison)) == [("failed", 0), ("ready", 1), ("ready", 1)]
    wait_until(lambda: failed.folder and Run(failed.folder).state == "failed")
    comparison.restart(failed)
    assert states(comparison) == [("ready", 1)] * 3


def test_stopping_does_not_wait_for_operators(start_comparison: Compare, tmp_path: Path) -> None:
    lanes = {"hangs": odd("hang", at=1), "you": operators.human(), "fine": odd()}
    comparison = start_comparison("Odd-v0", lanes)
    comparison.step(timeout=0)
    wait_until(lambda: comparison.lanes[2].step == 1)
    began = time.monotonic()
    comparison.stop()
    assert time.monotonic() - began < 15
    assert not marked_processes(tmp_path)
    assert states(comparison) == [("stopped", 0), ("stopped", 0), ("stopped", 1)]


def test_a_hundred_resets_leave_no_trace(start_comparison: Compare) -> None:
    comparison = start_comparison("Odd-v0", {"a": odd(), "b": odd(), "mine": lambda observation: 1})
    everybody = psutil.Process().children(recursive=True)

    def held() -> dict[int, tuple[int, int]]:
        found = {one.pid: (one.num_fds(), one.memory_info().rss) for one in everybody}
        me = psutil.Process()
        return found | {me.pid: (me.num_fds(), me.memory_info().rss)}

    def play(times: int) -> None:
        for _ in range(times):
            comparison.step(2)
            comparison.reset()

    play(20)
    threads, before = psutil.Process().num_threads(), held()
    play(100)
    after = held()
    assert set(psutil.Process().children(recursive=True)) == set(everybody)
    assert psutil.Process().num_threads() <= threads
    for pid, (handles, memory) in after.items():
        assert handles <= before[pid][0]
        assert memory < before[pid][1] + (4 << 20)


def test_restarted_lanes_and_ended_comparisons_leave_no_trace(start_comparison: Compare) -> None:
    me = psutil.Process()

    def held() -> tuple[int, int, int]:
        return me.num_fds(), me.num_threads(), len(me.children(recursive=True))

    def compare_once() -> None:
        comparison = start_comparison("Odd-v0", {"a": odd(), "mine": lambda observation: 1})
        for lane_number in (0, 1):
            comparison.restart(lane_number)
            comparison.step()
        comparison.stop()

    compare_once()
    names = ("mosaic-comparison", "mosaic-operators")
    wait_until(lambda: not any(thread.name in names for thread in threading.enumerate()))
    first = held()
    for _ in range(4):
        compare_once()
    wait_until(lambda: all(now <= then for now, then in zip(held(), first, strict=True)))


# ------------------------------------------------------------------ kernels that end

SCRIPT = """
import sys
import mosaic_lab as mosaic
from mosaic_lab import operators
odd = lambda **settings: operators.worker("odd", **settings)
lab = mosaic.Lab(sys.argv[1])
comparison = lab.compare(
    env="Odd-v0",
    operators={"a": odd(), "slow": odd(behaviour="slow", at=1, seconds=0.05), "mine": lambda observation: 1},
    seeds=[1],
    env_kwargs={"length": 100000},
)
comparison.play()
print("playing", flush=True)
input()
"""


def kernel(tmp_path: Path, then: str) -> subprocess.Popen[str]:
    """Start a process with a playing comparison, which then runs the code ``then``."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT + textwrap.dedent(then), str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=let_sigint_through,
    )
    assert process.stdin is not None and process.stdout is not None
    assert process.stdout.readline() == "playing\n"
    assert len(marked_processes(tmp_path)) == 5
    process.stdin.write("go on\n")
    process.stdin.flush()
    return process


def test_a_killed_kernel_leaves_no_process(tmp_path: Path) -> None:
    process = kernel(tmp_path, "comparison.wait()")
    folders = sorted((tmp_path / "comparisons").glob("*/*/"))
    assert [Run(folder).state for folder in folders] == ["running"] * 3
    process.kill()
    process.communicate()
    wait_until(lambda: not marked_processes(tmp_path), timeout=10)
    assert [Run(folder).state for folder in folders] == ["lost"] * 3


def test_a_kernel_that_ends_takes_its_lanes_with_it(tmp_path: Path) -> None:
    process = kernel(tmp_path, "raise RuntimeError('a mistake')")
    began = time.monotonic()
    process.communicate(timeout=60)
    assert time.monotonic() - began < 15
    assert not marked_processes(tmp_path)
    folders = (tmp_path / "comparisons").glob("*/*/")
    assert {(str(Run(folder).state), Run(folder).reason) for folder in folders} == {
        ("cancelled", "its kernel ended")
    }
    [row] = RunIndex(tmp_path).changes(0)[1]
    assert (row.state, row.reason) == ("cancelled", "3 lanes; ended with its kernel")


def test_interrupting_leaves_the_comparison_usable(tmp_path: Path) -> None:
    then = """
    comparison.pause()
    comparison.wait(30)
    before = comparison.lanes[0].step
    def report():
        if comparison.lanes[0].step > before + 2:
            unsubscribe()
            print("stepping", flush=True)
    unsubscribe = comparison.on_change(report)
    try:
        comparison.step(10**6, timeout=1000)
    except KeyboardInterrupt:
        comparison.wait(30)
        at = comparison.lanes[0].step
        comparison.step(2)
        assert [lane.step for lane in comparison.lanes] == [at + 2] * 3, comparison
        print("usable", flush=True)
    """
    process = kernel(tmp_path, then)
    assert process.stdout is not None
    assert process.stdout.readline() == "stepping\n"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert (out, process.returncode) == ("usable\n", 0)
    assert not marked_processes(tmp_path)
