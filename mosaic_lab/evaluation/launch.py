"""The start of an evaluation: it is planned, its workers are installed, its process is started."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mosaic_lab.arenas.environment_provider import provider_of
from mosaic_lab.arenas.worker_commands import commands_of, holder_of
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.evaluation import Evaluation, start
from mosaic_lab.evaluation.plan import Plan
from mosaic_lab.evaluation.planning import plan_of_script, planned
from mosaic_lab.runs import Supervisor


def evaluate(supervisor: Supervisor, *, progress: Callable[[str], None] = print, **given: Any) -> Evaluation:
    """Start what is `planned`; ``progress`` is called with a line for each worker that is installed."""
    plan = planned(**given, find_run=supervisor.run)
    return start(supervisor, equipped(_provided(plan, given.get("family"), progress), progress))


def evaluate_script(
    supervisor: Supervisor,
    path: Path | str,
    progress: Callable[[str], None] = print,
    *,
    run_code: bool = False,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> Evaluation:
    """Start the evaluation in a file; see `mosaic_lab.evaluation.scripts`, and `check_consent`. ``more`` are
    a ``budget`` or a ``replay`` in place of the file's."""
    given, plan = plan_of_script(path, supervisor.run, **more)
    check_consent(plan, Path(path).name, run_code)
    return start(supervisor, equipped(_provided(plan, given.get("family"), progress), progress))


def check_consent(plan: Plan, source: str, run_code: bool, root: Path | None = None) -> None:
    """Raise ConfigurationError where the script or bundle ``source`` names Python code without consent to
    run it. ``root``: what the paths of that are shown relative to."""
    codes = [(spec.name, spec.code) for spec in plan.operators.values() if spec.code is not None]
    if run_code or not codes:
        return
    lines = [
        f"  {name}: {code['attribute']} of {path.relative_to(root) if root else path} "
        f"(SHA-256 {plan.digests[str(path)][:16]}…)"
        for name, code in codes
        for path in [Path(code["folder"], code["file"])]
    ]
    raise ConfigurationError(
        f"{source} runs Python code, with all your permissions on this machine:\n"
        + "\n".join(lines)
        + "\nRead it first. Then run_code=True (in a shell --run-code) runs it"
    )


def _provided(plan: Plan, family: str | None, progress: Callable[[str], None]) -> Plan:
    """Return the plan with the worker that provides its environment, where the user has not chosen one."""
    if family is not None:
        return plan
    provider = provider_of(
        plan.env_id,
        plan.family,
        plan.operators.values(),
        settings=plan.settings,
        pass_env=plan.pass_env,
        progress=progress,
    )
    return replace(plan, family=provider)


def equipped(plan: Plan, progress: Callable[[str], None] = print) -> Plan:
    """Return the plan with the commands that start its workers, installing those that are missing."""
    holder = holder_of(plan.family, progress)
    return replace(plan, arena=holder.command(), commands=commands_of(plan.operators.values(), progress))
