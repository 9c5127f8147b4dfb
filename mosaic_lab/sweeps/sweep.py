"""`Sweep`, a run whose data are trials, read from its folder alone like every run; and its start.

A TOML or JSON file may define a sweep; reading it executes no code. ``mosaic-lab sweep --help`` shows an
example.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from msgspec import structs

from mosaic_lab.documents import read_document
from mosaic_lab.engines.clusters import process_variables
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.keeper.run_store import RunStore
from mosaic_lab.keeper.states import RunStatus, State
from mosaic_lab.number_format import setting_text
from mosaic_lab.runs import Run, RunGroup, Supervisor
from mosaic_lab.runs.isolation import required
from mosaic_lab.runs.run_process import GRACE_SECONDS
from mosaic_lab.runs.train_request import whole_number
from mosaic_lab.runs.training import Trainer
from mosaic_lab.sweeps.plan import SweepPlan, plan_sweep
from mosaic_lab.sweeps.request import MAX_TRIALS, SweepRequest
from mosaic_lab.sweeps.trials import Trial, TrialLog, TrialState
from mosaic_lab.table_files import write_csv, write_parquet
from mosaic_lab.validation import Problems, checked, checked_methods

if TYPE_CHECKING:
    import pandas as pd

    from mosaic_lab.evaluation import Evaluation
    from mosaic_lab.evaluation.reports.plot import Plot
    from mosaic_lab.sweeps.decisions import Importance


WORKER = "sweep"
"""The name of the worker of runs that are sweeps."""
COMMAND = [sys.executable, "-m", "mosaic_lab.sweeps"]


@checked_methods("sweep")
class Sweep(Run):
    """A search over a training's hyperparameters, made by `mosaic_lab.Lab.sweep`.

    In addition to the attributes of every run (``state``, ``wait``, ``stop``, ``log`` …), it has trials, each
    an ordinary run of the store or, with several seeds, a group of runs.
    """

    @cached_property
    def plan(self) -> SweepPlan:
        """The plan of the search. Raises MosaicError if the folder is not a sweep's."""
        try:
            return SweepPlan.from_config(self.folder.config())
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise MosaicError(f"run {self.id} is not a sweep that can be read: {error!r:.200}") from None

    @cached_property
    def _log(self) -> TrialLog:
        return TrialLog(self.path)

    @property
    def records(self) -> list[Trial]:
        """The recorded trials so far, in the order in which they were proposed."""
        return self._log.read()

    def trials(self) -> pd.DataFrame:
        """Return a table with a row for each trial, indexed by its number.

        Columns: ``state``, ``value`` with ``low`` and ``high`` (95% bootstrap interval over seeds),
        ``seconds``, ``reason``, ``runs`` (their ids) and ``parameters.<name>``.
        """
        from mosaic_lab.sweeps.table import trials_frame

        return trials_frame(self.records, self.plan.request.aggregate)

    def result_table(self) -> pd.DataFrame:
        return self.trials().drop(columns=["low", "high", "runs"])

    def to_csv(self, path: Path | str) -> Path:
        """Write `trials` to a CSV file; run ids are separated by spaces."""
        from mosaic_lab.sweeps.table import for_files

        return write_csv(for_files(self.trials()), path)

    def to_parquet(self, path: Path | str) -> Path:
        """Write `trials` to a Parquet file; a parameter whose values have several types is written as text.
        Raises MosaicError without pyarrow: the extra ``parquet``."""
        from mosaic_lab.sweeps.table import for_files

        return write_parquet(for_files(self.trials()), path)

    def schedule(self, trial: int | Trial) -> pd.DataFrame:
        """Return the segments that led to a trial's newest checkpoint, whichever ``member`` trained each.

        The table also has each segment's ``stop`` in steps, ``value``, ``runs`` and ``parameters.<name>``. It
        is empty for a trial that is not trained in segments. Raises ConfigurationError for an unknown trial.
        """
        from mosaic_lab.sweeps.table import schedule_frame

        return schedule_frame(self.records, self._trial(trial))

    def lineage(self) -> Plot:
        """Plot which members of a population copied which others over the steps, with their values. Raises
        ConfigurationError for sweeps that are not population-based."""
        from mosaic_lab.sweeps.population_plots import lineage_plot

        if self.plan.request.interval is None:
            raise ConfigurationError(f'{self.id} has no lineage: only a sweep with sampler="pbt" does')
        return lineage_plot(self.plan, self.records)

    def ranked(self) -> list[Trial]:
        """Return the completed trials, best first."""
        completed = [
            trial for trial in self.records if trial.state is TrialState.COMPLETED and trial.value is not None
        ]
        sign = -1 if self.plan.request.mode == "max" else 1
        return sorted(completed, key=lambda trial: sign * (trial.value or 0.0))

    @property
    def best(self) -> Trial | None:
        """The completed trial with the best value; None before the first. The best of many is also lucky:
        `evaluate` plays it on seeds that were not used to select it."""
        return next(iter(self.ranked()), None)

    def runs(self, trial: int | Trial) -> RunGroup:
        """Return the runs of a trial that were started, one for each seed.

        For a trial in segments, these are the runs of its last segment (see `schedule` for all), and for a
        resumed trial the continuing ones. Raises ConfigurationError for an unknown trial.
        """
        return RunGroup(self._runs_of(self._trial(trial)), f"trial {self._trial(trial).number}")

    @property
    def done(self) -> int:
        """The number of ended trials or population segments, except those that `resume` continues."""
        return self.plan.done(self.records)

    def explained(self, status: RunStatus) -> str:
        """Return why the sweep is in this state, including unreadable lines of its log."""
        self._log.read()
        lines = "1 line" if self._log.damaged == 1 else f"{self._log.damaged:,} lines"
        damaged = f"left out as unreadable: {lines} of its trials.jsonl" if self._log.damaged else ""
        return "; ".join(filter(None, (super().explained(status), damaged)))

    @property
    def progress(self) -> float | None:
        """The fraction of trials done, from 0 to 1."""
        return min(1.0, self.done / self.plan.parts[0])

    @property
    def progress_text(self) -> str:
        """The number of ended trials as text: "4 of 20 trials"."""
        total, unit = self.plan.parts
        return f"{self.done:,} of {total:,} {unit}"

    def importance(self) -> Importance:
        """Return how much of the variation between trials each parameter explains, in descending order.

        The values sum to 1 (PED-ANOVA, Watanabe et al. 2023). The result is empty, and shown as its
        ``reason``, with too few completed trials or values, and for populations.
        """
        from mosaic_lab.sweeps.decisions import Decisions, Importance

        plan = self.plan
        if plan.request.interval is not None:
            return Importance(reason="the parameters of a population change during the training")
        return Decisions(
            plan.space,
            seed=plan.request.seed,
            sampler="random",
            pruner="none",
            maximize=plan.request.mode == "max",
            total=plan.total_timesteps,
            # Importance depends on parameters and final values only.
            trials=[replace(trial, reports={}, rungs={}) for trial in self.ranked()],
        ).importance()

    def stop(self, grace: float | None = None, wait: bool = True, reason: str = "") -> Self:
        """End the sweep and its trials, which save checkpoints if their workers do so on a stop; see
        `Run.stop`. `resume` continues the trials too."""
        super().stop(grace, wait, reason)
        for trial in self.records if wait else ():
            RunGroup([run for run in self._runs_of(trial) if run.alive]).stop(grace)
        return self

    def resume(self, trials: int | None = None, env_vars: Mapping[str, str] | None = None) -> Sweep:
        """Continue after a stop, a kill or, given further trials, the end. Return at once.

        Every trial is started once. Trials that a kill of the sweep left running are taken over. Trials
        cancelled by a stop are continued before new ones start, by new runs from their newest checkpoints;
        if the algorithm cannot resume or no checkpoint exists, they start over, as noted in their ``reason``
        and the sweep's log. A completed sweep without further trials is left unchanged.

        Args:
            trials: number of trials to add.
            env_vars: the environment variables that were passed to `Lab.sweep` as ``env_vars``, whose values
                are not stored; those named in ``pass_env_vars`` are read from this process again.

        Raises:
            MosaicError: the sweep is alive, or cannot be started.
            ConfigurationError: ``trials`` is not a number of trials, or an environment variable is not set.
        """
        if not self.finished:
            raise MosaicError(f"run {self.id} is {self.state}: it can be resumed when it has ended")
        numbers = {trial.number for trial in self.records}
        if lacking := [number for number in range(max(numbers, default=-1) + 1) if number not in numbers]:
            raise MosaicError(
                f"{self.path / 'trials.jsonl'} is damaged and lacks trial {lacking[0]}: the sweep cannot "
                "continue. Its trials stay in the store: start another sweep"
            )
        changes = {}
        if trials is not None and self.plan.request.interval is not None:
            raise ConfigurationError(f"trials={trials!r}: the members of a population start together")
        if trials is not None:
            total = self.plan.request.trials + whole_number("trials", trials)
            if not self.plan.request.trials < total <= MAX_TRIALS:
                raise ConfigurationError(
                    f"trials={trials!r}: must be an integer ≥ 1, {MAX_TRIALS:,} in total"
                )
            changes = {"trials": total, "total_trials": total}
        if self.state is State.COMPLETED and not changes and self.done >= self.plan.parts[0]:
            return self
        passed = required(lambda: [*self.config["pass_env_vars"]], self.id)
        names = [name for name in passed if name not in (env_vars or {})]
        launch = self.folder.document(self.folder.launch_path)
        supervisor = Supervisor(self.path.parent, launch.get("max_running"), self.display)
        process = Run(self.folder, self.display)  # the sweep's process only: it continues its trials
        variables = {**process_variables(self.plan.training.request.on), **(env_vars or {})}
        supervisor.resume(process, env_vars=variables, pass_env_vars=names, config=changes)
        if changes:
            del self.config, self.plan
        return self

    @property
    def trial_runs(self) -> list[Run]:
        """All runs of the trials that are in the store, including those that other runs have continued."""
        runs = (Run(folder, self.display) for folder in RunStore(self.path.parent).folders())
        return [run for run in runs if run.sweep == self.id]

    def remove(self, trials: bool = False) -> None:
        """Delete the sweep and, with ``trials=True``, the runs of its trials; see `Run.remove`. Raises
        MosaicError, without deleting any, if one of these is alive."""
        runs = self.trial_runs if trials else []
        RunGroup([*runs, Run(self.folder, self.display)]).remove()

    def evaluate(self, top: int = 3, seeds: Iterable[int] = range(100), **more: Any) -> Evaluation:
        """Evaluate the newest checkpoints of the best trials on fresh seeds, and return at once.

        A trial with several seeds plays as an algorithm, with all of its trainings; see
        `mosaic_lab.operators.rl`. ``more`` are further arguments of `Lab.evaluate`. Raises ConfigurationError
        if no trial has completed or the runs of one were removed, and the errors of `Lab.evaluate`.
        """
        from mosaic_lab import operators
        from mosaic_lab.evaluation import launch
        from mosaic_lab.evaluation.request import EvaluateRequest

        best = self.ranked()[: whole_number("top", top, 1)]
        if not best:
            raise ConfigurationError(f"{self.id} has no completed trial to evaluate")
        players = {}
        for trial in best:
            if not (runs := self.runs(trial)):
                raise ConfigurationError(f"the runs of trial {trial.number} are no longer in the store")
            players[f"trial {trial.number}"] = operators.rl(runs if len(trial.runs) > 1 else runs[0])
        supervisor = Supervisor(self.path.parent, display=self.display)
        keywords = {"env": self.config.get("env_id"), "operators": players, "seeds": seeds, **more}
        return launch.evaluate(supervisor, checked(EvaluateRequest, "sweep.evaluate")(**keywords))

    def _trial(self, trial: int | Trial) -> Trial:
        if isinstance(trial, Trial):
            return trial
        records = {record.number: record for record in self.records}
        if trial not in records:
            raise ConfigurationError(f"{self.id} has no trial {trial!r}: it has {len(records)}, from 0")
        return records[trial]

    def _runs_of(self, trial: Trial) -> list[Run]:
        folders = [self.path.parent / run_id for run_id in trial.runs.values()]
        return [Run(folder, self.display) for folder in folders if folder.is_dir()]

    def _described(self) -> str:
        best = self.best
        parts = [f"{self.state}", self.progress_text]
        if best is not None and best.value is not None:
            values = ", ".join(f"{name}={setting_text(value)}" for name, value in best.parameters.items())
            parts.append(f"best {self.plan.metric} {best.value:.5g} with {values}")
        return f"<Sweep {self.id}: {', '.join(parts)}, {self.reason}>"


def start_sweep(trainer: Trainer, request: SweepRequest, progress: Callable[[str], None] = print) -> Sweep:
    """Plan a sweep, install its worker, and start its process; see `mosaic_lab.Lab.sweep`, also for errors.

    ``progress`` is called with a line for each step of an installation.
    """
    plan = plan_sweep(trainer, request, progress)
    training, config = plan.training.request, plan.training.config
    resolved = structs.replace(request.training, resume_from=training.resume_from)  # as a path
    request = structs.replace(request, training=resolved)
    env_vars = training.env_vars or {}
    training_label = " ".join(str(config[name]) for name in ("algorithm", "env_id") if name in config)
    run = trainer.supervisor.start(
        COMMAND,
        {**plan.to_config(), "pass_env_vars": [*training.pass_env_vars, *env_vars]},
        worker=WORKER,
        label=f"sweep of {plan.training.worker} {training_label}"[:200],
        env_vars={**process_variables(training.on), **env_vars},
        pass_env_vars=training.pass_env_vars,
        grace_seconds=training.grace_seconds + GRACE_SECONDS,
        starts_runs=True,
        request=request.to_json(),
    )
    return Sweep(run.folder, run.display)


def read_sweep(path: Path | str) -> SweepRequest:
    """Return the request in a file. Raises ConfigurationError, with all problems, if it is invalid."""
    path = Path(path)
    document, lines = read_document(path)
    return SweepRequest.of_json(document, Problems(path.name, lines))
