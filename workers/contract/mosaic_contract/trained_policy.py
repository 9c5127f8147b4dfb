"""Checkpoint → action: what operators share that act by policies which their worker has trained.

Crosses the boundary: `AgentSetup` with `settings` {"checkpoint": path, "deterministic": bool, true by
default} in, the policy that a shim makes of the file out. NumPy and PyTorch are used where a shim has them.
"""

from __future__ import annotations

import functools
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Callable, Collection, Iterator, Mapping, TypeVar

from mosaic_contract.checkpoints import (
    description_of,
    env_settings_of,
    read_description,
    spaces_of,
    wrappers_of,
)
from mosaic_contract.codec import read_document
from mosaic_contract.errors import ConfigError
from mosaic_contract.operators import AgentSetup
from mosaic_contract.space_compatibility import misfit, same_settings
from mosaic_contract.wrappers import View, view

Description = Mapping[str, Any]
Policy = TypeVar("Policy")

_KEPT = 8  # policies


def trained_policy(
    setup: AgentSetup,
    format: str,
    algorithms: Collection[str],
    make: Callable[[Path, Any], Policy],
) -> tuple[Policy, dict[str, Any], bool]:
    """The policy that an agent acts by, its description, and whether it acts without chance.

    `make` makes it of the checkpoint's path and description; those of the last eight checkpoints are kept,
    and agents share them. `format` and `algorithms` are what `read_description` asks for. Raises
    `ConfigError` for settings, checkpoints and spaces that do not do, and for whatever `make` raises.
    """
    deterministic = setup.settings.get("deterministic", True)
    if not isinstance(deterministic, bool):
        raise ConfigError(f"deterministic is true or false, not {deterministic!r:.100}")
    path = setup.settings.get("checkpoint")
    if not isinstance(path, str) or not path:
        raise ConfigError('this worker acts from a checkpoint: give "checkpoint", the path of one')
    file, described = read_description(path, format, algorithms)
    _check_spaces(described, setup)
    return _policy(make, file, file.stat().st_mtime_ns), described, deterministic


@functools.lru_cache(_KEPT)
def _policy(make: Callable[[Path, Any], Policy], path: Path, modified: int) -> Policy:
    """That of a file that was modified then."""
    try:
        return make(path, read_document(description_of(path)))
    except ConfigError:
        raise
    except Exception as error:  # whatever a damaged file, or upstream's code on it, raises
        raise ConfigError(f"no policy can be made from {path}: {type(error).__name__}: {error}") from error


def _check_spaces(described: Description, setup: AgentSetup) -> None:
    """Raises `ConfigError` for an agent that a checkpoint has no policy for, or one for other spaces."""
    of = f"{described['algorithm']} of {described['env_id']}"
    known = spaces_of(described)
    spaces = known.get(setup.player_id) if "agents" in described else next(iter(known.values()))
    if spaces is None:
        raise ConfigError(f"{of} has no policy for {setup.player_id}; it has those of {', '.join(known)}")
    problems = [
        f"{of} cannot act for {setup.player_id}: its {text}"
        for name, what in (("observation_space", "observations"), ("action_space", "actions"))
        if (found := getattr(setup, name)) is not None and (text := misfit(spaces[name], found, what))
    ]
    if problems:
        raise ConfigError([*problems, *same_settings(of, env_settings_of(described))])


def view_of(described: Description) -> View:
    """What the policy of a description sees of its agent's observations: what its training's wrappers make of
    them, or the observations themselves. Raises `ConfigError` for wrappers that there are none of here.
    """
    (spaces,) = spaces_of(described).values()
    return view(spaces["observation_space"], wrappers_of(described), described["env_id"])


def fitting(observation: Any, shape: tuple[int, ...], dtype: Any = "float32") -> Any:
    """An observation as an array of this shape (n,). Raises `ValueError` for one of another."""
    array = import_module("numpy").asarray(observation, dtype=dtype)
    if array.shape != shape:
        raise ValueError(f"the policy takes {shape[0]} numbers, this observation has {array.size}")
    return array


class OwnChance:
    """The random numbers of one agent, which follow from its seed: `numpy` is a generator of its own, and
    PyTorch's are its own inside of `of_torch()`, while the process's stay as they were.
    """

    def __init__(self, seed: int | None) -> None:
        self._torch = import_module("torch")
        self.begin(0 if seed is None else seed)

    def begin(self, seed: int | None) -> None:
        """Draw what this seed gives from here on. Without one: go on."""
        if seed is not None:
            self._state = self._torch.Generator().manual_seed(seed).get_state()
            self.numpy = import_module("numpy").random.default_rng(seed)

    @contextmanager
    def of_torch(self) -> Iterator[None]:
        outside = self._torch.get_rng_state()
        self._torch.set_rng_state(self._state)
        try:
            yield
        finally:
            self._state = self._torch.get_rng_state()
            self._torch.set_rng_state(outside)
