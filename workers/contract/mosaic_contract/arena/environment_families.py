"""Several families of environments in one worker, such as ViZDoom and Crafter.

A family is a module with three functions: ``ids()`` returns the ids of its environments, ``make(env_id,
settings, render_mode)`` makes one (see ``Worker.make_environment``), and ``facts_of(env, agent)`` returns
its `EnvironmentFacts`. A family is imported only when its environments are made or listed.
"""

from __future__ import annotations

import difflib
import importlib
from fnmatch import fnmatchcase
from typing import Any, Mapping, Sequence
from weakref import WeakKeyDictionary

from mosaic_contract.arena.environment_description import EnvironmentFacts
from mosaic_contract.errors import ConfigError


class EnvironmentFamilies:
    """The environments of a worker with several families: ``Worker(metadata=…, **families.callables)``.

    Parameters
    ----------
    worker : str
        The worker's name, for messages.
    patterns : mapping of str to sequence of str
        The environment ids of each family's module, as globs: ``{"visual_worker.doom": ["Vizdoom*"]}``. The
        worker's ``pyproject.toml`` lists all too.
    """

    def __init__(self, worker: str, patterns: Mapping[str, Sequence[str]]) -> None:
        self._worker = worker
        self._patterns = patterns
        self._families: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        """By environment."""

    @property
    def callables(self) -> dict[str, Any]:
        """The arguments of `Worker` for these environments, by keyword."""
        return {"make_environment": self.make, "environment_facts": self.facts_of, "environments": self.known}

    def known(self) -> list[str]:
        """Return the ids of the environments of all families."""
        return sorted(env_id for module in self._patterns for env_id in importlib.import_module(module).ids())

    def make(self, env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
        """Make an environment. Raises `ConfigError` for an unknown id, with the nearest known ones."""
        module = next(
            (
                module
                for module, patterns in self._patterns.items()
                if any(fnmatchcase(env_id, pattern) for pattern in patterns)
            ),
            None,
        )
        family = importlib.import_module(module) if module else None
        if family is None or env_id not in family.ids():
            near = difflib.get_close_matches(env_id, self.known(), n=3)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise ConfigError(
                f"worker {self._worker!r} has no environment {env_id!r}.{hint} "
                f"`mosaic-lab workers list {self._worker}` lists all"
            )
        env = family.make(env_id, settings, render_mode)
        self._families[env] = family
        return env

    def facts_of(self, env: Any, agent: str) -> EnvironmentFacts:
        """Return the facts of one agent of an environment from `make`."""
        facts: EnvironmentFacts = self._families[env].facts_of(env, agent)
        return facts
