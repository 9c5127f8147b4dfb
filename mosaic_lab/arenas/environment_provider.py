"""Which worker provides the environment of a comparison or an evaluation, decided by making it there.

Crosses the boundary: `provider_of`. An environment is made and closed again in a process of its own, with a
deadline; the worker that its id is known from is installed first where it is not, with progress.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from mosaic_lab import workers
from mosaic_lab.arenas.lane import OPEN_SECONDS
from mosaic_lab.arenas.worker_commands import holder_of
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.workers import Environment
from mosaic_lab.workers.families import claims, same_environment
from mosaic_lab.workers.worker_environment import compose_environment

_made: set[tuple[str, str]] = set()
"""What this process has seen to be made: by which Python, and what (`_Wanted.key`)."""


@dataclass(frozen=True)
class _Wanted:
    env_id: str
    settings: Mapping[str, Any]
    pass_env: tuple[str, ...]

    @property
    def key(self) -> str:
        return json.dumps([self.env_id, self.settings, [os.environ[name] for name in self.pass_env]])


def provider_of(
    env_id: str,
    family: str,
    operators: Iterable[OperatorSpec],
    *,
    settings: Mapping[str, Any],
    pass_env: Iterable[str],
    progress: Callable[[str], None],
) -> str:
    """Return the name of the worker that makes an environment, ``family`` being the one its id is known from.

    Another is returned where ``family`` takes whatever nobody claims and cannot make this one: a worker that
    a policy among the operators was trained by on this environment. ``progress`` is told so. Raises
    ConfigurationError where only workers can that nothing was trained by, with their names.
    """
    if claims(family, env_id):
        return family
    wanted = _Wanted(env_id, settings, tuple(pass_env))
    refusal = _refusal(holder_of(family, progress), wanted)
    if not refusal:
        return family
    trained = {
        spec.worker: spec.name
        for spec in operators
        if spec.worker is not None and spec.trained_on and same_environment(spec.trained_on, env_id)
    }
    others = {info.name: info.environment for info in workers.catalog() if info.name != family}
    candidates = [one for one in others.values() if one is not None and "arena" in one.capabilities.modes]
    with ThreadPoolExecutor(max_workers=4) as pool:
        refusals = list(pool.map(lambda one: _refusal(one, wanted), candidates))
    able = [one.name for one, refused in zip(candidates, refusals, strict=True) if not refused]
    for name in able:
        if name in trained:
            progress(
                f"{env_id} is made by worker '{name}', which {trained[name]} was trained by, since "
                f"'{family}' cannot: {refusal}"
            )
            return name
    if able:
        choices = " or ".join(f'family="{name}"' for name in able)
        raise ConfigurationError(f"{refusal}. It can be made here with {choices}")
    return family  # whose own refusal tells the most


def _refusal(worker: Environment, wanted: _Wanted) -> str:
    """Why a worker cannot make it, in a line; empty where it can."""
    known = (str(worker.python), wanted.key)
    if known in _made:
        return ""
    with tempfile.TemporaryDirectory(prefix="mosaic-trial-") as folder:
        opening = {"cmd": "open", "protocol": 1, "run_id": "trial", "env_id": wanted.env_id, "folder": folder}
        commands = [{**opening, "settings": dict(wanted.settings), "max_steps": None}, {"cmd": "close"}]
        try:
            done = subprocess.run(
                [*worker.command(), "--arena"],
                input="".join(json.dumps(command) + "\n" for command in commands),
                cwd=folder,
                env=compose_environment(os.environ, pass_env=wanted.pass_env),
                capture_output=True,
                text=True,
                timeout=OPEN_SECONDS,
            )
            answer = json.loads(done.stdout.partition("\n")[0])
        except subprocess.TimeoutExpired:
            return f"{wanted.env_id} was not made within {OPEN_SECONDS:g} s"
        except (OSError, ValueError) as error:
            return f"worker '{worker.name}' did not answer whether it can make {wanted.env_id}: {error}"
    if answer.get("type") == "opened":
        _made.add(known)
        return ""
    return str(answer.get("message") or answer).partition("\n")[0]
