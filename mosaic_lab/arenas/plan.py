"""The validated request of a comparison or an evaluation, as plain data."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic_contract.codec import with_tuples

from mosaic_lab.arenas.request import CompareRequest
from mosaic_lab.errors import warn_user
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.runs.provenance import change_since
from mosaic_lab.workers.families import same_environment

PREPARED = (
    *(
        "env",
        "operators",
        "policies",
        "seeds",
        "env_kwargs",
        "deadline",
        "fallback",
        "family",
        "pass_env_vars",
    ),
    *("parallel", "replay", "module"),
)
"""Arguments that a plan has in another form."""


@dataclass(frozen=True, kw_only=True)
class ArenaPlan:
    """A validated `CompareRequest`, made by `plan_arenas`; see `mosaic_lab.Lab.compare`.

    ``request`` has the arguments that need no preparation. ``settings`` are the environment's keyword
    arguments, ``family`` is its worker. ``operators`` are all operators by key; ``lanes`` assign them:
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
        """Return the given arguments that need no preparation, and those named in ``always``."""
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
        }

    @property
    def passed(self) -> dict[str, str]:
        """The variables of this process that are passed on."""
        return {name: os.environ[name] for name in self.pass_env_vars if name in os.environ}

    @property
    def env_vars(self) -> dict[str, str]:
        """Additional variables of the environment and all operators."""
        return {}

    def warn(self) -> None:
        """Warn of policies trained in a different environment, or with a different version of the user's
        module that makes it, and of keyword arguments taken from a training.
        """
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
