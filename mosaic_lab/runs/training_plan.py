"""A validated training: everything needed to start its runs, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mosaic_lab.runs.run import Run
from mosaic_lab.runs.supervisor import Supervisor
from mosaic_lab.runs.train_request import TrainRequest, nested_hyperparameters

SPACES = ("agents", "observation_space", "action_space")
"""Fields of a worker's dry run that describe the environment's spaces, read by
`mosaic_contract.checkpoints.spaces_of`."""


def note_on_steps(steps: int | None, requested: int | None) -> str:
    """Return a line about a training that ends at a step other than the requested one; empty if it does
    not."""
    if steps is None or requested is None or steps == requested:
        return ""
    return f"Only whole updates are trained: {steps:,} steps ({requested:,} requested)."


@dataclass(frozen=True)
class TrainingPlan:
    """The common part of the runs of a training or a sweep. See `Supervisor.start`.

    ``config`` is the configuration of the run with the first seed and ``hyperparameters`` are all values used
    in training, including defaults. ``spaces`` are the environment's spaces, in the format of checkpoint
    descriptions, and ``steps`` is the step at which the training ends, after whole updates. They are empty
    and None, respectively, if the worker does not report them.
    """

    request: TrainRequest
    command: Sequence[str]
    config: Mapping[str, Any]
    hyperparameters: Mapping[str, Any] | None = None
    worker_environment: Mapping[str, Any] = field(default_factory=dict)
    program: Mapping[str, str] | None = None
    spaces: Mapping[str, Any] = field(default_factory=dict)
    steps: int | None = None

    @property
    def worker(self) -> str:
        return self.request.worker

    def start(
        self,
        supervisor: Supervisor,
        seed: int,
        changes: Mapping[str, Any] | None = None,
        *,
        resume_from: str | None = None,
        stop_at: int | None = None,
        **more: Any,
    ) -> Run:
        """Start a run, with ``changes`` to its hyperparameters, or to entries of tables, as in
        `nested_hyperparameters`.

        ``resume_from`` and ``stop_at`` replace those of the request: the run ends at that step with a
        checkpoint, while its schedules still count to ``total_timesteps``. ``more`` are further arguments of
        `Supervisor.start`. Raises the errors of `Supervisor.start`.
        """
        changes = changes or {}
        segment = {"resume_from": resume_from, "stop_at": stop_at}
        segment = {name: value for name, value in segment.items() if value is not None}
        request = self.request.with_(seed=seed, **segment, **changes)
        config = {
            **self.config,
            "seed": seed,
            "hyperparameters": nested_hyperparameters({**self.config["hyperparameters"], **changes}),
            "checkpoint": {**self.config["checkpoint"], **segment},
        }
        hyperparameters = self.hyperparameters
        return supervisor.start(
            list(self.command),
            config,
            worker=self.worker,
            gpus=request.gpus,
            threads=request.threads,
            env_vars=request.env_vars,
            pass_env_vars=request.pass_env_vars,
            grace_seconds=request.grace_seconds,
            worker_environment=self.worker_environment,
            program=self.program,
            hyperparameters=None
            if hyperparameters is None
            else nested_hyperparameters({**hyperparameters, **changes}),
            films=request.films,
            steps=None if changes or segment else self.steps,
            on=request.on,
            restarts=request.restarts,
            request=request.to_json(),
            **more,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the JSON content that `from_json` reads."""
        return {**vars(self), "request": self.request.to_json()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any], pass_env_vars: Sequence[str] = ()) -> TrainingPlan:
        """Return the plan stored by `to_json`. Its runs are passed the variables ``pass_env_vars``. Raises
        TypeError or KeyError for other content."""
        if "request" in content:
            request = TrainRequest.of_json(content["request"])
        else:  # of an earlier version, which had these arguments among its own fields
            request = TrainRequest.of_files(content["worker"], content["config"], content)
        if pass_env_vars:
            request = request.with_(pass_env_vars=list(pass_env_vars))
        fields = {
            name: content[name] for name in cls.__dataclass_fields__ if name in content and name != "request"
        }
        return cls(request=request, **fields)
