"""Start a comparison: check the request, install workers, open lanes."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mosaic_lab.arenas.arena_workers import environment_worker, operator_commands, with_provider
from mosaic_lab.arenas.comparison import Comparison
from mosaic_lab.arenas.plan import ArenaPlan
from mosaic_lab.arenas.planning import plan_arenas
from mosaic_lab.arenas.request import CompareRequest
from mosaic_lab.arenas.setup import ArenaSetup, passed_to
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.keeper.run_store import COMPARISONS, comparison_lives, write_json
from mosaic_lab.runs.provenance import provenance
from mosaic_lab.validation import Problems
from mosaic_lab.workers import WorkerEnvironment

KEPT = 20
"""Number of ended comparisons whose folders a store keeps."""

_NAME = re.compile(r"\d{8}-\d{6}-.+-[0-9a-f]{4}")
_DESCRIPTION = "comparison.json"


def compare(root: Path, request: CompareRequest, progress: Callable[[str], None] = print) -> Comparison:
    """Start a comparison; see `mosaic_lab.Lab.compare`. ``root`` is the run store's folder."""
    problems = Problems()
    plan = plan_arenas(request, problems)
    problems.check()
    _delete_old(root / COMPARISONS)
    plan = with_provider(plan, request.family, progress)
    worker = environment_worker(plan.family, progress)
    commands = operator_commands(plan.operators.values(), progress)
    folder = _new_folder(root, plan.env_id)
    setup = ArenaSetup(
        plan=plan,
        arena=worker.command(),
        commands=commands,
        variables=compose_variables(os.environ, pass_env_vars=plan.pass_env_vars),
        passed=passed_to(plan.operators.values()),
        folder=folder,
    )
    try:
        write_json(folder / _DESCRIPTION, _description(plan, worker))
    except OSError as error:
        raise MosaicError(f"the comparison's folder {folder} cannot be written: {error}") from error
    comparison = Comparison(setup)
    try:
        comparison.open()
    except ConfigurationError:  # an invalid request leaves no folder
        shutil.rmtree(folder, ignore_errors=True)
        raise
    plan.warn()  # after `open`: its error for misfit operators already includes it
    return comparison


def _new_folder(root: Path, env: str) -> Path:
    """Create a folder such as ``20261121-053012-CartPole-v1-3f9a`` in the root's comparisons."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", env)[:60]
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    folder = root / COMPARISONS / f"{stamp}-{name}-{secrets.token_hex(2)}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise MosaicError(f"cannot create the comparison's folder in {root}: {error}") from error
    return folder


def _delete_old(folder: Path) -> None:
    """Delete the oldest folders of ended comparisons, except anything that a user has added or renamed."""
    folders = (
        path for path in folder.glob("*") if _NAME.fullmatch(path.name) and (path / _DESCRIPTION).is_file()
    )
    for old in sorted(path for path in folders if not comparison_lives(path))[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def _description(plan: ArenaPlan, worker: WorkerEnvironment) -> dict[str, Any]:
    """Return the comparison's description for its folder: request, machine and versions."""
    origin = {"worker": worker.name, "origin": worker.origin, "freeze": worker.freeze}
    facts = vars(plan) | plan.options("max_steps", "step_timeout")
    del facts["request"], facts["operators"]
    lanes = {
        label: {pattern: repr(spec) for pattern, spec in plan.mapping(label).items()} for label in plan.lanes
    }
    return {**facts, "lanes": lanes, "provenance": provenance(Path.cwd(), origin)}
