"""What the lanes of a comparison share, and what goes to their arenas of it.

Crosses the boundary: `Setup` and `passed_to`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic_lab.operators import OperatorSpec
from mosaic_lab.workers.worker_environment import USER_SITE

EXCHANGES = "exchanges"
"""The folder, in that of an evaluation or a comparison, with the recording of its language models."""


@dataclass(frozen=True)
class Setup:
    """``family`` is the worker that holds the environment, ``arena`` the command that starts its arenas.

    ``commands``: those that start each worker that the operators need. ``environment``: the variables of all
    of them; ``passed``: those that single operators are given beside them, secrets maybe. ``folder``: that of
    the comparison. ``step_timeout``: seconds that the environment may take for a reset or a step. ``budget``
    is what language models may spend, ``replay`` the folder of a recording that they answer from.
    """

    env_id: str
    settings: Mapping[str, Any]
    max_steps: int | None
    family: str
    arena: Sequence[str]
    commands: Mapping[str, Sequence[str]]
    environment: Mapping[str, str]
    folder: Path
    step_timeout: float
    budget: Mapping[str, float] | None = None
    replay: str | None = None
    passed: Mapping[str, str] = field(default_factory=dict, repr=False)

    def config(self, label: str, seed: int) -> dict[str, Any]:
        """What a lane's folder says of it."""
        return {
            "env_id": self.env_id,
            "seed": seed,
            "label": label,
            "settings": dict(self.settings),
            "max_steps": self.max_steps,
        }

    def opening(self, folder: Path) -> dict[str, Any]:
        """The fields of an arena's first command."""
        return {
            "protocol": 1,
            "run_id": folder.name,
            "env_id": self.env_id,
            "settings": dict(self.settings),
            "folder": str(folder),
            "max_steps": self.max_steps,
            "step_timeout": self.step_timeout,
        }

    def seat(self, key: str, spec: OperatorSpec, run_id: str, label: str) -> dict[str, Any]:
        """Return how the arena of run ``run_id``, of the lane ``label``, gets the operator ``key``.

        One without a command answers in this kernel.
        """
        acting = ["--interactive", "--run-id", run_id]
        return {
            "command": None if spec.worker is None else [*self.commands[spec.worker], *acting],
            "environment": {
                **(USER_SITE if spec.code is not None else {}),
                **{name: self.passed[name] for name in spec.pass_env},
            },
            "settings": spec.settings | self._recording(key, spec, run_id, label),
            "name": spec.name,
            "category": spec.category,
            "deadline": spec.deadline,
            "fallback": spec.fallback,
            "needs": list(spec.needs),
        }

    def _recording(self, key: str, spec: OperatorSpec, run_id: str, label: str) -> dict[str, Any]:
        """Where the exchanges of a language model go, and the moves of an engine, which may be random. What
        is recorded there already, by an episode that was cut off, is taken from there instead of paid for
        again."""
        if not (spec.is_language_model or spec.category == "engine"):
            return {}
        recording = {
            "folder": str(self.folder / EXCHANGES),
            "file": f"{run_id}-{key}.jsonl",
            "lane": label,
            "operator": spec.name,
            "replay": self.replay,
            "reuse": True,
            "budget": self.budget if spec.is_language_model else None,
        }
        return {"recording": recording}

    def folder_of(self, index: int, label: str, opened_before: int) -> Path:
        """A new folder each time that a lane is opened."""
        name = f"{index}-{re.sub(r'[^A-Za-z0-9_-]+', '-', label)[:40].strip('-')}".strip("-")
        return self.folder / (f"{name}.{opened_before + 1}" if opened_before else name)


def passed_to(operators: Iterable[OperatorSpec]) -> dict[str, str]:
    """The variables of this process that operators ask for. Raises KeyError for one that is not set."""
    return {name: os.environ[name] for spec in operators for name in spec.pass_env}
