"""The validated plan of a curriculum, and its representation in ``config.json``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mosaic_lab import workers
from mosaic_lab.engines.clusters import process_variables
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.runs.curriculum import Curriculum
from mosaic_lab.runs.curriculum_checks import (
    check_algorithm,
    check_spaces,
    check_stages,
    check_training,
    in_terms_of_stage,
    total_steps,
)
from mosaic_lab.runs.run_process import GRACE_SECONDS
from mosaic_lab.runs.stages import Stage
from mosaic_lab.runs.supervisor import Supervisor
from mosaic_lab.runs.train_request import TrainRequest
from mosaic_lab.runs.training_plan import TrainingPlan
from mosaic_lab.validation import Problems

COMMAND = [sys.executable, "-m", "mosaic_lab.curricula"]
_CHECKPOINTS = 10  # default, for the shortest stage; a stage can end early only at a checkpoint
_ENOUGH = 10**9  # steps


@dataclass(frozen=True)
class CurriculumPlan:
    """A training in stages. Each stage has its own plan, with the seed of the first run.

    Films show the curriculum's checkpoints; the runs of its stages make none. ``steps`` is the step at which
    the last stage ends, None if unknown.
    """

    request: TrainRequest
    stages: tuple[Stage, ...]
    plans: tuple[TrainingPlan, ...]
    steps: int | None = None

    @property
    def total_timesteps(self) -> int:
        """Maximum total steps of all stages."""
        return int(self.plans[0].config["total_timesteps"])

    def start(self, supervisor: Supervisor, seed: int, *, group: str | None = None) -> Curriculum:
        """Start the curriculum's process. Raises MosaicError."""
        first, request = self.plans[0], self.request.with_(seed=seed)
        env_vars = request.env_vars or {}
        of_stages = {name for stage in self.stages for name in stage.hyperparameters}
        common = first.config["hyperparameters"]
        config = {
            **first.config,
            "env_id": self.stages[-1].env,
            "seed": seed,
            "hyperparameters": {name: value for name, value in common.items() if name not in of_stages},
            "checkpoint": {**first.config["checkpoint"], "stop_at": None},
        }
        environments = dict.fromkeys(stage.env for stage in self.stages)
        label = f"{first.worker} {config['algorithm']} {' → '.join(environments)}"[:180]
        run = supervisor.start(
            COMMAND,
            {**config, **self.to_json(), "pass_env_vars": [*request.pass_env_vars, *env_vars]},
            worker=first.worker,
            label=f"{label} seed {seed}",
            group=group,
            env_vars={**process_variables(request.on), **env_vars},
            pass_env_vars=request.pass_env_vars,
            grace_seconds=request.grace_seconds + GRACE_SECONDS,
            worker_environment=first.worker_environment,
            hyperparameters=first.hyperparameters,
            films=request.films,
            steps=self.steps,
            starts_runs=True,
            request=request.to_json(),
        )
        return Curriculum(run.folder, run.display)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON content that `from_config` reads."""
        return {
            "curriculum": [stage.to_json() for stage in self.stages],
            "stage_plans": [plan.to_json() for plan in self.plans],
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> CurriculumPlan:
        """Return the plan in a curriculum's configuration. Raises KeyError or TypeError for other content."""
        plans = tuple(TrainingPlan.from_json(plan, config["pass_env_vars"]) for plan in config["stage_plans"])
        return cls(plans[0].request, tuple(map(Stage.from_json, config["curriculum"])), plans)


def plan_curriculum(
    plan: Callable[[TrainRequest, Callable[[str], None]], TrainingPlan],
    request: TrainRequest,
    stages: Sequence[Stage],
    progress: Callable[[str], None],
) -> CurriculumPlan:
    """Return the plan of `Lab.train` with a curriculum. ``plan`` is `Trainer.plan`, which plans each stage.

    Raises ConfigurationError with all problems at once, and the errors of ``plan``.
    """
    problems = Problems()
    request = request.checked(problems)
    check_training(request, problems)
    other = problems.found
    sound = check_stages(stages, TrainRequest.__struct_fields__, problems)
    if problems.found and (other or not sound or workers.find(request.worker) is None):
        problems.check()  # further problems can be found only if the worker is installed
    complete = not problems.found
    total = (
        total_steps(stages, request.total_timesteps, problems) if complete else _enough_steps(sound.values())
    )
    worker = workers.ensure(request.worker, progress)
    capabilities = workers.describe(worker)["capabilities"]
    base = request.with_(
        algorithm=worker.algorithm(request.algorithm), curriculum=None, films="off", total_timesteps=total
    )
    check_algorithm(
        f"{worker.name} {base.algorithm}", capabilities, base.algorithm, list(sound.values()), problems
    )
    if request.checkpoint_every is None:
        shortest = min(stage.steps or total for stage in sound.values())
        base = base.with_(checkpoint_every=max(1, shortest // _CHECKPOINTS))
    plans = []
    for name, stage in sound.items():
        of_stage = {**stage.hyperparameters, "env": stage.env, "stop_at": stage.steps}
        try:
            plans.append(plan(base.with_(**of_stage), progress))
        except ConfigurationError as error:
            for text in _problems_in(error):
                problems.add("curriculum", f"{name}: {in_terms_of_stage(stage, text)}")
    problems.check()
    check_spaces(stages, plans, problems)
    problems.check()
    steps = None
    if all(stage.until is None for stage in stages):  # the last stage ends where the whole training would
        last = base.with_(**stages[-1].hyperparameters, env=stages[-1].env)
        steps = plan(last, progress).steps
    return CurriculumPlan(request, tuple(stages), tuple(_complete(stages, plans)), steps)


def _enough_steps(stages: Iterable[Stage]) -> int:
    """Return a stand-in for an invalid total: a number of steps that is enough for any worker and that no
    stage exceeds."""
    return max([_ENOUGH, *(stage.steps for stage in stages if stage.steps is not None)])


def _problems_in(error: ConfigurationError) -> list[str]:
    """Return the problems in an error, one string each."""
    head, *problems = str(error).splitlines()
    several = bool(problems) and head.endswith("problems:")
    return [text.strip() for text in problems] if several else [head, *problems]


def _complete(stages: Sequence[Stage], plans: Sequence[TrainingPlan]) -> Iterator[TrainingPlan]:
    """Yield the plans with values for all hyperparameters that differ between stages.

    A stage that was not given one uses the value of the whole training, rather than inheriting that of the
    previous stage through its checkpoint.
    """
    names = {name for stage in stages for name in stage.hyperparameters}
    for plan in plans:
        defaults = plan.hyperparameters or {}
        values = {name: defaults[name] for name in names if name in defaults}
        hyperparameters = {**values, **plan.config["hyperparameters"]}
        yield replace(plan, config={**plan.config, "hyperparameters": hyperparameters})
