"""`Worker`, a shim's metadata and callables for the command line (`mosaic_contract.cli`)."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Sequence

from mosaic_contract.config import TrainingConfig
from mosaic_contract.hyperparameters import Parameter
from mosaic_contract.metadata import (
    ACTION_SPACES,
    PARADIGMS,
    Algorithm,
    WorkerCapabilities,
    WorkerMetadata,
    describe_algorithms,
    describe_worker,
)
from mosaic_contract.operators import AgentSetup, Operator
from mosaic_contract.telemetry import Telemetry

if TYPE_CHECKING:
    from mosaic_contract.arena import EnvironmentFacts
    from mosaic_contract.training_plan import PlannedTraining

Results = Optional[Mapping[str, Any]]
Train = Callable[[Any, Telemetry], Results]


@dataclass(frozen=True)
class Worker:
    """A shim's metadata and callables for `main`. No callable may import upstream before it is called.

    A worker that trains has `resolve` and `train`, a worker that acts has `operate`, and a worker that
    provides environments has `make_environment`; the modes of its capabilities must agree.

    metadata: `get_worker_metadata` of the shim.
    resolve: validates a configuration; raises `ConfigError`. Returns a `PlannedTraining`, which is passed to
        `train`, or the resolved configuration as JSON, whose "algorithm" and "hyperparameters" become part of
        the configuration that `train` receives; an optional "program" (path, cwd) is a program of the user,
        recorded as provenance. A dry run does only this.
    train: trains to the end, given the plan or configuration and telemetry; returns the final metrics or
        None. May raise any exception; `UpstreamFailed` if a program of the library failed and printed the
        reason.
    hyperparameters: the parameters of each algorithm, for `--describe`.
    optional: which of "algorithm", "env_id" and "total_timesteps" a configuration may omit.
    operate: makes the operator of one agent, for `--interactive`; raises `ConfigError` for unsupported
        settings and spaces. Agents may share memory-intensive objects.
    make_environment: (id, keywords, "rgb_array" or None) makes an environment of Gymnasium or PettingZoo (AEC
        or parallel), for `--arena` and `--environments`; raises `ConfigError` if it cannot.
    environment_facts: maps (that environment, an agent's id) to additional facts for describers and panels.
    wraps: whether its trainings apply the configuration's `wrappers`; otherwise wrappers are refused.
    environments: the ids known to `make_environment`, for `--describe`.
    inside: whether its operators may run in the process of its own arenas, which saves one hop per step. They
        must not use the global generators of `random` and NumPy.
    concurrent: whether the agents of one process act at the same time, each in its own thread: for operators
        that wait for an external service, such as a model's endpoint. Shared objects must be thread-safe;
        calls of `operate` are serialized.
    preload: modules, mainly upstream's, that a warm worker (`mosaic_contract.warm`) imports for its
        trainings and operators. Importing them must not start threads, use a GPU or depend on the run. Empty:
        all are started cold, as with JAX and Ray, whose threads do not survive a fork.
    starts_python: whether `train` runs upstream in a child process (`start_python`).
    """

    metadata: Callable[[], tuple[WorkerMetadata, WorkerCapabilities]]
    resolve: Callable[[TrainingConfig], PlannedTraining | dict[str, Any]] | None = None
    train: Train | None = None
    hyperparameters: Callable[[], Mapping[str, Sequence[Parameter]]] = dict
    optional: Sequence[str] = ()
    operate: Callable[[AgentSetup], Operator] | None = None
    make_environment: Callable[[str, Mapping[str, Any], str | None], Any] | None = None
    environment_facts: Callable[[Any, str], EnvironmentFacts] | None = None
    environments: Callable[[], Sequence[str]] = list
    wraps: bool = False
    inside: bool = False
    concurrent: bool = False
    preload: Sequence[str] = ()
    starts_python: bool = False


def deferred(name: str) -> Callable[..., Any]:
    """Return a function that imports and calls the function or class "package.module:name", so that a command
    line starts without importing upstream."""
    return lambda *args, **kwargs: resolve_name(name)(*args, **kwargs)


def operator_worker(name: str, operator: str, *, concurrent: bool = False, **details: Any) -> Worker:
    """Return the worker `name`, whose package is `mosaic-<name>-worker`, for one kind of operator that acts
    in every environment.

    `operator` is the operator's class, "package.module:Class", imported for the first agent. `details` are as
    in `describe_worker`.
    """
    capabilities = {"supported_paradigms": PARADIGMS, "action_spaces": ACTION_SPACES, "modes": ["operate"]}
    metadata = functools.partial(describe_worker, name, f"mosaic-{name}-worker", **capabilities, **details)
    return Worker(metadata, operate=deferred(operator), concurrent=concurrent)


def training_worker(
    name: str,
    plan: str,
    algorithms: Mapping[str, Algorithm],
    *,
    make_environment: Callable[..., Any],
    preload: Sequence[str] = (),
    **details: Any,
) -> Worker:
    """Return the worker `name` for algorithms of a library, which also acts and provides environments.

    `plan` is its class of `PlannedTraining`, "sb3_worker.config:Sb3Plan". Its package also has the functions
    `runtime.train`, `hyperparameters.all_hyperparameters` and `operator.operate`; each module is imported
    when it is needed. `preload` is as in `Worker`, `details` are as in `describe_worker`.
    """
    package = plan.partition(".")[0]

    def metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
        return describe_worker(
            name,
            f"mosaic-{package.replace('_', '-')}",
            modes=["train", "operate", "arena"],
            acts_in_batches=True,
            uses_environment_servers=True,
            **describe_algorithms(algorithms),
            **details,
        )

    return Worker(
        metadata,
        deferred(f"{plan}.of"),
        deferred(f"{package}.runtime:train"),
        deferred(f"{package}.hyperparameters:all_hyperparameters"),
        operate=deferred(f"{package}.operator:operate"),
        make_environment=make_environment,
        wraps=True,
        preload=preload,
    )
