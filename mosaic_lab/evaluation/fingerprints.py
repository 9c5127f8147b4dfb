"""Fingerprints: hashes of an evaluation's configuration and outcome.

They are independent of the machine's speed and folders, and of the endpoint that answers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mosaic_lab.evaluation.episode_log import Record
from mosaic_lab.evaluation.plan import EvaluationPlan
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.runs.provenance import module_hash

OF_THE_ENDPOINT = ("api_key_env", "base_url", "concurrency", "prices", "retries", "timeout")
"""Settings of language models that affect how they are called, not what they answer."""

_OF_THE_PLACE = (
    *("arena", "budget", "commands", "digests", "parallel", "step_delay", "step_timeout", "on_failure"),
    *("module", "on", "only", "pass_env_vars", "places", "replay"),
)
_OUTCOME = (
    *("operator", "seed", "episode", "episode_seed", "returns", "steps", "terminated", "truncated"),
    *("forfeit", "success", "status"),
)
_COUNTS = ("calls", "illegal", "late", "errors", "input_tokens", "output_tokens")
_BLOCK = 1 << 20


def digests(specs: Iterable[OperatorSpec], module: str | None = None) -> dict[str, str]:
    """Return the SHA-256, by path, of every checkpoint, every file of a user's policy and the environment's
    module. Missing files are left out.
    """
    paths = {str(path) for spec in specs for path in spec.files.values()}
    hashes = {path: _of_path(Path(path)) for path in sorted(paths) if Path(path).exists()}
    if module is not None and Path(module).exists():
        hashes[module] = module_hash(Path(module))
    return hashes


def changed(plan: EvaluationPlan) -> str:
    """Return a sentence about a file that has changed since planning; empty if none has."""
    now = digests(plan.operators.values(), plan.module)
    for path, digest_at_start in plan.digests.items():
        if now.get(path) != digest_at_start:
            how = "is missing" if path not in now else "has changed since the evaluation started"
            is_code = path.endswith(".py") or path == plan.module
            return f"the {'code' if is_code else 'checkpoint'} {path} {how}"
    return ""


def identity(plan: EvaluationPlan) -> dict[str, Any]:
    """Return the configuration without machine-specific values, with checkpoints by their contents."""
    config = plan.to_config()
    content = {name: value for name, value in config.items() if name not in _OF_THE_PLACE}
    for key, spec in plan.operators.items():
        settings = _anywhere(spec)
        for name, path in spec.files.items():
            if str(path) in plan.digests:
                settings["checkpoint" if "checkpoint" in settings else name] = plan.digests[str(path)]
        config["operators"][key]["settings"] = settings
        del config["operators"][key]["pass_env_vars"]
    if not plan.trainings:
        del content["trainings"]  # absent from older configurations
    if plan.module is not None:
        content["module"] = plan.digests[plan.module]
    # The keys of operators are not part of the identity.
    content["lanes"] = {label: first_of(lane) for label, lane in plan.lanes.items()}
    content["operators"] = {
        label: {pattern: config["operators"][plan.lanes[label][pattern]] for pattern in set(lane.values())}
        for label, lane in content["lanes"].items()
    }
    return content


def _anywhere(spec: OperatorSpec) -> dict[str, Any]:
    """Return an operator's settings without machine-specific values."""
    if spec.code is spec.settings:
        return {name: value for name, value in spec.settings.items() if name != "folder"}
    if not spec.is_language_model:
        return dict(spec.settings)
    settings = {name: value for name, value in spec.settings.items() if name not in OF_THE_ENDPOINT}
    if spec.code is not None:
        settings["describe"] = {name: value for name, value in spec.code.items() if name != "folder"}
    return settings


def first_of(lane: Mapping[str, str]) -> dict[str, str]:
    """Return, for each pattern, the first pattern with the same operator."""
    firsts: dict[str, str] = {}
    return {pattern: firsts.setdefault(key, pattern) for pattern, key in lane.items()}


def outcomes(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Return the outcome of each episode, without its duration."""
    outcomes = []
    for record in records:
        operators = record.get("operators") or {}
        counts = {key: _counts(operator) for key, operator in sorted(operators.items())}
        outcomes.append({name: record.get(name) for name in _OUTCOME} | {"operators": counts})
    return outcomes


def _counts(operator: Mapping[str, Any]) -> list[Any]:
    """Return an operator's counts.

    A language model's count of late answers depends on its endpoint and is left out.
    """
    return [operator[name] for name in _COUNTS if name != "late" or "exchanges" not in operator]


def fingerprint(
    ours: str, plan: EvaluationPlan, versions: Mapping[str, Mapping[str, str]], records: Iterable[Record]
) -> str:
    """Return the hash of an evaluation and its outcome; see `Evaluation.fingerprint`.

    ``ours`` is the version of mosaic_lab.
    """
    facts = {"versions": versions, "episodes": outcomes(records)}
    return digest({"mosaic_lab": ours, "plan": identity(plan), **facts})


def digest(value: Any) -> str:
    """Return the SHA-256 of plain data, in hexadecimal."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _of_path(path: Path) -> str:
    """Return the SHA-256 of a file's contents, or of the names and contents of a folder's files."""
    hashed = hashlib.sha256()
    for file in [path] if path.is_file() else sorted(child for child in path.rglob("*") if child.is_file()):
        if file != path:
            hashed.update(f"{file.relative_to(path).as_posix()}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as stream:
            while block := stream.read(_BLOCK):
                hashed.update(block)
    return hashed.hexdigest()
