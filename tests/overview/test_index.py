"""Index of a run store: a row per run, changes since a version, and a bounded cost."""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from many_runs import write_runs
from overview.run_folders import START, append, metrics, run_in
from support import start_peer, wait_until

from mosaic_lab.keeper import files, locks
from mosaic_lab.keeper.processes import place, start_time
from mosaic_lab.keeper.run_store import COMPARISONS, write_json
from mosaic_lab.keeper.states import Outcome, RunStatus, State, queued
from mosaic_lab.overview.index import RunIndex
from mosaic_lab.overview.rows import RunRow
from mosaic_lab.runs import Run, Supervisor
from mosaic_lab.telemetry.column_cache import users_cache
from mosaic_lab.widgets.runs.run_view import RunView

ROOT = Path(__file__).parents[2]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    write_runs(tmp_path / "mosaic_runs", 40, points=60)
    return tmp_path / "mosaic_runs"


def until(index: RunIndex, condition: Callable[[dict[str, RunRow]], bool]) -> dict[str, RunRow]:
    """Wait until the rows, by id, meet the condition; return them."""
    rows: dict[str, RunRow] = {}

    def look() -> bool:
        rows.update((row.id, row) for row in index.changes(0)[1])
        return condition(rows)

    wait_until(look)
    return rows


def test_every_run_has_a_row_at_once_and_its_returns_soon(store: Path) -> None:
    index = RunIndex(store)
    version, rows, removed = index.changes(0)
    assert len(rows) == 40 and not removed and version > 0
    assert [row.id for row in rows] == sorted(row.id for row in rows), "not oldest first"
    found = until(index, lambda rows: all(row.sparkline for row in rows.values()))
    run = Run(store / rows[-1].id)
    values = run.metrics("episode_return")["value"].to_numpy()
    row = found[run.id]
    means = np.convolve(values, np.ones(20) / 20, "valid")
    assert row.last_return == pytest.approx(means[-1]) == pytest.approx(run.recent_return)
    assert row.best_return == pytest.approx(means.max())
    assert len(row.sparkline) == 40 and row.sparkline[-1] == pytest.approx(values[-1], abs=0.1)
    assert (row.state, row.progress, row.step, row.total_steps) == ("completed", 1.0, 6000, 6000)
    assert row.speed == pytest.approx(6000 / row.duration) if row.duration else False
    view = RunView(run, "", "")
    view.catch_up()
    seen = (view.feed.returns.last, view.feed.returns.best, view.speed())
    assert seen == (row.last_return, row.best_return, row.speed), "panel and table differ"
    assert row.hyperparameters["learning_rate"] > 0 and row.name == run.label
    failed = next(row for row in found.values() if row.state == "failed")
    assert failed.progress == 0.5 and "the loss is not finite" in failed.reason
    assert index.changes(index.changes(0)[0])[1:] == ([], []), "changes without a change"


def test_a_live_run_is_followed_to_its_end(supervisor: Supervisor) -> None:
    index = RunIndex(supervisor.store.root)
    assert index.changes(0) == (0, [], [])
    run = start_peer(supervisor, "train", pause=0.05, total_timesteps=10**6)
    until(index, lambda rows: run.id in rows and rows[run.id].state == "running")
    version = index.changes(0)[0]
    assert index.changes(0)[1][0].alive
    run.stop()
    wait_until(lambda: any(row.state == "cancelled" for row in index.changes(version)[1]))
    assert not index.changes(0)[1][0].alive and index.changes(0)[1][0].ended


def test_runs_come_go_and_are_renamed(store: Path) -> None:
    index = RunIndex(store)
    until(index, lambda rows: all(row.sparkline for row in rows.values()))
    version, rows, _ = index.changes(0)
    gone, renamed = rows[3].id, Run(store / rows[5].id)
    shutil.rmtree(store / gone)
    renamed.name, renamed.tags = "<b>baseline</b>", ["paper"]
    new = write_runs(store, 41, points=10, seed=1)[-1]
    found = until(index, lambda rows: new.name in rows and rows[renamed.id].tags == ("paper",))
    assert found[renamed.id].name == "<b>baseline</b>"
    _, changed, removed = index.changes(version)
    assert removed == [gone] and {renamed.id, new.name} <= {row.id for row in changed}
    assert index.changes(0)[2] == [], "removals sent to a new reader"
    assert len(index.changes(10**9)[1]) == len(index.changes(0)[1]), "an unknown version lacks rows"


def test_a_large_store_is_read_once_for_all_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mosaic_lab.overview.index.READ_SECONDS", 60.0)
    store = tmp_path / "mosaic_runs"
    same, renamed, gone, resumed = (folder.name for folder in write_runs(store, 101, points=2)[:4])

    def rows() -> dict[str, RunRow]:
        return {row.id: row for row in RunIndex(store).changes(0)[1]}

    def change_unnoticed(name: str) -> None:
        path = store / name / "launch.json"
        path.write_text(path.read_text().replace("cleanrl ppo", "tianshou 99"))
        os.utime(path, (0, 0))

    for path in store.glob("*/*"):
        os.utime(path, (0, 0))
    former = rows()
    change_unnoticed(same), change_unnoticed(renamed)
    Run(store / renamed).name = "baseline"
    shutil.rmtree(store / gone)
    again = replace(queued("starting", START), earlier_seconds=former[resumed].duration or 0.0)
    write_json(store / resumed / "state.json", again.moved_to(State.RUNNING, "", START).to_dict())
    keeper = locks.take(store / resumed / "keeper.lock")  # as if the run was resumed in its folder
    assert keeper is not None
    found = rows()
    assert found[same] == former[same], "a row with unchanged timestamps was read again"
    assert (found[renamed].name, gone in found) == ("baseline", False)
    assert found[renamed].label.startswith("tianshou 99"), "a changed row was not read again"
    assert len(found) == 100
    row = found[resumed]
    assert (row.state, row.alive, row.earlier_seconds) == ("running", True, former[resumed].duration)
    os.close(keeper)
    with monkeypatch.context() as confined:
        confined.setattr(files, "_root", tmp_path)
        assert rows()[same].label.startswith("tianshou 99"), "the shared cache was used"
    for path in users_cache("rows").iterdir():
        path.write_bytes(b"damaged")
    assert rows()[same].label.startswith("tianshou 99")


def test_a_comparison_whose_kernel_was_killed_has_not_completed(tmp_path: Path) -> None:
    folder = tmp_path / COMPARISONS / "20261001-120000-CartPole-v1-abcd"
    run_in(folder / "0-PPO", [], state=State.RUNNING)  # its end was not recorded
    run_in(folder / "1-random", [], state=State.COMPLETED)
    [row] = RunIndex(tmp_path).changes(0)[1]
    assert (row.state, row.reason) == ("cancelled", "2 lanes; ended with its kernel")
    run_in(folder / "0-PPO", [], state=State.COMPLETED)
    [row] = RunIndex(tmp_path).changes(0)[1]
    assert (row.state, row.reason) == ("completed", "2 lanes")


def test_a_store_may_not_be_there_yet_or_any_more(tmp_path: Path) -> None:
    root = tmp_path / "mosaic_runs"
    index = RunIndex(root)
    assert index.changes(0) == (0, [], [])
    write_runs(root, 2, points=2)
    version, rows, _ = index.changes(0)
    assert len(rows) == 2
    shutil.rmtree(root)
    assert sorted(index.changes(version)[2]) == sorted(row.id for row in rows)
    assert index.changes(0)[1] == []


def test_values_that_json_cannot_hold_are_not_in_a_row(store: Path) -> None:
    folder = write_runs(store, 41, points=4, seed=3)[-1]
    lines = (
        (folder / "telemetry.jsonl")
        .read_text()
        .replace('"episode_return": ', '"episode_return": "NaN", "x": ')
    )
    (folder / "telemetry.jsonl").write_text(lines)
    rows = until(RunIndex(store), lambda rows: all(row.step for row in rows.values()))
    row = rows[folder.name]
    assert (row.best_return, row.sparkline) == (None, ())
    assert row.last_return == Run(folder).recent_return, "not from the episodes"
    for row in rows.values():
        assert all(math.isfinite(one) for one in row.sparkline)


def test_the_page_names_the_same_fields() -> None:
    text = (ROOT / "js" / "src" / "shared" / "run-api.ts").read_text()
    interface = text.split("export interface RunRow {")[1].split("\n}")[0]
    named = [line.strip().removeprefix("readonly ").split(":")[0] for line in interface.splitlines()]
    assert sorted(name for name in named if name.isidentifier()) == sorted(one.name for one in fields(RunRow))


def test_lost_runs_cost_a_list_little_more_than_others(tmp_path: Path) -> None:
    """A lost run may have processes left; one search finds the processes of all lost runs."""
    seconds = []
    for root in (tmp_path / "ended", tmp_path / "lost"):
        for folder in write_runs(root, 300, points=1):
            if root.name == "lost":
                (folder / "state.json").write_text("{")
        begun = time.process_time()
        assert len(RunIndex(root).changes(0)[1]) == 300
        seconds.append(time.process_time() - begun)
    assert seconds[1] < 4 * seconds[0], "one search per run costs more than ten times as much"


def test_the_speed_of_a_live_run_is_that_of_its_last_seconds_in_the_table_and_in_the_panel(
    tmp_path: Path,
) -> None:
    lines = [metrics(10 * i, i, episode_return=i) for i in range(60)]
    lines += [metrics(590 + 300 * i, 59 + i, episode_return=i) for i in range(1, 30)]
    run = run_in(tmp_path / "run", lines, state=State.RUNNING)
    append(run.path, [metrics(0, 80, **{"system/cpu_percent": 1.0})], "system.jsonl")
    status = RunStatus(
        State.RUNNING, "", 0.0, keeper_pid=os.getpid(), keeper_started=start_time(os.getpid()), place=place()
    )
    write_json(run.folder.state_path, status.to_dict())
    row = until(RunIndex(tmp_path), lambda rows: rows["run"].speed is not None)["run"]
    view = RunView(run, "", "")
    view.catch_up()
    assert row.speed == view.speed() == pytest.approx(300)
    assert row.step == view.feed.step == 590 + 300 * 29


@pytest.mark.parametrize(("checkpoint", "speed"), [("c", 100), ("step-99000.pt", 200)])
def test_a_run_that_continues_is_as_fast_as_the_steps_that_it_trained_itself(
    tmp_path: Path, checkpoint: str, speed: int
) -> None:
    source = tmp_path / "20260101-000000-toy-ppo-E-s1-abcd"
    resumed = {"resume_from": str(source / "checkpoints" / checkpoint)}
    lines = [metrics(100_000 + 100 * i, i, episode_return=1) for i in range(11)]
    run = run_in(tmp_path / "run", lines, config={"checkpoint": resumed})
    status = RunStatus(State.COMPLETED, "", 0.0, outcome=Outcome(duration_seconds=10.0))
    write_json(run.folder.state_path, status.to_dict())
    row = until(RunIndex(tmp_path), lambda rows: rows["run"].last_return is not None)["run"]
    view = RunView(Run(run.folder), "", "")
    view.catch_up()
    assert row.speed == view.speed() == pytest.approx(speed)


def test_what_is_counted_in_parts_has_neither_steps_nor_their_speed(tmp_path: Path) -> None:
    lines = [metrics(done, 60 * done, value=1.0) for done in range(1, 5)]
    run_in(tmp_path / "sweep", lines, config={"total_trials": 10}, worker="sweep")
    append(tmp_path / "sweep", [metrics(0, 5, **{"system/cpu_percent": 1.0})], "system.jsonl")
    index = RunIndex(tmp_path)
    until(index, lambda rows: index.changes(index.changes(0)[0])[1:] == ([], []))
    [row] = index.changes(0)[1]
    assert (row.step, row.speed) == (None, None)
