"""The arguments of `Lab.train` as one value, and the error for a training that its worker refuses."""

from __future__ import annotations

import difflib
import json
import operator
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from mosaic_contract.codec import with_tagged_tuples, with_tuples
from mosaic_contract.config import WRAPPERS, is_wrapper
from mosaic_contract.gymnasium_wrappers import is_user_defined, name_of
from mosaic_contract.hyperparameters import ENV_KWARGS
from msgspec import Meta, structs

from mosaic_lab.errors import ArgumentError, ConfigurationError
from mosaic_lab.keeper.environment_variables import RUN_DIR_VARIABLE, requested
from mosaic_lab.runs.checkpoint_path import checkpoint_path
from mosaic_lab.runs.checkpoints import Checkpoint
from mosaic_lab.runs.films import FilmMode
from mosaic_lab.runs.group import RunGroup
from mosaic_lab.runs.request import SECONDS, Code, Request, call, compact_seeds, indented, literal
from mosaic_lab.runs.run import DEFAULT_GRACE, Run
from mosaic_lab.runs.run_record import RunRecord
from mosaic_lab.runs.stages import WINDOW, Stage
from mosaic_lab.validation import Problems
from mosaic_lab.workers.families import remedy
from mosaic_lab.workers.worker_environment import WorkerEnvironment

_NAMED = 10  # maximum seeds listed in an error
_OF_THE_SOURCE = re.compile(r"unknown|is not available|cannot be made")  # another source may provide it
_CORRECTION = re.compile(r"did you mean|here it is called", re.IGNORECASE)
_UNKNOWN = re.compile(r"unknown hyperparameter '(\w+)'")
_MISSING = re.compile(r"is missing \(lab\.train's (\w+)=\)")


class TrainRequest(Request, kw_only=True, frozen=True):
    """The arguments of `Lab.train`, as given. `checked`, `config` and `Trainer.plan` validate them."""

    METHOD: ClassVar[str] = "train"

    worker: Annotated[str, Meta(description="such as cleanrl")]
    algorithm: Annotated[str | None, Meta(description="one of the worker's")] = None
    env: Annotated[str | None, Meta(description="an environment id, such as CartPole-v1")] = None
    total_timesteps: Annotated[int | None, Meta(ge=1, description="environment steps to train for")] = None
    curriculum: Annotated[
        Sequence[Stage] | None, Meta(description="stages to train in, in place of --env; see below")
    ] = None
    seed: Annotated[int | Iterable[int], Meta(description="one run for each, as 1 2 3 or 1,2,3")] = 1
    gpus: Annotated[
        int | Sequence[int] | None,
        Meta(description="a number, or indices such as 0,1 (default: none, or the profile's)"),
    ] = None
    threads: Annotated[int, Meta(ge=1, description="CPU threads of a run")] = 1
    checkpoint_every: Annotated[
        int | None, Meta(ge=1, description="steps between checkpoints (default: a tenth of the training)")
    ] = None
    resume_from: Annotated[
        Run | Checkpoint | Path | str | None,
        Meta(description="a checkpoint, or the folder or id of a run for its newest one"),
    ] = None
    stop_at: Annotated[
        int | None, Meta(ge=1, description="the step to end at; schedules count to the last")
    ] = None
    frames: bool | Mapping[str, Any] = True
    films: Annotated[FilmMode, Meta(description="film the policy of the last checkpoint, or of each")] = "off"
    evaluate: Annotated[
        Mapping[str, Any] | None, Meta(description="evaluate the policy of each checkpoint on seeds")
    ] = None
    record: Annotated[
        Literal["observations"] | None,
        Meta(description="record the observations of the training's episodes, for a dataset"),
    ] = None
    wrappers: Annotated[
        Sequence[str | Mapping[str, Any]],
        Meta(description="wrappers of the environment, innermost first, such as flat or frame_stack=4"),
    ] = ()
    env_processes: Annotated[
        int | None, Meta(ge=1, description="processes that step the environments (default: see `Lab.train`)")
    ] = None
    step_timeout: Annotated[
        float | None, Meta(gt=0, extra=SECONDS, description="limit of a step in such a process")
    ] = None
    env_vars: Mapping[str, str] | None = None
    pass_env_vars: Annotated[
        Iterable[str], Meta(description="an environment variable to pass on (repeat for more)")
    ] = ()
    grace_seconds: Annotated[
        float, Meta(ge=0, extra=SECONDS, description="time between SIGTERM and SIGKILL")
    ] = DEFAULT_GRACE
    on: Annotated[
        str | None, Meta(description="a Ray cluster: a profile of `mosaic-lab clusters`, or ray:HOST:PORT")
    ] = None
    restarts: Annotated[int, Meta(ge=0, description="times to restart it when its node is lost")] = 0
    hyperparameters: Mapping[str, Any] = {}

    def __post_init__(self) -> None:
        if isinstance(self.evaluate, Mapping) and isinstance(seeds := self.evaluate.get("seeds"), range):
            structs.force_setattr(self, "evaluate", {**self.evaluate, "seeds": list(seeds)})
        structs.force_setattr(self, "hyperparameters", nested_hyperparameters(self.hyperparameters))

    @classmethod
    def of(cls, keywords: Mapping[str, Any]) -> TrainRequest:
        """Return the request with these keywords. Keywords other than fields are hyperparameters."""
        own_fields = {name: value for name, value in keywords.items() if name in cls.__struct_fields__}
        added = {name: value for name, value in keywords.items() if name not in own_fields}
        return cls(**{**own_fields, "hyperparameters": {**own_fields.get("hyperparameters", {}), **added}})

    def with_(self, **changes: Any) -> TrainRequest:
        """Return the request with changed keywords. Keywords other than fields are hyperparameters."""
        return self.of({**structs.asdict(self), **changes})

    def checked(self, problems: Problems) -> TrainRequest:
        """Return the request with numbers and tuples of the declared types; see `Request.checked`."""
        if "seeds" in self.hyperparameters:
            problems.add("seeds", "lab.train has no seeds=; did you mean seed=? It also accepts several.")
        if isinstance(self.pass_env_vars, str):
            problems.add("pass_env_vars", "pass_env_vars: must be a list of names of environment variables")
        return structs.replace(super().checked(problems), pass_env_vars=tuple(self.pass_env_vars))

    def keywords(self, *always: str) -> dict[str, Any]:
        """Return the keywords of `Lab.train` with values other than the defaults, and those in ``always``."""
        keywords = self.given(*always)
        del keywords["worker"]
        keywords.pop("hyperparameters", None)
        return keywords | dict(self.hyperparameters)

    def written(self) -> tuple[Sequence[str], Mapping[str, Any]]:
        keywords = self.keywords("seed")
        if self.evaluate is not None and "seeds" in self.evaluate:
            keywords["evaluate"] = {**self.evaluate, "seeds": compact_seeds(self.evaluate["seeds"])}
        if self.curriculum is not None:
            stages = ",\n    ".join(indented(_stage_code(stage)) for stage in self.curriculum)
            keywords["curriculum"] = Code(f"[\n    {stages},\n]")
        return [literal(self.worker)], keywords

    def to_json(self) -> dict[str, Any]:
        """Return the given arguments as JSON-compatible data; `of_json` reads it. Of the variables in
        ``env_vars`` it contains only the names, as part of ``pass_env_vars``."""
        recorded = structs.replace(
            self,
            env_vars=None,
            pass_env_vars=(*self.pass_env_vars, *(self.env_vars or ())),
            hyperparameters=self._plain_hyperparameters(),
        )
        return super(TrainRequest, recorded).to_json()

    def _plain_hyperparameters(self) -> dict[str, Any]:
        return {
            name: json_value(
                f"hyperparameter {name}", with_tagged_tuples(value) if name == ENV_KWARGS.name else value
            )
            for name, value in self.hyperparameters.items()
        }

    def config(self) -> dict[str, Any]:
        """Return the worker's configuration, without the run's id and folder; `of_files` reads it. Raises
        ConfigurationError for values that no worker accepts."""
        stop = self.stop_at
        common = {"algorithm": self.algorithm, "env_id": self.env, "total_timesteps": self.total_timesteps}
        return {
            "seed": self.seed,
            "launch_dir": str(Path.cwd()),
            "checkpoint": {
                "every_timesteps": self.checkpoint_every,
                "resume_from": checkpoint_setting(self.resume_from),
                **({} if stop is None else {"stop_at": stop}),
            },
            "fastlane": frame_settings(self.frames),
            "wrappers": wrapper_list(self.wrappers, self.on),
            "hyperparameters": self._plain_hyperparameters(),
            **({} if self.record is None else {"record": self.record}),
            **{name: value for name, value in common.items() if value is not None},
        }

    def server_options(self) -> dict[str, Any]:
        """Return the options of the process that serves the environment."""
        options = {"processes": self.env_processes, "step_timeout": self.step_timeout}
        return {name: value for name, value in options.items() if value is not None}

    @classmethod
    def of_run(cls, run: RunRecord) -> TrainRequest:
        """Return the request that starts a training again, with its single seed. Of environment variables it
        contains only the names (``pass_env_vars``), because values are never stored."""
        recorded = run.folder.document(run.folder.request_path)
        if not recorded:  # a run of an earlier version
            return cls.of_files(run.worker, run.config, run.folder.document(run.folder.launch_path))
        return cls.of_json(recorded)

    @classmethod
    def of_json(cls, recorded: Mapping[str, Any]) -> TrainRequest:
        """Return the request recorded by `to_json`."""
        arguments = {name: recorded[name] for name in cls.__struct_fields__ if name in recorded}
        if (stages := recorded.get("curriculum")) is not None:
            arguments["curriculum"] = [Stage.from_json(stage) for stage in stages]
        return cls(**{**arguments, "hyperparameters": with_tuples(_table(recorded.get("hyperparameters")))})

    @classmethod
    def of_files(cls, worker: str, config: Mapping[str, Any], launched: Mapping[str, Any]) -> TrainRequest:
        """Return the request of a run without ``request.json``. ``launched`` contains the arguments of
        `Supervisor.start`."""
        checkpoint = _table(config.get("checkpoint"))
        variables = launched.get("environment_names")
        stages = config.get("curriculum")
        arguments = {
            "algorithm": None if worker == "script" else config.get("algorithm"),  # not the program's name
            "env": None if stages is not None else config.get("env_id"),
            "curriculum": None if stages is None else [Stage.from_json(stage) for stage in stages],
            "total_timesteps": config.get("total_timesteps"),
            "seed": config.get("seed"),
            "gpus": launched.get("gpus") or (None if launched.get("on") is None else 0),  # not the profile's
            "threads": launched.get("threads"),
            "checkpoint_every": checkpoint.get("every_timesteps"),
            "resume_from": checkpoint.get("resume_from"),
            "stop_at": checkpoint.get("stop_at"),
            "frames": _frames(_table(config.get("fastlane"))),
            "films": launched.get("films"),
            "record": config.get("record"),
            "wrappers": config.get("wrappers") or None,
            "pass_env_vars": requested(variables, besides=RUN_DIR_VARIABLE)
            if isinstance(variables, list)
            else None,
            "grace_seconds": launched.get("grace_seconds"),
            "on": launched.get("on"),
            "restarts": launched.get("restarts"),
        }
        arguments = {name: value for name, value in arguments.items() if value not in (None, [])}
        return cls(
            worker=worker, **arguments, hyperparameters=with_tuples(_table(config.get("hyperparameters")))
        )


def _stage_code(stage: Stage) -> str:
    limits = {"steps": stage.steps, "until": stage.until}
    keywords = {name: value for name, value in limits.items() if value is not None}
    if stage.window != WINDOW:
        keywords["window"] = stage.window
    return call("mosaic.Stage", [literal(stage.env)], {**keywords, **stage.hyperparameters})


def _frames(fastlane: Mapping[str, Any]) -> Any:
    """Return the value of ``frames=``, or None for the default."""
    usual = (("enabled", True), ("grid", 1))
    changed = {name: value for name, value in fastlane.items() if (name, value) not in usual}
    return False if changed == {"enabled": False} else changed or None


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def checkpoint_setting(source: Run | Checkpoint | Path | str | None) -> str | None:
    try:
        return None if source is None else str(checkpoint_path(source, intact=True))
    except ConfigurationError as error:
        raise ConfigurationError(f"resume_from: {error}") from None


def seed_list(seed: int | Iterable[int]) -> tuple[list[int], bool]:
    if isinstance(seed, Iterable) and not isinstance(seed, str | bytes):
        seeds = [whole_number("seed", number) for number in seed]
        if not seeds:
            raise ConfigurationError("seed: an empty list starts no run")
        if twice := sorted(number for number, times in Counter(seeds).items() if times > 1):
            raise ConfigurationError(
                f"seed has duplicates: {', '.join(map(str, twice[:_NAMED]))}; list each seed once: "
                "runs with the same seed would be the same"
            )
        return seeds, True
    return [whole_number("seed", seed)], False


def whole_number(name: str, value: Any, minimum: int | None = None) -> int:
    """Return an integer, which users may write as 1e6. Raises ConfigurationError for other values, and for
    integers below ``minimum``."""
    with suppress(TypeError):
        number = int(value) if isinstance(value, float) and value.is_integer() else operator.index(value)
        if minimum is None or number >= minimum:
            return number
    bound = "" if minimum is None else f" ≥ {minimum}"
    raise ConfigurationError(f"{name}={value!r}: must be an integer{bound}")


def wrapper_list(given_wrappers: Sequence[str | Mapping[str, Any]], on: str | None) -> list[Any]:
    """Return the configuration's list of wrappers, with absolute paths for those in the user's files."""
    if isinstance(given_wrappers, str | Mapping) or not all(map(is_wrapper, given_wrappers)):
        raise ConfigurationError(f"wrappers={given_wrappers!r}: must be {WRAPPERS}")
    wrappers = []
    for wrapper in json_value("wrappers", list(given_wrappers)):
        if is_user_defined(wrapper):
            name = name_of(wrapper)
            file, _, attribute = name.rpartition(":")
            path = Path(file).expanduser().absolute()
            if not path.is_file():
                raise ConfigurationError(f"wrappers: {name}: there is no file {path}")
            if on is not None:
                raise ConfigurationError(f"wrappers: {name} is a file of this machine: leave out on={on!r}")
            absolute = f"{path}:{attribute}"
            wrapper = absolute if isinstance(wrapper, str) else {absolute: wrapper[name]}
        wrappers.append(wrapper)
    return wrappers


def nested_hyperparameters(hyperparameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyperparameters with dotted names, such as "env_kwargs.gravity", as entries of tables."""
    tables = {name: value for name, value in hyperparameters.items() if "." not in name}
    for name in hyperparameters.keys() - tables.keys():
        table, _, entry = name.partition(".")
        if not isinstance(value := tables.get(table, {}), Mapping):
            raise ConfigurationError(f"{table}={value!r}: must be a table, because {name} is an entry of it")
        tables[table] = {**value, entry: hyperparameters[name]}
    return tables


def frame_settings(frames: bool | Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration's settings of frames. The worker validates the contents of a mapping."""
    if isinstance(frames, Mapping):
        return {name: json_value(f"frames: {name}", value) for name, value in frames.items()}
    if isinstance(frames, bool):
        return {"enabled": frames}
    raise ConfigurationError(f'frames={frames!r}: must be True, False or settings, such as {{"grid": 4}}')


def json_value(label: str, value: Any) -> Any:
    """Return the value as JSON-compatible data, with NumPy numbers converted to Python's."""
    if hasattr(value, "item") and not hasattr(value, "__len__"):
        value = value.item()
    if isinstance(value, Path):
        value = str(value)
    if isinstance(value, Run | RunGroup | Checkpoint):
        raise ConfigurationError(
            f'{label}: must be a path, such as str(run.path / "dataset.hdf5"), not {value!r:.200}'
        )
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{label}={value!r} cannot be written as JSON: {error}") from None
    return value


def refusal(text: str, request: TrainRequest, worker: WorkerEnvironment) -> ConfigurationError:
    """Return the error for a request that a worker refuses, with advice on what to do."""
    kind = ArgumentError if _UNKNOWN.search(text) else ConfigurationError
    text = _UNKNOWN.sub(_with_keyword, _explained(text, request.hyperparameters, worker))
    advice = remedy(text, request.env, worker)
    corrected = _CORRECTION.search(text)
    if not (advice or corrected) and worker.fallback and _OF_THE_SOURCE.search(text):
        advice = f" ({worker.fallback})"
    return kind((text.rstrip(".") if advice.startswith(".") else text) + advice)


def _with_keyword(unknown: re.Match[str]) -> str:
    """Return a worker's message about an unknown hyperparameter, with the keyword of `Lab.train` that may
    have been meant."""
    near = difflib.get_close_matches(unknown[1], TrainRequest.__struct_fields__, n=1, cutoff=0.75)
    if unknown.string.startswith("; did you mean lab.train's", unknown.end()):  # the worker names it
        return unknown[0]
    return f"{unknown[0]} (did you mean lab.train's {near[0]}=?)" if near else unknown[0]


def _explained(refusal: str, keywords: Iterable[str], worker_environment: WorkerEnvironment) -> str:
    """Return the worker's refusal. For each missing keyword, the one given that may be its misspelling and,
    for the algorithm, those available are added."""

    def explained(missing: re.Match[str]) -> str:
        keyword, algorithms = missing[1], ", ".join(worker_environment.capabilities.algorithms)
        near = [name for name in keywords if name.startswith(keyword)]
        text = missing[0]
        for name in (difflib.get_close_matches(keyword, keywords) or near)[:1]:
            text += f"; you gave {name}=, did you mean lab.train's {keyword}=?"
        if keyword == "algorithm" and algorithms:
            text += f"; {worker_environment.name} has {algorithms}"
        return text

    return _MISSING.sub(explained, refusal)
