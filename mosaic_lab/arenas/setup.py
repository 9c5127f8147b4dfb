"""The plan shared by the lanes of a comparison or an evaluation, with the commands of its processes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic_lab.arenas.plan import ArenaPlan
from mosaic_lab.keeper.environment_variables import USER_SITE
from mosaic_lab.operators import OperatorSpec

EXCHANGES = "exchanges"
"""Subfolder of an evaluation or a comparison with its language models' recording."""


@dataclass(frozen=True)
class ArenaSetup:
    """The commands, variables and settings that start the arenas of ``plan`` in ``folder``.

    ``arena`` is the command of an arena, ``commands`` are the commands of the operators' workers.
    ``variables``: the environment variables of all processes; ``passed``: additional, possibly secret
    variables for single operators. ``budget`` limits the spending of language models; ``replay`` is the
    folder of a recording that they answer from.
    """

    plan: ArenaPlan
    arena: Sequence[str]
    commands: Mapping[str, Sequence[str]]
    variables: Mapping[str, str]
    folder: Path
    budget: Mapping[str, float] | None = None
    replay: str | None = None
    passed: Mapping[str, str] = field(default_factory=dict, repr=False)

    def config(self, label: str, seed: int) -> dict[str, Any]:
        """Return the configuration for a lane's run folder."""
        plan = self.plan
        return {
            "env_id": plan.env_id,
            "seed": seed,
            "label": label,
            "settings": plan.settings,
            "max_steps": plan.request.max_steps,
        }

    def seat(self, key: str, spec: OperatorSpec, run_id: str, label: str) -> dict[str, Any]:
        """Return how the arena of run ``run_id`` in the lane ``label`` starts the operator ``key``.

        An operator without a command runs in this kernel.
        """
        acting = ["--interactive", "--run-id", run_id]
        return {
            "command": None if spec.worker is None else [*self.commands[spec.worker], *acting],
            "environment": {
                **(USER_SITE if spec.code is not None else {}),
                **{name: self.passed[name] for name in spec.pass_env_vars},
            },
            "settings": spec.settings | self._recording(key, spec, run_id, label),
            "name": spec.name,
            "category": spec.category,
            "deadline": spec.deadline,
            "fallback": spec.fallback,
            "needs": list(spec.needs),
        }

    def _recording(self, key: str, spec: OperatorSpec, run_id: str, label: str) -> dict[str, Any]:
        """Return where the exchanges of a language model, or the possibly random moves of an engine, are
        recorded. Exchanges recorded in an interrupted episode are reused instead of paid for again.
        """
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


def folder_name(index: int, label: str) -> str:
    """Return the name of a lane's folder: its index and the file-safe part of its label."""
    return f"{index}-{re.sub(r'[^A-Za-z0-9_-]+', '-', label)[:40].strip('-')}".strip("-")


def passed_to(operators: Iterable[OperatorSpec]) -> dict[str, str]:
    """Return the variables of this process that operators receive. Raises KeyError if one is not set."""
    return {name: os.environ[name] for spec in operators for name in spec.pass_env_vars}
