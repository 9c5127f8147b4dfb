"""Several families of environments in one worker, such as ViZDoom and Crafter.

A family is a module with three functions: ``ids()`` returns the ids of its environments, ``make(env_id,
settings, render_mode)`` makes one (see ``Worker.make_environment``), and ``facts_of(env, agent)`` returns
its `EnvironmentFacts`. A family is imported only when its environments are made or listed.
"""

from __future__ import annotations

import difflib
import functools
import importlib
from fnmatch import fnmatchcase
from typing import Any, Mapping, Sequence
from weakref import WeakKeyDictionary

from mosaic_contract.arena.environment_description import EnvironmentFacts
from mosaic_contract.errors import ConfigError
from mosaic_contract.metadata import describe_worker
from mosaic_contract.worker import Worker


def environment_worker(name: str, patterns: Mapping[str, Sequence[str]], **details: Any) -> Worker:
    """Return the worker ``name``, whose package is ``mosaic-<name>-worker``, for families of environments.

    ``patterns`` has the environment ids of each family's module, as globs: ``{"visual_worker.doom":
    ["Vizdoom*"]}``; the worker's ``pyproject.toml`` lists them too. ``details`` are as in `describe_worker`.
    """
    families = EnvironmentFamilies(name, patterns)
    return Worker(
        functools.partial(describe_worker, name, f"mosaic-{name}-worker", modes=["arena"], **details),
        make_environment=families.make,
        environment_facts=families.facts_of,
        environments=families.environment_ids,
    )


class EnvironmentFamilies:
    """The families of environments of one worker; see `environment_worker`."""

    def __init__(self, worker: str, patterns: Mapping[str, Sequence[str]]) -> None:
        self._worker = worker
        self._patterns = patterns
        self._families: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        """By environment."""

    def environment_ids(self) -> list[str]:
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
            near = difflib.get_close_matches(env_id, self.environment_ids(), n=3)
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
