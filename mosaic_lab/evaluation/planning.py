"""The planning of an evaluation from its arguments or script, with all checks before anything starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from numbers import Integral
from pathlib import Path
from typing import Any

from msgspec import structs

from mosaic_lab.arenas.plan import ArenaPlan
from mosaic_lab.arenas.planning import plan_arenas
from mosaic_lab.arenas.request import MAX_EPISODES
from mosaic_lab.engines import clusters
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.budgets import check_budget
from mosaic_lab.evaluation.fingerprints import digests
from mosaic_lab.evaluation.plan import EvaluationPlan, Trainings
from mosaic_lab.evaluation.recordings import FindRun, Recording, check_replay, recording_of, replayed
from mosaic_lab.evaluation.request import EvaluateRequest
from mosaic_lab.evaluation.scripts import read_script
from mosaic_lab.operators import Algorithm, OperatorSpec, importable
from mosaic_lab.runs.hardware import cpu_cores
from mosaic_lab.runs.provenance import module_path, source_files
from mosaic_lab.validation import Problems
from mosaic_lab.workers.catalog import info
from mosaic_lab.workers.shims import bundled_shims
from mosaic_lab.workers.worker_environment import THIRD_PARTY

_WAITING_ARENAS = 8
"""Default number of arenas if operators wait for an endpoint, which uses no CPU time."""
_HINT = "leave out on= to play it on this machine"


def plan_evaluation(
    request: EvaluateRequest, find_run: FindRun, problems: Problems | None = None, recorded: bool = False
) -> EvaluationPlan:
    """Return the plan of a request, without the commands that `launch.equipped` adds.

    ``find_run`` finds the run if ``replay`` is an id. ``problems`` are those already known. ``recorded``:
    language models are not called, so their keys need not be set. Raises ConfigurationError with all
    problems.
    """
    problems = problems or Problems()
    request = _as_episodes(request).checked(problems)
    lanes, trainings = with_lanes(request.operators, problems)
    request = structs.replace(request, operators=lanes)
    arenas = plan_arenas(request, problems, recorded or request.replay is not None)
    arenas = _out_of_kernel(arenas, problems)
    operators = arenas.operators.values()
    budget = check_budget(request.budget, operators, problems)
    recording = None if request.replay is None else _recording(request.replay, find_run, arenas, problems)
    if budget is not None and recording is not None:
        problems.add("budget", "budget: playing from a recording costs nothing; leave the budget out")
    if request.on is not None:
        check_cluster(request.on, arenas, budget, request.replay, problems)
    _check_total(arenas, request.episodes, problems)
    module = _module(arenas, request.module, problems) if request.on is None else None
    problems.check()
    plan = EvaluationPlan(
        **{**vars(arenas), "request": structs.replace(request, budget=budget)},
        arena=[],
        commands={},
        parallel=request.parallel or _default_parallel(operators),
        digests=digests(operators, module),
        module=module,
        trainings=trainings,
    )
    return plan if recording is None else replayed(plan, recording.folder)


def with_lanes(operators: Any, problems: Problems) -> tuple[Any, Trainings]:
    """Return operators with each `Algorithm` replaced by a lane for each of its trainings, and these lanes.

    A lane is named after the operator and the training, "PPO s1", or after the operator alone if it has only
    one training. Values that are not a mapping are returned unchanged.
    """
    if not isinstance(operators, Mapping):
        return operators, {}
    lanes: dict[Any, Any] = {}
    trainings: Trainings = {}
    for label, value in operators.items():
        if not isinstance(value, Algorithm):
            named = {label: value}
        elif len(value.trainings) == 1:
            named = dict.fromkeys([label], *value.trainings.values())
        else:
            trainings[label] = {name: f"{label} {name}" for name in value.trainings}
            named = {trainings[label][name]: spec for name, spec in value.trainings.items()}
        for lane in named.keys() & (lanes.keys() | (operators.keys() - {label})):
            text = f"{lane!r} names both a training of {label} and another operator: rename one of them"
            problems.add(f"operators.{lane}", text)
        lanes |= named
    return lanes, trainings


def _module(arenas: ArenaPlan, module: Any, problems: Problems) -> str | None:
    """Return the path of the user's module that makes the environment; None if a worker provides it."""
    if module is None:
        own_module = module_path(arenas.env_id, arenas.passed)
        return None if own_module is None else str(own_module)
    path = Path(module)
    if not path.exists() or path.stem != arenas.env_id.partition(":")[0].partition(".")[0]:
        text = f"module={str(module)!r}: must be the file or folder of the module in env={arenas.env_id!r}"
        problems.add("module", text)
    return str(path)


def _check_total(arenas: ArenaPlan, episodes: int, problems: Problems) -> None:
    total = 0 if problems.found else len(arenas.seeds) * len(arenas.lanes) * episodes
    if total > MAX_EPISODES:
        number = f"{total:,}" if total < 10**18 else "more than 10^18"
        problems.add("episodes", f"{number} episodes; the maximum is {MAX_EPISODES:,}")


def plan_script(path: Path | str, find_run: FindRun) -> EvaluationPlan:
    """Return the plan of a script without calling language models; ``find_run`` finds its runs."""
    request, problems = read_script(path, find_run)
    return plan_evaluation(request, find_run, problems, recorded=True)


def _default_parallel(operators: Iterable[OperatorSpec]) -> int:
    waits = any(spec.is_language_model and spec.settings.get("provider") != "local" for spec in operators)
    return max(cpu_cores(), _WAITING_ARENAS) if waits else cpu_cores()


def _recording(replay: Any, find_run: FindRun, arenas: ArenaPlan, problems: Problems) -> Recording | None:
    """Return the requested recording; add a problem for anything that the plan needs and it lacks."""
    try:
        recording = recording_of(replay, find_run)
    except ConfigurationError as error:
        problems.add("replay", str(error))
        return None
    check_replay(recording, arenas, problems)
    return recording


def _out_of_kernel(arenas: ArenaPlan, problems: Problems) -> ArenaPlan:
    """Return the plan with operators that can run in another process; add a problem for each that cannot."""
    first = {
        key: (label, pattern)
        for label, lane in reversed(arenas.lanes.items())
        for pattern, key in reversed(lane.items())
    }
    operators = dict(arenas.operators)
    for key, (label, pattern) in first.items():
        try:
            operators[key] = importable(operators[key])
        except ConfigurationError as error:
            problems.add(f"operators.{label}.{pattern}", f"{label}: {error}")
    return replace(arenas, operators=operators)


def _as_episodes(request: EvaluateRequest) -> EvaluateRequest:
    """Convert seeds that are all repeated equally often to distinct seeds with that many episodes each, in
    the same environment. Return other requests unchanged."""
    seeds, episodes = request.seeds, request.episodes
    if isinstance(seeds, range | str | bytes) or not isinstance(seeds, Iterable):
        return request
    seeds = list(islice(seeds, MAX_EPISODES + 1))
    request = structs.replace(request, seeds=seeds)
    if not all(isinstance(seed, Integral) and not isinstance(seed, bool) for seed in seeds):
        return request
    times = Counter(seeds)
    one_episode = type(episodes) is int and (episodes == 1 or request.seed_sequence == "fixed")
    if len(set(times.values())) != 1 or len(times) == len(seeds) or not one_episode:
        return request
    per_seed = episodes * len(seeds) // len(times)
    return structs.replace(request, seeds=list(times), episodes=per_seed, seed_sequence="fixed")


def check_cluster(on: Any, plan: ArenaPlan, budget: Any, replay: Any, problems: Problems) -> None:
    """Add the reasons why an evaluation cannot run on the cluster ``on``, if any, to ``problems``."""
    try:
        clusters.find(on)
    except ConfigurationError as error:
        problems.add("on", str(error))
    if plan.request.record is not None:
        problems.add("on", f"record: observations are recorded on this machine only: {_HINT}")
    if budget is not None or replay is not None:
        name = "budget" if replay is None else "replay"
        problems.add("on", f"{name}: language models and recordings are played on this machine only: {_HINT}")
    for label, lane in plan.lanes.items():
        for key in lane.values():
            if why := _refusal(plan.operators[key]):
                problems.add(f"operators.{label}", f"{label}: {why}: {_HINT}")


def _refusal(spec: OperatorSpec) -> str:
    if spec.is_language_model:
        return f"{spec.name} calls a language model, whose key and recording stay on this machine"
    if spec.is_recorded:
        return f"{spec.name} is a program on this machine, whose moves are recorded here"
    if spec.code:
        return f"{spec.name} is your own code, which the nodes of a cluster do not have"
    return ""


def check_workers(plan: EvaluationPlan) -> None:
    """Raise ConfigurationError for a worker that cluster nodes cannot build."""
    for name in sorted(plan.workers):
        if name not in bundled_shims() or info(name).origin == THIRD_PARTY:
            raise ConfigurationError(
                f"worker {name!r} does not come with MOSAIC Lab, so nodes of a cluster cannot build it: "
                f"{_HINT}"
            )


def check_consent(plan: EvaluationPlan, source: str, run_code: bool, root: Path | None = None) -> None:
    """Raise ConfigurationError if the script or bundle ``source`` names Python code and ``run_code`` is
    false. Paths are shown relative to ``root``."""
    codes = [(spec.name, code) for spec in plan.operators.values() for code in spec.code.values()]
    wrapped = [spec for spec in plan.operators.values() if spec.settings.get("run_code")]
    module = plan.brought_module
    if run_code or not (codes or wrapped or module):
        return
    lines = [
        f"  {name}: {code['attribute']} of {path.relative_to(root) if root else path} ({_sum(path)})"
        for name, code in codes
        for path in [Path(code["folder"], code["file"])]
    ]
    lines += [f"  {spec.name}: the wrappers that {spec.settings['checkpoint']} names" for spec in wrapped]
    if module is not None:
        files = [
            f"{file.relative_to(root) if root else file} ({_sum(file)})" for file in source_files(module)
        ]
        lines.append(f"  {plan.env_id}: {', '.join(files)}")
    raise ConfigurationError(
        f"{source} runs Python code with your permissions on this machine:\n"
        + "\n".join(lines)
        + "\nRead it first, then allow it with run_code=True (in a shell, --run-code)"
    )


def _sum(file: Path) -> str:
    """Return the beginning of a file's SHA-256 sum, as ``sha256sum`` prints it."""
    return f"SHA-256 {sha256(file.read_bytes()).hexdigest()[:16]}…"
