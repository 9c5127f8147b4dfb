"""A training request: the arguments of `Lab.train` as one value.

A keyword of `Lab.train` is a parameter there and a field here, with its place in the worker's configuration
if it has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from mosaic_contract.codec import with_tagged_tuples, with_tuples
from mosaic_contract.hyperparameters import ENV_KWARGS
from msgspec import Meta, Struct

from mosaic_lab.keeper.environment_variables import RUN_DIR_VARIABLE, requested
from mosaic_lab.runs.checkpoints import Checkpoint
from mosaic_lab.runs.films import FilmMode
from mosaic_lab.runs.run import DEFAULT_GRACE, Run
from mosaic_lab.runs.run_record import RunRecord
from mosaic_lab.runs.stages import Stage
from mosaic_lab.runs.training_arguments import (
    checkpoint_setting,
    frame_settings,
    json_value,
    name_list,
    step_count,
)
from mosaic_lab.validation import given


class TrainRequest(Struct, kw_only=True, frozen=True):
    """The arguments of `Lab.train`, as passed. `config` and `Trainer.plan` validate them.

    The descriptions are the help of ``mosaic-lab train``.
    """

    worker: Annotated[str, Meta(description="such as cleanrl")]
    algorithm: Annotated[str | None, Meta(description="one of the worker's")] = None
    env: Annotated[str | None, Meta(description="an environment id, such as CartPole-v1")] = None
    total_timesteps: Annotated[int | None, Meta(description="environment steps to train for")] = None
    curriculum: Annotated[
        Sequence[Stage] | None, Meta(description="stages to train in, in place of --env; see below")
    ] = None
    seed: Annotated[int | Iterable[int], Meta(description="one run for each, as 1 2 3 or 1,2,3")] = 1
    gpus: Annotated[
        int | Sequence[int] | None,
        Meta(description="a number, or indices such as 0,1 (default: none, or the profile's)"),
    ] = None
    threads: Annotated[int, Meta(description="CPU threads of a run")] = 1
    checkpoint_every: Annotated[
        int | None, Meta(description="steps between checkpoints (default: a tenth of the training)")
    ] = None
    resume_from: Annotated[
        Run | Checkpoint | Path | str | None,
        Meta(description="a checkpoint, or the folder or id of a run for its newest one"),
    ] = None
    stop_at: Annotated[int | None, Meta(description="the step to end at; schedules count to the last")] = None
    frames: bool | Mapping[str, Any] = True
    films: Annotated[FilmMode, Meta(description="film the policy of the last checkpoint, or of each")] = "off"
    wrappers: Annotated[
        Sequence[str], Meta(description="observation wrappers, in their order, such as flat")
    ] = ()
    environ: Mapping[str, str] | None = None
    pass_env: Annotated[
        Iterable[str], Meta(description="an environment variable to pass on (repeat for more)")
    ] = ()
    grace_seconds: Annotated[float, Meta(description="time between SIGTERM and SIGKILL")] = DEFAULT_GRACE
    on: Annotated[
        str | None, Meta(description="a Ray cluster: a profile of `mosaic-lab clusters`, or ray:HOST:PORT")
    ] = None
    restarts: Annotated[int, Meta(description="times to restart it when its node is lost")] = 0
    hyperparameters: Mapping[str, Any] = {}

    @classmethod
    def of(cls, keywords: Mapping[str, Any]) -> TrainRequest:
        """Return the request with these keywords. Those that are not fields are hyperparameters."""
        own = {name: value for name, value in keywords.items() if name in cls.__struct_fields__}
        others = {name: value for name, value in keywords.items() if name not in own}
        return cls(**{**own, "hyperparameters": {**own.get("hyperparameters", {}), **others}})

    def with_(self, **changes: Any) -> TrainRequest:
        """Return the request with changed keywords. Those that are not fields are hyperparameters."""
        return self.of({**msgspec.structs.asdict(self), **changes})

    def keywords(self, *always: str) -> dict[str, Any]:
        """Return the keywords of `Lab.train` with values other than the defaults, and those in ``always``."""
        known = given(self, *always)
        del known["worker"]
        known.pop("hyperparameters", None)
        return known | dict(self.hyperparameters)

    def config(self) -> dict[str, Any]:
        """Return the worker's configuration, without the run's id and folder; `of_run` reads it.

        Raises ConfigurationError for values that no worker accepts.
        """
        stop = step_count("stop_at", self.stop_at)
        steps = step_count("total_timesteps", self.total_timesteps)
        named = {"algorithm": self.algorithm, "env_id": self.env, "total_timesteps": steps}
        return {
            "seed": self.seed,
            "launch_dir": str(Path.cwd()),
            "checkpoint": {
                "every_timesteps": step_count("checkpoint_every", self.checkpoint_every),
                "resume_from": checkpoint_setting(self.resume_from),
                **({} if stop is None else {"stop_at": stop}),
            },
            "fastlane": frame_settings(self.frames),
            "wrappers": name_list("wrappers", self.wrappers),
            "hyperparameters": {
                name: json_value(
                    f"hyperparameter {name}", with_tagged_tuples(value) if name == ENV_KWARGS.name else value
                )
                for name, value in self.hyperparameters.items()
            },
            **{name: value for name, value in named.items() if value is not None},
        }

    @classmethod
    def of_run(cls, run: RunRecord) -> TrainRequest:
        """Return the request that starts a training again, with its single seed.

        For environment variables it contains only the names (``pass_env``), because values are never stored.
        """
        return cls.of_files(run.worker, run.config, run.folder.document(run.folder.launch_path))

    @classmethod
    def of_files(cls, worker: str, config: Mapping[str, Any], launched: Mapping[str, Any]) -> TrainRequest:
        """Return the same as `of_run`. ``launched`` contains the arguments of `Supervisor.start`."""
        checkpoint = _table(config.get("checkpoint"))
        variables = launched.get("environment_names")
        found = {
            "algorithm": None if worker == "script" else config.get("algorithm"),  # not the program's name
            "env": config.get("env_id"),
            "total_timesteps": config.get("total_timesteps"),
            "seed": config.get("seed"),
            "gpus": launched.get("gpus") or (None if launched.get("on") is None else 0),  # not the profile's
            "threads": launched.get("threads"),
            "checkpoint_every": checkpoint.get("every_timesteps"),
            "resume_from": checkpoint.get("resume_from"),
            "stop_at": checkpoint.get("stop_at"),
            "frames": _frames(_table(config.get("fastlane"))),
            "films": launched.get("films"),
            "wrappers": config.get("wrappers") or None,
            "pass_env": requested(variables, besides=RUN_DIR_VARIABLE)
            if isinstance(variables, list)
            else None,
            "grace_seconds": launched.get("grace_seconds"),
            "on": launched.get("on"),
            "restarts": launched.get("restarts"),
        }
        given = {name: value for name, value in found.items() if value not in (None, [])}
        return cls(worker=worker, **given, hyperparameters=with_tuples(_table(config.get("hyperparameters"))))


def _frames(fastlane: Mapping[str, Any]) -> Any:
    """Return the value of ``frames=``, or None for the default."""
    usual = (("enabled", True), ("grid", 1))
    given = {name: value for name, value in fastlane.items() if (name, value) not in usual}
    return False if given == {"enabled": False} else given or None


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
