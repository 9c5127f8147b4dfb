"""The script in a bundle: an evaluation without machine-specific values.

A bundle's operators are defined by kind and checkpoint; or they are Python code in the bundle, which runs
only with consent (`planning.check_consent`); or they are language models, identified by name, which answer
from the recording and are never called. Workers with their own settings, variables or programs are excluded,
because the settings in an untrusted bundle could name any program or server.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from inspect import signature
from pathlib import Path
from typing import Any

from mosaic_lab.errors import MosaicError
from mosaic_lab.evaluation.fingerprints import ENDPOINT_SETTINGS
from mosaic_lab.evaluation.plan import EvaluationPlan
from mosaic_lab.evaluation.scripts import LANGUAGE_MODELS, OLDER_KEYS
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.operators.language import is_model_file, is_prompt_file
from mosaic_lab.operators.spec import CODE
from mosaic_lab.operators.tables import ALGORITHM, policy_tables

SCRIPT = "script.json"
ENVIRONMENT = "environment"
"""The folder of the user's module that makes the environment."""

_LARGEST = 16 << 20  # bytes
_PLAN_KEYS = (
    *("seeds", "max_steps", "step_timeout", "family", "episodes", "seed_sequence", "on_failure"),
    "start",
)
"""Keys of a bundle's script that are copied from the plan."""
_KEYS = {"env", "module", "env_kwargs", *_PLAN_KEYS, "operators", *OLDER_KEYS}
_OPERATOR_KEYS = {
    *("kind", "deadline", "fallback", "checkpoint", "deterministic", "name", "worker", "category"),
    *("as", "policy", "folder", "files", "keywords"),
    *("program", "elo", "nodes", "depth"),
}
_KINDS = ("random", "passive", "rl", "python", "worker", "engine", "same", *LANGUAGE_MODELS)
_ENGINES = ("stockfish",)
"""Programs that a bundle may name; they run on the recipient's machine."""
_MODEL_PARAMETERS = {name for make in LANGUAGE_MODELS.values() for name in signature(make).parameters}
_MODEL_KEYS = _MODEL_PARAMETERS - {*ENDPOINT_SETTINGS, "pass_env_vars", "demonstrations"}
_POLICIES = re.compile(r"policies/\d+")
_MODULE = re.compile(rf"{ENVIRONMENT}/([A-Za-z_]\w*)(\.py)?", re.ASCII)


def script_of(plan: EvaluationPlan, locations: Mapping[str, str]) -> dict[str, Any]:
    """Return the script of an evaluation. ``locations`` has the location in the bundle of each checkpoint and
    each folder of Python policies, by path. Raises MosaicError for an operator that a bundle cannot
    contain."""
    tables = plan.tables()
    for label, table in tables.items():
        for policy in policy_tables(table):
            _adapt_table(label, policy, locations)
    module = None if plan.module is None else f"{ENVIRONMENT}/{Path(plan.module).name}"
    environment = {"env": plan.env_id, "module": module, "env_kwargs": plan.settings}
    config = plan.to_config()
    script = {**environment, **{name: config.get(name) for name in _PLAN_KEYS}, "operators": tables}
    return {name: value for name, value in script.items() if value is not None}


def _adapt_table(label: str, table: dict[str, Any], locations: Mapping[str, str]) -> None:
    """Change an operator's table to one for a bundle. Raises MosaicError if a bundle cannot contain it."""
    kind = table["kind"]
    if kind in LANGUAGE_MODELS:
        _check_model(label, table)
        for name in {*ENDPOINT_SETTINGS, "pass_env_vars"} & set(table):
            del table[name]
    settings = table.pop("settings", None)
    if settings or "pass_env_vars" in table or table.get("program", _ENGINES[0]) not in _ENGINES:
        raise MosaicError(
            f"{label}: a bundle cannot contain {table.get('worker', table['name'])}, which has settings or "
            "variables of its own; it can contain trained and Python policies, language models, random and "
            "passive operators, and workers without settings"
        )
    for name in {"checkpoint", "folder"} & set(table):
        table[name] = locations[table[name]]


def _check_model(label: str, table: Mapping[str, Any]) -> None:
    if is_model_file(table["model"]):
        raise MosaicError(
            f"{label}: a bundle cannot contain model files such as {table['model']}; it can contain models "
            'of endpoints, by name, and "local"'
        )
    if "demonstrations" in table:
        raise MosaicError(f"{label}: a bundle cannot contain demonstrations ({table['demonstrations']})")


def models_text(specs: Iterable[OperatorSpec]) -> str:
    """Return the names of language models as part of a sentence."""
    names = (f"{spec.name} ({spec.settings.get('model')}, {spec.settings.get('provider')})" for spec in specs)
    return ", ".join(dict.fromkeys(names))


def check_script(path: Path, bundle: str, episodes: int) -> None:
    """Check that the script at ``path`` stays within the limits for bundles and within its folder.

    ``episodes`` is the maximum number that the bundle can have; a script with more is rejected before its
    episodes are expanded. Raises MosaicError, which names ``bundle``.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise ValueError(f"it is larger than {_LARGEST >> 20} MiB")
        document = json.loads(path.read_bytes())
        problem = next(_problems(document), "") or _too_many(document, episodes)
    except RecursionError:
        problem = "it is nested too deeply"
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        problem = f"it cannot be read: {error!r:.200}"
    if problem:
        raise MosaicError(f"{bundle} is refused: its member '{SCRIPT}': {problem}")


def _too_many(document: Mapping[str, Any], episodes: int) -> str:
    """Return the problem with the number of episodes as a sentence."""
    seeds, per_seed = document.get("seeds"), document.get("episodes")
    if not isinstance(seeds, list) or type(per_seed) is not int or per_seed < 1:
        return "a bundle's script has a list of seeds and a number of episodes"
    lanes = sum(
        len(policy_tables(table)) if table.get("kind") == ALGORITHM else 1
        for table in document["operators"].values()
    )
    if len(seeds) * lanes * per_seed > episodes:
        return (
            f"it requests {per_seed!s:.20} episodes of {lanes:,} operators on each of "
            f"{len(seeds):,} seeds, and the bundle has {episodes:,} in total"
        )
    return ""


def _problems(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield problems as sentences. After the first problem, the rest is not safe to inspect."""
    for key in sorted(set(document) - _KEYS):
        yield f"a bundle's script must not have the key {key!r:.100}"
    env, module = document.get("env"), document.get("module")
    if not isinstance(env, str) or not env.isprintable():
        yield f"env={env!r:.100} is not the id of an environment"
    elif module is None and ":" in env:
        yield f"env={env!r:.100}: must be the id of an environment that imports no module but the bundle's"
    elif module is not None:
        match = _MODULE.fullmatch(module)
        if match is None or not re.match(rf"{match[1]}[.:]", env) or ":" not in env:
            yield f"module={module!r:.100} is not a module of the bundle's that makes env={env!r:.100}"
    for label, value in document["operators"].items():
        if not label.isprintable():
            yield f"{label!r:.100} is not a valid name for an operator"
        if value.get("kind") == ALGORITHM and not all(map(str.isprintable, value["trainings"])):
            yield f"{label!r:.100} has a training without a valid name"
        for table in policy_tables(value):
            yield from (f"{label!r:.100}: {problem}" for problem in _operator_problems(table))


def _operator_problems(table: Mapping[str, Any]) -> Iterator[str]:
    kind, model, folder = table.get("kind"), table.get("model"), table.get("folder")
    is_model = kind in LANGUAGE_MODELS
    if wrong := sorted(set(table) - (_OPERATOR_KEYS | _MODEL_KEYS if is_model else _OPERATOR_KEYS)):
        yield f"an operator in a bundle must not have the key {wrong[0]!r:.100}"
    if kind not in _KINDS:
        yield f"a bundle cannot contain an operator of the kind {kind!r:.100}"
    checkpoint = table.get("checkpoint", "checkpoints/")
    if not checkpoint.startswith("checkpoints/") or ".." in checkpoint:
        yield f"the checkpoint {checkpoint!r:.100} is outside the bundle"
    if is_model and not (isinstance(model, str) and model.isprintable() and not is_model_file(model)):
        yield f"the model {model!r:.100} is not a valid name"
    if is_prompt_file(table.get("system")) or not isinstance(table.get("examples", []), list):
        yield "the system prompt and the examples of an operator must be in the script"
    if "program" in table and table["program"] not in _ENGINES:
        yield f"a bundle may not start the program {table['program']!r:.100}"
    code = [table[name] for name in ("policy", *CODE) if ":" in str(table.get(name, ""))]
    if kind == "python" or code:
        if not _POLICIES.fullmatch(str(folder)):
            yield f"the folder {folder!r:.100} is not a policy of the bundle"
        for name in [*(code or [None]), *table.get("files", ())]:
            if not isinstance(name, str) or name.startswith(("/", "~")) or ".." in name:
                yield f"the file {name!r:.100} is outside the bundle"
