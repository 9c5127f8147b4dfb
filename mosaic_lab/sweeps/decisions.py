"""A sweep's sampler and pruner, implemented by Optuna.

Only this module imports Optuna, when a sweep needs it. The study is kept in memory and rebuilt from the
sweep's own log. CMA-ES starts a new population after a restart: Optuna pickles its state into trial
attributes, and nothing in a run folder is ever unpickled. References: random search, Bergstra and Bengio
(2012); TPE, Bergstra et al.
(2011); CMA-ES, Hansen and Ostermeier (2001); Sobol sequences, Sobol (1967); ASHA, Li et al. (2020);
Hyperband, Li et al. (2018); the median rule, Golovin et al. (2017); PED-ANOVA importances, Watanabe et al.
(2023).
"""

from __future__ import annotations

import hashlib
import logging
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mosaic_lab.sweeps.segments import FACTOR
from mosaic_lab.sweeps.space import Choice, Distribution, Space, Suggest, from_json, to_json
from mosaic_lab.sweeps.trials import Proposal, Trial, TrialState

if TYPE_CHECKING:
    import optuna

REPORTS = 27
"""Number of intermediate values per trial, evenly spaced: a power of the reduction factor, so that they
include the rungs of ASHA and Hyperband.
"""
_STARTUP = 5
"""Number of trials before the median rule applies."""


class Importance(dict[str, float]):
    """The importance of each parameter; if empty, it is shown as the ``reason``."""

    def __init__(self, shares: Mapping[str, float] | None = None, reason: str = "") -> None:
        super().__init__(shares or {})
        self.reason = reason

    def __repr__(self) -> str:
        return super().__repr__() if self else f"<no parameter importance: {self.reason}>"


class Decisions:
    """The sampler and the pruner of one sweep. The same ``seed`` and trials give the same decisions.

    ``total`` is the number of steps of a full trial; ``trials`` are the earlier trials, in order.
    """

    def __init__(
        self,
        space: Space,
        *,
        seed: int,
        sampler: str,
        pruner: str,
        maximize: bool,
        total: int,
        trials: Sequence[Trial] = (),
    ) -> None:
        import optuna

        optuna.logging.set_verbosity(logging.WARNING)
        self._space = space
        self._seed = seed
        self._sampler = sampler
        self._predefined = _proposals(space, sampler, seed)
        self._study = optuna.create_study(
            study_name=f"seed {seed}",  # Hyperband assigns brackets by study name
            direction="maximize" if maximize else "minimize",
            pruner=_pruner(pruner, total),
        )
        for trial in trials:
            self._add(trial)
            if self._predefined is not None:
                next(self._predefined, None)

    def propose(self) -> Proposal | None:
        """Return the next trial's values; None if a grid is exhausted. Raises ConfigurationError if the
        search function fails."""
        fixed = None
        if self._predefined is not None:
            fixed = next(self._predefined, None)
            if fixed is None:
                return None
        with _quietly():
            if fixed is not None:
                self._study.enqueue_trial(fixed)
            number = len(self._study.get_trials(deepcopy=False))
            self._study.sampler = _optuna_sampler(self._sampler, _seed(self._seed, number))
            recorder = _Noted(_Ask(self._study.ask()))
            hyperparameters = self._space.sample(recorder)
            return Proposal(recorder.parameters, hyperparameters, recorder.distributions)

    def report(self, number: int, step: int, value: float) -> tuple[bool, dict[str, float]]:
        """Record an intermediate value.

        Return whether to prune the trial, and the pruner's own values for it.
        """
        import optuna

        with _quietly():
            trial = optuna.trial.Trial(self._study, self._id(number))
            trial.report(value, step)
            prune = trial.should_prune()
            attributes = self._study.get_trials(deepcopy=False)[number].system_attrs
        return prune, {name: rung for name, rung in attributes.items() if name.startswith("completed_rung")}

    def end(self, trial: Trial) -> None:
        """Record the end of a trial."""
        import optuna

        state = _states(optuna)[trial.state]
        value = trial.value if state is optuna.trial.TrialState.COMPLETE else None
        with _quietly():
            self._study.tell(trial.number, value, state=state)

    def _id(self, number: int) -> int:
        trial_id: int = self._study.get_trials(deepcopy=False)[number]._trial_id
        return trial_id

    def _add(self, trial: Trial) -> None:
        import optuna

        state = _states(optuna)[trial.state]
        self._study.add_trial(
            optuna.trial.create_trial(
                state=state,
                value=trial.value if state is optuna.trial.TrialState.COMPLETE else None,
                params=trial.parameters,
                distributions={
                    name: _distribution(from_json(distribution))
                    for name, distribution in trial.distributions.items()
                },
                intermediate_values=trial.reports,
                system_attrs=dict(trial.rungs),
            )
        )

    def importance(self) -> Importance:
        """Return the share of the variation between trials that each parameter explains, largest first; the
        shares sum to 1. Empty, with the reason, if there are fewer than two different values."""
        import optuna

        completed = self._study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.COMPLETE])
        if len(completed) < 2:
            return Importance(reason=f"it needs at least 2 completed trials, and {len(completed)} completed")
        if len({trial.value for trial in completed}) < 2:  # Optuna assigns equal shares
            value = f"{completed[0].value:.6g}"
            return Importance(reason=f"all {len(completed)} completed trials have the same value, {value}")
        if all(trial.params == completed[0].params for trial in completed):
            return Importance(reason=f"all {len(completed)} completed trials have the same parameters")
        with _quietly():
            try:
                importances = optuna.importance.get_param_importances(
                    self._study, evaluator=optuna.importance.PedAnovaImportanceEvaluator()
                )
            except (ValueError, RuntimeError):
                return Importance(reason="the completed trials have no parameter in common")
        return Importance({name: value for name, value in importances.items() if math.isfinite(value)})


class _Ask:
    """Suggests values with Optuna."""

    def __init__(self, trial: optuna.Trial) -> None:
        self._trial = trial

    def suggest(self, name: str, distribution: Distribution) -> Any:
        if isinstance(distribution, Choice):
            return self._trial.suggest_categorical(name, distribution.values)
        low, high = distribution.low, distribution.high
        if distribution.whole:
            return self._trial.suggest_int(name, int(low), int(high), log=distribution.log)
        return self._trial.suggest_float(name, low, high, log=distribution.log)


class _Noted:
    """Records the suggested distributions."""

    def __init__(self, suggest: Suggest) -> None:
        self._suggest = suggest
        self.parameters: dict[str, Any] = {}
        self.distributions: dict[str, dict[str, Any]] = {}

    def suggest(self, name: str, distribution: Distribution) -> Any:
        self.distributions[name] = to_json(distribution)
        self.parameters[name] = self._suggest.suggest(name, distribution)
        return self.parameters[name]


def _proposals(space: Space, sampler: str, seed: int) -> Iterator[dict[str, Any]] | None:
    """Return the proposals of a sampler that ignores results, in order; None for other samplers."""
    if sampler == "grid":
        return space.grid()
    return _sobol(space, seed) if sampler == "qmc" else None


def _sobol(space: Space, seed: int) -> Iterator[dict[str, Any]]:
    import optuna

    with _quietly():
        sampler = optuna.samplers.QMCSampler(seed=_seed(seed, 0), scramble=True)
        study = optuna.create_study(sampler=sampler)
    while True:
        with _quietly():
            recorder = _Noted(_Ask(study.ask()))
            space.sample(recorder)
        yield recorder.parameters


def _optuna_sampler(name: str, seed: int) -> optuna.samplers.BaseSampler:
    import optuna

    if name == "tpe":
        return optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True, constant_liar=True)
    if name == "cma-es":
        return optuna.samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)
    return optuna.samplers.RandomSampler(seed=seed)


def _pruner(name: str, total: int) -> optuna.pruners.BasePruner:
    import optuna

    first = max(1, total // FACTOR**2)
    if name == "asha":
        return optuna.pruners.SuccessiveHalvingPruner(min_resource=first, reduction_factor=FACTOR)
    if name == "hyperband":
        return optuna.pruners.HyperbandPruner(
            min_resource=first, max_resource=max(1, total), reduction_factor=FACTOR
        )
    if name == "median":
        return optuna.pruners.MedianPruner(n_startup_trials=_STARTUP, n_warmup_steps=total // 9)
    return optuna.pruners.NopPruner()


def _distribution(distribution: Distribution) -> optuna.distributions.BaseDistribution:
    from optuna import distributions

    if isinstance(distribution, Choice):
        return distributions.CategoricalDistribution(distribution.values)
    if distribution.whole:
        return distributions.IntDistribution(
            int(distribution.low), int(distribution.high), log=distribution.log
        )
    return distributions.FloatDistribution(distribution.low, distribution.high, log=distribution.log)


def _states(optuna: Any) -> dict[TrialState, Any]:
    states = optuna.trial.TrialState
    return {
        TrialState.QUEUED: states.RUNNING,
        TrialState.RUNNING: states.RUNNING,
        TrialState.WAITING: states.PRUNED,
        TrialState.COMPLETED: states.COMPLETE,
        TrialState.PRUNED: states.PRUNED,
        TrialState.FAILED: states.FAIL,
        TrialState.CANCELLED: states.FAIL,
    }


def _seed(seed: int, number: int) -> int:
    """Return the sampler's seed for one proposal: different for each, and unchanged by a restart."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{number}".encode()).digest()[:4], "big")


@contextmanager
def _quietly() -> Iterator[None]:
    """Suppress Optuna's warnings about experimental arguments."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
