"""Recorded episodes of people and policies as text: examples in the prompts of language models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from mosaic_contract import AgentSetup
from mosaic_contract.config import nearest
from mosaic_contract.episode_recording import at_step, read_recording
from mosaic_contract.language.parsing import Actions

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.operators.spec import check_arguments
from mosaic_lab.runs import Run
from mosaic_lab.runs.kinds import as_kind
from mosaic_lab.runs.run_names import run_or_path
from mosaic_lab.validation import Problems, checked

_LARGEST = 16 << 20  # bytes of a file


class EndedEpisode(Protocol):
    """A finished episode: who played it, its return (None if it failed), and its recording, None without
    one."""

    operator: str
    total: float | None
    recording: Path | None


@checked
def examples(
    source: Any, operator: str | None = None, *, episodes: int = 1, steps: int = 50
) -> list[dict[str, Any]]:
    """Return recorded episodes as text, for the ``examples`` of `llm` and `vlm`.

    Each is a dict with "observations" and "actions", lists of strings, and the "operator", "return" and
    "seed" of the episode. An example is left out of the prompts of episodes with its own seed.

    Args:
        source: an evaluation or a comparison, or the name of a run, played with ``record="observations"``.
        operator: who played the episodes; default: anyone.
        episodes: number of episodes; those with the highest returns are taken.
        steps: maximum number of steps taken from the start of each.

    Raises:
        ConfigurationError: an argument is invalid, or no such episode was recorded.
    """
    problems = Problems()
    check_arguments(problems, episodes=(episodes, range(1, 51)), steps=(steps, range(1, 10_001)))
    problems.check()
    recorded = _recorded(source)
    names = list(dict.fromkeys(episode.operator for episode in recorded))
    if operator is not None and operator not in names:
        raise ConfigurationError(
            f"operator={operator!r:.100}: no such operator has finished an episode"
            f"{nearest(str(operator), names, listed=True)}; these have: "
            f"{', '.join(map(repr, names)) or 'none'}"
        )
    chosen = [one for one in recorded if one.recording is not None and operator in (None, one.operator)]
    if not chosen:
        raise ConfigurationError(
            'no episode was recorded with its observations: play them with record="observations"'
        )
    best = sorted(chosen, key=lambda one: one.total or 0.0, reverse=True)
    return [_texts(episode, steps) for episode in best[:episodes]]


def as_examples(value: Any) -> Sequence[Any]:
    """Return the examples given as a list, as a JSON file, or as a run that has recorded episodes."""
    if isinstance(value, list | tuple):
        return list(value)
    if not is_examples_file(value):
        return examples(value)
    try:
        with Path(value).expanduser().open("rb") as file:
            return list(json.loads(file.read(_LARGEST)))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise ConfigurationError(f"{value} cannot be read: {error}") from None


def is_examples_file(value: Any) -> bool:
    """Return whether examples are given as a file."""
    return isinstance(value, str | Path) and str(value).endswith(".json")


def _recorded(source: Any) -> Sequence[EndedEpisode]:
    owner: Any = run_or_path(source)
    owner = as_kind(owner) if isinstance(owner, Run) else owner
    if not hasattr(owner, "recorded_episodes"):
        raise ConfigurationError(
            f"{source!r:.200} has no episodes: give an evaluation or a comparison with "
            'record="observations", or a list of {"observations": [text, …], "actions": [text, …]}'
        )
    episodes: Sequence[EndedEpisode] = owner.recorded_episodes()
    return episodes


def _texts(episode: EndedEpisode, steps: int) -> dict[str, Any]:
    """Return an episode as a language model would read and write it."""
    from mosaic_contract.language.describers import Describer  # not needed to declare operators

    assert episode.recording is not None
    try:
        described, columns = read_recording(episode.recording)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{episode.recording} cannot be read: {error}") from None
    spaces = {name: described[name] for name in ("observation_space", "action_space")}
    settings = {name: described.get(name) for name in ("env_id", "action_meanings")}
    describer = Describer(AgentSetup("agent_0", settings=settings, **spaces))
    actions = Actions(spaces["action_space"], describer.names)
    if actions.discrete and describer.names is None and "action_meanings" not in described:
        raise ConfigurationError(
            f"{episode.recording} was recorded by an earlier version, without the names of actions: play the "
            "episode again"
        )
    visible, played = range(min(steps, described["steps"])), columns["actions"]
    return {
        "observations": [
            describer.text(at_step(columns["observations"], step), step_index=step) for step in visible
        ],
        "actions": [
            actions.name(int(played[step]) if actions.discrete else at_step(played, step)) for step in visible
        ],
        "operator": episode.operator,
        "return": episode.total,
        "seed": described["seed"],
    }
