"""Forms for new trainings, evaluations and comparisons as JSON schemas, and the code of a completed form.

A form starts nothing: the page inserts its code as a cell, which the user reads and executes.
"""

from __future__ import annotations

import ast
import functools
import itertools
import json
import re
from collections.abc import Collection, Mapping
from keyword import iskeyword
from typing import Any

from mosaic_lab import workers
from mosaic_lab.arenas.request import CompareRequest
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.request import EvaluateRequest
from mosaic_lab.operators.providers import providers
from mosaic_lab.runs.request import Argument, Code, Request, arguments_of, call, literal
from mosaic_lab.runs.train_request import TrainRequest, seed_list
from mosaic_lab.workers.families import families

KINDS = ("training", "evaluation", "comparison")
SEEDS = r"^\s*\d{1,18}(\s*-\s*\d{1,18}|(\s*,\s*\d{1,18})*)\s*$"
"""A number, several numbers separated by commas, or an inclusive range such as ``0-9``."""
_TYPES = {"int": "integer", "float": "number", "bool": "boolean", "str": "string"}
_LIMITS = {"minimum": "minimum", "maximum": "maximum", "exclusive_minimum": "exclusiveMinimum"}
_TRAINING = ("algorithm", "env", "total_timesteps", "checkpoint_every", "films", "threads", "gpus")
_RUN_ID = re.compile(r"\d{8}-\d{6}-\S+")
_NUMBERS = ("episodes", "max_steps", "parallel")
_MAX_ENVIRONMENTS = 2000  # maximum number of suggestions
_STEPS = 100_000

Schema = dict[str, Any]


def training_form(worker: str, algorithm: str | None = None) -> Schema:
    """Return ``{"schema", "hyperparameters", "algorithms", "algorithm", "note"}`` for ``lab.train``.

    ``hyperparameters`` is the schema of the hyperparameters of ``algorithm`` (default: the worker's first),
    from the worker's own table. They are unknown for a worker that is not installed; ``note`` then says so.
    Raises WorkerEnvironmentError for an unknown worker, ConfigurationError for an algorithm that it does not
    have.
    """
    info, described = workers.info(worker), worker_description(worker)
    tables = described["hyperparameters"]
    if algorithm is not None and algorithm not in tables:
        raise ConfigurationError(f"{worker} has no algorithm {algorithm!r}; it has {', '.join(tables)}")
    chosen = algorithm or next(iter(tables), None)
    note = (
        ""
        if tables
        else (
            f"{worker} is {info.state}; its algorithms and hyperparameters can be chosen here when it is "
            "installed. Executing the cell installs it."
        )
    )
    return {
        "schema": _training_schema(_environments(described)),
        "hyperparameters": {
            "type": "object",
            "properties": {str(row["name"]): _parameter(row) for row in tables.get(chosen or "", [])},
        },
        "algorithms": list(tables),
        "algorithm": chosen,
        "note": note,
    }


def match_form(kind: str) -> Schema:
    """Return ``{"schema"}`` for ``lab.evaluate`` ("evaluation") or ``lab.compare``."""
    _check_kind(kind)
    request = EvaluateRequest if kind == "evaluation" else CompareRequest
    properties = {
        "env": _environment(_environments()),
        "operators": {
            "type": "array",
            "title": "Operators",
            "minItems": 1,
            "items": _operator_schema(people=kind == "comparison"),
            "default": [{"name": "random", "kind": "random"}],
        },
        "seeds": _seeds(
            "0-99" if kind == "evaluation" else "42", _description(arguments_of(request)["seeds"])
        ),
        "max_steps": _integer(request, "max_steps", "Maximum steps"),
    }
    if kind == "evaluation":
        properties["episodes"] = _integer(request, "episodes", "Episodes")
        properties["parallel"] = _integer(request, "parallel", "Parallel")
    required = ["env", "operators", "seeds"]
    return {"schema": {"type": "object", "properties": properties, "required": required}}


def code(kind: str, values: Mapping[str, Any], lab: str = "lab", used_names: Collection[str] = ()) -> str:
    """Return the cell for a completed form: the call with all arguments that differ from the defaults.

    ``lab`` is the name of the notebook's `Lab` variable. ``used_names`` are the notebook's variables, which
    the cell does not assign. Raises ConfigurationError for values that do not fit this kind of form.
    """
    if not lab.isidentifier() or iskeyword(lab):
        raise ConfigurationError(f"{lab!r} is not the name of a variable")
    _check_kind(kind)
    used_names = {lab, *used_names}
    try:
        write = _training_code if kind == "training" else functools.partial(_match_code, kind)
        cell = write(values, lab, used_names)
        ast.parse(cell)
    except (SyntaxError, TypeError, AttributeError, RecursionError, MemoryError) as error:
        raise ConfigurationError(f"these values cannot be written as Python: {error}") from None
    return cell


def _check_kind(kind: str) -> None:
    """Raise ConfigurationError if there is no form of this kind."""
    if kind not in KINDS:
        raise ConfigurationError(f"there is no form {kind!r}; the forms are {', '.join(KINDS)}")


def _unused_name(name: str, used_names: Collection[str]) -> str:
    """Return a variable name that is not used yet: ``run``, ``run_2``, …"""
    names = (name if number == 1 else f"{name}_{number}" for number in itertools.count(1))
    return next(candidate for candidate in names if candidate not in used_names)


# ------------------------------------------------------------------------ schemas


def _training_schema(environments: list[str]) -> Schema:
    properties = {
        "env": _environment(environments),
        "total_timesteps": _integer(TrainRequest, "total_timesteps", "Steps") | {"default": _STEPS},
        "seeds": _seeds("1", "One run per seed: 1, or 1, 2, 3, or 0-4"),
        "checkpoint_every": _integer(TrainRequest, "checkpoint_every", "Steps between checkpoints"),
        "wrappers": _text("Wrappers", f'{_described_as("wrappers")} (JSON, such as ["flat"])'),
        "evaluation_seeds": _seeds(None, f"{_described_as('evaluate')}, such as 0-9")
        | {"title": "Evaluation seeds"},
        "films": {
            "type": "string",
            "title": "Films",
            "description": _described_as("films"),
            "enum": ["off", "last", "each"],
            "default": "off",
        },
        "threads": _integer(TrainRequest, "threads", "CPU threads"),
        "gpus": {"type": "integer", "title": "GPUs", "description": "Number of free GPUs", "minimum": 0},
    }
    return {"type": "object", "properties": properties, "required": ["env", "total_timesteps", "seeds"]}


def _parameter(row: Mapping[str, Any]) -> Schema:
    """Return the schema of one hyperparameter; lists and tables are entered as JSON."""
    kind, default = str(row["type"]), row.get("default")
    description = str(row.get("help") or "").replace("`", "")  # from upstream, possibly Markdown
    field: Schema = {"type": _TYPES.get(kind, "string"), "title": str(row["name"])}
    if kind not in _TYPES:
        description = f"{description} (JSON, such as {'[64, 64]' if kind == 'list' else '{}'})".strip()
        default = None if default is None else json.dumps(default)
    if row.get("choices"):
        field["enum"] = list(row["choices"])
    field.update((keyword, row[name]) for name, keyword in _LIMITS.items() if row.get(name) is not None)
    if default is not None:
        field["default"] = default
    return {**field, "description": description} if description else field


def _operator_schema(people: bool) -> Schema:
    kinds = {"random": "random", "passive": "passive", "rl": "trained policy", "llm": "language model"}
    if people:
        kinds["human"] = "a person at the keyboard"
    run = _text("Run", "The id of a training, or the path of a checkpoint")
    model = _text("Model", 'Such as gpt-5-mini, or the id of a server; "local" needs no key', default="local")
    provider = _text("Provider", "Select one to list its models above") | {"enum": list(providers())}
    return {
        "type": "object",
        "title": "Operator",
        "properties": {
            "name": _text("Name", "Shown in tables and charts"),
            "kind": {
                "type": "string",
                "title": "Kind",
                "oneOf": [{"const": kind, "title": title} for kind, title in kinds.items()],
                "default": "random",
            },
        },
        "required": ["name", "kind"],
        "allOf": [
            {
                "if": {"properties": {"kind": {"const": kind}}},
                "then": {"properties": fields, "required": [next(iter(fields))]},
            }
            for kind, fields in (("rl", {"run": run}), ("llm", {"model": model, "provider": provider}))
        ],
    }


def _text(title: str, description: str, default: str | None = None) -> Schema:
    field = {"type": "string", "title": title, "description": description, "minLength": 1}
    return field if default is None else {**field, "default": default}


def _environment(environments: list[str]) -> Schema:
    return {**_text("Environment", "Its id, such as CartPole-v1"), "examples": environments}


def _integer(request: type[Request], name: str, title: str) -> Schema:
    """Return the schema of an argument that is an integer, with its limits and default."""
    argument = arguments_of(request)[name]
    keywords = {"minimum": argument.meta.ge, "maximum": argument.meta.le, "default": argument.default}
    field = {"type": "integer", "title": title, "description": _description(argument)}
    return field | {keyword: value for keyword, value in keywords.items() if value is not None}


def _described_as(name: str) -> str:
    return _description(arguments_of(TrainRequest)[name])


def _description(argument: Argument) -> str:
    text = argument.meta.description or ""
    return text[:1].upper() + text[1:]


def _seeds(default: str | None, description: str) -> Schema:
    field = _text("Seeds", description, default)
    return {**field, "pattern": SEEDS, "patternMessage": "give 1, or 1, 2, 3, or 0-4"}


# ------------------------------------------------------------------------ what workers say


def worker_description(worker: str) -> Mapping[str, Any]:
    """Return a worker's description of itself (`workers.describe`); empty if it is not installed."""
    installed = workers.find(worker)
    if installed is None or not installed.valid:
        return {"hyperparameters": {}, "environments": []}
    return _described(worker, installed.created)


@functools.lru_cache(maxsize=64)
def _described(worker: str, created: float) -> Mapping[str, Any]:
    """Return a worker's description of itself, from one process per installation."""
    installed = workers.find(worker)
    return workers.describe(installed) if installed else {"hyperparameters": {}, "environments": []}


def _environments(described: Mapping[str, Any] | None = None) -> list[str]:
    """Return environment ids to suggest: the worker's own, otherwise those of installed workers that provide
    any."""
    provided = described["environments"] if described else ()
    suggested = provided or sorted(
        {env_id for name in families() for env_id in worker_description(name)["environments"]}
    )
    return list(suggested[:_MAX_ENVIRONMENTS])


# ------------------------------------------------------------------------ code


def _training_code(values: Mapping[str, Any], lab: str, used_names: Collection[str]) -> str:
    worker, algorithm = str(values.get("worker", "")), values.get("algorithm")
    table = {row["name"]: row for row in worker_description(worker)["hyperparameters"].get(algorithm, ())}
    seeds = Code(_seeds_code(values.get("seeds", "1")))
    keywords = {name: values[name] for name in _TRAINING if values.get(name) is not None}
    if (wrappers := _json_value("wrappers", values.get("wrappers"))) is not None:
        keywords["wrappers"] = wrappers
    if values.get("evaluation_seeds"):
        numbers = _seeds_of(values["evaluation_seeds"])
        if isinstance(numbers, list):
            seed_list(numbers)
        keywords["evaluate"] = {"seeds": numbers}
    for name, value in (values.get("hyperparameters") or {}).items():
        if name not in table:
            raise ConfigurationError(f"{worker} {algorithm} has no hyperparameter {name!r}")
        value = _json_value(f"hyperparameter {name}", value) if table[name]["type"] not in _TYPES else value
        if value not in (None, table[name].get("default")):
            keywords[name] = value
    request = TrainRequest.of({**keywords, "worker": worker, "seed": seeds})
    variable = _unused_name("group" if seeds.startswith(("range", "[")) else "run", used_names)
    return f"{variable} = {call(f'{lab}.train', *request.written())}\n{variable}"


def _match_code(kind: str, values: Mapping[str, Any], lab: str, used_names: Collection[str]) -> str:
    module = "mosaic_lab" if "mosaic" in used_names else "mosaic"
    operators = ", ".join(
        f"{literal(operator.get('name'))}: {_operator_code(operator, lab, module)}"
        for operator in values.get("operators", ())
    )
    request: type[CompareRequest] = EvaluateRequest if kind == "evaluation" else CompareRequest
    fields = request.__struct_fields__
    keywords = {name: values[name] for name in _NUMBERS if name in fields and values.get(name) is not None}
    keywords["seeds"] = Code(_seeds_code(values.get("seeds", "0"), always=True))
    arguments = {"env": values.get("env"), "operators": Code(f"{{{operators}}}")}
    arguments |= request(**keywords).given("seeds")
    variable = _unused_name("ev" if kind == "evaluation" else "comparison", used_names)
    imported = "import mosaic_lab" if module == "mosaic_lab" else "import mosaic_lab as mosaic"
    return f"{imported}\n\n{variable} = {call(f'{lab}.{request.METHOD}', [], arguments)}\n{variable}"


def _operator_code(operator: Mapping[str, Any], lab: str, module: str) -> str:
    kind = operator.get("kind")
    if kind in ("random", "passive", "human"):
        return f"{module}.operators.{kind}()"
    if kind == "llm":
        model, provider = operator.get("model"), operator.get("provider")
        if isinstance(model, str) and _RUN_ID.fullmatch(model):
            return f"{module}.operators.llm({lab}.run({literal(model)}))"
        return call(f"{module}.operators.llm", [literal(model)], {"provider": provider} if provider else {})
    if kind == "rl":
        source = str(operator.get("run", ""))
        is_path = "/" in source or source.endswith((".pt", ".zip", ".cleanrl_model"))
        return f"{module}.operators.rl({literal(source) if is_path else f'{lab}.run({literal(source)})'})"
    raise ConfigurationError(f"there is no operator of the kind {kind!r} in this form")


def _seeds_code(seeds: object, always: bool = False) -> str:
    """Return the code of a number, a list or a range; with ``always``, a single number becomes a list.

    Without ``always``, each number starts a run, and no two may be equal.
    """
    numbers = _seeds_of(seeds)
    if isinstance(numbers, range) or always:
        return literal(numbers)
    seed_list(numbers)
    return str(numbers[0]) if len(numbers) == 1 else literal(numbers)


def _seeds_of(seeds: object) -> list[int] | range:
    """Return the numbers of a field's text. Raises ConfigurationError."""
    text = str(seeds)
    if not re.match(SEEDS, text):
        raise ConfigurationError(f"seeds: {text!r} is not a number, several (1, 2, 3) or a range (0-9)")
    first, dash, last = text.partition("-")
    if dash:
        low, high = int(first), int(last)
        if high < low:
            raise ConfigurationError(f"seeds: the range {text!r} is empty")
        return range(low, high + 1)
    return [int(number) for number in text.split(",")]


def _json_value(name: str, text: object) -> Any:
    if not isinstance(text, str) or not text.strip():
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{name}: {text!r} is not JSON: {error}") from None
