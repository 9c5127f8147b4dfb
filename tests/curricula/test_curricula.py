"""Curricula as single runs: stages in sequence, early ends, stops, failures and resumes."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hiking_worker import HILL, PEAK
from overview.run_folders import append, metrics
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab.cli import main
from mosaic_lab.fastlane.montage import INK
from mosaic_lab.keeper.run_store import write_json
from mosaic_lab.keeper.states import State
from mosaic_lab.overview.chart_export import ExportedChart, export_charts
from mosaic_lab.overview.column_pool import ColumnPool
from mosaic_lab.overview.curve_model import ChartRequest
from mosaic_lab.overview.curves import CurveRequest, curves
from mosaic_lab.runs.curriculum import stage_marks
from mosaic_lab.runs.kinds import code_of
from mosaic_lab.runs.stages import Segment, read_segments, write_segments
from mosaic_lab.widgets.runs.run_panel import RunPanel
from mosaic_lab.widgets.runs.run_view import RunView

pytestmark = pytest.mark.usefixtures("hiker")


@pytest.fixture(scope="module")
def climbed(hiker: Path, tmp_path_factory: pytest.TempPathFactory) -> list[mosaic.Run]:
    """A completed training and two completed curricula, for tests that only read them."""
    lab = mosaic.Lab(tmp_path_factory.mktemp("climbed") / "runs", max_running=4)
    plain = lab.train("hiker", algorithm="hike", env="Hill-v0", total_timesteps=50)
    curricula = hike(lab, HILL, PEAK), hike(lab, mosaic.Stage("Hill-v0", steps=40), PEAK)
    assert isinstance(plain, mosaic.Run)
    return [run.wait(60) for run in (plain, *curricula)]


@pytest.fixture
def copied(climbed: list[mosaic.Run], tmp_path: Path) -> mosaic.Curriculum:
    """A copy of a completed curriculum, for a test that changes its files."""
    shutil.copytree(climbed[1].path.parent, tmp_path / "runs")
    curriculum = mosaic.Lab(tmp_path / "runs").run(climbed[1].id)
    assert isinstance(curriculum, mosaic.Curriculum)
    return curriculum


def hike(lab: mosaic.Lab, *stages: mosaic.Stage, **more: Any) -> mosaic.Curriculum:
    curriculum = lab.train("hiker", algorithm="hike", curriculum=list(stages), **more)
    assert isinstance(curriculum, mosaic.Curriculum)
    return curriculum


def test_the_time_and_speed_of_a_resumed_curriculum_are_of_all_its_steps(lab: mosaic.Lab) -> None:
    curriculum = hike(lab, mosaic.Stage("Hill-v0", steps=400), HILL, seconds=0.01, checkpoint_every=50)
    wait_until(lambda: (curriculum.step or 0) > 200)
    curriculum.stop()
    before = curriculum.elapsed
    assert before is not None and before > 2
    curriculum.resume().wait(60)
    outcome, elapsed = curriculum.outcome, curriculum.elapsed
    assert outcome is not None and outcome.duration_seconds is not None and elapsed is not None
    assert elapsed == pytest.approx(before + outcome.duration_seconds)
    view = RunView(curriculum, curriculum.label, "#000000")
    view.catch_up()
    assert view.elapsed() == elapsed and view.speed() == pytest.approx(500 / elapsed)


def skills(run: mosaic.Run, rate: float = 0.5) -> np.ndarray:
    """Steps of a run's metrics. Asserts that each was reported once, with the skill of an uninterrupted
    training."""
    found = run.metrics("skill")
    assert list(found["value"]) == pytest.approx(list(rate * found["step"]))
    assert found["step"].is_unique and found["step"].is_monotonic_increasing
    return found["step"].to_numpy()


def test_the_stages_are_one_run(climbed: list[mosaic.Run]) -> None:
    curriculum = climbed[1]
    assert isinstance(curriculum, mosaic.Curriculum)
    assert curriculum.state is State.COMPLETED and curriculum.step == curriculum.total_timesteps == 200
    assert curriculum.label == "hiker hike Hill-v0 → Peak-v0 seed 1"
    assert list(skills(curriculum)) == list(range(1, 201))
    returns = curriculum.episodes()["total_reward"]
    assert len(returns) == 40
    assert (returns[19], returns[20]) == (50.0, 52.5 - 50.0), "stage 2 returns are not 50 lower"
    stages = curriculum.stages()
    assert list(stages["env"]) == ["Hill-v0", "Peak-v0"] and list(stages["state"]) == ["done", "done"]
    assert list(stages["start"]) == [0, 100] and list(stages["end"]) == [100, 200]
    assert list(stages["return"]) == [returns[:20].mean(), returns[20:].mean()]
    first, second = curriculum.stage_runs
    assert (first.curriculum, second.label) == (curriculum.id, "hiker hike Peak-v0 seed 1 stage 2")
    assert second.config["checkpoint"]["resume_from"] == str(first.checkpoints[-1].path)
    assert [saved.step for saved in curriculum.checkpoints] == sorted(
        {saved.step for run in (first, second) for saved in run.checkpoints}
    )
    assert curriculum.checkpoints[-1].path.samefile(second.checkpoints[-1].path)
    lab = mosaic.Lab(curriculum.path.parent)
    assert type(lab.run(curriculum.id)) is mosaic.Curriculum and type(lab.run(first.id)) is mosaic.Run


def test_the_last_whole_update_is_planned_and_reported(lab: mosaic.Lab) -> None:
    curriculum = hike(lab, HILL, mosaic.Stage("Peak-v0", steps=110), stride=20)
    assert (curriculum.total_timesteps, curriculum.requested_timesteps) == (200, 210)
    curriculum.wait(60)
    assert curriculum.reason == "ran to its last whole update, step 200 (210 requested)"
    assert curriculum.progress_text == "200 steps (210 requested)"
    curriculum.remove(stages=True)
    assert not lab.runs


def test_a_return_ends_a_stage_early_and_the_steps_that_remain_are_the_last_ones(lab: mosaic.Lab) -> None:
    """Each episode's return is 2.5 higher: the mean of 4 is 26.25 at step 60, and 50 less on the peak."""
    stages = [mosaic.Stage("Hill-v0", until=25.0, window=4), mosaic.Stage("Peak-v0", window=3, rate=1.0)]
    curriculum = hike(lab, *stages, total_timesteps=700, seconds=0.002)
    curriculum.wait(60)
    table = curriculum.stages()
    assert 25.0 <= table["return"][1] < 200.0
    assert table["return"][2] == pytest.approx(curriculum.episodes()["total_reward"][-3:].mean())
    assert 60 <= table["end"][1] < 500 and table["end"][2] == 700
    steps = curriculum.metrics("rate").set_index("step")["value"]
    assert (steps[: table["end"][1]] == 0.5).all() and steps[700] == 1.0
    first, _ = curriculum.stage_runs
    assert first.state is State.CANCELLED and "its mean return is" in first.reason


def test_a_return_that_is_seen_after_the_end_of_a_short_stage_is_noted(lab: mosaic.Lab) -> None:
    curriculum = hike(lab, mosaic.Stage("Hill-v0", steps=60, until=25.0, window=4), PEAK, imports=3.0)
    wait_until(lambda: any(run.state is State.RUNNING for run in curriculum.stage_runs))
    (stage,), pid = curriculum.stage_runs, curriculum.status.worker_pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    stage.wait(60)
    os.kill(pid, signal.SIGCONT)
    curriculum.wait(60)
    assert stage.reason == "ran to the end; its goal was reached at its end: mean return 26.25, until 25"
    assert curriculum.reason == "ran to the end" and list(curriculum.stages()["end"]) == [60, 160]


def test_a_stage_has_a_return_from_its_first_episode_on(lab: mosaic.Lab) -> None:
    curriculum = hike(lab, mosaic.Stage("Hill-v0", steps=20_000), PEAK)
    wait_until(lambda: not np.isnan(curriculum.stages()["return"][1]))
    table = curriculum.stop().stages()
    assert table["return"][1] == pytest.approx(curriculum.episodes()["total_reward"][-20:].mean())
    assert np.isnan(table["return"][2])


def test_a_stop_in_the_second_stage_is_resumed(lab: mosaic.Lab) -> None:
    curriculum = hike(lab, HILL, mosaic.Stage("Peak-v0", steps=400), seconds=0.004, imports=0.3)
    wait_until(lambda: (curriculum.step or 0) > 150)
    with pytest.raises(mosaic.MosaicError, match="it can be resumed when it has ended"):
        curriculum.resume()
    lab.run(curriculum.id).stop()
    assert curriculum.state is State.CANCELLED and not any(run.alive for run in lab.runs)
    assert "; its last checkpoint is at step" in curriculum.reason
    assert list(curriculum.stages()["state"]) == ["done", "stopped"]
    curriculum.resume().wait(60)
    assert list(skills(curriculum)) == list(range(1, 501))
    assert list(curriculum.stages()["runs"].map(len)) == [1, 2]
    assert list(curriculum.stages()["end"]) == [100, 500]
    lines = map(json.loads, curriculum.folder.telemetry_path.read_text().splitlines())
    steps = [line["payload"]["step"] for line in lines if line.get("event") == "heartbeat"]
    assert steps == sorted(steps) and steps[1] == 100 and steps[-1] > 150, "a stage counted from 0 again"


def test_a_stage_whose_checkpoints_were_deleted_does_not_begin_from_random_weights(lab: mosaic.Lab) -> None:
    curriculum = hike(lab, HILL, mosaic.Stage("Peak-v0", steps=400), seconds=0.004)
    wait_until(lambda: (curriculum.step or 0) > 150)
    curriculum.stop()
    first, second = curriculum.stage_runs
    for path in second.path.glob("checkpoints/*"):
        path.unlink()
    kept = first.path / "checkpoints" / "step-100.npz"
    moved = kept.rename(first.path / kept.name)
    lost = r"stage 2 \(Peak-v0\) cannot resume: its checkpoint at step 100, .*step-100.npz, "
    with pytest.raises(mosaic.MosaicError, match=lost + r"is missing, and the newest .* is at step 80\. Put"):
        curriculum.resume()
    kept.write_bytes(moved.read_bytes()[:100])
    with pytest.raises(mosaic.MosaicError, match=lost + r"cannot be loaded \(it is damaged"):
        curriculum.resume()
    folder = first.path.rename(lab.root / "elsewhere")
    with pytest.raises(mosaic.MosaicError, match="its checkpoint at step 100 is missing, and no checkpoint"):
        curriculum.resume()
    folder.rename(first.path)
    assert curriculum.state is State.CANCELLED
    assert len(curriculum.stage_runs) == 2, "a run was started"
    (first.path / kept.name).rename(kept)
    curriculum.resume().wait(60)
    assert list(skills(curriculum)) == list(range(1, 501))


@pytest.mark.parametrize(
    "chosen", [pytest.param(False, marks=pytest.mark.extended), True], ids=["", "chosen before a kill"]
)
def test_a_damaged_newest_checkpoint_of_a_stage_is_left_out(lab: mosaic.Lab, chosen: bool) -> None:
    curriculum = hike(lab, mosaic.Stage("Hill-v0", steps=500), HILL, seconds=0.004)
    wait_until(lambda: (curriculum.step or 0) > 70)
    curriculum.stop()
    saved = curriculum.stage_runs[0].checkpoints
    saved[-1].path.write_bytes(saved[-1].path.read_bytes()[:50])
    if chosen:  # as if killed between writing this record and starting the run
        path = os.path.relpath(saved[-1].path, lab.root)
        unstarted = Segment(0, "20261127-120000-hiker-aaaa", saved[-1].step or 0, path)
        write_segments(curriculum.path, [*read_segments(curriculum.path), unstarted])
    instead = rf"{saved[-1].path} cannot be loaded: .*; resumed from step {saved[-2].step} instead"
    with pytest.warns(UserWarning, match=instead):
        curriculum.resume()
    curriculum.wait(60)
    assert re.search(instead, curriculum.log(50))
    assert curriculum.state is State.COMPLETED and skills(curriculum)[-1] == 600


@pytest.mark.parametrize("keeper", [False, pytest.param(True, marks=pytest.mark.extended)])
def test_a_stage_outlives_a_kill_and_is_taken_over(lab: mosaic.Lab, keeper: bool) -> None:
    curriculum = hike(lab, mosaic.Stage("Hill-v0", steps=250), PEAK, seconds=0.004)
    wait_until(lambda: (curriculum.step or 0) > 30)
    pid = curriculum.status.keeper_pid if keeper else curriculum.status.worker_pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: curriculum.finished)
    (stage,) = curriculum.stage_runs
    before = stage.step or 0
    wait_until(lambda: (stage.step or 0) > before)
    curriculum.resume().wait(60)
    assert list(skills(curriculum)) == list(range(1, 351))
    assert len(curriculum.stage_runs) == 2 and len(curriculum.episodes()) == 70


def test_a_stage_that_was_stopped_after_a_kill_is_resumed(lab: mosaic.Lab) -> None:
    curriculum = hike(lab, mosaic.Stage("Hill-v0", steps=150), seconds=0.004)
    wait_until(lambda: (curriculum.step or 0) > 30)
    pid = curriculum.status.worker_pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: curriculum.finished)
    curriculum.stop()
    assert not any(run.alive for run in lab.runs)
    curriculum.resume().wait(60)
    assert list(skills(curriculum)) == list(range(1, 151)) and len(curriculum.stage_runs) == 2


def test_a_stage_that_fails_fails_the_run_and_is_tried_again(lab: mosaic.Lab) -> None:
    curriculum = hike(lab, HILL, mosaic.Stage("Cliff-v0", steps=100))
    with pytest.raises(mosaic.RunFailed, match=r"stage 2 \(Cliff-v0\), run .*fell off"):
        curriculum.wait(60)
    with pytest.raises(mosaic.RunFailed, match="stage 2"):
        curriculum.resume().wait(60)
    assert list(curriculum.stages()["runs"].map(len)) == [1, 2]


def test_several_seeds_are_a_group_of_curricula(lab: mosaic.Lab) -> None:
    group = lab.train("hiker", algorithm="hike", curriculum=[HILL, PEAK], seed=[3, 4])
    assert isinstance(group, mosaic.RunGroup)
    group.wait(60)
    assert [run.seed for run in group] == [3, 4] and [run.step for run in group] == [200, 200]
    assert {run.seed for run in lab.runs if run.curriculum == group[1].id} == {4}
    assert list(lab.group(group.name or "")) == list(group)


def test_the_chart_marks_the_beginning_of_each_stage(copied: mosaic.Curriculum) -> None:
    panel = RunPanel([copied], alone=True)
    try:
        panel.read_rest()
        for x in ("time", "episode", "step"):
            panel.controls.x = x
            panel.draw()
            lines, labels = panel.chart.box.children[0].marks[-2:]
            assert list(labels.text) == ["1 Hill-v0", "2 Peak-v0"]
            first, second = (float(one) for one in labels.x)
            assert np.shape(lines.x) == (2, 2) and first < second
        assert (first, second) == (0.0, 100.0)
        measured = metrics(0, 0, **{"system/memory_mb": 900_000.0})
        append(copied.stage_runs[0].path, [measured], "system.jsonl")
        panel.draw()
        peak = next(text for text, name in panel.summary()["facts"] if name == "peak")
        # Plus the curriculum process's own memory, if it was measured while the stage ran.
        assert peak.endswith(" GB") and float(peak[:-3]) == pytest.approx(878.9, abs=0.3)
        assert "memory up to 900k MB" in panel.system.head.text
    finally:
        panel.close()


def test_runs_show_prints_the_stages(copied: mosaic.Curriculum, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "show", copied.id, "--store", str(copied.path.parent)]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^kind +curriculum$", shown, re.MULTILINE)
    assert re.search(r"^results\n +env .*\n  stage.*\n  1 +Hill-v0 +done", shown, re.MULTILINE)
    assert "peak memory" not in shown and "upstream's defaults" not in shown, "facts of stages"
    assert "/../" not in shown


def test_a_curriculum_whose_files_are_damaged_says_so(copied: mosaic.Curriculum) -> None:
    lab, config = mosaic.Lab(copied.path.parent), json.loads(copied.folder.config_path.read_text())
    for wrong, call in (
        ({"curriculum": [{"env": "Hill-v0", "hyperparameters": 7}]}, "stages"),
        ({"curriculum": []}, "stages"),
        ({"stage_plans": "x"}, "resume"),
        ({"pass_env_vars": None}, "resume"),
    ):
        write_json(copied.folder.config_path, config | wrong)
        damaged = lab.run(copied.id)
        with pytest.raises(mosaic.MosaicError, match=f"run {copied.id}: its files cannot be read: "):
            getattr(damaged, call)()
    write_json(copied.folder.config_path, config | {"curriculum": ["x"]})
    assert stage_marks(lab.run(copied.id)) == [], "a damaged curriculum is shown without marks"


def test_charts_of_several_curricula_mark_the_stages_of_each(climbed: list[mosaic.Run]) -> None:
    _, one, other = climbed
    begin, ends = (0.0, "1 Hill-v0", INK), {one: (100.0, "2 Peak-v0"), other: (40.0, "2 Peak-v0")}
    panel = RunPanel(climbed, alone=False)
    try:
        panel.read_rest()
        panel.draw()
        colors = {view.run: view.color for view in panel.views}
        own = [(*ends[run], colors[run]) for run in (other, one)]
        assert shown_marks(panel) == [begin, *own]
        panel.controls.hidden = [one.id]
        panel.draw()
        assert shown_marks(panel) == [begin, (*ends[other], INK)], "the only curriculum shown is not in ink"
    finally:
        panel.close()


def shown_marks(panel: RunPanel) -> list[tuple[float, str, str]]:
    labels = panel.chart.box.children[0].marks[-1]
    return list(zip(map(float, labels.x), labels.text, labels.colors, strict=True))


def test_the_workspace_marks_the_stages_and_means_where_they_begin_on_average(
    climbed: list[mosaic.Run],
) -> None:
    runs, pool = climbed[1:], ColumnPool()
    for axis, places in {"step": [(0, 100), (0, 40)], "episode": [(0, 20), (0, 8)]}.items():
        lines = curves(runs, CurveRequest("skill", axis), pool).lines
        for line, (first, second) in zip(lines, places, strict=True):
            assert [place.label for place in line.marks] == ["1 Hill-v0", "2 Peak-v0"]
            assert [place.x for place in line.marks] == pytest.approx([first, second], abs=1)
    mean, *thin = curves(runs, CurveRequest("skill", group_by=()), pool).lines
    assert list(mean.marks) == [(0.0, "1 Hill-v0"), (70.0, "2 Peak-v0")]
    assert len(thin) == 2 and not any(line.marks for line in thin)
    answer, _ = curves(runs[:1], CurveRequest("skill"), pool).answer()
    assert answer["lines"][0]["marks"][1] == {"x": 100, "label": "2 Peak-v0"}
    marked = export_charts([ExportedChart(runs[:1], ChartRequest("skill"))], "svg", pool).content
    assert b"2 Peak-v0" in marked


def test_a_file_has_the_stages(lab: mosaic.Lab, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "climb.toml"
    file.write_text(
        '[[curriculum]]\nenv = "Hill-v0"\nsteps = 40\n'
        '[[curriculum]]\nenv = "Peak-v0"\nrate = 1.0\nsteps = 60\n'
    )
    command = ["train", "hiker", "--algorithm", "hike", "--curriculum", str(file), "--store", str(lab.root)]
    assert main([*command, "start=2.0"]) == 0
    assert "hiker hike Hill-v0 → Peak-v0 seed 1: completed" in capsys.readouterr().out
    (run,) = [run for run in lab.runs if run.curriculum is None]
    assert run.metrics("skill")["value"].iloc[-1] == 2.0 + 40 * 0.5 + 60
    file.write_text(
        '[[curriculum]]\nenv = "Hill-v0"\nsteps = 0\n'
        '[[curriculum]]\nenv = "Peak-v0"\nrate = "fast"\nstpes = 60\n'
    )
    assert main([*command, "--total-timesteps", "100"]) == 1
    refused = capsys.readouterr().err
    for part in (
        "3 problems", "stage 1 (Hill-v0): steps=0: must be an integer", "stage 2 (Peak-v0): hyperparameter",
        "stage 2 (Peak-v0): unknown hyperparameter 'stpes'",
    ):  # fmt: skip
        assert part in refused
    for text, why in {
        "seed = 3\n": "line 1: seed is not a field of a stage",
        "[curriculum]\n": "give a table [[curriculum]] for each stage",
        "[[curriculum": "climb.toml is not valid TOML",
        "\n" * (16 << 20) + "\n": "climb.toml cannot be read: it is larger than 16 MiB",
    }.items():
        file.write_text(text)
        assert main(command) == 1
        assert why in capsys.readouterr().err
    assert main([*command[:-4], "--curriculum", str(tmp_path / "none.toml")]) == 1


def test_its_code_makes_it_again(lab: mosaic.Lab) -> None:
    curriculum = hike(lab, mosaic.Stage("Hill-v0", steps=50, until=9, window=3, rate=0.25), PEAK, start=1.0)
    again = eval(code_of(curriculum).partition("\n\n")[2], {"lab": lab, "mosaic": mosaic})
    for name in ("curriculum", "hyperparameters", "checkpoint", "total_timesteps"):
        assert again.config[name] == curriculum.config[name]
    stages = code_of(again).partition("curriculum=[")[2].partition("],")[0]
    (again.path / "request.json").unlink()
    assert stages in code_of(again), "earlier versions wrote no request"
