"""Run ids and labels, and titles for several runs."""

from __future__ import annotations

import re
import secrets
import time
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from mosaic_lab.keeper.files import folders_in
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.number_format import setting_text
from mosaic_lab.runs.annotations import read_annotations
from mosaic_lab.runs.run import Run
from mosaic_lab.sanitize import sanitize
from mosaic_lab.text_table import shortened

MAX_SETTINGS = 3
MAX_CHARS = 40
"""Maximum characters of a setting's value in a label."""


def new_run_id(worker: str, config: Mapping[str, Any]) -> str:
    """Return an id that sorts by time (UTC), such as ``20261121-053012-cleanrl-ppo-CartPole-v1-s1-k3f9``."""
    parts = [time.strftime("%Y%m%d-%H%M%S", time.gmtime()), worker]
    parts += [str(config[key]) for key in ("algorithm", "env_id") if config.get(key)]
    if config.get("seed") is not None:
        parts.append(f"s{config['seed']}")
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(parts))[:110]
    return f"{name}-{''.join(secrets.choice('abcdefghjkmnpqrstuvwxyz23456789') for _ in range(4))}"


def id_end(run: Run) -> str:
    """Return the last characters of a run's id, which distinguish it from all others with its name."""
    return run.id.rpartition("-")[2]


def group_label(group: str) -> str:
    """Return a group's name without the time of its start, as charts and tables show it."""
    return re.sub(r"^\d{8}-\d{6}-", "", group)


def default_label(worker: str, config: Mapping[str, Any]) -> str:
    """Return the default label of a run, such as ``cleanrl ppo CartPole-v1 seed 1``."""
    parts = [worker, *(str(config[key]) for key in ("algorithm", "env_id") if config.get(key))]
    return " ".join(parts) + (f" seed {config['seed']}" if config.get("seed") is not None else "")


def comparison_label(folder: Path) -> str:
    """Return the default name of the comparison in a folder, such as ``comparison CartPole-v1``."""
    lanes = (RunFolder(lane) for lane in folders_in(folder))
    env = next((lane.config().get("env_id") for lane in lanes), None)
    return f"comparison {sanitize(env) if isinstance(env, str) else ''}".strip()


def common_group(runs: Sequence[Run]) -> str | None:
    """Return the group that all the runs were started in; None if they differ."""
    names = {run.group for run in runs}
    return names.pop() if len(names) == 1 else None


def title_and_labels(runs: Sequence[Run]) -> tuple[str, list[str]]:
    """Return a title for these runs and a distinguishing label for each (empty for a single run)."""
    title, labels = shared_and_own([run.label for run in runs])
    return title or "Comparison of runs", _with_steps(distinct_labels(labels, runs), runs)


def _with_steps(labels: Sequence[str], runs: Sequence[Run]) -> list[str]:
    """Return the labels, extended by the number of steps for runs with the same ``total_timesteps`` that
    train different numbers of steps."""
    trained: dict[int | None, set[int | None]] = {}
    for run in runs:
        trained.setdefault(run.requested_timesteps, set()).add(run.total_timesteps)
    return [
        f"{label} ({run.total_timesteps:,} steps)".strip()
        if len(trained[run.requested_timesteps]) > 1
        else label
        for label, run in zip(labels, runs, strict=True)
    ]


def distinct_names(runs: Sequence[Run]) -> list[str]:
    """Return a name for each run: the user's name if set, otherwise the shortest distinguishing label."""
    labels = title_and_labels(runs)[1] if len(runs) > 1 else [run.label for run in runs]
    labels = [read_annotations(run.folder).name or label for run, label in zip(runs, labels, strict=True)]
    counts = Counter(labels)
    return [
        f"{label} {id_end(run)}" if counts[label] > 1 else label
        for run, label in zip(runs, labels, strict=True)
    ]


def how_to_show_again(runs: Sequence[Run], alone: bool, call: str = "") -> str:
    """Return how to show a panel of these runs, or the result of ``call`` on them, again."""
    if alone:
        return f'lab.run("{runs[0].id}"){call} shows this run again'
    group = common_group(runs)
    call_text = f'lab.group("{group}"){call}' if group else "running this cell again"
    return f"{call_text} shows these runs again"


def states_text(runs: Sequence[Run]) -> str:
    """Return the states of the runs: ``completed`` for one run, ``3 completed, 1 failed`` for several."""
    states = Counter(run.state for run in runs)
    return ", ".join(f"{count} {state}" if len(runs) > 1 else state for state, count in states.items())


def shared_and_own(labels: Sequence[str]) -> tuple[str, list[str]]:
    """Split labels into the words common to all, and the remaining words of each.

    ``["ppo CartPole-v1 seed 1", "ppo CartPole-v1 seed 2"]`` gives ``"ppo CartPole-v1"`` and ``["seed 1",
    "seed 2"]``. The remaining words may be empty, or equal for several labels.
    """
    words = [_words(label) for label in labels]
    common = [word for word in (words[0] if words else ()) if all(word in each for each in words)]
    return " ".join(common), [" ".join(word for word in each if word not in common) for each in words]


def without_seed(label: str) -> str:
    """Return the label without its seed: the name of an experiment over seeds."""
    return " ".join(word for word in _words(label) if not word.startswith("seed "))


def distinct_labels(labels: Sequence[str], runs: Sequence[Run]) -> list[str]:
    """Return the labels of runs, extended by the settings that differ if a label is empty or not unique. If
    no setting differs, the end of the run's id is added, which `Lab.run` accepts."""
    if len(labels) == 1:
        return list(labels)
    result = list(labels)
    for label in set(labels):
        matches = [index for index, other in enumerate(labels) if other == label]
        if label and len(matches) == 1:
            continue
        peers = matches if len(matches) > 1 else range(len(runs))
        for index, text in zip(peers, differing_settings([runs[index] for index in peers]), strict=True):
            if index in matches:
                result[index] = f"{label} {text}".strip()
    return [
        f"{label} {id_end(runs[index])}".strip() if not label or result.count(label) > 1 else label
        for index, label in enumerate(result)
    ]


def is_shown_as(run: Run, text: str, names: Container[str]) -> bool:
    """Return whether ``text`` consists of words by which lists and charts show the run: those of its label or
    name, its settings, its number of steps and the end of its id.

    ``names`` are the settings of the runs shown beside it, whose defaults may be among the words.
    """
    settings = run_settings(run)
    steps = run.total_timesteps
    parts = [run.label, run.name, id_end(run), "" if steps is None else f"({steps:,} steps)"]
    parts += [f"{name}={_value(settings, name)}" for name in settings]
    words_of_run = _words(" ".join(parts).replace(",", ""))
    words = _words(text.replace(",", ""))
    defaults = [
        word
        for word in words
        if word.endswith("=default") and (name := word.partition("=")[0]) in names and name not in settings
    ]
    return bool(words) and {*words} <= {*words_of_run, *defaults}


def differing_settings(runs: Sequence[Run]) -> list[str]:
    """Return for each run the settings (at most three) that differ, such as ``gamma=0.9, num_envs=4``.

    Only settings given to at least one run are considered, because values that upstream derives from them are
    redundant. Values not given are upstream's defaults.
    """
    settings = [run_settings(run) for run in runs]
    names = dict.fromkeys(name for run in runs for name in (*_named_settings(run), *_hyperparameters(run)))
    different = [name for name in names if len({repr(of_run.get(name)) for of_run in settings}) > 1]
    keep = different[:MAX_SETTINGS]
    return [", ".join(f"{name}={_value(of_run, name)}" for name in keep) for of_run in settings]


def run_settings(run: Run) -> dict[str, Any]:
    """Return the settings that a run was started with as a flat dictionary, without id, folder and seed."""
    return {**_named_settings(run), **run.hyperparameters}


def _named_settings(run: Run) -> dict[str, Any]:
    """Return the keywords of `Lab.train` that affect learning."""
    keywords = {name: run.config.get(name) for name in ("algorithm", "env_id", "total_timesteps")}
    checkpoint = run.config.get("checkpoint")
    keywords["resume_from"] = checkpoint.get("resume_from") if isinstance(checkpoint, Mapping) else None
    keywords["wrappers"] = run.config.get("wrappers") or None
    return {name: value for name, value in keywords.items() if value is not None}


def _hyperparameters(run: Run) -> Mapping[str, Any]:
    values = run.config.get("hyperparameters")
    return values if isinstance(values, Mapping) else {}


def _value(settings: Mapping[str, Any], name: str) -> str:
    """Return the value of a setting as text, or ``default`` if only upstream knows it."""
    if name == "resume_from":
        return PurePath(str(settings[name])).name if name in settings else "nothing"
    return shortened(setting_text(settings.get(name, "default")), MAX_CHARS)


def _words(label: str) -> list[str]:
    """Split a label into words. ``seed 3`` counts as one word, so that the number is never separated."""
    words: list[str] = []
    for word in label.split():
        if words and words[-1] == "seed":
            words[-1] = f"seed {word}"
        else:
            words.append(word)
    return words
