"""Validation of curricula: invalid or incompatible stages are refused before any run starts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hiking_worker import HILL, PEAK

import mosaic_lab as mosaic

pytestmark = pytest.mark.usefixtures("hiker")


def test_everything_that_is_wrong_is_said_at_once(lab: mosaic.Lab) -> None:
    stages = [
        mosaic.Stage("Hill-v0", steps=0, seed=3),
        mosaic.Stage("", until="high", window=1.5),  # type: ignore[arg-type]
        {"env": "Peak-v0"},
    ]
    with pytest.raises(mosaic.ConfigurationError) as refused:
        lab.train("hiker", algorithm="hike", curriculum=stages, env="Hill-v0", stop_at=9)  # type: ignore
    text = str(refused.value)
    for part in (
        "8 problems", "stage 1 (Hill-v0): steps=0: must be an integer",
        "stage 1 (Hill-v0): seed is the same in all stages",
        "stage 2: env='': must be the id of an environment", "stage 2: until='high': must be a number",
        "stage 2: window=1.5", "stage 3 is {'env': 'Peak-v0'}", "env='Hill-v0': each stage names its own",
        "stop_at=9: each stage sets its own end",
    ):  # fmt: skip
        assert part in text
    assert not lab.runs


@pytest.mark.parametrize(
    ("algorithm", "stages", "more", "reason"),
    [
        ("hike", [], {}, "must be a list of stages"),
        ("hike", [mosaic.Stage("Hill-v0"), PEAK], {}, r"stage 1 \(Hill-v0\): has no end, which all but "
            r"the last"),
        ("hike", [mosaic.Stage("Hill-v0", step=100), PEAK], {},
         r"has no end,.*: give it steps or until; you gave step=, did you mean steps=\?$"),
        ("hike", [mosaic.Stage("Hill-v0", steps=4), PEAK], {},
         r"^stage 1 \(Hill-v0\): steps=4 ends before the first update, at step 5$"),
        ("hike", [mosaic.Stage("Hill-v0", steps=4)], {}, r"stage 1 \(Hill-v0\): steps=4 ends before"),
        ("hike", [HILL, mosaic.Stage("Peak-v0", steps=9, untill=8)], {},
         r"unknown hyperparameter 'untill'; .*\(or did you mean mosaic.Stage's until=\?\)"),
        ("hike", [HILL, mosaic.Stage("Peak-v0", steps=9, rat=8)], {},
         "unknown hyperparameter 'rat'; did you mean 'rate'\\?$"),
        ("hike", [mosaic.Stage("Hill-v0", until=1.0)], {}, "total_timesteps: give the steps"),
        ("hike", [HILL, PEAK], {"total_timesteps": 150}, "the stages have 200 steps together"),
        ("hike", [HILL, mosaic.Stage("Peak-v0")], {"total_timesteps": 100}, "leaves none for the others"),
        ("hike", [HILL, mosaic.Stage("Peek-v0", steps=9)], {},
         r"stage 2 \(Peek-v0\): unknown environment 'Peek-v0'"),
        ("hike", [HILL, mosaic.Stage("Cave-v0", steps=9)], {},
         r"stage 2 cannot train on Cave-v0 after Hill-v0: observations are Box\(3\), .* for Box\(2\)"),
        ("hike", [HILL, mosaic.Stage("Peak-v0", steps=9, start=5.0)], {},
         "start: a resumed hiker hike cannot change it: it is where the hike has begun"),
        ("climb", [HILL, PEAK], {}, "hiker climb cannot resume in another environment"),
        ("roll", [HILL, PEAK], {}, "hiker roll: its worker does not declare that trainings can end and "
            "resume"),
        ("hike", [HILL], {"rate": "fast"}, r"stage 1 \(Hill-v0\): .*rate"),
        ("hike", [HILL, PEAK], {"films": "each"}, "films: worker 'hiker' has no operators"),
    ],
)  # fmt: skip
def test_what_cannot_follow_each_other_is_refused(
    lab: mosaic.Lab, algorithm: str, stages: list[mosaic.Stage], more: dict[str, Any], reason: str
) -> None:
    with pytest.raises(mosaic.ConfigurationError, match=reason):
        lab.train("hiker", algorithm=algorithm, curriculum=stages, **more)
    assert not lab.runs


def test_an_algorithm_of_one_environment_may_change_its_hyperparameters(lab: mosaic.Lab) -> None:
    stages = [HILL, mosaic.Stage("Hill-v0", steps=50, rate=2.0), mosaic.Stage("Hill-v0", steps=50)]
    curriculum = lab.train("hiker", algorithm="climb", curriculum=stages).wait(60)
    rates = curriculum.metrics("rate")["value"].to_numpy()
    changes = [step for step, (one, other) in enumerate(pairwise(rates), 2) if one != other]
    assert changes == [101, 151] and rates[-1] == 0.5
