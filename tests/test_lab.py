"""The user interface in Python: Lab, train, groups over seeds, runs that survive a restart."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import PEERS, at_work, marked_processes, start_peer, wait_until
from worker_fixtures import write_shim

import mosaic_lab as mosaic
from mosaic_lab import workers
from mosaic_lab.errors import ConfigurationError, RunFailed, RunTimeout, UnknownRun
from mosaic_lab.run_list import RunList
from mosaic_lab.runs import Checkpoint, Run, RunGroup
from mosaic_lab.runs.checkpoint_path import checkpoint_path

WALK: dict[str, Any] = {"algorithm": "walk", "env": "Hill-v0", "total_timesteps": 50}


@pytest.mark.usefixtures("toy")
def test_a_training_is_one_call(lab: mosaic.Lab) -> None:
    run = lab.train("toy", **WALK, seed=3, learning_rate=0.25, checkpoint_every=1e3)
    assert isinstance(run, Run)
    assert run.wait(60).state == "completed"
    assert run.config["hyperparameters"] == run.hyperparameters == {"learning_rate": 0.25}
    assert run.config["checkpoint"] == {"every_timesteps": 1000, "resume_from": None}
    assert run.metrics("height")["value"].iloc[-1] == 49 * 0.25
    assert (run.worker, run.seed, run.group) == ("toy", 3, None)
    assert lab.run(run.id) == run
    assert list(lab.runs) == [run]


@pytest.mark.usefixtures("toy")
def test_workers_and_algorithms_have_their_names_in_any_spelling(lab: mosaic.Lab) -> None:
    run = lab.train("Toy_worker", **{**WALK, "algorithm": "W_ALK"})
    assert isinstance(run, Run)
    assert (run.worker, run.config["algorithm"]) == ("toy", "walk")


@pytest.mark.usefixtures("toy")
def test_a_run_knows_upstreams_defaults_and_the_workers_frozen_environment(lab: mosaic.Lab) -> None:
    run = lab.train("toy", **WALK)
    assert isinstance(run, Run)
    assert (run.config["hyperparameters"], run.hyperparameters) == ({}, {"learning_rate": 0.5})
    environment = run.provenance["environment"]
    assert any(line.startswith("somebody-toy-worker") for line in environment["freeze"])
    assert environment["python"].startswith("3.")
    assert environment["source_reason"]


@pytest.mark.usefixtures("toy")
def test_several_seeds_are_a_group(lab: mosaic.Lab) -> None:
    group = lab.train("toy", **WALK, seed=range(3))
    assert isinstance(group, RunGroup)
    assert group.wait(60) is group
    assert [run.seed for run in group] == [0, 1, 2]
    metrics = group.metrics("height")
    assert list(metrics.columns) == ["run", "seed", "step", "timestamp", "name", "value"]
    assert metrics.groupby("seed").size().to_dict() == {0: 50, 1: 50, 2: 50}
    assert len(group[:2]) == 2
    assert group.name is not None
    assert set(mosaic.Lab(lab.root).group(group.name)) == set(group)  # also after a restart
    assert lab.groups[0].name == group.name and set(lab.groups[0]) == set(group)
    assert group.name in repr(lab.groups)
    with pytest.raises(UnknownRun, match=rf"'nobody' .*groups: {group.name}"):
        lab.group("nobody")


def test_an_unknown_group_is_answered_with_those_there_are_nearest_first(lab: mosaic.Lab) -> None:
    with pytest.raises(UnknownRun, match="groups: none"):
        lab.group("ppo")
    for name in ("dqn-CartPole", "ppo-CartPole", "ppo-Acrobot"):
        start_peer(lab.supervisor, "train", group=name)
    assert {group.name for group in lab.groups} == {"dqn-CartPole", "ppo-CartPole", "ppo-Acrobot"}
    with pytest.raises(UnknownRun, match=r"groups: ppo-CartPole, .*Acrobot"):
        lab.group("ppo-Cartpol")


def test_a_group_with_failures_reports_all_of_them_at_its_end(lab: mosaic.Lab) -> None:
    group = RunGroup(start_peer(lab.supervisor, name) for name in ("fail", "train", "exit_1"))
    with pytest.raises(RunFailed) as caught:
        group.wait(60)
    assert "2 of 3 runs failed" in str(caught.value)
    assert "potato" in str(caught.value) and "something went wrong here" in str(caught.value)
    assert group.finished
    assert len(group.metrics("value")) == 100


@pytest.mark.usefixtures("toy")
def test_a_bad_configuration_is_refused_before_anything_starts(lab: mosaic.Lab) -> None:
    given: dict[str, Any]
    for given, said in (
        ({"learning_rat": 1.0}, r"learning_rat.*did you mean.*learning_rate"),
        ({"frames": {"gird": 4}}, r"'gird' in fastlane \(lab.train's frames=\); did you mean 'grid'"),
        ({"film": "each"}, r"'film' \(did you mean lab.train's films=\?\)"),
        ({"wrapper": ["flat"]}, r"'wrapper'; did you mean lab.train's wrappers=[^;]*$"),
        ({"seeds": range(3)}, "no seeds=; did you mean seed="),
    ):
        with pytest.raises(ConfigurationError, match=said):
            lab.train("toy", **WALK, **given)
    assert not lab.root.exists()


@pytest.mark.usefixtures("toy")
def test_what_a_worker_needs_and_was_not_given_is_named_as_users_type_it(lab: mosaic.Lab) -> None:
    with pytest.raises(ConfigurationError) as refused:
        lab.train("toy")
    for keyword in ("algorithm=", "env=", "total_timesteps="):
        assert f"is missing (lab.train's {keyword})" in str(refused.value)
    assert "algorithm=); toy has walk" in str(refused.value)
    with pytest.raises(ConfigurationError) as refused:
        lab.train("toy", algorithm="walk", environment="Hill-v0", timesteps=50)
    assert "env=); you gave environment=, did you mean lab.train's env=?" in str(refused.value)
    assert "you gave timesteps=, did you mean lab.train's total_timesteps=?" in str(refused.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": []}, "seed: an empty list"),
        ({"seed": [1, 1]}, "seed has duplicates: 1"),
        ({"seed": 1.5}, "seed=1.5: must be an integer"),
        ({"seed": "1"}, "seed='1': must be an integer"),
        ({"total_timesteps": 10.5}, "total_timesteps=10.5"),
        ({"learning_rate": object()}, "learning_rate=.* cannot be written as JSON"),
        (
            {"dataset": Run(PEERS)},
            r"hyperparameter dataset: must be a path, such as str\(run.path / "
            r'"dataset',
        ),
        ({"learning_rate": float("nan")}, "learning_rate=nan"),
        ({"resume_from": "/no/such/checkpoint"}, "there is no checkpoint /no/such/checkpoint"),
        ({"gpus": 99}, "gpus=99"),
        ({"threads": "all"}, "threads='all': must be an integer ≥ 1"),
        ({"threads": 0}, "threads=0: must be"),
        ({"frames": 4}, r'frames=4: must be True, False or settings, such as {"grid": 4}'),
        ({"frames": {"grid": object()}}, "frames: grid=.* cannot be written as JSON"),
        ({"pass_env_vars": ["NO_SUCH_VARIABLE"]}, "NO_SUCH_VARIABLE"),
        ({"pass_env_vars": "PATH"}, "pass_env_vars: must be a list of names"),
    ],
)
def test_what_is_wrong_whatever_the_worker_is_refused_first(
    lab: mosaic.Lab, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        lab.train("no such worker", **{**WALK, **options})


@pytest.mark.usefixtures("toy")
def test_numpy_numbers_are_numbers(lab: mosaic.Lab) -> None:
    group = lab.train("toy", **WALK, seed=np.arange(2), learning_rate=np.float32(0.5))
    assert isinstance(group, RunGroup)
    assert [run.config["seed"] for run in group] == [0, 1]
    assert group[0].config["hyperparameters"] == {"learning_rate": 0.5}


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    ("frames", "section"),
    [
        (True, {"enabled": True}),
        (False, {"enabled": False}),
        ({"grid": np.int64(4), "max_fps": 12.5}, {"grid": 4, "max_fps": 12.5}),
    ],
)
def test_frames_are_a_boolean_or_settings(lab: mosaic.Lab, frames: Any, section: Any) -> None:
    run = lab.train("toy", **WALK, frames=frames)
    assert isinstance(run, Run)
    assert run.config["fastlane"] == section


def test_a_changed_worker_is_brought_up_to_date_with_progress(
    lab: mosaic.Lab, own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shim = write_shim(tmp_path / "shim")
    workers.install(shim)
    write_shim(shim, learning_rate=2.0)
    run = lab.train("toy", **WALK)
    assert "bringing it up to date" in capsys.readouterr().out
    assert isinstance(run, Run)
    assert run.wait(60).metrics("height")["value"].iloc[1] == 2.0


@pytest.mark.usefixtures("toy")
def test_a_group_whose_kernel_was_killed_while_it_started_says_what_is_missing(lab: mosaic.Lab) -> None:
    code = (
        "import os, signal, sys, mosaic_lab\n"
        "lab = mosaic_lab.Lab(sys.argv[1])\n"
        "start, calls = lab.supervisor.start, []\n"
        "def starting(*arguments, **options):\n"
        "    calls.append(1)\n"
        "    if len(calls) == 3: print('third', flush=True), sys.stdin.readline()\n"
        "    return start(*arguments, **options)\n"
        "lab.supervisor.start = starting\n"
        f"lab.train('toy', **{WALK!r}, seed=[7, 8, 9, 10])"
    )
    command = [sys.executable, "-c", code, str(lab.root)]
    kernel = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert kernel.stdout is not None
    wait_until(lambda: kernel.stdout.readline() == b"third\n")  # type: ignore[union-attr]
    (group,) = lab.groups
    assert group.missing == ()  # not yet: the kernel is still starting runs
    kernel.kill()
    kernel.communicate()
    (group,) = lab.groups
    assert group.missing == (9, 10)
    said = "never started: seeds 9, 10 (the kernel that was starting the group exited before)"
    assert said in repr(group) and said in repr(lab.runs) and said in lab.runs._repr_html_()
    with pytest.raises(RunFailed, match=r"lab\.train\(\.\.\., seed=\[9, 10\]\) starts them"):
        group.wait(60)
    group[0].remove()  # removed on purpose, so not reported as missing
    assert lab.groups[0].missing == (9, 10)


def test_resuming_takes_a_run_a_checkpoint_or_a_path(lab: mosaic.Lab) -> None:
    run = start_peer(lab.supervisor, "save_checkpoints").wait(30)
    newest = run.checkpoints[-1]
    assert (
        checkpoint_path(run)
        == checkpoint_path(newest)
        == checkpoint_path(str(newest.path))
        == checkpoint_path(run.path)
        == newest.path
    )
    with pytest.raises(ConfigurationError, match="it ended before it saved one"):
        checkpoint_path(start_peer(lab.supervisor, "train").wait(30))
    with pytest.raises(ConfigurationError, match="there is no checkpoint"):
        checkpoint_path(Checkpoint(PEERS / "nothing"))
    with pytest.raises(
        ConfigurationError, match="no file or folder 'elsewhere' here, and no run 'elsewhere'"
    ):
        lab.train("toy", **WALK, resume_from="elsewhere")


def test_a_part_of_a_checkpoint_is_answered_with_the_whole(tmp_path: Path) -> None:
    (tmp_path / "step-7.rllib").mkdir()
    for whole in ("step-7.pt", "step-7.json"):
        (tmp_path / whole).touch()
    for take in (checkpoint_path, mosaic.operators.rl):
        with pytest.raises(ConfigurationError, match=r"is a part of a checkpoint: give step-7\.pt"):
            take(tmp_path / "step-7.rllib")


def test_a_new_store_is_said_with_the_one_in_a_folder_above(
    lab: mosaic.Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start_peer(lab.supervisor, "train").wait(30)
    capsys.readouterr()
    mosaic.Lab(tmp_path / "notebooks" / "runs")
    assert capsys.readouterr().out == (
        f"{tmp_path}/notebooks/runs does not exist: the first run creates this run store.\n"
        f'A store with 1 run is in {lab.root}: Lab("{lab.root}") opens it.\n'
    )


def test_a_new_lab_counts_the_runs_of_other_notebooks(
    lab: mosaic.Lab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", "other.ipynb")
    run = at_work(start_peer(lab.supervisor, "hang", grace_seconds=0))
    capsys.readouterr()
    monkeypatch.setenv("JPY_SESSION_NAME", "this.ipynb")
    mosaic.Lab(lab.root)
    said = capsys.readouterr().out
    assert said == f"1 run that was started elsewhere is alive in {lab.root}: lab.runs lists all.\n"
    monkeypatch.setenv("JPY_SESSION_NAME", "other.ipynb")
    mosaic.Lab(lab.root)
    assert run.id in capsys.readouterr().out


def test_a_new_lab_says_what_is_still_alive(lab: mosaic.Lab, capsys: pytest.CaptureFixture[str]) -> None:
    start_peer(lab.supervisor, "train").wait(30)
    runs = [at_work(start_peer(lab.supervisor, "hang", grace_seconds=0)) for _ in range(2)]
    again = mosaic.Lab(lab.root)
    said = capsys.readouterr().out
    assert "2 runs are still alive in" in said
    for run in runs:
        assert run.id in said
    assert "running, 1% of 100" in said
    assert re.search(r" MB, for [\d.]+s", said)
    assert f'`run = lab.run("{runs[-1].id}")` gets that run' in said
    assert "lab.stop_all() stops them all" in said
    assert {run.id for run in again.stop_all()} == {run.id for run in runs}
    assert not marked_processes(lab.root)
    assert repr(again.stop_all()) == "nothing to stop: no run is alive"
    mosaic.Lab(lab.root)
    assert capsys.readouterr().out == ""


def test_a_script_that_waits_prints_its_progress(lab: mosaic.Lab, capsys: pytest.CaptureFixture[str]) -> None:
    run = at_work(start_peer(lab.supervisor, "hang", grace_seconds=0))
    with pytest.raises(RunTimeout):
        run.wait(1.5)
    assert re.fullmatch(rf"run {run.id}: running, .*\n", capsys.readouterr().err)


def test_a_run_is_removed(lab: mosaic.Lab) -> None:
    run = start_peer(lab.supervisor, "train").wait(30)
    listed = lab.runs
    assert not hasattr(listed, "remove") and not hasattr(lab.groups, "remove"), "a list must not remove runs"
    listed[0].remove()
    assert list(lab.runs) == []
    assert list(listed) == [run] and " removed " in repr(listed)
    assert repr(lab).endswith("0 runs, 0 alive>")


def test_the_list_of_runs_reads_as_a_table(lab: mosaic.Lab) -> None:
    assert repr(lab.runs) == "no runs"
    start_peer(lab.supervisor, "train").wait(30)
    failed = start_peer(lab.supervisor, "fail")
    wait_until(lambda: failed.finished)
    lines = repr(lab.runs).splitlines()
    assert lines[0].split() == ["name", "run", "state", "started", "progress", "time", "reason"]
    assert any("completed" in line and "99 steps" in line and re.search(r" [\d.]+s ", line) for line in lines)
    assert any(failed.id in line and "potato" in line for line in lines)


def test_the_list_shows_returns_and_groups_where_there_are_any(lab: mosaic.Lab) -> None:
    start_peer(lab.supervisor, "play", group="games", total_timesteps=30).wait(30)
    lines = repr(lab.runs).splitlines()
    assert lines[0].split()[3:] == ["started", "time", "return,", "last", "20", "group", "reason"]
    assert " 19.5 " in lines[1] and " games " in lines[1]


def test_a_completed_run_shows_its_steps_and_no_share(lab: mosaic.Lab) -> None:
    run = start_peer(lab.supervisor, "train", total_timesteps=50).wait(30)
    assert run.progress_text == "49 steps (50 requested)"


def test_the_list_escapes_what_workers_say(lab: mosaic.Lab) -> None:
    run = start_peer(lab.supervisor, "train").wait(30)
    state = run.folder.state_path.read_text().replace("ran to the end", "<script>alert(1)</script>")
    run.folder.state_path.write_text(state)
    html = lab.runs._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_a_long_list_shows_the_newest(lab: mosaic.Lab) -> None:
    run = start_peer(lab.supervisor, "train").wait(30)
    assert "(10 older runs are not shown)" in repr(RunList([run] * 60))


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'operator'; did you mean 'operators'\\?"):
        _ = mosaic.operator
    with pytest.raises(AttributeError, match="has no attribute 'randm'; did you mean 'random'\\?"):
        _ = mosaic.operators.randm
    assert not hasattr(mosaic, "__wrapped__")


def test_an_unknown_keyword_is_refused_with_the_nearest(lab: mosaic.Lab) -> None:
    with pytest.raises(ConfigurationError, match=r"lab\.compare has no seed=; did you mean 'seeds'\?"):
        lab.compare("CartPole-v1", {"a": mosaic.operators.random()}, seed=1)
    with pytest.raises(ConfigurationError) as caught:
        lab.evaluate(env="CartPole-v1", episode=3, sedes=[1])
    for said in ("has no episode=; did you mean 'episodes'?", "has no sedes=; did you mean 'seeds'?"):
        assert said in str(caught.value)
    run, operators = Run(lab.root / "any"), mosaic.operators
    calls: list[tuple[Callable[..., object], dict[str, Any], str]] = [
        (lambda: lab.train("toy", "walk"), {}, "lab.train: only worker can be given without a name"),  # type: ignore[misc]
        (mosaic.Lab, {"max_runing": 3}, "Lab has no max_runing=; did you mean 'max_running'?"),
        (run.record, {"path": "f.mp4", "second": 3}, "run.record has no second=; did you mean 'seconds'?"),
        (run.snapshot, {"file": "f.png"}, "run.snapshot has no file=; known: path, timeout"),
        (RunGroup([run]).frames, {"fsp": 1}, "group.frames has no fsp=; did you mean 'fps'?"),
        (RunList([run]).search, {"text": "x", "tag": "y"}, "search has no tag=; did you mean 'tags'?"),
        (mosaic.show, {"runs": run, "means": True}, "show has no means=; did you mean 'mean'?"),
        (mosaic.frame_wall, {"runs": run, "column": 2}, "frame_wall has no column=; did you mean 'columns'?"),
        (lambda: operators.random(42), {}, "random: nothing can be given without a name; write deadline="),  # type: ignore[call-arg]
        (operators.random, {"deadlne": 1}, "random has no deadlne=; did you mean 'deadline'?"),
        (operators.rl, {"source": run, "determinstic": True}, "rl has no determinstic=; did you mean"),
    ]
    for call, given, said in calls:
        with pytest.raises(ConfigurationError, match=re.escape(said)):
            call(**given)
