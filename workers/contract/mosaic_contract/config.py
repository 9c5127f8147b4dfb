"""The configuration file of a training: JSON in, a checked `TrainingConfig` out, or one error with every
problem.

Accepted spellings: `algo` for `algorithm`; hyperparameters under `hyperparameters`, under
`extras.algo_params`, or flat at the top level. Paths that come out are absolute.
"""

from __future__ import annotations

import difflib
import json
import uuid
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Iterable, Mapping, Sequence, Union

from mosaic_contract.errors import ConfigError

OWN_FIELDS = (
    "run_id", "algorithm", "algo", "env_id", "seed", "total_timesteps", "run_dir", "launch_dir", "fastlane",
    "checkpoint", "wrappers", "hyperparameters", "extras",
)  # fmt: skip
_LAB_KEYWORDS = {  # of `lab.train`, by the field that they set
    "algorithm": "algorithm=", "algo": "algorithm=", "env_id": "env=", "seed": "seed=",
    "total_timesteps": "total_timesteps=", "checkpoint": "checkpoint_every=, resume_from=",
    "fastlane": "frames=", "wrappers": "wrappers=",
}  # fmt: skip
_FRAMES = {  # the fields of `fastlane` as errors name them
    "enabled": "fastlane.enabled (lab.train's frames=, --no-frames)",
    "max_fps": "fastlane.max_fps (lab.train's frames={'max_fps': ...})",
    "grid": "fastlane.grid (lab.train's frames={'grid': ...}, --frames-grid)",
}

_FASTEST = 1_000  # frames a second
_LARGEST_GRID = 64  # environments in one frame
_CHECKPOINTS_PER_RUN = 10


@dataclass(frozen=True)
class CheckpointConfig:
    """Steps from one checkpoint to the next (None: a tenth of the training), and the path of the checkpoint
    to go on from.
    """

    every_timesteps: int | None = None
    resume_from: str | None = None


@dataclass(frozen=True)
class FastlaneConfig:
    """Frames of the training: from the start (else once a watcher switches them on), at most how many a
    second (above 0, up to 1,000), and of how many environments, side by side (1 to 64).
    """

    enabled: bool = True
    max_fps: float = 60.0
    grid: int = 1


@dataclass(frozen=True)
class TrainingConfig:
    """A training to run. `raw` is the file as it stands; `run_dir` is where everything of the run goes, and
    `launch_dir` what paths that people type are relative to: the folder that the run was started from.
    `wrappers` are those of the environment's observations, by name (see `wrappers.observation_transform`).

    Where a worker leaves them `optional`, `algorithm` and `env_id` may be "", and `total_timesteps` 0.
    """

    run_id: str
    algorithm: str
    env_id: str
    seed: int
    total_timesteps: int
    run_dir: Path
    launch_dir: Path
    fastlane: FastlaneConfig = field(default_factory=FastlaneConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)
    wrappers: tuple[str, ...] = ()
    hyperparameters: dict[str, Any] = field(default_factory=dict)
    raw: dict[str, Any] = field(default_factory=dict)

    @property
    def checkpoint_every(self) -> int:
        """Steps from one checkpoint to the next: as configured, else a tenth of the training."""
        return self.checkpoint.every_timesteps or max(1, self.total_timesteps // _CHECKPOINTS_PER_RUN)

    @property
    def checkpoints_dir(self) -> Path:
        return self.run_dir / "checkpoints"

    @property
    def tensorboard_dir(self) -> Path:
        return self.run_dir / "tensorboard"

    @property
    def videos_dir(self) -> Path:
        return self.run_dir / "videos"

    def to_dict(self, hyperparameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The same as JSON, optionally with the hyperparameters that were resolved."""
        given = self.hyperparameters if hyperparameters is None else hyperparameters
        return {
            "run_id": self.run_id,
            "algorithm": self.algorithm,
            "env_id": self.env_id,
            "seed": self.seed,
            "total_timesteps": self.total_timesteps,
            "run_dir": str(self.run_dir),
            "launch_dir": str(self.launch_dir),
            "fastlane": asdict(self.fastlane),
            "checkpoint": asdict(self.checkpoint),
            "wrappers": list(self.wrappers),
            "hyperparameters": dict(given),
        }

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any], folder: Path, optional: Sequence[str] = ()) -> TrainingConfig:
        """Check a configuration; `folder` is the run folder where it names none. Of algorithm, env_id and
        total_timesteps those that are `optional` may be left out. Raises `ConfigError`.
        """
        reader = _Reader(raw)
        config = cls(
            run_id=reader.text("run_id", default=f"run-{uuid.uuid4().hex[:12]}"),
            algorithm=reader.algorithm("" if "algorithm" in optional else None),
            env_id=reader.text("env_id", default="" if "env_id" in optional else None),
            seed=reader.integer("seed", minimum=0, default=1),
            total_timesteps=reader.integer(
                "total_timesteps", minimum=1, default=0 if "total_timesteps" in optional else None
            ),
            run_dir=Path(reader.text("run_dir", default=str(folder))).resolve(),
            launch_dir=Path(reader.text("launch_dir", default=str(folder))).resolve(),
            fastlane=reader.fastlane(),
            checkpoint=reader.checkpoint(),
            wrappers=reader.wrappers(),
            hyperparameters=reader.hyperparameters(),
            raw=dict(raw),
        )
        if reader.problems:
            raise ConfigError(reader.problems)
        return config


def load_config(path: Union[str, Path]) -> TrainingConfig:
    """Read a configuration file. Raises `ConfigError` that holds every problem of it."""
    path = Path(path)
    return TrainingConfig.from_dict(read_config_file(path), path.resolve().parent)


def read_config_file(path: Path) -> dict[str, Any]:
    """The JSON object in a file. Raises `ConfigError`."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"the configuration {path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the configuration {path} is not JSON: {error}") from None
    if not isinstance(raw, dict):
        raise ConfigError(f"the configuration {path} is not a JSON object but a {type(raw).__name__}")
    return raw


def lab_keyword(name: str) -> str:
    """What people type for a field of the configuration, in brackets; nothing where there is none."""
    return f" (lab.train's {_LAB_KEYWORDS[name]})" if name in _LAB_KEYWORDS else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """How an error about an unknown name ends: the known one that is really near, or else all of them."""
    names = sorted(set(known))
    wanted = name.lower().replace("-", "_")
    close = difflib.get_close_matches(wanted, names, n=3, cutoff=0.6)
    if close:  # of equally near ones that with the same first letter: 'lmm' is rather 'llm' than 'vlm'
        ratio = {one: difflib.SequenceMatcher(None, one, wanted).ratio() for one in close}
        best = max(close, key=lambda one: (ratio[one], one[:1] == wanted[:1]))
        return f"; did you mean {best!r}?"
    return f"; known are {', '.join(names)}" if names else ""


class _Reader:
    """Takes fields out of a raw configuration and collects what is wrong with them."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw
        self.problems: list[str] = []

    def text(self, name: str, default: str | None = None) -> str:
        value = self.raw.get(name)
        if value is None and default is not None:
            return default
        if value is None:
            self.problems.append(f"{name} is missing{lab_keyword(name)}")
        elif not isinstance(value, str) or not value.strip():
            self.problems.append(f"{name} must be a text, got {value!r:.100}")
        else:
            return value
        return ""

    def integer(self, name: str, *, minimum: int, default: int | None = None) -> int:
        value = self.raw.get(name)
        if value is None and default is not None:
            return default
        checked = self._integer(name, value, minimum)
        return minimum if checked is None else checked

    def _integer(self, name: str, value: Any, minimum: int) -> int | None:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if value is None:
            self.problems.append(f"{name} is missing{lab_keyword(name)}")
        elif not isinstance(value, int) or isinstance(value, bool):
            self.problems.append(f"{name} must be an integer, got {value!r:.100}")
        elif value < minimum:
            self.problems.append(f"{name} must be at least {minimum}, got {value}")
        else:
            return value
        return None

    def object(self, name: str) -> dict[str, Any]:
        value = self.raw.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.problems.append(f"{name} must be an object, got {value!r:.100}")
            return {}
        return dict(value)

    def algorithm(self, default: str | None) -> str:
        if self.raw.get("algo") is None:
            return self.text("algorithm", default)
        if self.raw.get("algorithm") not in (None, self.raw["algo"]):
            self.problems.append(
                f"algorithm {self.raw['algorithm']!r} and algo {self.raw['algo']!r} disagree"
            )
        return self.text("algo")

    def section(self, name: str, kind: type[Any]) -> dict[str, Any]:
        """An object that may hold the fields of a dataclass; those that are null count as left out."""
        known = [field.name for field in fields(kind)]
        given = self.object(name)
        for field_name in given:
            if field_name not in known:
                close = nearest(field_name, known)
                self.problems.append(f"unknown field {field_name!r} in {name}{lab_keyword(name)}{close}")
        return {key: given[key] for key in known if given.get(key) is not None}

    def fastlane(self) -> FastlaneConfig:
        given, default = self.section("fastlane", FastlaneConfig), FastlaneConfig()
        enabled = given.get("enabled", default.enabled)
        if not isinstance(enabled, bool):
            self.problems.append(f"{_FRAMES['enabled']} must be true or false, got {enabled!r:.100}")
        max_fps = given.get("max_fps", default.max_fps)
        number = isinstance(max_fps, (int, float)) and not isinstance(max_fps, bool)
        if not (number and 0 < max_fps <= _FASTEST):
            self.problems.append(
                f"{_FRAMES['max_fps']} must be a number above 0 and at most {_FASTEST}, got {max_fps!r:.100}"
            )
        grid = self._integer(_FRAMES["grid"], given.get("grid", default.grid), 1)
        if grid is not None and grid > _LARGEST_GRID:
            self.problems.append(f"{_FRAMES['grid']} must be at most {_LARGEST_GRID}, got {grid}")
        return FastlaneConfig(enabled, max_fps, default.grid if grid is None else grid)

    def checkpoint(self) -> CheckpointConfig:
        given = self.section("checkpoint", CheckpointConfig)
        every, resume = given.get("every_timesteps"), given.get("resume_from")
        if every is not None:
            every = self._integer("checkpoint.every_timesteps", every, 1)
        if resume is not None and not isinstance(resume, str):
            self.problems.append(f"checkpoint.resume_from must be a path, got {resume!r:.100}")
        return CheckpointConfig(every_timesteps=every, resume_from=resume)

    def wrappers(self) -> tuple[str, ...]:
        given = self.raw.get("wrappers") or []
        if isinstance(given, list) and all(isinstance(name, str) for name in given):
            return tuple(given)
        self.problems.append(f'wrappers must be a list of names, such as ["flat"], got {given!r:.100}')
        return ()

    def hyperparameters(self) -> dict[str, Any]:
        flat = {name: value for name, value in self.raw.items() if name not in OWN_FIELDS}
        extras = self.object("extras").get("algo_params") or {}
        if not isinstance(extras, dict):
            self.problems.append(f"extras.algo_params must be an object, got {extras!r:.100}")
            extras = {}
        merged: dict[str, Any] = {}
        for source in (self.object("hyperparameters"), extras, flat):
            for name, value in source.items():
                if name in merged and merged[name] != value:
                    self.problems.append(
                        f"hyperparameter {name!r} is given twice: {merged[name]!r} and {value!r}"
                    )
                merged[name] = value
        return merged
