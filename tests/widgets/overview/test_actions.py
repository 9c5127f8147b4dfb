"""Resuming runs at a page's request, with a real worker: single trainings and groups."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab.cli import main
from mosaic_lab.errors import MosaicError
from mosaic_lab.overview.rows import run_row
from mosaic_lab.overview.service import Service
from mosaic_lab.runs import Run
from mosaic_lab.widgets import DISPLAY
from mosaic_lab.widgets.overview.actions import RunActions
from mosaic_lab.widgets.runs.run_panel import RunPanel


def save_checkpoint(run: Run, step: int) -> Path:
    """Write a checkpoint into the folder of an ended run, as its worker would have done."""
    path = run.path / "checkpoints" / f"step-{step}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text("{}")
    payload = {"checkpoint_path": str(path), "episode": 1, "step": step, "metrics": {}, "format": "json"}
    saved = {"event": "checkpoint_saved", "run_id": run.id, "timestamp": 1.0, "payload": payload}
    with run.folder.telemetry_path.open("a") as file:
        file.write(json.dumps(saved) + "\n")
    return path


def started_panel(run: Run) -> RunPanel:
    panel = RunPanel([run], alone=True)
    panel.start()
    return panel


@pytest.mark.usefixtures("toy")
def test_a_training_is_resumed_as_a_new_run_with_what_it_was_given(lab: mosaic.Lab) -> None:
    actions = RunActions(lab.root, Service(lab.root), DISPLAY)
    run = lab.train(
        "toy", algorithm="walk", env="Hill-v0", total_timesteps=10**9, seed=7, learning_rate=0.125
    )
    assert isinstance(run, Run)
    with pytest.raises(MosaicError, match="it can be resumed when it has ended"):
        actions.act("resume", {"runs": [run.id]}, print)
    run.stop()
    with pytest.raises(MosaicError, match=f"run {run.id} has no checkpoint to resume from"):
        run.resume()
    alone = [sys.executable, "-c", "import sys, mosaic_lab.runs as r; r.Run(sys.argv[1]).resume()", run.path]
    assert "has no checkpoint to resume from" in subprocess.run(alone, capture_output=True, text=True).stderr
    header = started_panel(run).header
    assert not header.resumable and not header.continued, "resumable without a checkpoint"
    path = save_checkpoint(run, 500)
    run.name = "baseline"
    resumed = lab.run(actions.act("resume", {"runs": [run.id]}, print)["runs"][0])
    with pytest.raises(MosaicError, match=f"is continued already, by run {resumed.id}"):
        run.resume()
    assert lab.run("baseline") == resumed, "a name means the newest run of a chain of resumes"
    resumed.stop()
    assert main(["runs", "resume", "--store", str(lab.root), run.id]) == 0
    newest = lab.runs[-1].stop()
    assert newest.config["checkpoint"] == resumed.config["checkpoint"]
    panel = started_panel(run)
    assert panel.header.resumable and panel.header.continued == newest.id
    panel.header.resumes += 1
    wait_until(lambda: panel.header.continued != newest.id and not panel.header.resumable)
    beside = started_panel(run).header
    assert beside.continued == panel.header.continued and not beside.resumable, "the newest is still alive"
    again = lab.run(panel.header.continued).stop()
    assert (again.name, again.config["checkpoint"]) == ("baseline", resumed.config["checkpoint"])
    assert resumed.id != run.id and resumed.name == "baseline"
    assert resumed.config["checkpoint"]["resume_from"] == str(path)
    assert [run_row(one).continues for one in (run, resumed)] == [None, run.id]
    detail = f"{resumed.id} · continues baseline ({run.id}) from step 500"
    assert RunPanel([resumed], alone=True).summary()["detail"] == detail
    ended = lab.train("toy", algorithm="walk", env="Hill-v0", total_timesteps=10).wait(60)
    assert isinstance(ended, Run)
    with pytest.raises(MosaicError, match=r"has completed: lab\.train"):
        ended.resume()
    for name in ("algorithm", "env_id", "total_timesteps", "seed", "hyperparameters"):
        assert resumed.config[name] == run.config[name]


@pytest.mark.usefixtures("toy")
def test_the_trainings_of_a_group_are_resumed_as_a_group(lab: mosaic.Lab) -> None:
    actions = RunActions(lab.root, Service(lab.root), DISPLAY)
    group = lab.train("toy", algorithm="walk", env="Hill-v0", total_timesteps=10**9, seed=range(2))
    ids = [run.id for run in group]
    with pytest.raises(MosaicError, match="no run of the group was resumed"):
        actions.act("resume", {"runs": ids}, print)
    for run in group:
        save_checkpoint(run.stop(), 500)
    resumed = [lab.run(run) for run in actions.act("resume", {"runs": ids}, print)["runs"]]
    assert [run.stop().seed for run in resumed] == [0, 1]
    assert [run_row(run).continues for run in resumed] == ids
    assert len({run.group for run in resumed}) == 1
