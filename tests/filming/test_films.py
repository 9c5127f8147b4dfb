"""Films of a training's checkpoints, made during and after the training by a separate run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from support import MAIN, marked_processes, wait_until

import mosaic_lab as mosaic
from mosaic_lab.errors import ConfigurationError, MosaicError, RunFailed
from mosaic_lab.filming import Backlog
from mosaic_lab.overview.service import Service
from mosaic_lab.runs import Run, RunGroup
from mosaic_lab.runs.films import MAX_WAITING, film_content
from mosaic_lab.widgets.runs.run_panel import RunPanel

PATIENCE = 300.0
"""Time-out in seconds, long because filming runs at low priority."""


@pytest.fixture
def max_running() -> int:
    return 1


def habit(lab: mosaic.Lab, films: str = "each", env: str = "Cinema-v0", **hyperparameters: Any) -> Run:
    """Start a training of the worker "cinema" with 300 steps."""
    run = lab.train("cinema", algorithm="habit", env=env, total_timesteps=300, films=films, **hyperparameters)
    assert isinstance(run, Run)
    return run


def maker(lab: mosaic.Lab, run: Run) -> Run:
    """Newest run that makes films of ``run``."""
    return [one for one in lab.runs if one.parent == run.id][-1]


def priorities(pid: int) -> set[int]:
    """Niceness of a process and, where Linux schedules by session (autogroup), of its session."""
    session = Path(f"/proc/{pid}/autogroup")
    known = {int(session.read_text().split()[-1])} if session.exists() else set()
    return known | {os.getpriority(os.PRIO_PROCESS, pid)}


def frames(path: Path) -> list[np.ndarray[Any, Any]]:
    with av.open(str(path), "r") as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def test_a_real_training(cleanrl_environment: object, lab: mosaic.Lab) -> None:
    run = lab.train(
        "cleanrl",
        algorithm="ppo",
        env="CartPole-v1",
        total_timesteps=512,
        checkpoint_every=256,
        seed=3,
        films="each",
        num_envs=2,
        num_steps=64,
    )
    assert isinstance(run, Run)
    run.wait(PATIENCE)
    maker(lab, run).wait(PATIENCE)
    films = run.films
    assert [one.step for one in films] == [one.step for one in run.checkpoints]
    assert [run.path / one.checkpoint for one in films] == [one.path for one in run.checkpoints]
    for one in films:
        assert one.complete and one.seed == 3 and one.episode_return == one.length
        shown = frames(one.path)
        assert len(shown) == one.length + 2, "not the initial frame, one per step and a held last one"
        assert shown[0].shape == (214, 320, 3)
        assert one.path.stat().st_size < 500_000
        assert film_content(run.folder, one.step) == ("video/mp4", one.path.read_bytes())
    replay = run.replay_checkpoint(films[0].step)
    assert (len(replay), replay.seed, replay.difference) == (films[0].length, 3, None)
    with pytest.raises(ConfigurationError, match="no episode of step 1 was recorded: the newest"):
        run.replay_checkpoint(1)
    html = films._repr_html_()
    assert html.count("<video ") == len(films)
    assert f"step {films[0].step}: return {films[0].length}, {films[0].length} steps" in html
    service = Service(lab.root)
    answer, buffers = service.answer("films", {"run": run.id})
    assert [one["step"] for one in answer["films"]] == [one.step for one in films]
    assert [data[:4] for data in buffers] == [b"\x89PNG"] * len(films)
    assert service.answer("film", {"run": run.id, "step": films[0].step}) == (
        {"type": "video/mp4"},
        [films[0].path.read_bytes()],
    )
    with pytest.raises(MosaicError, match="has no film of step 1: the newest"):
        service.answer("film", {"run": run.id, "step": 1})
    (run.path / "films" / "7.mp4").symlink_to(lab.root.parent / "secret")
    (run.path / "films" / "7.json").write_text((films[0].path.with_suffix(".json")).read_text())
    (lab.root.parent / "secret").write_text("of another program")
    assert [one.path for one in run.films] == [one.path for one in films], "a symbolic link is not a film"
    greedy = {"ppo": mosaic.operators.rl(run.checkpoints[-1])}
    evaluation = lab.evaluate(env="CartPole-v1", operators=greedy, seeds=[3], family="cleanrl").wait(PATIENCE)
    assert list(evaluation.results()["return"]) == [films[-1].episode_return], "not as in an evaluation"


@pytest.mark.usefixtures("cinema")
def test_beside_a_training_whose_kernel_is_killed(lab: mosaic.Lab, tmp_path: Path) -> None:
    """Filming survives the kernel, takes no slot of `max_running`, and reports a film that failed."""
    until = tmp_path / "until"
    options = f"films='each', until={str(until)!r}, saves=3, broken=200, env_settings={{'length': 5}}"
    kernel = (
        "import mosaic_lab as mosaic, os, signal\n"
        f"lab = mosaic.Lab({str(lab.root)!r}, max_running=1)\n"
        f"lab.train('cinema', algorithm='habit', env='Cinema-v0', total_timesteps=300, {options})\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", kernel], timeout=120, cwd=tmp_path)
    (run,) = [one for one in lab.runs if one.parent is None]
    wait_until(lambda: [one.step for one in run.films] == [100, 300], PATIENCE)
    assert not run.finished and "is filming: " in repr(run.films) and run.films.being_made
    until.touch()
    filming = maker(lab, run).wait(PATIENCE)
    assert [(one.episode_return, one.length) for one in run.films] == [(5.0, 5), (15.0, 5)]
    assert list(run.films.missing) == [200]
    assert re.fullmatch(
        r"habit cannot act for agent_0: the checkpoint cannot be read: .*", run.films.missing[200]
    )
    assert f"no film of step 200: {run.films.missing[200]}" in repr(run.films)
    assert "Traceback" in (filming.path / "worker.log").read_text(), "the log lacks the details"
    brightness = [int(picture.mean()) for picture in frames(run.films[0].path)]
    assert np.allclose(brightness, [0, 40, 80, 120, 160, 200, 200], atol=4), "not every step in order"
    assert run.films[0].seconds == 3.0
    assert not list((filming.path / "arenas").glob("100")), "files of a successful film were left behind"

    with pytest.raises(RunFailed, match=r"step 200: .*cannot be read"):
        lab.make_films(run).wait(PATIENCE)
    assert "failed: step 200" in run.films.status and not run.films.being_made
    lab.make_films(run, [100]).wait(PATIENCE)
    assert run.films.status == "", "an earlier failure is still reported"
    run.remove()
    assert list(lab.runs) == [], "its filming runs were left behind"


def test_deadlines_of_films_are_as_much_longer_as_their_priority_is_lower() -> None:
    code = (
        "import os; from mosaic_contract.priority import scaled_deadline as s; print(s(1), os.nice(10), s(1))"
    )
    usual, _, low = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert float(low) == pytest.approx(float(usual) * 1.25**10)


@pytest.mark.usefixtures("cinema")
def test_stopping_and_removing_a_training_ends_its_films(lab: mosaic.Lab, tmp_path: Path) -> None:
    run = habit(lab, until=str(tmp_path / "never"), env_settings={"length": 500, "pause": 0.1})
    filming = maker(lab, run)
    wait_until(lambda: list((filming.path / "arenas").glob("300/telemetry.jsonl")), PATIENCE)
    wait_until(lambda: re.search(r"0 films, [1-9]\d* steps recorded", run.films.status), PATIENCE)
    polite = [priorities(process.pid) for process in marked_processes(filming.path)]
    low = min(10 + os.getpriority(os.PRIO_PROCESS, 0), 19)
    assert polite == [{low}] * 3, "not low for worker, arena and operator"
    run.stop()
    assert not marked_processes(lab.root), "stop returned before both had ended"
    assert (run.state, filming.state) == ("cancelled", "cancelled")
    assert len(run.films) == 0
    assert run.films.status == "lab.make_films(run) films the remaining 3 checkpoints"
    again = lab.make_films(run, "last")  # on request, also after the training was stopped
    wait_until(lambda: list((again.path / "arenas").glob("300/telemetry.jsonl")), PATIENCE)
    shutil.rmtree(run.path)
    wait_until(lambda: again.finished, PATIENCE)
    assert (again.state, again.reason) == ("cancelled", f"run {run.id} was removed")
    assert not run.path.exists()


@pytest.mark.usefixtures("cinema")
def test_the_last_of_a_group(lab: mosaic.Lab) -> None:
    """Also if the training fails. A team has one policy per agent, and its return is the sum."""
    group = lab.train(
        "cinema", algorithm="habit", env="Duo-v0", total_timesteps=300, seed=[1, 2], films="last", fail=True
    )
    assert isinstance(group, RunGroup)
    with pytest.raises(RunFailed, match="the screen went black"):
        group.wait(PATIENCE)
    for run in group:
        filming = maker(lab, run).wait(PATIENCE)
        assert filming.label == f"films of {run.label}"
        assert [(one.step, one.seed, one.episode_return) for one in run.films] == [(300, run.seed, 96.0)]
    run = group[0]
    filming = lab.make_films(run, [100])
    assert filming.progress_text in ("0 of 1 film", "1 of 1 film")
    panel = RunPanel([filming.wait(PATIENCE)], alone=True)
    panel.read_rest()
    panel.draw()
    panel.close()
    assert ["1 of 1", "films"] in panel.header.summary["facts"]
    assert panel.chart.box.layout.display == panel.controls.layout.display == "none"
    assert filming.progress_text == "1 of 1 film"
    assert [one.step for one in run.films] == [100, 300]
    with pytest.raises(ConfigurationError, match=r"has no checkpoint of step 7; .* 100, 200, 300"):
        lab.make_films(run, [7])
    with pytest.raises(MosaicError, match="has no film of step 200: the newest are of steps 100, 300"):
        film_content(run.folder, 200)


@pytest.mark.usefixtures("cinema")
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"env": "Dark-v0"}, "the environment has no pictures: .*the projector is broken"),
        ({"env_settings": {"colour": 1}}, "Cinema-v0 cannot be made .*colour"),
        ({"env_settings": {"torn": 2}}, "its arena ended with exit code 7"),
    ],
)
def test_without_any_film_its_own_run_fails(lab: mosaic.Lab, options: Any, reason: str) -> None:
    run = habit(lab, **options).wait(PATIENCE)
    with pytest.raises(RunFailed, match=reason):
        maker(lab, run).wait(PATIENCE)
    assert run.state == "completed"
    assert "failed" in run.films.status and run.films.status in repr(run.films)
    assert "no films" in run.films._repr_html_()


@pytest.mark.usefixtures("cinema")
def test_a_training_without_checkpoints_is_a_note_and_no_failure(lab: mosaic.Lab) -> None:
    run = habit(lab, saves=0).wait(PATIENCE)
    filming = maker(lab, run).wait(PATIENCE)
    assert filming.state == "cancelled"
    assert re.fullmatch("run .*-cinema-.* saved no checkpoint: there is nothing to film", filming.reason)
    assert filming.reason in run.films.status


@pytest.mark.extended
@pytest.mark.usefixtures("cinema")
def test_a_long_episode_is_a_short_film(lab: mosaic.Lab) -> None:
    run = habit(lab, "last", saves=1, env_settings={"length": 100_000, "size": [60, 400]}).wait(PATIENCE)
    maker(lab, run).wait(PATIENCE)
    (one,) = run.films
    assert (one.length, one.complete) == (3_000, False)
    assert one.seconds <= 20.1
    assert frames(one.path)[0].shape == (48, 320, 3)
    assert "3,000 steps, cut off" in run.films._repr_html_()


@pytest.mark.usefixtures("cinema")
def test_the_newest_come_first_and_the_oldest_are_skipped(lab: mosaic.Lab) -> None:
    run = habit(lab, "off", saves=MAX_WAITING + 5).wait(PATIENCE)
    steps = [checkpoint.step for checkpoint in run.checkpoints]
    backlog = Backlog(run.folder, "each")
    chosen, late = backlog.look(ended=False)
    assert chosen is not None and chosen.step == steps[-1]
    assert [one.step for one in late] == steps[:5]
    backlog.settle(chosen)
    assert [one and one.step for one, _ in [backlog.look(ended=True)]] == [steps[-2]]
    assert backlog.look(ended=True)[1] == []
    assert Backlog(run.folder, "last").look(ended=False) == (None, [])


@pytest.mark.usefixtures("cinema")
def test_what_cannot_be_is_refused_before_anything_starts(lab: mosaic.Lab, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="films='all': must be one of off, last, each"):
        habit(lab, "all")
    with pytest.raises(ConfigurationError, match="films: worker 'script' has no operators"):
        lab.train("script", command=["true"], films="each")
    command = [sys.executable, "-c", MAIN, "train", "cinema", "--algorithm", "habit", "--env", "Cinema-v0"]
    wrong = subprocess.run([*command, "--films", "all"], capture_output=True, text=True, timeout=60)
    assert wrong.returncode == 2 and "--films: invalid choice: 'all'" in wrong.stderr
    assert list(lab.runs) == []
    store = ["--store", str(lab.root), "--total-timesteps", "300", "--films", "last"]
    done = subprocess.run([*command, *store], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    run = next(one for one in lab.runs if one.parent is None)
    maker(lab, run).wait(PATIENCE)
    assert [one.step for one in run.films] == [300]
