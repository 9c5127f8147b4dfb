"""Python code that makes a run again: the call of `Lab.train` with what its user gave.

Whatever a run's folder says may have been written by others, and the code is pasted and executed: values are
literals and nothing else, and a name that Python could read as code is a literal, too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from inspect import signature
from keyword import iskeyword
from typing import Any

from mosaic_lab.keeper.environment_variables import requested
from mosaic_lab.keeper.marks import WORKER_MARK
from mosaic_lab.runs.run_record import RunRecord
from mosaic_lab.runs.stages import Stage
from mosaic_lab.runs.training import Trainer
from mosaic_lab.sanitize import escaped

_LINE = 88
_DEFAULTS = {name: one.default for name, one in signature(Trainer.train).parameters.items()}
_STAGE_DEFAULTS = {name: one.default for name, one in signature(Stage).parameters.items()}


def training_code(run: RunRecord, lab: str = "lab") -> str:
    """Return the call of ``lab.train`` that starts this training again; ``lab`` is the name of the `Lab`."""
    named = training_arguments(run)
    stages = run.config.get("curriculum")
    if not isinstance(stages, list):
        return call(f"{lab}.train", [literal(run.worker)], named)
    named = {name: value for name, value in named.items() if name != "env"}
    codes = ",\n    ".join(_stage_code(_table(stage)) for stage in stages)
    named["curriculum"] = Code(f"[\n    {codes},\n]")
    return f"import mosaic_lab as mosaic\n\n{call(f'{lab}.train', [literal(run.worker)], named)}"


def _stage_code(stage: Mapping[str, Any]) -> str:
    given = {name: stage.get(name) for name in ("steps", "until", "window")}
    known = {name: value for name, value in given.items() if value not in (None, _STAGE_DEFAULTS[name])}
    return call(
        "mosaic.Stage", [literal(stage.get("env"))], {**known, **_table(stage.get("hyperparameters"))}
    )


def training_arguments(run: RunRecord) -> dict[str, Any]:
    """Return the keywords of `Trainer.train` that start this training again, with its one seed.

    They are what was given, not the defaults; of environment variables the names (``pass_env``), since their
    values are written nowhere.
    """
    return arguments_of(run.worker, run.config, run.folder.document(run.folder.launch_path))


def arguments_of(worker: str, config: Mapping[str, Any], launched: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of `Trainer.train` for a worker's configuration; ``launched`` has those of
    `Supervisor.start`, and the names of the environment variables."""
    checkpoint = _table(config.get("checkpoint"))
    algorithm = config.get("algorithm")
    variables = launched.get("environment_names")
    found = {
        "algorithm": None if worker == "script" else algorithm,  # there it is the program's name
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
        "pass_env": requested(variables, besides=WORKER_MARK) if isinstance(variables, list) else None,
        "grace_seconds": launched.get("grace_seconds"),
        "on": launched.get("on"),
    }
    given = {
        name: value
        for name, value in found.items()
        if value not in (None, []) and (name == "seed" or value != _DEFAULTS[name])
    }
    return {**given, **_table(config.get("hyperparameters"))}


class Code(str):
    """Code that stands for a value."""


def call(function: str, positional: Sequence[str], named: Mapping[str, Any]) -> str:
    """Return a call in one line where that is short, else an argument a line; ``positional`` are code,
    ``named`` are values, or `Code`."""
    plain = {name: value for name, value in named.items() if name.isidentifier() and not iskeyword(name)}
    other = {name: value for name, value in named.items() if name not in plain}
    arguments = [*positional, *(f"{name}={literal(value)}" for name, value in plain.items())]
    arguments += [f"**{literal(other)}"] if other else []
    line = f"{function}({', '.join(arguments)})"
    if len(line) <= _LINE and "\n" not in line:
        return line
    return f"{function}(\n" + "".join(f"    {indented(one)},\n" for one in arguments) + ")"


def literal(value: object) -> str:
    """Return a value of JSON as one writes it: ``100_000``, ``"CartPole-v1"``. Characters that would show
    the code in another order than Python reads it are escapes."""
    if isinstance(value, Code):
        return value
    if isinstance(value, str):
        return escaped(json.dumps(value, ensure_ascii=False))
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{literal(str(key))}: {literal(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10_000:
        return f"{value:_}"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def indented(code: str) -> str:
    """Return code as it stands in the lines of a call."""
    return code.replace("\n", "\n    ")


def _frames(fastlane: Mapping[str, Any]) -> Any:
    """Return the value of ``frames=``; None for the default."""
    given = {
        name: value
        for name, value in fastlane.items()
        if (name, value) not in (("enabled", True), ("grid", 1))
    }
    return False if given == {"enabled": False} else given or None


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
