"""The validated request of a comparison or an evaluation as plain data, and the setup of its processes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic_contract.codec import with_tuples

from mosaic_lab.arenas.request import CompareRequest
from mosaic_lab.errors import warn_user
from mosaic_lab.keeper.environment_variables import USER_SITE
from mosaic_lab.keeper.warm_workers import WarmWorker, WarmWorkers
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.runs.provenance import change_since
from mosaic_lab.workers.families import same_environment

PREPARED = (
    *("env", "operators", "policies", "seeds", "env_kwargs", "deadline", "fallback", "family"),
    *("pass_env_vars", "parallel", "replay", "module"),
)
"""Arguments that a plan has in another form."""
EXCHANGES = "exchanges"
"""Subfolder of an evaluation or a comparison with the recording of its language models."""


@dataclass(frozen=True, kw_only=True)
class ArenaPlan:
    """A validated `CompareRequest`, made by `plan_arenas`; see `mosaic_lab.Lab.compare`.

    ``request`` has the arguments that need no preparation. ``settings`` are the environment's keyword
    arguments, ``family`` is its worker. ``operators`` are all operators by key; ``lanes`` assigns them:
    {label: {agent, team or pattern: key}}. ``pass_env_vars`` names the variables passed to the environment
    and all operators.
    """

    request: CompareRequest
    env_id: str
    settings: dict[str, Any]
    family: str
    operators: dict[str, OperatorSpec]
    lanes: dict[str, dict[str, str]]
    seeds: list[int]
    pass_env_vars: list[str]

    def options(self, *always: str) -> dict[str, Any]:
        """Return the given arguments that need no preparation, and any named in ``always``."""
        return {name: value for name, value in self.request.given(*always).items() if name not in PREPARED}

    def mapping(self, label: str) -> dict[str, OperatorSpec]:
        """Return the policy mapping of a lane; agents that share a process have the same object."""
        return {pattern: self.operators[key] for pattern, key in self.lanes[label].items()}

    def open_command(self, folder: Path) -> dict[str, Any]:
        """Return the first command of an arena whose run folder is ``folder``."""
        return {
            "cmd": "open",
            "protocol": 1,
            "run_id": folder.name,
            "env_id": self.env_id,
            "settings": self.settings,
            "folder": str(folder),
            "max_steps": self.request.max_steps,
            "step_timeout": self.request.step_timeout,
            "record": self.request.record,
            "start": self.request.start,
        }

    def episode_seed(self, seed: int, episode: int) -> int:
        """Return the environment's seed in an episode on ``seed``."""
        return seed

    @property
    def passed(self) -> dict[str, str]:
        """The variables of this process that are passed on."""
        return {name: os.environ[name] for name in self.pass_env_vars if name in os.environ}

    @property
    def env_vars(self) -> dict[str, str]:
        """Additional variables of the environment and all operators."""
        return {}

    def warn(self) -> None:
        """Warn about policies trained in a different environment, or with a different version of the user's
        module that makes it, and about keyword arguments taken from a training."""
        if self.settings and self.request.env_kwargs is None:
            warn_user(
                f"{self.env_id} is made with env_kwargs={with_tuples(self.settings)!r:.500}, as in the "
                "training of its policies; give env_kwargs={} for its defaults",
                UserWarning,
            )
        differences = {
            f"{spec.name} was trained on {spec.trained_on} and acts in {self.env_id} here"
            for spec in self.operators.values()
            if spec.trained_on is not None and not same_environment(spec.trained_on, self.env_id)
        }
        for text in sorted(differences):
            warn_user(f"{text}: even where the spaces fit, they may differ", UserWarning)
        operators = self.operators.values()
        for checkpoint in sorted({spec.settings.get("checkpoint") or "" for spec in operators} - {""}):
            if changed := change_since(Path(checkpoint), self.env_id, self.passed):
                warn_user(changed, UserWarning)


@dataclass(frozen=True)
class ArenaSetup:
    """The commands, variables and settings that start the arenas of ``plan`` in ``folder``.

    ``arena`` is the command of an arena, ``commands`` are those of the operators' workers. ``variables`` are
    the environment variables of all processes, ``passed`` additional, possibly secret ones of individual
    operators. ``budget`` limits the spending of language models; ``replay`` is the folder of a recording that
    they answer from. ``warm``: the warm workers, which may start operators.
    """

    plan: ArenaPlan
    arena: Sequence[str]
    commands: Mapping[str, Sequence[str]]
    variables: Mapping[str, str]
    folder: Path
    budget: Mapping[str, float] | None = None
    replay: str | None = None
    passed: Mapping[str, str] = field(default_factory=dict, repr=False)
    warm: WarmWorkers | None = None

    def warm_workers(self, operators: Iterable[OperatorSpec]) -> dict[str, WarmWorker]:
        """Return the warm workers of trained policies, by name; they have the variables of all processes."""
        if self.warm is None:
            return {}
        names = {spec.worker for spec in operators if spec.worker and self._may_be_warm(spec)}
        workers = {name: self.warm.get(self.commands[name], self.variables) for name in names}
        return {name: worker for name, worker in workers.items() if worker is not None}

    def _may_be_warm(self, spec: OperatorSpec) -> bool:
        return spec.category == "rl" and not spec.code and not spec.pass_env_vars

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

    def seat(
        self, key: str, spec: OperatorSpec, run_id: str, label: str, warm: Mapping[str, int]
    ) -> dict[str, Any]:
        """Return how the arena of run ``run_id`` in the lane ``label`` starts the operator ``key``. ``warm``
        has the sockets of its `warm_workers`. An operator without a command runs in this kernel."""
        acting = ["--interactive", "--run-id", run_id]
        return {
            "command": None if spec.worker is None else [*self.commands[spec.worker], *acting],
            "environment": {
                **(USER_SITE if spec.code else {}),
                **{name: self.passed[name] for name in spec.pass_env_vars},
            },
            "warm": warm.get(spec.worker or "") if self._may_be_warm(spec) else None,
            "settings": spec.settings | self._recording(key, spec, run_id, label),
            "name": spec.name,
            "category": spec.category,
            "deadline": spec.deadline,
            "fallback": spec.fallback,
            "needs": list(spec.needs),
        }

    def _recording(self, key: str, spec: OperatorSpec, run_id: str, label: str) -> dict[str, Any]:
        """Return where the exchanges of a language model, or the possibly random moves of an engine, are
        recorded. Exchanges recorded in an interrupted episode are reused instead of paid for again."""
        if not spec.is_recorded:
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
