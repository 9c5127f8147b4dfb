"""Checks of a curriculum before it starts. Each adds the errors it finds to the problems of the call."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from mosaic_contract.checkpoints import space_misfit

from mosaic_lab.runs.stages import Stage
from mosaic_lab.runs.train_request import TrainRequest
from mosaic_lab.runs.training_plan import TrainingPlan
from mosaic_lab.validation import Problems

MAX_STAGES = 100
_KEYWORDS = ("env", "steps", "until", "window")
_END_KEYWORDS = ("steps", "until")
_UNKNOWN = re.compile(r"unknown hyperparameter '(\w+)'")
_UNFIT = {
    "env": "each stage names its own",
    "resume_from": "a curriculum begins at step 0",
    "stop_at": "each stage sets its own end",
}


def check_stages(stages: Sequence[Stage], shared: Collection[str], problems: Problems) -> dict[str, Stage]:
    """Return the valid stages, keyed by their names in errors.

    ``shared`` are the keywords of `Lab.train`, which apply to all stages.
    """
    example = 'mosaic.Stage("CartPole-v1", steps=10_000)'
    if isinstance(stages, str | Mapping) or not isinstance(stages, Sequence) or not stages:
        problems.add("curriculum", f"curriculum={stages!r:.100}: must be a list of stages, such as {example}")
        return {}
    if len(stages) > MAX_STAGES:
        problems.add("curriculum", f"curriculum has {len(stages):,} stages; the maximum is {MAX_STAGES}")
    sound = {}
    for number, stage in enumerate(stages, 1):
        if not isinstance(stage, Stage):
            problems.add(
                "curriculum", f"stage {number} is {stage!r:.100}: must be a stage, such as {example}"
            )
            continue
        wrong = [
            *stage.problems(),
            *(
                f"{name} is the same in all stages: pass it to lab.train"
                for name in stage.hyperparameters
                if name in shared
            ),
        ]
        if number < len(stages) and stage.steps is None and stage.until is None:
            hint = "".join(f"; you gave {word}=, did you mean {end}=?" for word, end in _near_ends(stage))
            wrong.append(f"has no end, which all but the last stage need: give it steps or until{hint}")
        name = stage_name(number, stage)
        for text in wrong:
            problems.add("curriculum", f"{name}: {text}")
        if not wrong:
            sound[name] = stage
    return sound


def stage_name(number: int, stage: Stage) -> str:
    """Return the name of a stage in errors. Numbers start at 1."""
    return f"stage {number} ({stage.env})" if isinstance(stage.env, str) and stage.env else f"stage {number}"


def in_terms_of_stage(stage: Stage, text: str) -> str:
    """Rephrase a worker's error about a stage in the user's terms: ``steps`` for the step at which its run
    ends, and a suggested keyword of `Stage` for an unknown hyperparameter."""
    if stage.steps is not None:
        text = re.sub(rf"(checkpoint\.stop_at|total_timesteps)(?=={int(stage.steps)}\b)", "steps", text)
    unknown = _UNKNOWN.search(text)
    near = _nearest(unknown[1], _KEYWORDS) if unknown else None
    return f"{text} (or did you mean mosaic.Stage's {near}=?)" if near else text


def _near_ends(stage: Stage) -> Iterator[tuple[str, str]]:
    """Yield the hyperparameters of a stage that resemble ``steps`` or ``until``, each with the resembled
    keyword."""
    for name in stage.hyperparameters:
        if near := _nearest(name, _END_KEYWORDS):
            yield name, near


def _nearest(name: str, keywords: Sequence[str]) -> str | None:
    """Return the keyword of which ``name`` is most likely a misspelling, if any; "num_steps" does not match
    "steps"."""
    return next(iter(difflib.get_close_matches(name.lower(), keywords, n=1, cutoff=0.75)), None)


def check_training(request: TrainRequest, problems: Problems) -> None:
    """Report arguments of `Lab.train` that a curriculum does not support."""
    for name, why in _UNFIT.items():
        if (value := getattr(request, name)) is not None:
            problems.add(name, f"{name}={value!r:.100}: {why}; leave it out")


def total_steps(stages: Sequence[Stage], total: int | None, problems: Problems) -> int:
    """Return the total number of steps of the training, which is ``total`` if given."""
    steps = [int(stage.steps) for stage in stages if stage.steps is not None]
    all_given = len(steps) == len(stages)
    if total is None:
        if not all_given:
            text = "total_timesteps: give the steps of the whole training, as not every stage has steps"
            problems.add("total_timesteps", text)
        return sum(steps) or 1
    if all_given and total != sum(steps):
        text = f"total_timesteps={total:,}: the stages have {sum(steps):,} steps together; leave it out"
        problems.add("total_timesteps", text)
    elif not all_given and total <= sum(steps):
        text = (
            f"total_timesteps={total:,}: stages have {sum(steps):,} of it, which leaves none for the others"
        )
        problems.add("total_timesteps", text)
    return max(1, total)


def check_algorithm(
    subject: str,
    capabilities: Mapping[str, Any],
    algorithm: str | None,
    stages: Sequence[Stage],
    problems: Problems,
) -> None:
    """Check that a worker with these ``capabilities`` can train ``algorithm`` in these stages. ``subject`` is
    the algorithm's name in errors."""
    algorithms = capabilities.get("algorithms", ())
    if algorithms and algorithm not in algorithms:
        return  # the worker reports this error
    bound = capabilities.get("resume_bound", {}).get(algorithm)
    if bound is None:
        text = "trainings can end and resume at given steps (resume_bound in its capabilities)"
        problems.add("algorithm", f"{subject}: its worker does not declare that {text}, which stages need")
        return
    several = len({stage.env for stage in stages}) > 1
    if several and algorithm not in capabilities.get("resume_elsewhere", ()):
        text = "cannot resume in another environment (resume_elsewhere in the capabilities of its worker)"
        problems.add("algorithm", f"{subject} {text}: its stages can have one environment only")
    for name in {name for stage in stages for name in stage.hyperparameters}:
        values = [stage.hyperparameters.get(name) for stage in stages]
        if (reason := bound.get(name) or bound.get("*")) and values.count(values[0]) < len(values):
            problems.add("curriculum", f"{name}: a resumed {subject} cannot change it: {reason}")


def check_spaces(stages: Sequence[Stage], plans: Sequence[TrainingPlan], problems: Problems) -> None:
    """Check that each stage's environment has the same spaces as that of the previous stage."""
    for number, (before, after) in enumerate(pairwise(plans), 2):
        if not before.spaces or not after.spaces:
            continue  # the worker compares them when the stage begins
        trained, continued = ({**plan.spaces, "env_id": plan.config["env_id"]} for plan in (before, after))
        if why := space_misfit(trained, continued, before.config["wrappers"]):
            environments = f"{stages[number - 1].env} after {stages[number - 2].env}"
            problems.add("curriculum", f"stage {number} cannot train on {environments}: {why}")
