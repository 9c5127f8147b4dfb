"""`lab.runs`: searching by name, tags and notes, and the table of runs for pandas."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from many_runs import write_runs
from support import store

import mosaic_lab as mosaic
from mosaic_lab.errors import ConfigurationError, UnknownRun
from mosaic_lab.keeper.run_store import write_json
from mosaic_lab.run_list import RunList
from mosaic_lab.widgets.runs.run_view import RunView


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[mosaic.Lab]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with store(tmp_path / "runs"):
        write_runs(tmp_path / "runs", 20, points=30)
        yield mosaic.Lab(tmp_path / "runs", max_running=4)


def test_metrics_of_ended_runs_leave_no_file_open(lab: mosaic.Lab) -> None:
    runs, before = list(lab.runs), psutil.Process().num_fds()
    assert all(len(run.metrics("episode_return")) >= 15 for run in runs)
    assert psutil.Process().num_fds() <= before


def test_runs_are_found_by_name_tags_and_words(lab: mosaic.Lab) -> None:
    first, second, third, *_ = lab.runs
    first.name, first.tags, first.notes = "Baseline", ["paper", "v1"], "with the *small* net"
    second.tags = ["paper"]
    assert list(lab.runs.search(tags=["paper"])) == [first, second]
    assert list(lab.runs.search("SMALL cartpole", tags=["paper"])) == [first]
    assert list(lab.runs.search("failed")) == [run for run in lab.runs if run.state == "failed"]
    second.notes = "take 7"
    assert list(lab.runs.search("take 7")) == [second], "a number matches as a word, not inside ids"
    assert isinstance(lab.runs.search("x"), RunList) and len(lab.runs.search()) == 20
    assert repr(lab.runs.search("nowhere")) == "no such runs"
    with pytest.raises(ConfigurationError, match="must be a list"):
        lab.runs.search(tags="paper")
    with pytest.raises(ConfigurationError, match="must be one string"):
        lab.runs.search(["paper"])  # type: ignore[arg-type]
    for compared in ("lr<0.001", "lr < 0.001"):
        with pytest.raises(ConfigurationError, match=f"not values such as '{compared}'"):
            lab.runs.search(f"cartpole {compared}")
    for field, answer in {
        "state:failed": "search for 'failed' alone",
        "state:faild": "no run has the state 'faild'; did you mean 'failed'?",
        "env:cartpole-v1": "search for 'CartPole-v1' alone",
    }.items():
        with pytest.raises(ConfigurationError, match=re.escape(f"finds words, not '{field}'")) as refused:
            lab.runs.search(f"ppo {field}")
        assert answer in str(refused.value)
    started = time.strftime("%Y-%m-%d %H:%M", time.localtime(second.created))
    for shown in (repr(lab.runs), lab.runs._repr_html_()):
        assert "Baseline" in shown and "paper, v1" in shown, "the list shows names and tags"
        assert second.label in shown and started in shown
    assert "tags" not in repr(lab.runs[5:]), "empty columns are left out"

    assert lab.run("Baseline") == first
    third.name = "Baseline"
    with pytest.raises(UnknownRun, match="'Baseline' is the name of 2 runs"):
        lab.run("Baseline")
    third.name = second.id
    assert lab.run(second.id) == second, "an id takes precedence over a name"
    for unknown, answer in [("baselin", "newest: .*; did you mean 'Baseline'"), ("", "newest")]:
        with pytest.raises(UnknownRun, match=answer):
            lab.run(unknown)
    with pytest.raises(UnknownRun, match="no run 5: give its id or its name as a string"):
        lab.run(5)  # type: ignore[arg-type]
    group = next(run.group for run in lab.runs if run.group)
    with pytest.raises(UnknownRun, match=rf"It is a group: lab\.group\('{group}'\)"):
        lab.run(group)
    lane = lab.root / "comparisons" / "20261126-120000-x7k2" / "lane-1"
    lane.mkdir(parents=True)
    write_json(lane / "config.json", {"env_id": "CartPole-v1"})
    for name in ("comparison CartPole-v1", "x7k2", lane.parent.name):
        with pytest.raises(UnknownRun, match=f"It is a comparison, .* recorded in {lane.parent}"):
            lab.run(name)


def test_a_run_is_one_line_of_a_text_whatever_its_reason(lab: mosaic.Lab) -> None:
    path = lab.runs[7].path / "state.json"
    state = json.loads(path.read_bytes())
    write_json(path, {**state, "reason": "ValueError: too hot\nfirst here\nthen there"})
    shown = repr(lab.runs)
    assert "ValueError: too hot …" in shown and "first here" not in shown
    assert len(shown.splitlines()) == 21


def test_every_view_of_a_run_has_its_last_reported_step_and_its_speed(lab: mosaic.Lab) -> None:
    for run in lab.runs[:2]:
        event = {"run_id": run.id, "timestamp": time.time()}
        saved = {"event": "checkpoint_saved", **event, "payload": {"checkpoint_path": "last", "step": 3050}}
        speed = {"event": "metrics", **event, "payload": {"metrics": {"steps_per_second": 710.0}}}
        with run.folder.telemetry_path.open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in (speed, saved))
    views = [RunView(run, "", "") for run in lab.runs[:2]]
    for view in views:
        view.catch_up()
    for _ in ("read", "cached"):
        shown = [*lab.runs[:2].table()["step"], *(view.feed.step for view in views)]
        assert shown == [3050] * 4 == [run.step for run in lab.runs[:2]] * 2
    table = lab.runs[:2].table()
    assert [view.speed() for view in views] == table["speed"].to_list()
    assert "metrics.steps_per_second" not in table.columns, "the metric duplicates the speed column"


def test_the_table_has_a_row_a_run_for_pandas(lab: mosaic.Lab) -> None:
    runs = lab.runs
    runs[0].name, runs[0].tags = "one", ["paper"]
    git = {"commit": "abc", "dirty": True}
    write_json(runs[0].folder.provenance_path, {"git": git, "environment": {"python": "3.12"}})
    runs[3].folder.config_path.write_text("{")
    runs[4].folder.config_path.write_text('{"seed": 1' + "0" * 40 + "}")
    nested = {"net_arch": [64, 64], "env_kwargs": {"gravity": -1.6}}
    config = json.loads(runs[2].folder.config_path.read_text())
    write_json(runs[2].folder.config_path, {**config, "hyperparameters": config["hyperparameters"] | nested})
    table = lab.runs.table()
    assert list(table["id"]) == [run.id for run in runs]
    assert list(table.columns[:3]) == ["id", "name", "kind"]
    row = table.iloc[0]
    assert (row["name"], row["tags"]) == ("one", ("paper",))
    assert (row["state"], row["kind"]) == ("completed", "training")
    assert row["params.gamma"] == 0.99 and row["params.batch_size"] == runs[0].hyperparameters["batch_size"]
    assert table["params.net_arch"][2] == (64, 64) and table["params.env_kwargs.gravity"][2] == -1.6
    assert table.filter(like="params.").nunique().all(), "pandas can group by every hyperparameter"
    assert row["last_return"] == pytest.approx(runs[0].recent_return)
    assert row["metrics.episode_return"] == runs[0].metrics("episode_return")["value"].iloc[-1]
    assert (row["git_commit"], row["git_dirty"], row["python"]) == ("abc", True, "3.12")
    assert table["seed"].dtype == table["step"].dtype == "Int64" and table["seed"][3:5].isna().all()
    assert str(table["ended"].dtype).endswith("UTC]")
    assert (table["ended"] - table["started"]).dt.total_seconds().iloc[0] == pytest.approx(row["duration"])
    means = table.groupby(["env", "params.learning_rate"])["last_return"].mean()
    assert means.notna().all() and len(means) == 4
    order = [name.split(".")[0] for name in table.columns if "." in name]
    assert order == sorted(order, reverse=True), "hyperparameter columns precede metrics"


def test_the_recent_return_of_a_run_without_a_metric_of_it_is_that_of_its_episodes(lab: mosaic.Lab) -> None:
    run = lab.runs[0]
    by_metric, telemetry = pytest.approx(run.recent_return), run.folder.telemetry_path
    lines = telemetry.read_text().splitlines(keepends=True)
    telemetry.write_text("".join(line for line in lines if "metrics" not in line))
    view = RunView(run, "", "")
    view.catch_up()
    table = lab.runs.table()
    assert run.recent_return == by_metric
    assert view.feed.last_return == by_metric, "panels and the table agree"
    assert table.loc[table["id"] == run.id, "last_return"].item() == by_metric


@pytest.mark.usefixtures("toy")
def test_other_kinds_of_runs_and_no_runs_have_a_table_too(tmp_path: Path) -> None:
    with store(tmp_path / "other"):
        lab = mosaic.Lab(tmp_path / "other")
        assert len(lab.runs.table()) == 0 and "last_return" in lab.runs.table().columns
        run: Any = lab.train("toy", algorithm="walk", env="Hill-v0", total_timesteps=20)
        run.wait(60)
        one = RunList([run]).table().iloc[0]
    assert one["metrics.height"] == 9.5 and math.isnan(one["last_return"])
    assert one["params.learning_rate"] == 0.5 and one["worker_version"] == "0.1"
