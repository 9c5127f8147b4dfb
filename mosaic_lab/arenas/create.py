"""From what the user types to a comparison: everything checked that can be, before anything starts.

Crosses the boundary: `compare`, which `mosaic_lab.Lab.compare` passes its arguments to.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mosaic_lab.arenas.comparison import Comparison
from mosaic_lab.arenas.environment_provider import provider_of
from mosaic_lab.arenas.request import Asked, asked
from mosaic_lab.arenas.setup import Setup, passed_to
from mosaic_lab.arenas.worker_commands import commands_of, holder_of
from mosaic_lab.defaults import STEP_TIMEOUT
from mosaic_lab.errors import MosaicError
from mosaic_lab.keeper.run_store import COMPARISONS, comparison_lives, write_json
from mosaic_lab.problems import Problems
from mosaic_lab.workers import Environment
from mosaic_lab.workers.worker_environment import compose_environment, provenance

KEPT = 20
"""Folders of comparisons that have ended which a store keeps: the newest."""

_NAME = re.compile(r"\d{8}-\d{6}-.+-[0-9a-f]{4}")
_DESCRIPTION = "comparison.json"


def compare(
    root: Path,
    env: str,
    operators: Mapping[str, Any] | None = None,
    *,
    seeds: Iterable[int],
    policies: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    max_steps: int | None = None,
    step_timeout: float = STEP_TIMEOUT,
    deadline: float | None = None,
    fallback: str | None = None,
    family: str | None = None,
    pass_env: Iterable[str] = (),
    progress: Callable[[str], None] = print,
) -> Comparison:
    """See `mosaic_lab.Lab.compare`; ``root`` is the run store's."""
    problems = Problems()
    what = asked(
        problems,
        env=env,
        operators=operators,
        policies=policies,
        seeds=seeds,
        settings=settings,
        max_steps=max_steps,
        step_timeout=step_timeout,
        family=family,
        deadline=deadline,
        fallback=fallback,
        pass_env=pass_env,
    )
    problems.check()
    _forget_old(root / COMPARISONS)
    if family is None:
        provider = provider_of(
            env,
            what.family,
            what.operators,
            settings=what.settings,
            pass_env=what.pass_env,
            progress=progress,
        )
        what = replace(what, family=provider)
    holder = holder_of(what.family, progress)
    commands = commands_of(what.operators, progress)
    folder = _new_folder(root, env)
    setup = Setup(
        env_id=env,
        settings=what.settings,
        max_steps=max_steps,
        family=holder.name,
        arena=holder.command(),
        commands=commands,
        environment=compose_environment(os.environ, pass_env=what.pass_env),
        passed=passed_to(what.operators),
        folder=folder,
        step_timeout=what.step_timeout,
    )
    try:
        write_json(folder / _DESCRIPTION, _description(what, holder))
    except OSError as error:
        raise MosaicError(f"the comparison's folder {folder} cannot be written: {error}") from error
    comparison = Comparison(setup, what.lanes, what.seeds)
    comparison.open()
    what.warn()  # that operators do not fit is an error, and says it too
    return comparison


def _new_folder(root: Path, env: str) -> Path:
    """``20261121-053012-CartPole-v1-3f9a`` below the root's comparisons."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", env)[:60]
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    folder = root / COMPARISONS / f"{stamp}-{name}-{secrets.token_hex(2)}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise MosaicError(f"no folder for the comparison can be made in {root}: {error}") from error
    return folder


def _forget_old(folder: Path) -> None:
    """Delete what comparisons have left that ended long ago; what a user has put or renamed there stays."""
    ours = (one for one in folder.glob("*") if _NAME.fullmatch(one.name) and (one / _DESCRIPTION).is_file())
    for old in sorted(one for one in ours if not comparison_lives(one))[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def _description(what: Asked, holder: Environment) -> dict[str, Any]:
    """What was compared, where and with which versions, for whoever finds the folder."""
    origin = {"worker": holder.name, "origin": holder.origin, "freeze": holder.freeze}
    return {
        "env_id": what.env_id,
        "settings": what.settings,
        "max_steps": what.max_steps,
        "step_timeout": what.step_timeout,
        "seeds": what.seeds,
        "pass_env": what.pass_env,
        "lanes": {
            label: {pattern: repr(spec) for pattern, spec in lane.items()}
            for label, lane in what.lanes.items()
        },
        "provenance": provenance(Path.cwd(), origin),
    }
