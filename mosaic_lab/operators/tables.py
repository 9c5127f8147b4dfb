"""Operators as tables of a script, ``{"kind": "rl", "checkpoint": …}``, and as Python code.

A table has the keywords of the factory in `mosaic_lab.operators` that its kind names; see
`mosaic_lab.evaluation.scripts`, which reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mosaic_lab.operators import python_policy
from mosaic_lab.operators.spec import CODE, DEADLINE, OperatorSpec
from mosaic_lab.runs.request import Code, call, literal

_MODELS = ("llm", "vlm", "chess", "balrog")  # kinds that call a language model, also their workers
_FIRST = {"rl": "checkpoint", "engine": "program", "worker": "worker"} | dict.fromkeys(_MODELS, "model")
"""The keyword that is passed as the first argument, by kind."""

Tables = Mapping[str, Mapping[str, Any]]

ALGORITHM = "algorithm"
"""The kind of an `Algorithm`'s table."""


def lane_table(mapping: Mapping[str, OperatorSpec]) -> dict[str, Any]:
    """Return a lane's table: an operator's, or one for each agent, team or pattern."""
    firsts: dict[int, str] = {}
    tables = {}
    for pattern, spec in mapping.items():
        first = firsts.setdefault(id(spec), pattern)
        tables[pattern] = operator_table(spec) if first == pattern else {"kind": "same", "as": first}
    return tables["*"] if set(tables) == {"*"} else tables


def operator_table(spec: OperatorSpec) -> dict[str, Any]:
    """Return the table of an operator that runs outside this kernel."""
    table: dict[str, Any] = {"name": spec.name}
    if spec.deadline != DEADLINE:
        table["deadline"] = spec.deadline
    if spec.fallback != "wait":
        table["fallback"] = spec.fallback
    if spec.pass_env_vars:
        table["pass_env_vars"] = list(spec.pass_env_vars)
    settings = {name: value for name, value in spec.settings.items() if value is not None}
    if spec.category in ("random", "passive") and spec.worker == spec.category:
        return {"kind": spec.category, **table}
    if spec.category == "rl" and set(settings) == {"checkpoint", "deterministic"}:
        return {"kind": "rl", **settings, **table}
    if spec.category == "engine":
        return {"kind": "engine", **settings, **table}
    if spec.category == "python" and spec.worker == python_policy.WORKER:
        parts = {name: settings[name] for name in ("files", "keywords") if settings[name]}
        return {"kind": "python", **_reference("policy", settings), **parts, **table}
    if spec.is_language_model and spec.worker in _MODELS:
        for argument, code in spec.code.items():
            settings |= _reference(argument, code)
        return {"kind": spec.worker, **settings, **table}
    return {"kind": "worker", "worker": spec.worker, "category": spec.category, "settings": settings, **table}


def _reference(key: str, code: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a table for the user's code: "FILE:NAME" under ``key``, and its folder."""
    return {key: f"{code['file']}:{code['attribute']}", "folder": code["folder"]}


def algorithm_table(trainings: Tables) -> dict[str, Any]:
    """Return the table of an algorithm, from those of its trainings' policies."""
    return {"kind": ALGORITHM, "trainings": dict(trainings)}


def policy_tables(table: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the tables of the individual operators in a lane's or an algorithm's table."""
    if table.get("kind") == ALGORITHM:
        return [*table["trainings"].values()]
    return [table] if "kind" in table else [*table.values()]


def lanes_code(lanes: Tables) -> dict[str, Any]:
    """Return the lanes with their operators as calls of the factories. Raises ValueError or LookupError if a
    table is not valid, or if agents of a lane share an operator."""
    return {
        label: _operator_code(lane, label)
        if "kind" in lane
        else {pattern: _operator_code(table, label) for pattern, table in lane.items()}
        for label, lane in lanes.items()
    }


def _operator_code(table: Mapping[str, Any], label: str) -> Code:
    """Return the call of a factory, built from literals only because the table is untrusted."""
    if table["kind"] == ALGORITHM and isinstance(table.get("trainings"), Mapping):
        trainings = {name: _operator_code(training, label) for name, training in table["trainings"].items()}
        return Code(call("mosaic.operators.Algorithm", [literal(trainings)], {}))
    keywords = dict(table)
    kind, name = keywords.pop("kind"), keywords.pop("name")
    folder = keywords.get("folder")
    for key in {"policy", *CODE} & set(keywords):
        if folder is not None and ":" in keywords[key]:
            keywords[key] = f"{folder}/{keywords[key]}"
    if kind in ("random", "passive"):
        first = []
    elif kind == "python":
        first = [literal(keywords.pop("policy"))]
        keywords |= keywords.pop("keywords", {})
    elif kind in _FIRST:
        first = [literal(keywords.pop(_FIRST[kind]))]
        keywords |= keywords.pop("settings", {})
        keywords.pop("folder", None)
    else:
        raise ValueError(f"an operator of the kind {kind!r} has no code")
    if keywords.get("deterministic") is True:
        del keywords["deterministic"]
    if kind in ("random", "passive", "worker"):
        factory_call = call(f"mosaic.operators.{kind}", first, keywords)
        usual = name in (label, kind, table.get("worker"))
        return Code(factory_call if usual else f"{factory_call}.with_(name={literal(name)})")
    return Code(call(f"mosaic.operators.{kind}", first, {**keywords, "name": name}))
