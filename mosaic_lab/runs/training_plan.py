"""A validated training: all arguments for starting its runs, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from mosaic_lab.runs.films import FilmMode
from mosaic_lab.runs.run import DEFAULT_GRACE, Run
from mosaic_lab.runs.supervisor import Supervisor

SPACES = ("agents", "observation_space", "action_space")
"""Fields of a worker's dry run that describe the environment's spaces, read by
`mosaic_contract.checkpoints.spaces_of`."""


@dataclass(frozen=True)
class TrainingPlan:
    """The common part of the runs of a training or a sweep. See `Supervisor.start`.

    ``config`` is the configuration of the run with the first seed, ``hyperparameters`` are all values used in
    training, including defaults, and ``pass_env`` the names of environment variables; values of variables are
    not included. ``spaces`` are the environment's spaces, in the format of checkpoint descriptions, and
    ``steps`` is the step at which the training ends, after whole updates. They are empty and None if the
    worker does not report them.
    """

    worker: str
    command: Sequence[str]
    config: Mapping[str, Any]
    hyperparameters: Mapping[str, Any] | None = None
    gpus: int | Sequence[int] = 0
    threads: int = 1
    pass_env: Sequence[str] = ()
    grace_seconds: float = DEFAULT_GRACE
    films: FilmMode = "off"
    worker_environment: Mapping[str, Any] = field(default_factory=dict)
    program: Mapping[str, str] | None = None
    on: str | None = None
    restarts: int = 0
    spaces: Mapping[str, Any] = field(default_factory=dict)
    steps: int | None = None

    def start(
        self,
        supervisor: Supervisor,
        seed: int,
        changes: Mapping[str, Any] | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        pass_env: Iterable[str] | None = None,
        resume_from: str | None = None,
        stop_at: int | None = None,
        **more: Any,
    ) -> Run:
        """Start a run, with ``changes`` to its hyperparameters.

        ``pass_env`` replaces the plan's; ``resume_from`` and ``stop_at`` replace values of its configuration:
        the run ends at that step with a checkpoint, while its schedules still count to ``total_timesteps``.
        ``more`` are further arguments of `Supervisor.start`. Raises the errors of `Supervisor.start`.
        """
        config = {**self.config, "seed": seed}
        config["hyperparameters"] = {**config["hyperparameters"], **(changes or {})}
        segment = {"resume_from": resume_from, "stop_at": stop_at}
        given = {name: value for name, value in segment.items() if value is not None}
        config["checkpoint"] = {**config["checkpoint"], **given}
        return supervisor.start(
            list(self.command),
            config,
            worker=self.worker,
            gpus=self.gpus,
            threads=self.threads,
            environ=environ,
            pass_env=self.pass_env if pass_env is None else pass_env,
            grace_seconds=self.grace_seconds,
            worker_environment=self.worker_environment,
            program=self.program,
            hyperparameters=None
            if self.hyperparameters is None
            else {**self.hyperparameters, **(changes or {})},
            films=self.films,
            steps=None if changes or given else self.steps,
            on=self.on,
            restarts=self.restarts,
            **more,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the JSON content that `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> TrainingPlan:
        """Return the plan stored by `to_json`. Raises TypeError for other content."""
        return cls(**content)
