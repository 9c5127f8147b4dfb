"""Demonstration episodes for the few-shot agent.

They come from a JSON file, a list of {"observations": [text, …], "actions": [text, …]} with as many
observations as actions or one more; or from the recording of a run in which a BALROG agent played.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence

from mosaic_contract import ConfigError
from mosaic_contract.language import recording
from mosaic_contract.language.balrog import observation_in
from mosaic_contract.language.exchange import Turn

_MAX_BYTES = 64 << 20  # bytes of a file
YOUR_TURN = "*** The demonstrations are over: now it is your turn to play. ***"


@dataclass(frozen=True)
class Demonstration:
    """The observations and actions of one episode, and its seed if known."""

    observations: Sequence[str]
    actions: Sequence[str]
    seed: int | None = None


def load(settings: Mapping[str, Any]) -> list[Demonstration]:
    """Return the episodes at the path in `demonstrations`. Raises `ConfigError` if there are none."""
    source = settings.get("demonstrations")
    if not source:
        raise ConfigError(
            'agent="few_shot" needs demonstrations: the path of a JSON file with episodes, or a run that '
            "recorded some"
        )
    path = Path(str(source))
    if not path.exists():
        raise ConfigError(f"demonstrations: there is no {path}")
    episodes = list(_from_recording(path)) if path.is_dir() else _from_file(path)
    if not episodes:
        raise ConfigError(f"demonstrations: {path} holds no episode of a BALROG agent")
    return episodes


def demonstration_turns(episodes: Sequence[Demonstration], limit: int) -> list[Turn]:
    """Return the turns that show the episodes, at most ``limit`` observations and actions, and a final turn
    that announces their end.
    """
    turns = []
    for number, episode in enumerate(episodes, 1):
        excerpt = _turns_of(episode)[:limit]
        limit -= len(excerpt)
        if not excerpt:
            break
        turns.append(Turn("user", f"*** Demonstration {number} begins. ***"))
        turns += excerpt
        turns.append(Turn("user", f"*** Demonstration {number} ends. ***"))
    return [*turns, Turn("user", YOUR_TURN)]


def _turns_of(episode: Demonstration) -> list[Turn]:
    observed = [Turn("user", f"Observation:\n{text}") for text in episode.observations]
    acted = [Turn("assistant", text) for text in episode.actions]
    return [turn for turn in chain.from_iterable(zip_longest(observed, acted)) if turn is not None]


def _from_file(path: Path) -> list[Demonstration]:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ValueError(f"it is larger than {_MAX_BYTES >> 20} MiB")
        demonstrations = []
        for episode in json.loads(path.read_text(encoding="utf-8")):
            observations = list(map(str, episode["observations"]))
            actions = list(map(str, episode["actions"]))
            if len(observations) - len(actions) not in (0, 1):
                raise ValueError(f"{len(observations)} observations and {len(actions)} actions in an episode")
            demonstrations.append(Demonstration(observations, actions, episode.get("seed")))
        return demonstrations
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"demonstrations: {path} cannot be read: {error!r}") from None


def _from_recording(folder: Path) -> Iterator[Demonstration]:
    """Yield the episodes in a folder of exchanges, by lane, seed and number."""
    episodes: dict[tuple[Any, ...], dict[int, tuple[str, str]]] = defaultdict(dict)
    for exchange in recording.read(folder):
        if exchange.get("parsed") and exchange.get("prompt"):
            key = (str(exchange.get("lane")), exchange.get("seed") or 0, exchange.get("episode_index") or 0)
            observed = observation_in(str(exchange["prompt"][-1].get("text", "")))
            episodes[key][int(exchange.get("step_index") or 0)] = (observed, str(exchange["parsed"]))
    for key in sorted(episodes):
        steps = [episodes[key][step] for step in sorted(episodes[key])]
        yield Demonstration([text for text, _ in steps], [action for _, action in steps], key[1])
