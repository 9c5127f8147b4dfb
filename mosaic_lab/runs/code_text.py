"""Python code that reproduces a run: the call of `Lab.train` with the user's arguments.

The contents of a run's folder are untrusted, and users paste and execute the code. Values are therefore
rendered as literals only, and so are names that are not plain identifiers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from inspect import signature
from keyword import iskeyword
from typing import Any

from mosaic_lab.runs.run_record import RunRecord
from mosaic_lab.runs.stages import Stage
from mosaic_lab.runs.train_request import TrainRequest
from mosaic_lab.sanitize import escaped

_LINE = 88
_STAGE_DEFAULTS = {name: one.default for name, one in signature(Stage).parameters.items()}


def training_code(run: RunRecord, lab: str = "lab") -> str:
    """Return the call of ``lab.train`` that starts this training again. ``lab`` is the name of the `Lab`
    variable."""
    named = TrainRequest.of_run(run).keywords("seed")
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


class Code(str):
    """Code in place of a value."""


def call(function: str, positional: Sequence[str], named: Mapping[str, Any]) -> str:
    """Return a call in one line if it is short, otherwise with one argument per line. ``positional`` are
    code, ``named`` are values or `Code`."""
    plain = {name: value for name, value in named.items() if name.isidentifier() and not iskeyword(name)}
    other = {name: value for name, value in named.items() if name not in plain}
    arguments = [*positional, *(f"{name}={literal(value)}" for name, value in plain.items())]
    arguments += [f"**{literal(other)}"] if other else []
    line = f"{function}({', '.join(arguments)})"
    if len(line) <= _LINE and "\n" not in line:
        return line
    return f"{function}(\n" + "".join(f"    {indented(one)},\n" for one in arguments) + ")"


def literal(value: object) -> str:
    """Return a JSON value as idiomatic Python, such as ``100_000`` or ``"CartPole-v1"``. Characters that
    would display the code in another order than Python reads it are escaped."""
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


def seeds_code(seeds: Sequence[int]) -> Any:
    """Return seeds as idiomatic Python: three or more consecutive seeds become a range."""
    first, count = seeds[0], len(seeds)
    if count < 3 or list(seeds) != list(range(first, first + count)):
        return list(seeds)
    return Code(f"range({first}, {first + count})" if first else f"range({count})")


def indented(code: str) -> str:
    """Return code indented as an argument of a call."""
    return code.replace("\n", "\n    ")


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
