"""Resuming: a training that ended early continues in a new run from its newest loadable checkpoint."""

from __future__ import annotations

import math
from typing import Any

import pytest
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab.errors import ConfigurationError, UnknownRun
from mosaic_lab.run_list import RunList
from mosaic_lab.runs import Run
from mosaic_lab.widgets.runs.run_view import RunView, run_views
from mosaic_lab.widgets.runs.summary import header_summary

HIKE: dict[str, Any] = {"algorithm": "hike", "env": "Hill-v0", "total_timesteps": 4_000}


pytestmark = pytest.mark.usefixtures("hiker")


def stopped_early(lab: mosaic.Lab, **more: Any) -> Run:
    """Return a run that was stopped while its worker imported libraries."""
    run = lab.train("hiker", **HIKE, imports=600, **more)
    assert isinstance(run, Run)
    wait_until(lambda: run.state == "running")
    run.stop()
    assert not run.checkpoints
    return run


def test_a_resumed_run_without_a_checkpoint_resumes_from_its_parents(lab: mosaic.Lab) -> None:
    first = lab.train("hiker", **HIKE, seconds=0.004)
    assert isinstance(first, Run)
    wait_until(lambda: len(first.checkpoints) > 0)
    first.stop()
    second = stopped_early(lab, resume_from=first)
    step = first.checkpoints[-1].step
    view = RunView(second, "", "")
    assert (second.step, view.step) == (step, step)
    assert header_summary([view], "", "", "", [view])["facts"][0] == [f"{step:,} / 4,000", "steps"]
    row = RunList([second]).table().iloc[0]
    assert row["step"] == step and math.isnan(row["speed"]), "the second run trained no step itself"
    third = second.resume()
    assert third.config["checkpoint"]["resume_from"] == str(first.checkpoints[-1].path)
    for shown, run in ((first.name, third), (f"{first.name} (resumed)", second)):
        assert lab.run(shown) == run, "a name finds the newest resumption, a title its own run"
    assert lab.run(f"{first.name} (resumed 2)") == third
    for run, end in ((first, ""), (second, " (resumed)"), (third, " (resumed 2)")):
        assert run_views([run], alone=True)[0] == first.name + end, "heading of the run's panel"
    with pytest.raises(UnknownRun, match=r"\(resumed 3\)"):
        lab.run(f"{first.name} (resumed 3)")
    third.name = "mine (resumed)"
    assert lab.run("mine (resumed)") == third, "users may choose such a name too"
    with pytest.raises(mosaic.MosaicError, match=f"is continued already, by run {third.id}"):
        second.resume()


def test_a_damaged_newest_checkpoint_is_left_out(lab: mosaic.Lab) -> None:
    run = lab.train("hiker", **HIKE, seconds=0.004)
    assert isinstance(run, Run)
    wait_until(lambda: len(run.checkpoints) > 2)
    run.stop()
    saved = run.checkpoints
    saved[-1].path.write_bytes(saved[-1].path.read_bytes()[:50])
    instead = rf"{saved[-1].path} cannot be loaded: .*; resumed from step {saved[-2].step} instead"
    with pytest.warns(UserWarning, match=instead):
        resumed = run.resume()
    assert resumed.config["checkpoint"]["resume_from"] == str(saved[-2].path)
    with pytest.warns(UserWarning, match=instead):
        again = lab.train("hiker", **HIKE, resume_from=run)
    assert again.config["checkpoint"]["resume_from"] == str(saved[-2].path)
    for checkpoint in saved:
        checkpoint.path.write_bytes(b"")
    lab.stop_all(grace=0)
    with pytest.raises(mosaic.MosaicError, match=r"has no checkpoint that can be loaded: .*: it is empty"):
        run.resume()


def test_a_group_is_resumed_as_a_group_with_the_runs_that_have_completed(lab: mosaic.Lab) -> None:
    group = lab.train("hiker", **HIKE | {"total_timesteps": 400}, seconds=0.01, seed=range(2))
    with pytest.raises(mosaic.MosaicError, match=r"can be resumed when it has ended \(no run of the group"):
        group.resume()
    wait_until(lambda: all(run.checkpoints for run in group))
    group[0].stop()
    group[1].wait()
    resumed = group.resume().wait()
    assert [run.seed for run in resumed] == [0, 1]
    assert resumed[1] == group[1], "a completed run is not resumed"
    assert resumed[0].config["checkpoint"]["resume_from"] == str(group[0].checkpoints[-1].path)
    assert resumed[0].group == resumed.name != group.name
    with pytest.raises(mosaic.MosaicError, match="all runs of this group have completed"):
        resumed.resume()


def test_curricula_of_a_group_resume_in_their_folders(lab: mosaic.Lab) -> None:
    stages = [mosaic.Stage("Hill-v0", steps=4_000)]
    group = lab.train("hiker", algorithm="hike", curriculum=stages, seconds=0.004, seed=range(2))
    with pytest.raises(mosaic.MosaicError, match=r"can be resumed when it has ended \(no run of the group"):
        group.resume()
    group.stop()
    resumed = group.resume()
    assert ([*resumed], resumed.name) == ([*group], group.name)
    assert all(run.alive for run in resumed)


def test_the_total_of_a_run_and_its_resumption_has_each_step_once(lab: mosaic.Lab) -> None:
    first = lab.train("hiker", **HIKE | {"total_timesteps": 1_000}, seconds=0.004)
    assert isinstance(first, Run)
    wait_until(lambda: len(first.checkpoints) > 0)
    first.stop()
    resumed = first.resume().wait(60)
    views = [RunView(run, run.label, "#000000") for run in (first, resumed)]
    for view in views:
        view.catch_up()
    header = header_summary(views, "", "", "", views)
    assert header["progress"] == 1.0 and ["1,000 / 1,000", "steps"] in header["facts"]


def test_a_first_run_without_a_checkpoint_is_started_again(lab: mosaic.Lab) -> None:
    run = stopped_early(lab)
    with pytest.raises(mosaic.MosaicError, match="has no checkpoint to resume from: start it again by lab"):
        run.resume()


def test_a_gpu_that_the_run_does_not_get_is_refused_before_it_starts(lab: mosaic.Lab) -> None:
    with pytest.raises(ConfigurationError, match=r"device='cuda', and this run gets no GPU: .*gpus=1"):
        lab.train("hiker", **HIKE, device="cuda")
    assert len(lab.runs) == 0
