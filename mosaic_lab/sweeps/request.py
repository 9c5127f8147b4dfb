"""The request of a sweep: the arguments of `Lab.sweep` as one value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, ClassVar, Literal, Self

from mosaic_contract.config import nearest
from msgspec import Meta, structs

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.runs.checkpoints import RETURN
from mosaic_lab.runs.hardware import cpu_cores
from mosaic_lab.runs.request import Code, Request, compact_seeds, literal
from mosaic_lab.runs.train_request import TrainRequest
from mosaic_lab.sweeps.space import (
    Choice,
    Distribution,
    Space,
    TrialSearch,
    integer,
    loguniform,
    space_of,
    uniform,
)
from mosaic_lab.telemetry.metrics import RETURN_NAMES
from mosaic_lab.validation import Problems, seed_range

Search = Mapping[str, Any] | Callable[[TrialSearch], Mapping[str, Any]] | Space
Sampler = Literal["tpe", "cma-es", "qmc", "random", "grid", "pbt"]
Pruner = Literal["asha", "hyperband", "median", "none", "asha-promotion"]
Aggregate = Literal["mean", "iqm"]
Mode = Literal["max", "min"]

MAX_TRIALS = 10_000
POPULATION = "pbt"
"""The sampler for population-based training (Jaderberg et al. 2017)."""
_RANGE = ("low", "high", "log", "whole")


class SweepRequest(Request, kw_only=True, frozen=True):
    """The arguments of `Lab.sweep` as given, before `plan_sweep` validates them, or validated.

    All trials share ``training``, whose keys are beside the others in a file for ``mosaic-lab sweep``.
    """

    METHOD: ClassVar[str] = "sweep"

    training: TrainRequest
    search: Annotated[Search, Meta(description="the table of hyperparameters to search")]
    trials: Annotated[int, Meta(ge=1, le=MAX_TRIALS, description="number of trials")] = 20
    seeds: Annotated[Iterable[int], Meta(description="training seeds of each trial, one run for each")] = (1,)
    metric: Annotated[
        str | None,
        Meta(description="the metric to optimise (default: the return; with evaluate, evaluation/return)"),
    ] = None
    mode: Annotated[Mode, Meta(description="optimise towards its maximum or minimum")] = "max"
    aggregate: Annotated[Aggregate, Meta(description="how to combine the values of several seeds")] = "mean"
    sampler: Annotated[Sampler, Meta(description="how to propose trials")] = "tpe"
    pruner: Annotated[
        Pruner | None, Meta(description="when to stop trials that fall behind (default: asha)")
    ] = None
    interval: Annotated[int | None, Meta(ge=1, description="steps between two decisions of pbt")] = None
    seed: Annotated[int, Meta(description="the sampler's seed")] = 0
    parallel: Annotated[
        int | None, Meta(ge=1, le=1_000, description="runs that train at once (default: the CPU cores)")
    ] = None
    rounds: Annotated[
        bool, Meta(description="propose that many trials at once, when all others have ended")
    ] = False

    @property
    def chosen_metric(self) -> str:
        """The metric; default: the return of the evaluated checkpoints, or else of the training."""
        return self.metric or (RETURN_NAMES[0] if self.training.evaluate is None else RETURN)

    @property
    def chosen_pruner(self) -> str:
        """The pruner; default: the sampler's usual one."""
        return self.pruner or ("none" if self.sampler == POPULATION else "asha")

    @property
    def at_once(self) -> int:
        """The maximum number of runs that train at once."""
        return self.parallel or cpu_cores()

    def checked(self, problems: Problems) -> Self:
        """Return the request, and its training, with numbers of the declared types; see `Request.checked`."""
        return structs.replace(super().checked(problems), training=self.training.checked(problems))

    def to_json(self) -> dict[str, Any]:
        """Return the given arguments in the form of a file for ``mosaic-lab sweep``, which `of_json` reads. A
        search function is recorded as its source."""
        space = space_of(self.search)
        without_parts = structs.replace(self, seeds=compact_seeds(self.seeds), training=None, search=None)
        content = super(SweepRequest, without_parts).to_json()
        del content["training"]
        content["search"] = space.code or {
            name: list(distribution.values) if isinstance(distribution, Choice) else asdict(distribution)
            for name, distribution in space.parameters.items()
        }
        return self._shared.to_json() | content

    def written(self) -> tuple[Sequence[str], Mapping[str, Any]]:
        """Return the arguments as code. Raises ValueError if the sweep searches by a function, whose source
        is untrusted."""
        space = space_of(self.search)
        if space.code is not None:
            raise ValueError("a search function is not written as code")
        keywords = self.given("search", "trials", "seeds") | {"seeds": compact_seeds(self.seeds)}
        keywords["search"] = {
            name: Code(_code_of(distribution)) for name, distribution in space.parameters.items()
        }
        del keywords["training"]
        return [literal(self.training.worker)], self._shared.keywords() | keywords

    @property
    def _shared(self) -> TrainRequest:
        """The training without the values that a sweep decides."""
        return structs.replace(self.training, seed=1, stop_at=None)

    @classmethod
    def of_json(cls, content: Mapping[str, Any], problems: Problems) -> SweepRequest:
        """Return the request in a file for ``mosaic-lab sweep``; add any problems. A search function is never
        read, because that would execute it."""
        arguments = dict(content)
        if not isinstance(arguments.get("worker"), str):
            problems.add("worker", 'worker: give the name of one, such as worker = "cleanrl"')
        search = arguments.get("search")
        if not isinstance(search, Mapping):
            problems.add("search", "search: give a table, such as [search] with num_envs = [4, 8]")
            search = {}
        arguments["search"] = {name: _searched(name, value, problems) for name, value in search.items()}
        if isinstance(arguments.get("seeds"), Mapping):
            arguments["seeds"] = seed_range(arguments["seeds"], problems)
        problems.check()
        sweep_arguments = {name: arguments.pop(name) for name in cls.__struct_fields__ if name in arguments}
        return cls(training=TrainRequest.of(arguments), **sweep_arguments)


def _searched(name: str, value: Any, problems: Problems) -> Any:
    """Return a list unchanged, or the range described by a table."""
    if not isinstance(value, Mapping):
        return value
    field = f"search.{name}"
    for key in value:
        if key not in _RANGE:
            problems.add(field, f"{field} has no {key!r}{nearest(key, _RANGE)}")
    if missing := [key for key in _RANGE[:2] if key not in value]:
        problems.add(field, f"{field} has no {missing[0]!r}: give both, such as {{low = 1e-5, high = 1e-2}}")
        return None
    low, high = value["low"], value["high"]
    try:
        if value.get("whole"):
            return integer(low, high, log=bool(value.get("log")))
        return (loguniform if value.get("log") else uniform)(low, high)
    except ConfigurationError as error:
        problems.add(field, f"{field}: {error}")
        return None


def _code_of(distribution: Distribution) -> str:
    if isinstance(distribution, Choice):
        return literal(list(distribution.values))
    bounds = f"{literal(distribution.low)}, {literal(distribution.high)}"
    if distribution.whole:
        return f"mosaic.search.integer({bounds}{', log=True' if distribution.log else ''})"
    return f"mosaic.search.{'loguniform' if distribution.log else 'uniform'}({bounds})"
