"""Recordings from which an evaluation plays instead of calling language models and chess engines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mosaic_contract import read_document
from msgspec import structs

from mosaic_lab.arenas.plan import EXCHANGES, ArenaPlan
from mosaic_lab.errors import ConfigurationError, UnknownRun
from mosaic_lab.evaluation.plan import EvaluationPlan
from mosaic_lab.keeper.run_store import read_json
from mosaic_lab.validation import Problems
from mosaic_lab.workers.families import same_environment

FindRun = Callable[[str], Any]

_MAX_NAMED = 5  # seeds in a message
_SOURCES = "must be an evaluation, the id of one, or the folder of its run or of an opened bundle"


@dataclass(frozen=True)
class Recording:
    """The recorded exchanges of an evaluation in ``folder``, with its configuration. ``models`` has the names
    of the language models and engines of each lane that has any."""

    folder: Path
    env_id: str
    seeds: frozenset[int]
    models: Mapping[str, frozenset[str]]


def recording_of(source: Any, find_run: FindRun) -> Recording:
    """Return the recording of an evaluation, given as an object, an id, or the folder of its run or of an
    opened bundle. ``find_run`` finds a run by its id. Raises ConfigurationError if there is no recording."""
    folder = _folder_of(source, find_run)
    if not any((folder / EXCHANGES).glob("*.jsonl")):
        raise ConfigurationError(
            f"replay: {folder} has no recording: no language model or engine has played in it, or "
            f"its {EXCHANGES} were left out or removed"
        )
    try:
        return _read_recording(folder)
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigurationError(
            f"replay: what was played in {folder} cannot be read: {error!r:.200}"
        ) from None


def check_replay(recording: Recording, plan: ArenaPlan, problems: Problems) -> None:
    """Add a problem for each environment, lane, model or seed that the recording does not contain."""
    source = recording.folder.parent.name
    env_id = plan.env_id
    if isinstance(env_id, str) and not same_environment(recording.env_id, env_id):
        problems.add("replay", f"replay: {source} was played in {recording.env_id}, not in {env_id}")
    lanes = {label: _models(plan.mapping(label).values()) for label in plan.lanes}
    playing = {label: models for label, models in lanes.items() if models}
    if not playing and not problems.found:  # an operator with a problem may be a model
        problems.add("replay", "replay: no language model or engine plays here: leave it out")
    for label, models in playing.items():
        recorded = recording.models.get(label)
        if recorded is None:
            labels = ", ".join(recording.models)
            problems.add("replay", f"replay: {source} has no recording of {label}: it has {labels}")
        elif models != recorded:
            old, new = (", ".join(sorted(names)) for names in (recorded, models))
            problems.add("replay", f"replay: {label} was recorded with {old} in {source}, not with {new}")
    if missing := sorted(set(plan.seeds) - recording.seeds):
        more = f" and {len(missing) - _MAX_NAMED:,} others" if len(missing) > _MAX_NAMED else ""
        listed = ", ".join(map(str, missing[:_MAX_NAMED])) + more
        problems.add("replay", f"replay: the seeds {listed} were not played in {source}")


def replayed(plan: EvaluationPlan, folder: Path) -> EvaluationPlan:
    """Return the plan with answers from the recording in ``folder``, which costs nothing and needs no key."""
    operators = {
        key: spec.with_(pass_env_vars=()) if spec.is_language_model else spec
        for key, spec in plan.operators.items()
    }
    request = structs.replace(plan.request, budget=None)
    return replace(plan, request=request, operators=operators, replay=str(folder))


def _folder_of(source: Any, find_run: FindRun) -> Path:
    path = getattr(source, "path", source)
    if isinstance(path, Path) or (isinstance(path, str) and Path(path).expanduser().exists()):
        folder = Path(path).expanduser().resolve()
        if folder.is_file() and folder.suffix == ".zip":
            raise ConfigurationError(
                f"replay: {folder.name} is a bundle: open it, `mosaic_lab.open_bundle("
                f'"{folder.name}", into=FOLDER)`, and give that folder'
            )
        return folder
    if not isinstance(path, str):
        raise ConfigurationError(f"replay={source!r:.200}: {_SOURCES}")
    try:
        return Path(find_run(path).path)
    except UnknownRun as error:
        raise ConfigurationError(f"replay={source!r:.200}: {_SOURCES}; {error}") from None


def _read_recording(folder: Path) -> Recording:
    """Return the recording described by a run's configuration or a bundle's script."""
    config, script = folder / "config.json", folder / "script.json"
    if config.is_file():
        plan = EvaluationPlan.from_config(read_json(config))
        models = {label: _models(plan.mapping(label).values()) for label in plan.lanes}
        env_id, seeds = plan.env_id, plan.seeds
    else:
        document = read_document(script)
        env_id, seeds = document["env"], document["seeds"]
        models = {label: _models_in(lane) for label, lane in document["operators"].items()}
    lanes = {label: names for label, names in models.items() if names}
    return Recording(folder / EXCHANGES, env_id, frozenset(seeds), lanes)


def _models(specs: Iterable[Any]) -> frozenset[str]:
    return frozenset(_model_in(spec.settings) for spec in specs if spec.is_recorded)


def _models_in(lane: Mapping[str, Any]) -> frozenset[str]:
    """Return the models and engines in a script's table of an operator or a policy mapping."""
    tables = [lane] if "kind" in lane else lane.values()
    return frozenset(_model_in(table) for table in tables if "model" in table or "program" in table)


def _model_in(settings: Mapping[str, Any]) -> str:
    return str(settings.get("model", settings.get("program")))
