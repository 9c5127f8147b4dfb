"""Evaluations defined by TOML or JSON files. Reading a file executes no code. In TOML::

    env = "CartPole-v1"
    seeds = { first = 0, count = 100 }     # or a list; [7, 7, 7] is three episodes on the same environment
    start = [0, 0, 1]                      # actions already played, or a position as text; default: none

    [operators.PPO]
    kind = "rl"
    run = "k3f9"                           # or checkpoint = "step-100000.pt", beside this file
    [operators.DQN]
    kind = "algorithm"                     # intervals over its trainings: a table for each one's policy
    trainings.s1 = { kind = "rl", run = "m2x1" }
    trainings.s2 = { kind = "rl", run = "m2x2" }
    [operators.dice]
    kind = "random"
    name = "dice"                          # operators with different names draw different numbers
    [operators.mine]
    kind = "python"                        # runs code: requires run_code=True or --run-code
    policy = "policy.py:act"               # beside this file; also folder, files, keywords (a table)
    [operators.LLM]
    kind = "llm"                           # or "vlm", "chess", "balrog": the keywords of mosaic.operators.llm
    model = "gpt-5-mini"                   # its key comes from OPENAI_API_KEY; "local" needs none
    coordination = "advice"
    describe = "describe.py:text"          # runs code, as "python" does; beside this file, or in folder
    [operators.mixed."red_*"]              # a policy mapping: agent, team or pattern
    kind = "passive"
    [operators.mixed.blue_0]
    kind = "same"                          # one operator and process for both
    as = "red_*"
    [policies.red_0]                       # the same, for the operator named "policies"
    kind = "passive"
    [policies."*"]
    kind = "worker"
    worker = "yours"
    pass_env_vars = ["YOUR_API_KEY"]            # environment variables to pass on

Limit the spending of language models, or replay a recording in place of their endpoint::

    budget = { usd = 2.0 }                 # tokens = 1_000_000, or both
    replay = "k3f9"                        # a run's id, or a folder, relative to this file

All problems are reported at once, with line numbers for TOML.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from typing import Any

from mosaic_contract.config import nearest

from mosaic_lab import operators
from mosaic_lab.documents import read_document
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.evaluation.recordings import FindRun
from mosaic_lab.evaluation.request import EvaluateRequest
from mosaic_lab.operators import Algorithm, OperatorSpec
from mosaic_lab.operators.examples import is_examples_file
from mosaic_lab.operators.language import is_model_file, is_prompt_file
from mosaic_lab.operators.python_policy import policy_settings
from mosaic_lab.operators.spec import CODE
from mosaic_lab.operators.tables import ALGORITHM
from mosaic_lab.validation import Problems, seed_range

LANGUAGE_MODELS: dict[str, Callable[..., OperatorSpec]] = {
    "llm": operators.llm,
    "vlm": operators.vlm,
    "chess": operators.chess,
    "balrog": operators.balrog,
}
"""Kinds of operators that call a language model, with their factories, whose keywords are a table's keys."""

_COMMON_KEYS = ("kind", "name", "deadline", "fallback")
_KIND_KEYS = {
    "random": (),
    "passive": (),
    "rl": ("checkpoint", "run", "deterministic"),
    "python": ("policy", "folder", "files", "keywords", "pass_env_vars"),
    "worker": ("worker", "category", "settings", "pass_env_vars"),
    "engine": ("program", "elo", "nodes", "depth"),
    **{kind: (*signature(maker).parameters, "folder") for kind, maker in LANGUAGE_MODELS.items()},
}
"""The keys of each kind of operator, besides the common ones."""
_ALIASES = {"environment_mode": "seed_sequence", "num_episodes": "episodes"}  # names in other programs
OLDER_KEYS = {"settings": "env_kwargs"}
"""Keys in older bundles, with their current names."""


def read_script(path: Path | str, find_run: FindRun) -> tuple[EvaluateRequest, Problems]:
    """Return the request in a script, and the problems found so far; ``find_run`` finds a run by its id.
    Raises ConfigurationError if the file is not valid TOML or JSON."""
    path = Path(path).expanduser().resolve()
    if path.is_dir():
        raise ConfigurationError(f"{path} is a folder: give the file of a script, or a bundle's zip file")
    if path.suffix.lower() not in (".toml", ".json"):
        raise ConfigurationError(
            f"{path.name}: a script must be a .toml or .json file, which contains no code"
        )
    document, lines = read_document(path)
    problems = Problems(path.name, lines)
    keys = EvaluateRequest.__struct_fields__
    document = {OLDER_KEYS.get(key, key): value for key, value in document.items()}
    for key in document:
        if key not in keys:
            hint = f"; here it is called {_ALIASES[key]!r}" if key in _ALIASES else nearest(key, keys)
            problems.add(key, f"unknown key {key!r}{hint}")
    if "env" not in document:
        problems.add("env", "env is missing")
    if "operators" not in document and "policies" not in document:
        problems.add("operators", "operators is missing")
    values = {key: value for key, value in document.items() if key in keys}
    if isinstance(replay := values.get("replay"), str) and (path.parent / replay).is_dir():
        values["replay"] = path.parent / replay
    if isinstance(module := values.get("module"), str):
        values["module"] = (path.parent / module).resolve()
    if isinstance(values.get("seeds"), Mapping):
        values["seeds"] = seed_range(values["seeds"], problems)
    reader = _OperatorReader(path.parent, find_run, problems)
    if "operators" in values:
        values["operators"] = reader.read(values["operators"])
    if isinstance(values.get("policies"), Mapping):
        values["policies"] = reader.lane(values["policies"], "policies", "policies")
    return EvaluateRequest(**values), problems


class _OperatorReader:
    """Reads the operator tables of a script."""

    def __init__(self, folder: Path, find_run: FindRun, problems: Problems) -> None:
        self._folder = folder
        self._find_run = find_run
        self._problems = problems

    def read(self, tables: Any) -> dict[str, Any]:
        """Return the valid operators and add problems for the others."""
        if not isinstance(tables, Mapping) or not tables:
            self._problems.add("operators", f"operators={tables!r:.100}: must have a table for each operator")
            return {}
        specs: dict[str, Any] = {}
        for label, value in tables.items():
            is_lane = isinstance(value, Mapping) and all(isinstance(part, Mapping) for part in value.values())
            is_algorithm = isinstance(value, Mapping) and value.get("kind") == ALGORITHM
            read = self._algorithm if is_algorithm else self.lane if is_lane and value else self._operator
            specs[label] = read(value, f"operators.{label}", label)
        return {label: spec for label, spec in specs.items() if spec}

    def _algorithm(self, table: Mapping[str, Any], field: str, label: str) -> Algorithm | None:
        """Return an algorithm if the tables of all its trainings are valid."""
        trainings = table.get("trainings")
        if set(table) != {"kind", "trainings"} or not isinstance(trainings, Mapping) or not trainings:
            text = f'{label}: an algorithm has "trainings", a table for the policy of each, and no other keys'
            self._problems.add(field, text)
            return None
        read = {
            name: self._operator(part, f"{field}.trainings.{name}", f"{label} {name}")
            for name, part in trainings.items()
        }
        specs = {name: spec for name, spec in read.items() if spec is not None}
        return Algorithm(specs) if len(specs) == len(trainings) else None

    def lane(self, parts: Mapping[str, Any], field: str, label: str) -> dict[str, OperatorSpec]:
        """Return the valid operators of a policy mapping. Each table is one operator, shared by all agents
        that refer to it with ``kind = "same"``."""
        shared = {
            name: part
            for name, part in parts.items()
            if isinstance(part, Mapping) and part.get("kind") == "same"
        }
        unshared = {name: part for name, part in parts.items() if name not in shared}
        specs = {name: self._operator(part, f"{field}.{name}", label) for name, part in unshared.items()}
        for name, part in shared.items():
            first = str(part.get("as"))
            specs[name] = specs.get(first)
            if first not in unshared or set(part) != {"kind", "as"}:
                text = (
                    f"{label}: {dict(part)!r:.100}: as= must name another operator of its lane, "
                    "without further keys"
                )
                self._problems.add(f"{field}.{name}", text)
        return {name: spec for name in parts if (spec := specs[name]) is not None}

    def _operator(self, table: Any, field: str, label: str) -> OperatorSpec | None:
        if not isinstance(table, Mapping) or "kind" not in table:
            kinds = ", ".join(f'"{kind}"' for kind in (*_KIND_KEYS, ALGORITHM))
            text = (
                f'{label}: {table!r:.100} is not an operator: it must be a table with a "kind", one of '
                f"{kinds}"
            )
            self._problems.add(field, text)
            return None
        kind = table["kind"]
        if kind not in _KIND_KEYS:
            text = f"{label}: unknown kind {kind!r}{nearest(str(kind), _KIND_KEYS)}"
            self._problems.add(f"{field}.kind", text)
            return None
        keys = (*_COMMON_KEYS, *_KIND_KEYS[kind])
        if unknown := [name for name in table if name not in keys]:
            for name in unknown:
                self._problems.add(f"{field}.{name}", f"{label}: unknown key {name!r}{nearest(name, keys)}")
            return None
        if not isinstance(operator_name := table.get("name", ""), str):
            self._problems.add(f"{field}.name", f"{label}: name={operator_name!r:.100}: must be a string")
            return None
        try:
            spec = self._make(kind, {key: table[key] for key in table if key not in ("kind", "name")})
            return spec.with_(name=operator_name) if operator_name else spec
        except (MosaicError, TypeError) as error:
            self._problems.add(field, f"{label}: {error}")
            return None

    def _make(self, kind: str, options: dict[str, Any]) -> OperatorSpec:
        if kind in ("random", "passive", "engine"):
            make: Callable[..., OperatorSpec] = getattr(operators, kind)
            return make(**options)
        if kind == "worker":
            settings = options.pop("settings", {})
            reserved = {*_COMMON_KEYS, *_KIND_KEYS[kind]} - {"name"}
            if not isinstance(settings, dict) or not reserved.isdisjoint(settings):
                raise ConfigurationError(
                    f"settings={settings!r:.200}: must be a table of the worker's own settings"
                )
            return operators.worker(options.pop("worker", None), **options, **settings)
        if kind == "python":
            return self._python(options)
        if kind in LANGUAGE_MODELS:
            return self._language_model(LANGUAGE_MODELS[kind], options)
        if ("run" in options) == ("checkpoint" in options):
            raise ConfigurationError('give either a "run" or a "checkpoint"')
        source = self._find_run(str(options.pop("run"))) if "run" in options else options.pop("checkpoint")
        return operators.rl(self._resolve(source) if isinstance(source, str) else source, **options)

    def _resolve(self, path: Any) -> Path:
        """Return a path in the script, which is relative to the script's folder."""
        return self._folder / Path(str(path)).expanduser()

    def _python(self, settings: dict[str, Any]) -> OperatorSpec:
        options = {"name", "deadline", "fallback", "pass_env_vars", "files"}
        keywords = settings.pop("keywords", {})
        if not isinstance(keywords, dict) or not options.isdisjoint(keywords):
            raise ConfigurationError(
                f"keywords={keywords!r:.200}: must be a table of the policy's own keywords"
            )
        if "policy" not in settings:
            raise ConfigurationError(
                'give the "policy": a file or a module and the name in it, such as "policy.py:act"'
            )
        folder = self._resolve(settings.pop("folder", ""))
        source = folder / Path(str(settings.pop("policy"))).expanduser()
        return operators.python(str(source), folder=folder, **settings, **keywords)

    def _language_model(self, make: Callable[..., OperatorSpec], options: dict[str, Any]) -> OperatorSpec:
        """Return a language model. The files of a model, a system prompt, examples and demonstrations are
        relative to the script's folder, code also to ``folder``."""
        folder = self._resolve(options.pop("folder", ""))
        for name in {*CODE} & set(options):
            if not isinstance(options[name], str):
                raise ConfigurationError(f"{name}={options[name]!r:.100}: must be a string")
            if ":" in options[name]:
                source = str(folder / Path(options[name]).expanduser())
                options[name] = policy_settings(source, folder)
        for name, is_file in (("system", is_prompt_file), ("examples", is_examples_file)):
            if is_file(options.get(name)):
                options[name] = self._resolve(options[name])
        if is_model_file(options.get("model", "")):
            options["model"] = self._resolve(options["model"])
        if "demonstrations" in options:
            options["demonstrations"] = self._resolve(options["demonstrations"])
        return make(**options)
