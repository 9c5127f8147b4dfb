"""A moved or renamed store works as before: its stopped runs resume and find their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab import workers

ODD = Path(__file__).parents[1] / "peers" / "odd_family"
HIKE: dict[str, Any] = {"algorithm": "hike", "seconds": 0.004}


pytestmark = pytest.mark.usefixtures("hiker")


def test_stopped_runs_are_resumed_in_a_moved_store(lab: mosaic.Lab, tmp_path: Path) -> None:
    workers.install(ODD)
    stages = [mosaic.Stage("Hill-v0", steps=40), mosaic.Stage("Peak-v0", steps=400)]
    curriculum = lab.train("hiker", curriculum=stages, **HIKE)
    rates: dict[str, Any] = {"rate": [0.5, 1.0]}
    sweep = lab.sweep(
        "hiker", search=rates, sampler="grid", metric="skill", env="Hill-v0", total_timesteps=300, **HIKE
    )
    assert isinstance(curriculum, mosaic.Curriculum)
    wait_until(lambda: (curriculum.step or 0) > 60)
    saved = curriculum.checkpoints[0].path
    players = {"hiker": mosaic.operators.worker("odd", checkpoint=str(saved))}
    about: dict[str, Any] = {"env": "Odd-v0", "family": "odd", "seeds": range(40), "parallel": 1}
    evaluation = lab.evaluate(operators=players, step_delay=0.002, **about)
    wait_until(lambda: evaluation.done >= 3 and sweep.trial_runs)
    for run in (curriculum, sweep, evaluation):
        run.stop()
    moved = lab.root.rename(tmp_path / "elsewhere")
    new = mosaic.Lab(moved, max_running=8)
    try:
        climbed, searched = new.run(curriculum.id), new.run(sweep.id)
        played = new.run(evaluation.id)
        for one in (climbed, searched, played):
            assert one.resume().wait(120).state == "completed"
        assert not lab.root.exists(), "no file is written to the store's former path"
    finally:
        new.stop_all(grace=0)
    resumed = climbed.stage_runs[-1].config["checkpoint"]["resume_from"]
    assert Path(resumed).is_relative_to(moved)
    assert played.done == 40 and [*played.plan.digests] == [str(moved / saved.relative_to(lab.root))]
    assert len(searched.ranked()) == 2
