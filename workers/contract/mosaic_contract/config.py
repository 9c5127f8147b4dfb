"""A training's configuration file, read and validated; all problems are reported in one error.

Accepted spellings: `algo` for `algorithm`; hyperparameters under `hyperparameters`, under
`extras.algo_params`, or at the top level. Returned paths are absolute.
"""

from __future__ import annotations

import difflib
import json
import uuid
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Iterable, Mapping, Sequence

from mosaic_contract.codec import whole_number
from mosaic_contract.episode_recording import OBSERVATIONS
from mosaic_contract.errors import ConfigError

_LAB_KEYWORDS = {  # keyword of `lab.train` by the field that it sets
    "algorithm": "algorithm=", "algo": "algorithm=", "env_id": "env=", "seed": "seed=",
    "total_timesteps": "total_timesteps=", "checkpoint": "checkpoint_every=, resume_from=, stop_at=",
    "fastlane": "frames=", "wrappers": "wrappers=", "record": "record=",
}  # fmt: skip
_FRAMES = {  # the names of the fields of `fastlane` in errors
    "enabled": "fastlane.enabled (lab.train's frames=, --no-frames)",
    "max_fps": "fastlane.max_fps (lab.train's frames={'max_fps': ...})",
    "grid": "fastlane.grid (lab.train's frames={'grid': ...}, --frames-grid)",
}

WRAPPERS = 'a list of names and tables of a name with its parameters, such as ["grey", {"frame_stack": 4}]'
_MAX_FPS = 1_000  # frames per second
_MAX_GRID = 64  # environments in one frame
_CHECKPOINTS_PER_RUN = 10


def is_wrapper(value: Any) -> bool:
    """Return whether a value is the name of a wrapper, or a table of the name with its parameters."""
    is_table = isinstance(value, Mapping) and len(value) == 1 and all(isinstance(key, str) for key in value)
    return isinstance(value, str) or is_table


@dataclass(frozen=True)
class CheckpointConfig:
    """Checkpointing of a training.

    every_timesteps: steps between checkpoints; None: a tenth of the training.
    resume_from: path of the checkpoint to resume from.
    stop_at: step at which the training saves and ends, to be resumed later; None: the last step.
    """

    every_timesteps: int | None = None
    resume_from: str | None = None
    stop_at: int | None = None


@dataclass(frozen=True)
class FastlaneConfig:
    """Frames of a training.

    enabled: publish frames from the start; otherwise once a viewer switches them on.
    max_fps: maximum frames per second, above 0 and at most 1,000.
    grid: number of environments shown side by side, 1 to 64.
    """

    enabled: bool = True
    max_fps: float = 60.0
    grid: int = 1


@dataclass(frozen=True)
class TrainingConfig:
    """A training to run.

    `raw` is the unmodified file; `run_dir` is the folder for all files of the run, and `launch_dir` the
    folder that the run was started from, the base of relative paths typed by users. `wrappers` are those of
    the environment, innermost first (see `wrappers` and `gymnasium_wrappers`). `environment_server`,
    {"worker", "command"}, starts the worker that serves the environment; empty if the training makes it.

    `record` is "observations" to record the observations of the training's episodes, else "".

    If a worker makes them `optional`, `algorithm` and `env_id` may be "", and `total_timesteps` 0.
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
    wrappers: tuple[str | dict[str, Any], ...] = ()
    hyperparameters: dict[str, Any] = field(default_factory=dict)
    environment_server: dict[str, Any] = field(default_factory=dict)
    record: str = ""
    raw: dict[str, Any] = field(default_factory=dict)

    @property
    def checkpoint_every(self) -> int:
        """Steps between checkpoints: as configured, else a tenth of the training."""
        return self.checkpoint.every_timesteps or max(1, self.total_timesteps // _CHECKPOINTS_PER_RUN)

    @property
    def end_step(self) -> int:
        """The step at which the training ends. Schedules count to `total_timesteps` regardless."""
        return min(self.checkpoint.stop_at or self.total_timesteps, self.total_timesteps)

    @property
    def end_field(self) -> str:
        """`end_step` in the words of the configuration, such as "total_timesteps=5000"."""
        name = "total_timesteps" if self.end_step == self.total_timesteps else "checkpoint.stop_at"
        return f"{name}={self.end_step}"

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
        """Return the configuration as JSON, with its own or the given resolved hyperparameters."""
        document = asdict(self)
        del document["raw"]
        return {
            **document,
            "run_dir": str(self.run_dir),
            "launch_dir": str(self.launch_dir),
            "wrappers": list(self.wrappers),
            "hyperparameters": dict(self.hyperparameters if hyperparameters is None else hyperparameters),
        }

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any], folder: Path, optional: Sequence[str] = ()) -> TrainingConfig:
        """Validate a configuration. `folder` is the run folder if the configuration names none. `optional`
        lists which of algorithm, env_id and total_timesteps may be omitted. Raises `ConfigError`."""
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
            environment_server=reader.environment_server(),
            record=reader.record(),
            raw=dict(raw),
        )
        if reader.problems:
            raise ConfigError(reader.problems)
        return config


OWN_FIELDS = {field.name for field in fields(TrainingConfig)} - {"raw"} | {"algo", "extras"}


def read_config_file(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file. Raises `ConfigError`."""
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
    """Return the keyword of `lab.train` for a configuration field, in brackets; "" if there is none."""
    return f" (lab.train's {_LAB_KEYWORDS[name]})" if name in _LAB_KEYWORDS else ""


def nearest(name: str, choices: Iterable[str], listed: bool = False) -> str:
    """Return the end of an error about an unknown name: the nearest known name, or all if none is near.
    ``listed``: the error lists all names itself."""
    names = sorted(set(choices))
    query = name.lower().replace("-", "_")
    close = difflib.get_close_matches(query, names, n=3, cutoff=0.6)
    if close:  # prefer the same first letter among equally near names: 'lmm' means 'llm' rather than 'vlm'
        ratio = {candidate: difflib.SequenceMatcher(None, candidate, query).ratio() for candidate in close}
        best = max(close, key=lambda candidate: (ratio[candidate], candidate[:1] == query[:1]))
        return f"; did you mean {best!r}?"
    return f"; known: {', '.join(names)}" if names and not listed else ""


class _Reader:
    """Reader of the fields of a raw configuration; collects their problems."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw
        self.problems: list[str] = []

    def text(self, name: str, default: str | None = None) -> str:
        value = self.raw.get(name)
        if value is None:
            return self._default(name, default) or ""
        return value if self._valid(name, value, "a string", type(value) is str and value.strip()) else ""

    def integer(self, name: str, *, minimum: int, default: int | None = None) -> int:
        value = self.raw.get(name)
        if value is None:
            return self._default(name, default) or 0
        return self._integer(name, value, minimum)

    def algorithm(self, default: str | None) -> str:
        if self.raw.get("algo") is None:
            return self.text("algorithm", default)
        if self.raw.get("algorithm") not in (None, self.raw["algo"]):
            self.problems.append(
                f"algorithm {self.raw['algorithm']!r} and algo {self.raw['algo']!r} disagree"
            )
        return self.text("algo")

    def fastlane(self) -> FastlaneConfig:
        values = {**asdict(FastlaneConfig()), **self._section("fastlane", FastlaneConfig)}
        enabled, max_fps = values["enabled"], values["max_fps"]
        self._valid(_FRAMES["enabled"], enabled, "true or false", type(enabled) is bool)
        in_range = type(max_fps) in (int, float) and 0 < max_fps <= _MAX_FPS
        self._valid(_FRAMES["max_fps"], max_fps, f"a number above 0 and at most {_MAX_FPS}", in_range)
        grid = self._integer(_FRAMES["grid"], values["grid"], 1)
        self._valid(_FRAMES["grid"], grid, f"at most {_MAX_GRID}", grid <= _MAX_GRID)
        return FastlaneConfig(enabled, max_fps, grid)

    def checkpoint(self) -> CheckpointConfig:
        values = self._section("checkpoint", CheckpointConfig)
        for name in {"every_timesteps", "stop_at"} & set(values):
            values[name] = self._integer(f"checkpoint.{name}", values[name], 1)
        resume = values.get("resume_from", "")
        self._valid("checkpoint.resume_from", resume, "a path", type(resume) is str)
        return CheckpointConfig(**values)

    def wrappers(self) -> tuple[str | dict[str, Any], ...]:
        value = self.raw.get("wrappers") or []
        valid = type(value) is list and all(map(is_wrapper, value))
        return tuple(value) if self._valid("wrappers", value, WRAPPERS, valid) else ()

    def record(self) -> str:
        value = self.raw.get("record") or ""
        return value if self._valid("record", value, f'"{OBSERVATIONS}"', value in ("", OBSERVATIONS)) else ""

    def environment_server(self) -> dict[str, Any]:
        server = self._object("environment_server", self.raw.get("environment_server"))
        command = server.get("command")
        valid = type(command) is list and command and all(type(part) is str for part in command)
        expected = "an object with a worker's name and its command, a list of texts"
        if server and not self._valid("environment_server", server, expected, valid and "worker" in server):
            return {}
        return server

    def hyperparameters(self) -> dict[str, Any]:
        flat = {name: value for name, value in self.raw.items() if name not in OWN_FIELDS}
        extras = self._object(
            "extras.algo_params", self._object("extras", self.raw.get("extras")).get("algo_params")
        )
        merged: dict[str, Any] = {}
        for source in (self._object("hyperparameters", self.raw.get("hyperparameters")), extras, flat):
            for name, value in source.items():
                if name in merged and merged[name] != value:
                    self.problems.append(
                        f"hyperparameter {name!r} is given twice: {merged[name]!r} and {value!r}"
                    )
                merged[name] = value
        return merged

    def _valid(self, name: str, value: Any, expected: str, valid: object) -> bool:
        """Return whether a value is valid; record the problem if not."""
        if not valid:
            self.problems.append(f"{name} must be {expected}, got {value!r:.100}")
        return bool(valid)

    def _default(self, name: str, default: Any) -> Any:
        """Return the default of an absent field; record the problem if it has none."""
        if default is None:
            self.problems.append(f"{name} is missing{lab_keyword(name)}")
        return default

    def _integer(self, name: str, value: Any, minimum: int) -> int:
        """Return a value as an integer; `minimum` if it is not valid."""
        number = whole_number(value)
        self._valid(name, value, "an integer", number is not None)
        if number is None:
            return minimum
        self._valid(name, number, f"at least {minimum}", number >= minimum)
        return max(number, minimum)

    def _object(self, name: str, value: Any) -> dict[str, Any]:
        """Return a value as a dict; an empty one for null and invalid values."""
        value = {} if value is None else value
        return dict(value) if self._valid(name, value, "an object", isinstance(value, dict)) else {}

    def _section(self, name: str, section_class: type[Any]) -> dict[str, Any]:
        """Return an object that may have the fields of a dataclass, without null values."""
        field_names = [field.name for field in fields(section_class)]
        values = self._object(name, self.raw.get(name))
        for field_name in [key for key in values if key not in field_names]:
            close = nearest(field_name, field_names)
            self.problems.append(f"unknown field {field_name!r} in {name}{lab_keyword(name)}{close}")
        return {key: values[key] for key in field_names if values.get(key) is not None}
