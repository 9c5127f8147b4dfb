"""Players of a league: operators by name, and checkpoints of trainings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mosaic_lab.errors import ConfigurationError, UnknownRun
from mosaic_lab.keeper.run_store import RunStore
from mosaic_lab.operators import OperatorSpec, as_operator
from mosaic_lab.operators.trained import rl
from mosaic_lab.runs import Checkpoint, Run, RunGroup
from mosaic_lab.runs.run_names import find_run
from mosaic_lab.runs.train_request import whole_number
from mosaic_lab.validation import Problems


class Trained(NamedTuple):
    """The origin of a player: its training's name in the league, and its checkpoint's step."""

    training: str
    step: int


def expanded(
    players: Any,
    checkpoints: int,
    operator: Callable[[Checkpoint], Any] | None,
    store: Path,
    members: Iterable[str] = (),
) -> tuple[dict[str, OperatorSpec], dict[str, Trained]]:
    """Return the new players by name, and the origins of those that come from trainings.

    A run of the ``store``, or its name, stands for its checkpoints, a group for the checkpoints of all its
    runs. Players whose names are
    ``known`` are left out. Raises ConfigurationError with all problems.
    """
    problems = Problems()
    if not isinstance(players, Mapping) or not players:
        raise ConfigurationError(
            f"players={players!r:.200}: must map names to operators or runs, such as "
            '{"self-play": run, "random": mosaic.operators.random()}'
        )
    count = whole_number("checkpoints", checkpoints)
    if count < 1:
        raise ConfigurationError(f"checkpoints={checkpoints!r}: must be an integer ≥ 1")
    make = operator or rl
    specs: dict[str, OperatorSpec] = {}
    trained: dict[str, Trained] = {}
    for name, value in players.items():
        try:
            if isinstance(value, str):
                value = find_run(value, RunStore(store))
            for training, run in _runs(name, value):
                for checkpoint in _chosen(run, count):
                    player = f"{training} {checkpoint.step:,}"
                    if player not in members:
                        specs[player] = as_operator(make(checkpoint)).with_(name=player)
                        trained[player] = Trained(training, checkpoint.step)
            if not isinstance(value, Run | RunGroup):
                if name in members:
                    raise ConfigurationError("a player of this name exists already: choose another name")
                specs[name] = as_operator(value).with_(name=name)
        except (ConfigurationError, UnknownRun) as error:
            problems.add("players", f"{name}: {error}")
    problems.check()
    return specs, trained


def lanes_of(
    new: Mapping[str, OperatorSpec],
    members: Mapping[str, OperatorSpec],
    sides: tuple[str, str],
    opponents: Iterable[str],
) -> dict[str, dict[str, OperatorSpec]]:
    """Return the games of new players against each other and against ``opponents`` from ``known``, each on
    both sides, as the operators of an evaluation. Raises ConfigurationError if no game remains.
    """
    opponents = list(opponents)
    if unknown := [name for name in opponents if name not in members]:
        names = ", ".join(members) or "none"
        raise ConfigurationError(f"opponents: no player {', '.join(map(repr, unknown))}; there are {names}")
    every = {**{name: members[name] for name in opponents}, **new}
    left, right = sides
    lanes = {
        f"{first} against {second}": {left: every[first], right: every[second]}
        for first in every
        for second in every
        if first != second and (first in new or second in new)
    }
    if not lanes:
        raise ConfigurationError(
            "no new games: the players are in the league already, or have no opponents"
            if members
            else f"a league needs at least two players, not {len(new)} ({', '.join(new) or 'none'})"
        )
    return lanes


def _runs(name: str, value: Any) -> list[tuple[str, Run]]:
    """Return a player's trainings by name; empty for other players."""
    if isinstance(value, Run):
        return [(name, value)]
    return [(f"{name} s{run.seed}", run) for run in value] if isinstance(value, RunGroup) else []


def _chosen(run: Run, count: int) -> Sequence[Checkpoint]:
    """Return evenly spaced checkpoints of a run, including the first and the last."""
    saved = list({checkpoint.step: checkpoint for checkpoint in run.checkpoints}.values())
    if not saved:
        raise ConfigurationError(f"run {run.id} has no checkpoint so far")
    places = np.linspace(len(saved) - 1, 0, min(count, len(saved))).round().astype(int)
    return [saved[place] for place in sorted(set(places.tolist()))]
