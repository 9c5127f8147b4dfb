"""Generate the Python call of `Lab.evaluate` that reproduces an evaluation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec import structs

from mosaic_lab.errors import MosaicError
from mosaic_lab.evaluation.plan import EvaluationPlan
from mosaic_lab.evaluation.request import EvaluateRequest
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.operators.policy_files import WORKER as POLICY
from mosaic_lab.operators.spec import DEADLINE
from mosaic_lab.policies import DEFAULT
from mosaic_lab.runs.code_text import Code, call, literal, seeds_code
from mosaic_lab.runs.run_record import RunRecord
from mosaic_lab.validation import given
from mosaic_lab.workers.families import family_of


def evaluation_code(run: RunRecord, lab: str = "lab") -> str:
    """Return an import and the call of ``lab.evaluate`` that plays the same episodes again.

    Empty if the run has no plan, or if an operator cannot be written as a factory call: it calls a language
    model, or several lanes share it.
    """
    try:
        plan = EvaluationPlan.from_config(run.config)
        used = Counter(key for lane in plan.lanes.values() for key in lane.values())
        if max(used.values()) > 1 or plan.brought_module is not None:
            return ""
        request = structs.replace(
            EvaluateRequest.of_plan(plan),
            operators={label: _lane_code(plan, label) for label in plan.lanes},
            seeds=seeds_code(plan.seeds),
            parallel=None,  # depends on the machine
            family=None if plan.family == _usual_family(plan.env_id) else plan.family,
        )
        named = given(request, "seeds")
        return f"import mosaic_lab as mosaic\n\n{call(f'{lab}.evaluate', [], named)}"
    except (LookupError, TypeError, ValueError, AttributeError, MosaicError, _NotWritten):  # untrusted files
        return ""


class _NotWritten(Exception):
    """Raised for an operator that cannot be written as code."""


def _lane_code(plan: EvaluationPlan, label: str) -> Any:
    lane = {pattern: _operator_code(spec, label) for pattern, spec in plan.mapping(label).items()}
    return lane[DEFAULT] if list(lane) == [DEFAULT] else lane


def _operator_code(spec: OperatorSpec, label: str) -> Code:
    options: dict[str, Any] = {"deadline": spec.deadline} if spec.deadline != DEADLINE else {}
    options |= {"fallback": spec.fallback} if spec.fallback != "wait" else {}
    if spec.category in ("random", "passive") and spec.worker == spec.category:
        maker_call = call(f"mosaic.operators.{spec.category}", [], options)
        named = spec.name in (label, spec.category)
        return Code(maker_call if named else f"{maker_call}.with_(name={literal(spec.name)})")
    if spec.category == "rl" and set(spec.settings) == {"checkpoint", "deterministic"}:
        if spec.settings["deterministic"] is not True:
            options = {"deterministic": spec.settings["deterministic"], **options}
        return _made("rl", [spec.settings["checkpoint"]], {**options, "name": spec.name})
    if spec.category == "python" and spec.worker == POLICY:
        code = spec.settings
        source = f"{code['folder']}/{code['file']}:{code['attribute']}"
        options |= {"files": code["files"]} if code["files"] else {}
        options |= {"name": spec.name, "pass_env": list(spec.pass_env), "folder": code["folder"]}
        return _made("python", [source], {**options, **code["keywords"]})
    raise _NotWritten


def _made(maker: str, positional: Sequence[Any], named: dict[str, Any]) -> Code:
    options = {name: value for name, value in named.items() if (name, value) != ("pass_env", [])}
    return Code(call(f"mosaic.operators.{maker}", [literal(argument) for argument in positional], options))


def _usual_family(env_id: str) -> str | None:
    try:
        return family_of(env_id)
    except MosaicError:
        return None
