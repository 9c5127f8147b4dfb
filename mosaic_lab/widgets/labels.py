"""Names for runs shown together: what they share is the title, what tells them apart is the label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mosaic_lab.supervisor import Run

_OWN = frozenset({"run_id", "run_dir", "seed", "hyperparameters"})
MOST_SETTINGS = 3


def group_of(runs: Sequence[Run]) -> str | None:
    """The name of the group that all the runs were started in."""
    names = {run.group for run in runs}
    return names.pop() if len(names) == 1 else None


def named(runs: Sequence[Run]) -> tuple[str, list[str]]:
    """A title for these runs together, and for each what tells it apart (nothing for one alone)."""
    title, own = shared_and_own([run.label for run in runs])
    labels = told_apart(own, [run.config for run in runs], [run.id for run in runs])
    return title or "Comparison of runs", labels


def shown_again(runs: Sequence[Run], alone: bool, call: str = "") -> str:
    """How to see a panel of these runs, or what ``call`` of them shows, again when its kernel is gone."""
    if alone:
        return f'lab.run("{runs[0].id}"){call} shows this run again'
    group = group_of(runs)
    how = f'lab.group("{group}"){call}' if group else "running this cell again"
    return f"{how} shows these runs again"


def shared_and_own(labels: Sequence[str]) -> tuple[str, list[str]]:
    """Split labels (words in the same order) into their common words and what is left of each.

    ``["ppo CartPole-v1 seed 1", "ppo CartPole-v1 seed 2"]`` gives ``"ppo CartPole-v1"`` and
    ``["seed 1", "seed 2"]``. What is left may be empty or the same for several.
    """
    words = [_words(label) for label in labels]
    if len({len(one) for one in words}) != 1:
        return "", list(labels)
    differ = [len(set(column)) > 1 for column in zip(*words, strict=True)]
    common = " ".join(word for word, own in zip(words[0], differ, strict=True) if not own)
    return common, [" ".join(word for word, own in zip(one, differ, strict=True) if own) for one in words]


def told_apart(labels: Sequence[str], configs: Sequence[Mapping[str, Any]], ids: Sequence[str]) -> list[str]:
    """The labels; where several are the same, settings that differ are added, or else the run's id."""
    result = list(labels)
    if len(set(result)) < len(result):
        own = [", ".join(f"{name}={value}" for name, value in one.items()) for one in differing(configs)]
        result = [f"{label} {text}".strip() if labels.count(label) > 1 else label
                  for label, text in zip(labels, own, strict=True)]  # fmt: skip
    return [
        f"{label} {ids[index]}".strip() if result.count(label) > 1 else label
        for index, label in enumerate(result)
    ]


def differing(configs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of each configuration the settings (at most three) that are not the same in all."""
    flat = [settings(config) for config in configs]
    names = dict.fromkeys(name for one in flat for name in one)
    keep = [name for name in names if len({repr(one.get(name)) for one in flat}) > 1][:MOST_SETTINGS]
    return [{name: one.get(name) for name in keep} for one in flat]


def settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """What was set for a run, flat, without what every run has for itself (id, folder, seed)."""
    hyperparameters = config.get("hyperparameters")
    flat = {**config, **(hyperparameters if isinstance(hyperparameters, Mapping) else {})}
    return {name: value for name, value in flat.items() if name not in _OWN}


def _words(label: str) -> list[str]:
    """``seed 3`` counts as one word, so that a lone number is never left over."""
    words: list[str] = []
    for word in label.split():
        if words and words[-1] == "seed":
            words[-1] = f"seed {word}"
        else:
            words.append(word)
    return words
