"""Fingerprints: hashes of an evaluation's configuration and outcome.

They do not depend on the machine's speed and folders, nor on the endpoint that answers. They do depend on
versions, which are locked at the start of an evaluation and are the same for all of its episodes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic_lab.evaluation.episode_log import Record
from mosaic_lab.evaluation.plan import EvaluationPlan
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.runs.provenance import module_hash
from mosaic_lab.workers import WorkerEnvironment, find

ENDPOINT_SETTINGS = ("api_key_env", "base_url", "concurrency", "prices", "retries", "timeout")
"""Settings of language models that affect their calls, not their answers."""

_MACHINE_FIELDS = (
    *("arena", "budget", "commands", "digests", "parallel", "step_delay", "step_timeout", "on_failure"),
    *("batches", "module", "on", "only", "pass_env_vars", "places", "record", "replay"),
)
_OUTCOME = (
    *("operator", "seed", "episode", "episode_seed", "returns", "steps", "terminated", "truncated"),
    *("forfeit", "success", "status"),
)
_COUNTS = ("calls", "illegal", "late", "errors", "input_tokens", "output_tokens")
_BLOCK = 1 << 20
_PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9][A-Za-z0-9.!+_-]*)")
_HEADING = re.compile(r"# (Python|worker code) ([A-Za-z0-9.+-]*)")
_MAX_NAMED = 6  # changes in a message


def digests(specs: Iterable[OperatorSpec], module: str | None = None) -> dict[str, str]:
    """Return the SHA-256, by path, of every checkpoint, every file of a user's policy and the environment's
    module. Missing files are left out."""
    paths = {str(path) for spec in specs for path in spec.files.values()}
    hashes = {path: _path_digest(Path(path)) for path in sorted(paths) if Path(path).exists()}
    if module is not None and Path(module).exists():
        hashes[module] = module_hash(Path(module))
    return hashes


def changed(plan: EvaluationPlan) -> str:
    """Return a sentence about a file that has changed since planning; empty if none has."""
    current = digests(plan.operators.values(), plan.module)
    for path, digest_at_start in plan.digests.items():
        if current.get(path) != digest_at_start:
            change = "is missing" if path not in current else "has changed since the evaluation started"
            is_code = path.endswith(".py") or path == plan.module
            return f"the {'code' if is_code else 'checkpoint'} {path} {change}"
    return ""


def identity(plan: EvaluationPlan) -> dict[str, Any]:
    """Return the configuration without machine-specific values; checkpoints are identified by content."""
    config = plan.to_config()
    content = {name: value for name, value in config.items() if name not in _MACHINE_FIELDS}
    for key, spec in plan.operators.items():
        settings = _portable_settings(spec)
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


def resampling_seed(plans: EvaluationPlan | Iterable[EvaluationPlan], rng: int | None) -> int:
    """Return the seed of the resampling: ``rng``, by default one derived from what is evaluated."""
    if rng is not None:
        return rng
    content = identity(plans) if isinstance(plans, EvaluationPlan) else [identity(plan) for plan in plans]
    return int(digest(content)[:8], 16)


def _portable_settings(spec: OperatorSpec) -> dict[str, Any]:
    """Return an operator's settings without machine-specific values."""
    if "policy" in spec.code:
        return {name: value for name, value in spec.settings.items() if name != "folder"}
    if not spec.is_language_model:
        return dict(spec.settings)
    settings = {name: value for name, value in spec.settings.items() if name not in ENDPOINT_SETTINGS}
    for argument, code in spec.code.items():
        settings[argument] = {name: value for name, value in code.items() if name != "folder"}
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
    """Return an operator's counts, without a language model's late answers, which depend on its endpoint."""
    return [operator[name] for name in _COUNTS if name != "late" or "exchanges" not in operator]


def fingerprint(
    version: str, plan: EvaluationPlan, versions: Mapping[str, Mapping[str, str]], records: Iterable[Record]
) -> str:
    """Return the hash for `Evaluation.fingerprint`; ``version`` is the version of mosaic_lab."""
    facts = {"versions": versions, "episodes": outcomes(records)}
    return digest({"mosaic_lab": version, "plan": identity(plan), **facts})


def digest(value: Any) -> str:
    """Return the SHA-256 of plain data, in hexadecimal."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _path_digest(path: Path) -> str:
    """Return the SHA-256 of a file's contents, or of the names and contents of a folder's files."""
    hashed = hashlib.sha256()
    for file in [path] if path.is_file() else sorted(child for child in path.rglob("*") if child.is_file()):
        if file != path:
            hashed.update(f"{file.relative_to(path).as_posix()}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as stream:
            while block := stream.read(_BLOCK):
                hashed.update(block)
    return hashed.hexdigest()


@dataclass(frozen=True)
class Lock:
    """The lock of one environment: its Python, {package: version} for packages from an index, and a hash of
    the worker's own code (empty if the environment was not built by MOSAIC Lab)."""

    python: str = ""
    packages: dict[str, str] = field(default_factory=dict)
    code: str = ""

    def to_text(self) -> str:
        """Return the lock as a requirements file, with anything that is not from an index as a comment."""
        heading = f"# Python {self.python}\n# worker code {self.code}\n"
        return heading + "".join(f"{name}=={version}\n" for name, version in sorted(self.packages.items()))

    @classmethod
    def from_text(cls, text: str) -> Lock:
        """Read a lock file. Raises ValueError for a line that is neither one of our comments nor an exact
        version."""
        head = {}
        packages = {}
        for line in text.splitlines():
            if heading := _HEADING.fullmatch(line):
                head[heading[1]] = heading[2]
            elif pin := _PIN.fullmatch(line):
                packages[pin[1]] = pin[2]
            else:
                raise ValueError(f"{line!r:.100} is not an exact version")
        return cls(head.get("Python", ""), packages, head.get("worker code", ""))


def lock_of(worker_environment: WorkerEnvironment) -> Lock:
    """Return the lock of an environment as currently installed."""
    pins = [pin for line in worker_environment.freeze if (pin := _PIN.fullmatch(line))]
    packages = {pin[1]: pin[2] for pin in pins}
    return Lock(worker_environment.python_version, packages, worker_environment.shim_fingerprint or "")


def locks_of(workers: Iterable[str]) -> dict[str, Lock]:
    """Return the locks of the installed workers, by name."""
    environments = {name: find(name) for name in sorted(set(workers))}
    return {name: lock_of(installed) for name, installed in environments.items() if installed is not None}


def changes(old: Mapping[str, Lock], new: Mapping[str, Lock]) -> dict[str, list[str]]:
    """Return the changes of each worker as short texts; unchanged workers are left out."""
    changes = {name: _changes(lock, new.get(name)) for name, lock in old.items()}
    return {name: texts for name, texts in changes.items() if texts}


def differing_versions(
    old: Mapping[str, str], new: Mapping[str, str]
) -> dict[str, tuple[str | None, str | None]]:
    """Return the (old, new) versions that differ, by name; None for an absent package."""
    names = sorted({*old, *new}, key=str.lower)
    return {name: (old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)}


def changes_text(texts: list[str]) -> str:
    """Return the changes of one worker as one line."""
    more = f" and {len(texts) - _MAX_NAMED} more" if len(texts) > _MAX_NAMED else ""
    return ", ".join(texts[:_MAX_NAMED]) + more


def _changes(old: Lock, new: Lock | None) -> list[str]:
    if new is None:
        return ["it is not installed here"]
    python = differing_versions({"Python": old.python}, {"Python": new.python})
    pairs = {**python, **differing_versions(old.packages, new.packages)}
    texts = [f"{name} {before or 'none'} (here {after or 'none'})" for name, (before, after) in pairs.items()]
    return texts + (["the worker's own code"] if old.code != new.code else [])
