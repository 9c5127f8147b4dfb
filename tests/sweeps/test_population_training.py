"""Segments of real trainings: checkpoints resume, hyperparameters change, and kills lose no segment."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from sweeps.interrupted import check_segments, killed

import mosaic_lab as mosaic
from mosaic_lab.keeper.states import State
from mosaic_lab.sweeps.trials import TrialState

SEARCH = {"learning_rate": mosaic.search.loguniform(1e-4, 1e-2), "ent_coef": mosaic.search.uniform(0.0, 0.1)}


@pytest.mark.extended
@pytest.mark.parametrize(
    "kind", [{"sampler": "pbt", "interval": 2000}, {"pruner": "asha-promotion"}], ids=str
)
def test_trainings_go_on_from_checkpoints_with_what_was_changed(
    cleanrl_environment: Any, tmp_path: Path, kind: dict[str, Any]
) -> None:
    lab = mosaic.Lab(tmp_path / "runs")
    generator = random.Random(5)
    sweep = lab.sweep(
        "cleanrl", algorithm="ppo", env="CartPole-v1", total_timesteps=6000, anneal_lr=False, trials=4,
        parallel=2, search=SEARCH, **kind,
    )  # fmt: skip
    for _ in range(4):
        killed(sweep, generator, 20.0)
        if sweep.state is State.COMPLETED:
            break
        sweep.resume()
    sweep.wait(400)
    check_segments(lab, sweep)
    assert {one.state for one in sweep.records} <= {TrialState.COMPLETED, TrialState.PRUNED}
    changed = 0
    for trial in sweep.records:
        for segment in trial.segments:
            run = lab.run(segment.runs[1])
            metrics = run.metrics()
            rates = metrics[metrics["name"] == "charts/learning_rate"]
            assert rates["value"].to_numpy() == pytest.approx(segment.parameters["learning_rate"], rel=1e-5)
            if segment.source is not None:
                before = sweep.records[segment.source.trial].segment(segment.source.place)
                assert before is not None and before.stop < rates["step"].min() <= segment.stop + 512
                changed += before.parameters != segment.parameters
    assert changed == (2 if "sampler" in kind else 0)
    assert sweep.best is not None and sweep.runs(sweep.best)[0].checkpoints[-1].step >= 5632
