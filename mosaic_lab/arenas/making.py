"""From what the user types to a comparison: everything checked that can be, before anything starts.

Crosses the boundary: `compare`, which `mosaic_lab.Lab.compare` passes its arguments to.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mosaic_lab.arenas.comparison import Comparison, check_seed
from mosaic_lab.arenas.setup import Setup
from mosaic_lab.arenas.workers import commands_of, holder_of
from mosaic_lab.environments import Environment
from mosaic_lab.environments.families import family_of
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.operators import FALLBACKS, OperatorSpec, as_operator
from mosaic_lab.supervisor.store import write_json
from mosaic_lab.supervisor.surroundings import compose_environment, provenance

FOLDER = "comparisons"
"""Below the run store's root; it holds no runs."""


def compare(
    root: Path,
    env: str,
    operators: Any,
    seeds: Iterable[int],
    *,
    settings: Mapping[str, Any] | None = None,
    max_steps: int | None = None,
    deadline: float | None = None,
    fallback: str | None = None,
    family: str | None = None,
    progress: Callable[[str], None] = print,
) -> Comparison:
    """See `mosaic_lab.Lab.compare`; ``root`` is the run store's."""
    mappings = _mappings(operators, deadline, fallback)
    numbers = _seeds(seeds)
    plain = _settings(settings or {})
    if max_steps is not None and (type(max_steps) is not int or max_steps < 1):
        raise ConfigurationError(
            f"max_steps={max_steps!r}: give a whole number, 1 or more, or None for no limit"
        )
    holder = holder_of(family_of(env, family), progress)
    commands = commands_of(_specs(mappings.values()), progress)
    folder = _new_folder(root, env)
    setup = Setup(
        env_id=env,
        settings=plain,
        max_steps=max_steps,
        family=holder.name,
        arena=holder.command(),
        commands=commands,
        environment=compose_environment(os.environ),
        folder=folder,
    )
    try:
        write_json(folder / "comparison.json", _description(setup, mappings, numbers, holder))
    except OSError as error:
        raise MosaicError(f"the comparison's folder {folder} cannot be written: {error}") from error
    comparison = Comparison(setup, mappings, numbers)
    comparison.open()
    return comparison


def _mappings(given: Any, deadline: float | None, fallback: str | None) -> dict[str, Any]:
    """A lane's label and its operator or policy mapping, for each lane. What is one object stays one."""
    if not isinstance(given, Mapping):
        raise ConfigurationError(
            f"operators={given!r}: give a lane's name with its operator for each lane, such as "
            '{"PPO": operators.rl(run), "random": operators.random()}'
        )
    if not given:
        raise ConfigurationError("operators is empty: a comparison needs a lane at least")
    changes = {
        name: value for name, value in (("deadline", deadline), ("fallback", fallback)) if value is not None
    }
    if fallback is not None and fallback not in FALLBACKS:
        raise ConfigurationError(f"fallback={fallback!r}: give one of {', '.join(FALLBACKS)}")
    made: dict[int, OperatorSpec] = {}

    def make(operator: Any) -> OperatorSpec:
        if id(operator) not in made:
            spec = as_operator(operator)
            made[id(operator)] = spec.with_(**changes) if changes else spec
        return made[id(operator)]

    mappings: dict[str, Any] = {}
    for label, value in given.items():
        if not isinstance(label, str) or not label.strip():
            raise ConfigurationError(f"{label!r} is no name for a lane: give a text")
        if isinstance(value, Mapping):
            mappings[label] = {agent: make(operator) for agent, operator in value.items()}
        else:
            mappings[label] = make(value)
    return mappings


def _specs(mappings: Iterable[Any]) -> Iterator[OperatorSpec]:
    for mapping in mappings:
        yield from mapping.values() if isinstance(mapping, Mapping) else (mapping,)


def _seeds(seeds: Iterable[int]) -> list[int]:
    if isinstance(seeds, int):
        seeds = [seeds]
    if isinstance(seeds, str | bytes) or not isinstance(seeds, Iterable):
        raise ConfigurationError(f"seeds={seeds!r}: give a list of whole numbers")
    numbers = [check_seed(seed) for seed in seeds]
    if not numbers:
        raise ConfigurationError("seeds is empty: give one at least")
    twice = sorted({number for number in numbers if numbers.count(number) > 1})
    if twice:
        raise ConfigurationError(f"seeds holds {', '.join(map(str, twice))} more than once")
    return numbers


def _settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(settings, Mapping):
        raise ConfigurationError(f"settings={settings!r}: give {{name: value}}, keywords for the environment")
    try:
        plain = json.loads(json.dumps(dict(settings), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"settings cannot be written as JSON: {error}") from None
    return dict(plain)


def _new_folder(root: Path, env: str) -> Path:
    """``20261121-053012-CartPole-v1-3f9a`` below the root's comparisons."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", env)[:60]
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    folder = root / FOLDER / f"{stamp}-{name}-{secrets.token_hex(2)}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise MosaicError(f"no folder for the comparison can be made in {root}: {error}") from error
    return folder


def _description(
    setup: Setup, mappings: Mapping[str, Any], seeds: list[int], holder: Environment
) -> dict[str, Any]:
    """What was compared, where and with which versions, for whoever finds the folder."""
    return {
        "env_id": setup.env_id,
        "settings": dict(setup.settings),
        "max_steps": setup.max_steps,
        "seeds": seeds,
        "lanes": {
            label: {agent: repr(spec) for agent, spec in mapping.items()}
            if isinstance(mapping, Mapping)
            else repr(mapping)
            for label, mapping in mappings.items()
        },
        "provenance": provenance(
            Path.cwd(), {"worker": holder.name, "origin": holder.origin, "freeze": holder.freeze}
        ),
    }
