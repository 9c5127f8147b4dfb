"""What a comparison and an evaluation share: the environment, who acts in it, on which seeds.

A keyword of both is added here, as a field of `ArenaRequest` and a parameter of `build_request` with its
check, and to the signatures of `mosaic_lab.Lab`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

from mosaic_lab import workers
from mosaic_lab.arenas.lane_operators import LaneOperators
from mosaic_lab.arenas.request_checks import (
    check_count,
    check_family,
    check_pass_env,
    check_seeds,
    check_settings,
    check_step_timeout,
)
from mosaic_lab.defaults import STEP_TIMEOUT
from mosaic_lab.errors import MosaicError
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.runs.own_module import change_since
from mosaic_lab.user_warnings import warn_user
from mosaic_lab.validation import Problems
from mosaic_lab.workers.families import same_environment


@dataclass(frozen=True, kw_only=True)
class ArenaRequest:
    """Checked arguments of a comparison or an evaluation, as plain data; see `mosaic_lab.Lab.compare`.

    ``family`` is the worker that makes the environment. ``operators`` are all operators by a key, ``lanes``
    say which of them act: {label: {agent, team or pattern: key}}. ``pass_env`` names the variables that the
    environment and all operators are given.
    """

    env_id: str
    settings: dict[str, Any]
    max_steps: int | None
    step_timeout: float
    family: str
    operators: dict[str, OperatorSpec]
    lanes: dict[str, dict[str, str]]
    seeds: list[int]
    pass_env: list[str]

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
            "max_steps": self.max_steps,
            "step_timeout": self.step_timeout,
        }

    @property
    def passed(self) -> dict[str, str]:
        """The variables of this process that are passed on."""
        return {name: os.environ[name] for name in self.pass_env if name in os.environ}

    @property
    def environ(self) -> dict[str, str]:
        """Further variables of the environment and of all operators."""
        return {}

    def warn(self) -> None:
        """Warn of policies that were trained on another environment than they are to act in, or on another
        version of the user's module that makes it."""
        found = {
            f"{spec.name} was trained on {spec.trained_on} and acts in {self.env_id} here"
            for spec in self.operators.values()
            if spec.trained_on is not None and not same_environment(spec.trained_on, self.env_id)
        }
        for text in sorted(found):
            warn_user(f"{text}: even where the spaces fit, they may differ", UserWarning)
        operators = self.operators.values()
        for checkpoint in sorted({spec.settings.get("checkpoint") or "" for spec in operators} - {""}):
            if changed := change_since(Path(checkpoint), self.env_id, self.passed):
                warn_user(changed, UserWarning)


def build_request(
    problems: Problems,
    *,
    env: Any,
    operators: Any = None,
    policies: Any = None,
    seeds: Any,
    settings: Any = None,
    max_steps: Any = None,
    step_timeout: Any = STEP_TIMEOUT,
    family: Any = None,
    deadline: Any = None,
    fallback: Any = None,
    pass_env: Any = (),
    recorded: bool = False,
) -> ArenaRequest:
    """Validate a user's arguments; see `mosaic_lab.Lab.compare`. Nothing is installed or started.

    What is wrong is added to ``problems``; the request is valid where that stays empty. ``recorded``:
    language models answer from a recording, so that none of their keys has to be set.
    """
    found = LaneOperators(problems, deadline, fallback, recorded)
    found.add_lanes(operators, policies)
    if max_steps is not None:
        check_count("max_steps", max_steps, problems)
    request = ArenaRequest(
        env_id=env,
        operators=found.operators,
        lanes=found.lanes,
        max_steps=max_steps,
        step_timeout=check_step_timeout(step_timeout, problems),
        seeds=check_seeds(seeds, problems),
        settings=check_settings(settings, problems),
        pass_env=check_pass_env(pass_env, problems),
        family=check_family(env, family, problems),
    )
    for worker in sorted({spec.worker for spec in found.operators.values() if spec.worker is not None}):
        try:
            workers.info(worker)
        except MosaicError as error:
            problems.add("operators", str(error))
    return request


KEYWORDS = tuple(name for name in signature(build_request).parameters if name not in ("problems", "recorded"))
"""The keywords that ``compare`` and ``evaluate`` share."""
