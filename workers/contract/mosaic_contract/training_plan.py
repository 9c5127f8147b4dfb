"""Training plans: the checks and decisions that shims make before a training starts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import (
    Any,
    Callable,
    ClassVar,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Optional,
    Tuple,
    Type,
    TypeVar,
)

from mosaic_contract.atari import ATARI
from mosaic_contract.checkpoints import Checkpoints, read_description, resume_misfits, wrappers_of
from mosaic_contract.config import TrainingConfig, nearest
from mosaic_contract.episode_logger import EpisodeLogger
from mosaic_contract.errors import ConfigError
from mosaic_contract.gymnasium_wrappers import resume_statistics
from mosaic_contract.hyperparameters import Parameter, check_hyperparameters
from mosaic_contract.telemetry import Telemetry

DescribedCheckpoint = Tuple[Path, "dict[str, Any]"]
"""The path of a checkpoint and its description."""

Planned = TypeVar("Planned", bound="PlannedTraining")


@dataclass(frozen=True)
class PlannedTraining:
    """A validated and resolved training: returned by a worker's `resolve` and passed to its `train`.

    `of` makes the plan, in the same order for every library. A shim derives a class with the format of its
    checkpoints, its algorithms by name, its maximum seed and, for libraries that need another image format,
    the `GAME_WRAPPERS` applied after "atari". It overrides these steps:

    adapted: translates the library's other spellings of names and values in the configuration.
    probed: checks the environment.
    misfits: reasons why the algorithm cannot be trained, independent of hyperparameters.
    parameters: the declarations of the hyperparameters; `checked` validates the values by them.
    disagreements: combinations of individually valid values that are not valid together.

    `resume_from` is the checkpoint that the training resumes from, with its description; None to begin at
    step 0. `own_spec` has the spaces of the environment, `spec` the spaces after its wrappers.
    """

    FORMAT: ClassVar[str]
    ALGORITHMS: ClassVar[Mapping[str, Any]]
    MAX_SEED: ClassVar[int] = 2**32 - 1 - 1024  # NumPy's maximum, minus room for one seed per environment
    GAME_WRAPPERS: ClassVar[Tuple[str, ...]] = ()

    config: TrainingConfig
    resume_from: Optional[DescribedCheckpoint]
    algorithm: Any
    own_spec: Any
    spec: Any

    @classmethod
    def of(cls: Type[Planned], config: TrainingConfig) -> Planned:
        """Resolve and validate a training. Raises `ConfigError` with all problems."""
        config = cls.adapted(config)
        check_algorithm(config.algorithm, cls.ALGORITHMS)
        resume_from, hyperparameters = cls._resumed(config)
        resume_statistics(resume_from[1].get("wrapper_statistics", {}) if resume_from else {})
        config, own_spec, spec = cls.probed(cls._wrapped(config, resume_from), hyperparameters)
        algorithm = cls.ALGORITHMS[config.algorithm]
        draft = cls(replace(config, hyperparameters=hyperparameters), resume_from, algorithm, own_spec, spec)
        values = draft.checked([*draft.misfits(), *draft._start_problems(config)])
        plan = replace(draft, config=replace(config, hyperparameters=values))
        if wrong := list(plan.disagreements()):
            raise ConfigError(wrong)
        return plan

    @classmethod
    def adapted(cls, config: TrainingConfig) -> TrainingConfig:
        """Return the configuration with names and values translated to this worker's."""
        return config

    @classmethod
    def probed(
        cls, config: TrainingConfig, hyperparameters: Mapping[str, Any]
    ) -> Tuple[TrainingConfig, Any, Any]:
        """Check the environment, given the hyperparameters.

        Return the configuration, in which the environment may decide on the algorithm, and the environment's
        spec without and with its wrappers. Raises `ConfigError`.
        """
        raise NotImplementedError

    @property
    def bound(self) -> Mapping[str, str]:
        """The hyperparameters that cannot change in a resumed training, each with the reason."""
        bound: Mapping[str, str] = self.algorithm.bound
        return bound

    def misfits(self) -> Iterable[str]:
        """Yield the reasons why the algorithm cannot be trained with this configuration, one sentence
        each."""
        return ()

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The hyperparameters of the algorithm in this environment, by name."""
        raise NotImplementedError

    def checked(self, problems: Iterable[str]) -> dict[str, Any]:
        """Return all hyperparameters: the given values, validated, and defaults. Raises `ConfigError`, with
        the `problems` before its own."""
        return check_hyperparameters(self.hyperparameters, self.parameters, problems)

    def disagreements(self) -> Iterable[str]:
        """Yield, one sentence each, values that are valid alone but not together or not in this
        environment."""
        return ()

    @property
    def hyperparameters(self) -> dict[str, Any]:
        return self.config.hyperparameters

    @property
    def environments(self) -> int:
        """The number of environments that this process steps."""
        return int(self.hyperparameters.get("num_envs", 1))

    @property
    def start_step(self) -> int:
        """The step of the checkpoint that the training resumes from."""
        return self.resume_from[1]["step"] if self.resume_from else 0

    @property
    def steps(self) -> Optional[int]:
        """The step at which the training ends, None if only the library decides it."""
        return None

    def resolved(self) -> dict[str, Any]:
        """Return the resolved configuration as JSON."""
        spaces = {} if self.own_spec is None else self.own_spec.describe_spaces()
        steps = {} if self.steps is None else {"steps": self.steps}
        return {**self.config.to_dict(), **spaces, **steps, "checkpoint_every": self.config.checkpoint_every}

    def checkpoints(
        self,
        logger: EpisodeLogger,
        contents: Callable[[], bytes],
        *,
        suffix: str,
        format: str,
        upstream: Tuple[str, str],
        **details: Any,
    ) -> Checkpoints:
        """Return the checkpoints of the training; `contents`, `suffix` and `format` are as in `Checkpoints`.
        `upstream` is the name and version of the library, `details` are further fields of the description."""
        library, version = upstream
        description = {
            "format": self.FORMAT,
            "hyperparameters": self.hyperparameters,
            **({} if self.own_spec is None else self.own_spec.describe_spaces()),
            **details,
            "upstream": {"library": library, "version": version},
        }
        return Checkpoints(self.config, logger, description, contents, suffix=suffix, format=format)

    def report_resume(self, telemetry: Telemetry, format: str) -> None:
        """Report the checkpoint that the training resumed from, if any."""
        if self.resume_from is not None:
            path, described = self.resume_from
            telemetry.checkpoint_loaded(
                path, step=self.start_step, episode=described["episodes"], format=format
            )

    @classmethod
    def _resumed(cls, config: TrainingConfig) -> Tuple[Optional[DescribedCheckpoint], "dict[str, Any]"]:
        """Return the checkpoint that a training resumes from (None if it does not) and its hyperparameters,
        overridden by the configuration's.

        A checkpoint of another algorithm, which is reported later, contributes none.
        """
        path = config.checkpoint.resume_from
        if path is None:
            return None, dict(config.hyperparameters)
        file, described = read_description(path, cls.FORMAT, cls.ALGORITHMS)
        # "ppo" may mean "ppo_continuous" or "ppo_atari", depending on the environment.
        is_same = f"{described['algorithm']}_".startswith(f"{config.algorithm}_")
        saved = described["hyperparameters"] if is_same else {}
        return (file, described), {**saved, **config.hyperparameters}

    @classmethod
    def _wrapped(cls, config: TrainingConfig, resume_from: Optional[DescribedCheckpoint]) -> TrainingConfig:
        """Return the configuration with the checkpoint's wrappers if it names none."""
        wrappers = config.wrappers or (wrappers_of(resume_from[1]) if resume_from else ())
        wrappers = (ATARI, *cls.GAME_WRAPPERS) if wrappers == (ATARI,) else wrappers
        return replace(config, wrappers=wrappers)

    def _start_problems(self, config: TrainingConfig) -> Iterator[str]:
        """Yield the reasons why the training cannot start with its seed or resume from its checkpoint.
        `config` has the given hyperparameters, without the checkpoint's."""
        if config.seed > self.MAX_SEED:
            yield f"seed must be at most {self.MAX_SEED}, got {config.seed}"
        if self.resume_from is not None:
            spaces = None if self.own_spec is None else self.own_spec.describe_spaces()
            yield from resume_misfits(config, *self.resume_from, self.bound, spaces)


def check_algorithm(name: str, algorithms: Collection[str]) -> None:
    """Raise `ConfigError` for an unknown algorithm, with the nearest known one and all others."""
    if name not in algorithms:
        raise ConfigError(f"unknown algorithm {name!r}{nearest_algorithm(name, algorithms)}")


def nearest_algorithm(name: str, algorithms: Collection[str]) -> str:
    """Return the end of an error about an unknown algorithm: the nearest known one, or up to three that
    contain the name, and all others."""
    hint, containing = nearest(name, algorithms), [other for other in algorithms if name.lower() in other]
    if not hint.endswith("?") and 0 < len(containing) <= 3:
        hint = f"; did you mean {' or '.join(map(repr, containing))}?"
    return f"{hint} Known are {', '.join(sorted(algorithms))}" if hint.endswith("?") else hint
