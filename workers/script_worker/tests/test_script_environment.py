"""A script's environment variables, checkpoints and frames, and the provenance of its run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.runs import Run
from mosaic_lab.workers import WorkerEnvironment

SAVES = """\
echo "given [$MOSAIC_RESUME_FROM]"
path=$MOSAIC_CHECKPOINTS_DIR/weights.txt
echo "seed $MOSAIC_SEED" > $path
echo '{"event": "checkpoint_saved", "payload": {"checkpoint_path": "'$path'", "step": 1}}'
"""
PAINTS = """\
import os, time
from mosaic_contract.fastlane import FrameWriter

frames = FrameWriter(os.environ["MOSAIC_RUN_DIR"])
while True:
    if frames.due():
        frames.publish(bytes([200] * 48), shape=(4, 4, 3))
    time.sleep(0.01)
"""


def start(lab: mosaic.Lab, *command: str, **given: Any) -> Run:
    run = lab.train("script", command=list(command), **given)
    assert isinstance(run, Run)
    return run


@pytest.fixture
def paints(lab: mosaic.Lab, worker: WorkerEnvironment, tmp_path: Path) -> tuple[str, str]:
    """Command of a script that publishes frames for any viewer."""
    (tmp_path / "paints.py").write_text(PAINTS)
    return str(worker.python), "paints.py"


def test_a_script_is_resumed_from_a_checkpoint(lab: mosaic.Lab) -> None:
    first = start(lab, "bash", "-c", SAVES, seed=4).wait(60)
    assert "given []" in first.log(20)
    (saved,) = first.checkpoints
    for source in (first, saved, saved.path):
        again = start(lab, "bash", "-c", "cat $MOSAIC_RESUME_FROM", resume_from=source).wait(60)
        assert "seed 4" in again.log(20)


def test_a_script_sees_the_gpus_that_it_was_given(lab: mosaic.Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    shows_gpus = ("bash", "-c", "echo GPUs [$CUDA_VISIBLE_DEVICES]")
    assert "GPUs []" in start(lab, *shows_gpus).wait(60).log(20)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # a session without GPUs, on any machine
    with pytest.raises(ConfigurationError, match="gpus=1, but 0 are available here"):
        start(lab, *shows_gpus, gpus=1)


def test_a_script_may_be_watched(lab: mosaic.Lab, paints: tuple[str, str]) -> None:
    run = start(lab, *paints)
    try:
        assert run.snapshot().startswith(b"\x89PNG")
        ring = (run.path / "fastlane").resolve()
        assert ring.exists()
    finally:
        run.stop()
    wait_until(lambda: not ring.exists())


def test_frames_that_are_off_are_turned_on_while_it_runs(lab: mosaic.Lab, paints: tuple[str, str]) -> None:
    run = start(lab, *paints, frames=False)
    try:
        with pytest.raises(MosaicError, match=r"frames are off: run\.enable_frames"):
            run.snapshot()
        run.enable_frames()
        assert run.snapshot().startswith(b"\x89PNG")
    finally:
        run.stop()


def test_a_script_learns_how_it_is_to_be_watched(lab: mosaic.Lab) -> None:
    shows = "echo $MOSAIC_FRAMES $MOSAIC_FRAMES_MAX_FPS $MOSAIC_FRAMES_GRID"
    run = start(lab, "bash", "-c", shows, frames={"enabled": False, "max_fps": 5, "grid": 4})
    assert run.wait(60).log(20).splitlines()[-1] == "0 5 4"


def test_provenance_names_the_program_and_the_commit_of_its_folder(
    lab: mosaic.Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    project = tmp_path / "project"
    project.mkdir()
    script = project / "train.sh"
    script.write_text("#!/bin/sh\necho trained\n")
    script.chmod(0o755)
    me = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run(["git", "-C", str(project), *arguments], check=True, env={**os.environ, **me})
    found = start(lab, "bash", "train.sh", cwd="project").provenance
    assert found["git"] is None, "the notebook is in no repository"
    assert found["program"]["path"] == shutil.which("bash")
    assert found["program"]["cwd"] == str(project)
    assert found["program"]["git"]["dirty"] is False
    script.write_text("#!/bin/sh\necho changed\n")
    own = start(lab, "./train.sh", cwd="project").provenance["program"]
    assert (own["path"], own["git"]["dirty"]) == (str(script), True)
    assert own["git"]["commit"] == found["program"]["git"]["commit"]
