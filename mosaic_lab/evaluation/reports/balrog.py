"""The results of BALROG's agents as files for BALROG's own tools.

Each operator gets a folder in upstream's format: `<environment>/<task>/<task>_run_00.json` and `.csv` for
each episode, a summary for each environment, and `summary.json`. Observations and answers come from the
recorded exchanges.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any

from mosaic_contract.language import recording
from mosaic_contract.language.balrog import AGENTS, DEFAULT_ACTIONS, observation_in

from mosaic_lab.errors import MosaicError
from mosaic_lab.evaluation.episode_log import PlayedEvaluation
from mosaic_lab.evaluation.reports.units import completed_in
from mosaic_lab.operators.spec import OperatorSpec
from mosaic_lab.table_files import as_cell

if TYPE_CHECKING:
    import pandas as pd


WORKER = "balrog"
_COLUMNS = ("Step", "Action", "Reasoning", "Observation", "Reward", "Done")
_BABYAI = "BabyAI-MixedTrainLocal-v0/"  # prefix of BALROG's five BabyAI tasks

Exchanges = Mapping[tuple[str, int], Mapping[int, Mapping[str, Any]]]
"""The last exchange of each step, by lane and episode index."""


def write_balrog_results(evaluations: Sequence[PlayedEvaluation], folder: Path) -> pd.DataFrame:
    """Write the results of all BALROG operators to folders named after them, and return them as a table.

    Columns: operator, environment ("all" for the mean over environments), progression_percentage,
    standard_error and episodes_played. Raises MosaicError if no such operator has finished an episode.
    """
    import pandas as pd

    episodes: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for evaluation in evaluations:
        family, task = family_and_task(evaluation.plan.env_id)
        exchanges = _exchanges_in(evaluation.recording)
        for label, spec in _players(evaluation):
            family_episodes = episodes[label][family]
            for record in completed_in({label: [label]}, evaluation.records())[label]:
                number = sum(episode["task"] == task for episode in family_episodes)
                stem = folder / _file_name(label) / family / task / f"{task}_run_{number:02d}"
                steps = evaluation.steps(label, record["seed"], record["episode"])
                by_step = exchanges.get((label, record["index"]), {})
                family_episodes.append(_write_episode(stem, family, task, spec, record, by_step, steps))
    if not any(episodes.values()):
        raise MosaicError("no BALROG operator has finished an episode: see mosaic.operators.balrog")
    rows = []
    for label, families in episodes.items():
        summary = _write_summary(folder / _file_name(label), families)
        rows += [
            {"operator": label, "environment": name, **values}
            for name, values in summary["environments"].items()
        ]
        overall = {
            "progression_percentage": summary["average_progress"],
            "standard_error": summary["standard_error"],
            "episodes_played": sum(map(len, families.values())),
        }
        rows.append({"operator": label, "environment": "all", **overall})
    return pd.DataFrame(rows)


def family_and_task(env_id: str) -> tuple[str, str]:
    """Return BALROG's names for an environment and its task."""
    if env_id.startswith("balrog/"):
        family, _, task = env_id.removeprefix("balrog/").partition("/")
        return family, f"{_BABYAI}{task}" if family == "babyai" else task or "default"
    for prefix in ("BabyAI-", "MiniGrid-"):
        if env_id.startswith(prefix):
            return prefix[:-1].lower(), env_id
    return "others", env_id.replace(":", "/")


def _players(evaluation: PlayedEvaluation) -> Iterable[tuple[str, OperatorSpec]]:
    """Yield the lanes played by an agent of BALROG."""
    for label in evaluation.plan.lanes:
        spec = next(iter(evaluation.plan.mapping(label).values()))
        if spec.worker == WORKER:
            yield label, spec


def _exchanges_in(folder: Path) -> Exchanges:
    by_episode: dict[tuple[str, int], dict[int, Mapping[str, Any]]] = defaultdict(dict)
    for exchange in recording.read(folder):
        try:
            by_episode[str(exchange["lane"]), int(exchange["episode_index"])][int(exchange["step_index"])] = (
                exchange
            )
        except (KeyError, TypeError, ValueError):  # not one of our lines
            continue
    return by_episode


def _write_episode(
    stem: Path,
    family: str,
    task: str,
    spec: OperatorSpec,
    record: Mapping[str, Any],
    exchanges: Mapping[int, Mapping[str, Any]],
    steps: pd.DataFrame,
) -> dict[str, Any]:
    """Write an episode's two files and return its JSON content."""
    read = AGENTS[spec.settings["agent"]].read
    answers = [str((exchanges.get(step) or {}).get("answer") or "") for step in range(len(steps))]
    readings = [read(answer.strip()) for answer in answers]
    failed = [
        _is_default(family, exchanges.get(step), reading.candidate) for step, reading in enumerate(readings)
    ]
    default = DEFAULT_ACTIONS.get(family, "default")
    stem.parent.mkdir(parents=True, exist_ok=True)
    with Path(f"{stem}.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(_COLUMNS)
        for step, (reading, outcome) in enumerate(zip(readings, steps.itertuples(), strict=True)):
            ended = bool(outcome.terminated or outcome.truncated)
            observation = _observed(exchanges.get(step + 1))
            cells = map(as_cell, (reading.candidate, reading.reasoning or "", observation))
            rows.writerow([step, *cells, outcome.reward, ended])
    episode = {
        "task": task,
        "action_frequency": Counter(
            default if wrong else reading.candidate for reading, wrong in zip(readings, failed, strict=True)
        ),
        **{name: _sum(exchanges.values(), name) for name in ("input_tokens", "output_tokens")},
        "done": bool(record["terminated"] or record["truncated"]),
        "episode_return": record["return"],
        "num_steps": record["steps"],
        "failed_candidates": [
            reading.candidate for reading, wrong in zip(readings, failed, strict=True) if wrong
        ],
        "progression": _progression(family, record),
        "process_num": None,
        "seed": record["episode_seed"],
        "agent": _agent(spec),
        "client": _client(spec),
    }
    _write_json(Path(f"{stem}.json"), episode)
    return episode


def _is_default(family: str, exchange: Mapping[str, Any] | None, candidate: str | None) -> bool:
    """Return whether the default action was played. The dummy agent has no exchanges; its "wait" is an action
    in NetHack."""
    if exchange is None:
        return not (family in ("nle", "textworld") and candidate == "wait")
    return "default" in (exchange.get("faults") or ())


def _observed(exchange: Mapping[str, Any] | None) -> str:
    """Return the observation after a step, from the agent's next prompt."""
    prompt = (exchange or {}).get("prompt") or [{}]
    return observation_in(str(prompt[-1].get("text", "")))


def _progression(family: str, record: Mapping[str, Any]) -> float:
    """Return the environment's own progression; for BabyAI, any reward counts as success, as in BALROG."""
    reported = record.get("progression")
    return float(record["return"] > 0 if reported is None else reported)


def _sum(exchanges: Iterable[Mapping[str, Any]], name: str) -> int | None:
    """Return the sum, None if any exchange lacks the value, because unknown is not 0."""
    counts: list[Any] = [exchange.get(name) for exchange in exchanges]
    return None if None in counts else sum(map(int, counts))


def _agent(spec: OperatorSpec) -> dict[str, Any]:
    names = ("max_text_history", "max_image_history", "max_cot_history", "max_icl_history")
    return {"type": spec.settings["agent"], **{name: spec.settings[name] for name in names}}


def _client(spec: OperatorSpec) -> dict[str, Any]:
    settings = spec.settings
    return {
        "client_name": settings["provider"],
        "model_id": settings["model"],
        "base_url": settings["base_url"],
        "generate_kwargs": {
            "temperature": settings.get("temperature", 0),
            "max_tokens": settings["max_tokens"],
        },
        "timeout": settings["timeout"],
        "max_retries": settings["retries"],
    }


def _write_summary(folder: Path, families: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    environments = {family: _share(episodes) for family, episodes in families.items()}
    for family, episodes in families.items():
        tasks: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for episode in episodes:
            tasks[episode["task"]].append(episode)
        summary = {
            **environments[family],
            "average_steps": fmean(episode["num_steps"] for episode in episodes),
            "tasks": {task: _share(runs) for task, runs in tasks.items()},
            **{name: _sum(episodes, name) for name in ("input_tokens", "output_tokens")},
        }
        _write_json(folder / family / f"{family}_summary.json", summary)
    all_episodes = [episode for episodes in families.values() for episode in episodes]
    errors = [environment["standard_error"] for environment in environments.values()]
    overall = {
        "average_progress": fmean(
            environment["progression_percentage"] for environment in environments.values()
        ),
        "standard_error": math.hypot(*errors) / len(errors),
        "environments": environments,
        **{f"total_{name}": _sum(all_episodes, name) for name in ("input_tokens", "output_tokens")},
        "client": all_episodes[0]["client"],
        "agent": all_episodes[0]["agent"],
    }
    _write_json(folder / "summary.json", overall)
    return overall


def _share(episodes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the mean progression in percent with its standard error, computed like BALROG from the
    population standard deviation of these episodes."""
    values = [float(episode["progression"]) for episode in episodes]
    return {
        "progression_percentage": 100 * fmean(values),
        "standard_error": 100 * pstdev(values) / math.sqrt(len(values)),
        "episodes_played": len(values),
    }


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=4, ensure_ascii=False), encoding="utf-8")


def _file_name(label: str) -> str:
    return re.sub(r"[^\w .-]", "_", label).strip(" .") or "operator"
