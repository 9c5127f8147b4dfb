"""The validated plan of a sweep, and its form in ``config.json``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from mosaic_lab import workers
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keeper.events import EVALUATED
from mosaic_lab.runs.checkpoint_runs import (
    CheckpointPlayers,
    checked_evaluation,
    checkpoint_players,
    environments_of,
)
from mosaic_lab.runs.run_record import RunRecord
from mosaic_lab.runs.train_request import TrainRequest, seed_list
from mosaic_lab.runs.training import Trainer
from mosaic_lab.runs.training_plan import TrainingPlan
from mosaic_lab.sweeps.checks import check_space, misspelt_keywords, misspelt_metric
from mosaic_lab.sweeps.decisions import Decisions
from mosaic_lab.sweeps.request import POPULATION, SweepRequest
from mosaic_lab.sweeps.segments import PROMOTION, checked_stops, population_stops, promotion_stops
from mosaic_lab.sweeps.space import Space, space_of
from mosaic_lab.sweeps.trials import Trial, TrialState
from mosaic_lab.validation import Problems, no_seeds

_SWEEP_FIELDS = [name for name in SweepRequest.__struct_fields__ if name not in ("training", "search")]


@dataclass(frozen=True)
class SweepPlan:
    """A validated sweep. ``request`` has a value for every argument; ``training`` is common to all trials.

    ``resumable``: whether the algorithm supports resuming from checkpoints. ``players``: how the checkpoints
    of the trials are evaluated; None without ``evaluate``.
    """

    request: SweepRequest
    training: TrainingPlan
    space: Space
    resumable: bool
    players: CheckpointPlayers | None = None

    @property
    def metric(self) -> str:
        """The metric to optimise."""
        return self.request.chosen_metric

    @property
    def seeds(self) -> tuple[int, ...]:
        """The training seeds of each trial."""
        return tuple(self.request.seeds)

    @property
    def total_timesteps(self) -> int:
        """The steps of a full trial."""
        return int(self.training.config["total_timesteps"])

    def trained(self, trial: Trial) -> int:
        """Return the number of steps a trial was trained for, from its runs or, if these have none recorded,
        its reports."""
        if trial.step is not None:
            return trial.step
        completed = trial.state is TrialState.COMPLETED
        return self.total_timesteps if completed else max(trial.reports, default=0)

    @property
    def stops(self) -> tuple[int, ...]:
        """The steps at which a trial's segments end; empty if a trial is trained as a whole."""
        if self.request.interval is not None:
            return population_stops(self.total_timesteps, self.request.interval)
        return promotion_stops(self.total_timesteps) if self.request.chosen_pruner == PROMOTION else ()

    @property
    def parts(self) -> tuple[int, str]:
        """The amount and unit of work: trials, or segments of a population."""
        if self.request.interval is None:
            return self.request.trials, "trials"
        return self.request.trials * len(self.stops), "segments"

    def decisions(self, trials: Sequence[Trial]) -> Decisions:
        """Return the sampler and the pruner, given the ``trials`` proposed so far."""
        return Decisions(
            self.space,
            seed=self.request.seed,
            sampler=self.request.sampler,
            pruner=self.request.chosen_pruner,
            maximize=self.request.mode == "max",
            total=self.total_timesteps,
            trials=trials,
        )

    def done(self, trials: Iterable[Trial]) -> int:
        """Return the number of completed `parts`. Cancelled trials, which may continue, do not count."""
        if self.request.interval is None:
            return sum(not trial.active and not trial.stopped for trial in trials)
        return sum(segment.value is not None for trial in trials for segment in trial.segments)

    def to_config(self) -> dict[str, Any]:
        """Return the configuration of the sweep's run."""
        shared = {name: self.training.config.get(name) for name in ("algorithm", "env_id", "launch_dir")}
        return {
            **{name: value for name, value in shared.items() if value is not None},
            **{name: getattr(self.request, name) for name in _SWEEP_FIELDS},
            "seeds": list(self.seeds),
            "resumable": self.resumable,
            "total_trials": self.parts[0],
            "search": self.space.to_json(),
            "training": self.training.to_json(),
            "players": None if self.players is None else vars(self.players),
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> SweepPlan:
        """Return the plan from the result of `to_config`. Raises KeyError or TypeError for other content."""
        training = TrainingPlan.from_json(config["training"], config.get("pass_env_vars", ()))
        space = Space.from_json(config["search"])
        arguments = {name: config[name] for name in _SWEEP_FIELDS if name in config}
        players = config.get("players")
        return cls(
            SweepRequest(training=training.request, search=space, **arguments),
            training,
            space,
            config["resumable"],
            None if players is None else CheckpointPlayers(**players),
        )


def request_of(run: RunRecord) -> SweepRequest:
    """Return the request that repeats a sweep. Raises the errors of `SweepPlan.from_config` for other runs,
    and ConfigurationError if the sweep searches by a function, whose source is untrusted."""
    if recorded := run.folder.document(run.folder.request_path):
        return SweepRequest.of_json(recorded, Problems("request.json"))
    request = SweepPlan.from_config(run.folder.config()).request  # a sweep of an earlier version
    usual = replace(request, pruner=None)
    return usual if usual.chosen_pruner == request.pruner else request


def plan_sweep(trainer: Trainer, request: SweepRequest, progress: Callable[[str], None]) -> SweepPlan:
    """Return the plan of `Lab.sweep`; ``progress`` is called with a line for each step of an installation.
    Raises ConfigurationError with all problems, and the errors of `Trainer.plan`."""
    problems = Problems()
    request = request.checked(problems)
    space = _checked(problems, "search", lambda: space_of(request.search))
    seeds = _checked(problems, "seeds", lambda: _seeds(request.seeds))
    _check_metric(request, problems)
    _check_training(request.training, problems)
    worker = workers.ensure(request.training.worker, progress)
    description = workers.describe(worker)
    training = request.training.with_(algorithm=worker.algorithm(request.training.algorithm))
    rows = {row["name"]: row for row in description["hyperparameters"].get(training.algorithm, ())}
    if rows:  # a worker without a table may take any keyword and report any metric
        training = _without_misspelt(training, rows, problems)
        if problem := misspelt_metric(request.chosen_metric):
            problems.add("metric", problem)
    examples: list[dict[str, Any]] = [{}]
    if space is not None:
        examples = check_space(
            f"{worker.name} {training.algorithm}", training.keywords(), space, rows, problems
        )
        if request.sampler == "grid":
            _checked(problems, "search", space.grid)
    stops = checked_stops(
        replace(request, training=training), len(seeds or ()), space, description["capabilities"], problems
    )
    first = training.with_(seed=(seeds or [1])[0], stop_at=stops[0] if stops else None)
    plan = _plan_of(trainer, first, examples, problems, progress)
    players = None
    if plan is not None and training.evaluate is not None:
        environments = environments_of([plan.config])
        players = _checked(
            problems, "evaluate", lambda: checkpoint_players("evaluate", worker, environments, progress)
        )
    problems.check()
    assert plan is not None and space is not None and seeds is not None  # else there was a problem
    plan = _without(plan, first, examples[0], rows)
    population = request.sampler == POPULATION
    complete = replace(
        request,
        training=plan.request,
        search=space,
        seeds=tuple(seeds),
        metric=request.chosen_metric,
        pruner=request.chosen_pruner,
        interval=stops[0] if population else None,
        parallel=request.at_once,
        rounds=bool(request.rounds) and not population,  # a population has its own rounds
    )
    resumable = plan.config["algorithm"] in description["capabilities"].get("resume_bound", {})
    return SweepPlan(complete, plan, space, resumable, players)


def _check_metric(request: SweepRequest, problems: Problems) -> None:
    """Add a problem for a metric that no worker's trials can report."""
    metric = request.chosen_metric
    if not isinstance(metric, str):
        problems.add("metric", f"metric={metric!r}: must be the name of a metric, such as 'episode_return'")
    elif metric.startswith(EVALUATED) and request.training.evaluate is None:
        problems.add("metric", f'metric={metric!r}: needs evaluate=, such as evaluate={{"seeds": range(10)}}')


def _check_training(training: TrainRequest, problems: Problems) -> None:
    """Add a problem for each argument of `Lab.train` that a sweep excludes, and for a missing one."""
    if training.films != "off":
        problems.add(
            "films", "films: a sweep makes no films; lab.make_films(run) films a run of the best trial"
        )
    if training.evaluate is not None:
        _checked(problems, "evaluate", lambda: checked_evaluation(training.evaluate or {}))
    if training.stop_at is not None:
        problems.add("stop_at", "stop_at: a sweep decides where its runs end; leave it out")
    if training.curriculum is not None:
        problems.add("curriculum", "curriculum: the trials of a sweep train in one environment, env=")
    if training.total_timesteps is None:
        problems.add("total_timesteps", "total_timesteps: give the environment steps of a trial")


def _without_misspelt(
    training: TrainRequest, rows: Mapping[str, Mapping[str, Any]], problems: Problems
) -> TrainRequest:
    """Return the training without misspelt keywords of `Lab.sweep`, each of which is added as a problem."""
    misspelt = misspelt_keywords(training.hyperparameters, rows)
    for name, text in misspelt.items():
        problems.add(name, text)
    hyperparameters = training.hyperparameters
    return replace(training, hyperparameters={k: v for k, v in hyperparameters.items() if k not in misspelt})


def _plan_of(
    trainer: Trainer,
    training: TrainRequest,
    examples: Iterable[Mapping[str, Any]],
    problems: Problems,
    progress: Callable[[str], None],
) -> TrainingPlan | None:
    """Return the plan of the first trial; add whatever the worker refuses in any of the trials, each problem
    once."""
    steps = 1 if training.total_timesteps is None else training.total_timesteps
    common = training.with_(films="off", curriculum=None, total_timesteps=steps)
    plans: list[TrainingPlan] = []
    refused: dict[str, None] = {}
    for example in examples:
        try:
            plans.append(trainer.plan(common.with_(**example), progress))
        except ConfigurationError as error:
            refused |= dict.fromkeys(str(error).splitlines())
    for text in refused:
        problems.add("search", text)
    return None if refused else plans[0]


def _without(
    plan: TrainingPlan,
    training: TrainRequest,
    chosen: Mapping[str, Any],
    rows: Mapping[str, Mapping[str, Any]],
) -> TrainingPlan:
    """Return ``plan`` without the values of the trial for which it was made. Other trials may lack some of
    them and use the worker's defaults."""
    shared, described = training.config()["hyperparameters"], plan.hyperparameters or {}
    names = {name.partition(".")[0] for name in chosen}
    usual = {name: shared.get(name, rows[name].get("default")) for name in names if name in rows}
    return dataclasses.replace(
        plan,
        request=replace(plan.request, hyperparameters=training.hyperparameters),
        config={**plan.config, "hyperparameters": shared},
        hyperparameters={name: value for name, value in described.items() if name not in names} | usual,
    )


def _seeds(seeds: Any) -> list[int]:
    """Return the seeds of each trial."""
    if not isinstance(seeds, Iterable):
        raise ConfigurationError(no_seeds(seeds))
    return seed_list(seeds)[0]


def _checked(problems: Problems, field: str, check: Callable[[], Any]) -> Any:
    try:
        return check()
    except ConfigurationError as error:
        for text in str(error).splitlines():
            problems.add(field, text)
        return None
