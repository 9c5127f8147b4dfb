"""The plan of an evaluation, from its arguments or its script: all is checked before anything starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from itertools import islice
from numbers import Integral
from pathlib import Path
from typing import Any

from mosaic_lab.arenas.request import ArenaRequest, build_request
from mosaic_lab.arenas.request_checks import MOST_EPISODES, as_seconds, check_count
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.budgets import check_budget
from mosaic_lab.evaluation.cluster_checks import check_cluster
from mosaic_lab.evaluation.fingerprints import digests
from mosaic_lab.evaluation.plan import ON_FAILURE, SEED_SEQUENCES, EvaluationPlan
from mosaic_lab.evaluation.recordings import FindRun, Recording, check_replay, recording_of, replayed
from mosaic_lab.evaluation.scripts import read_script
from mosaic_lab.operators import OperatorSpec, importable
from mosaic_lab.runs.hardware import cpu_cores
from mosaic_lab.runs.own_module import module_path
from mosaic_lab.validation import Problems

_WAITING_ARENAS = 8
"""Arenas at once by default where operators wait for an endpoint: that takes no time of a core."""


def plan_evaluation(
    *,
    seeds: Any = range(100),
    episodes: Any = 1,
    parallel: Any = None,
    on_failure: Any = "stop",
    seed_sequence: Any = "procedural",
    step_delay: Any = 0.0,
    budget: Any = None,
    replay: Any = None,
    on: Any = None,
    module: Any = None,
    recorded: bool = False,
    find_run: FindRun,
    problems: Problems | None = None,
    **given: Any,
) -> EvaluationPlan:
    """Check the arguments of `mosaic_lab.Lab.evaluate`; the plan lacks the commands that `launch.equipped`
    adds.

    ``module``: the file or the folder of the module of an own environment, by default as PYTHONPATH has it.
    ``recorded``: language models are not to be called, so that none of their keys need be set. ``find_run``
    finds the run whose id ``replay`` is. ``problems``: what is known to be wrong already. ``given``: the
    arguments of `build_request`.
    """
    problems = problems or Problems()
    seeds, episodes, seed_sequence = _repeated(seeds, episodes, seed_sequence)
    request = build_request(problems, seeds=seeds, recorded=recorded or replay is not None, **given)
    request = _out_of_kernel(request, problems)
    operators = request.operators.values()
    budget = check_budget(budget, operators, problems)
    recording = None if replay is None else _recording(replay, find_run, request, problems)
    if budget is not None and recording is not None:
        problems.add("budget", "budget: what is played from a recording costs nothing; leave the budget out")
    if on is not None:
        check_cluster(on, request, budget, replay, problems)
    _check_choice("on_failure", on_failure, ON_FAILURE, problems)
    _check_choice("seed_sequence", seed_sequence, SEED_SEQUENCES, problems)
    check_count("episodes", episodes, problems)
    parallel = _default_parallel(operators) if parallel is None else parallel
    check_count("parallel", parallel, problems)
    delay = as_seconds(step_delay)
    if not delay >= 0:
        problems.add("step_delay", f"step_delay={step_delay!r}: give seconds, 0 or more")
    _check_total(request, episodes, problems)
    module = _module(request, module, problems) if on is None else None
    problems.check()
    plan = EvaluationPlan(
        **{field.name: getattr(request, field.name) for field in fields(request)},
        arena=[],
        commands={},
        episodes=episodes,
        seed_sequence=seed_sequence,
        on_failure=on_failure,
        parallel=parallel,
        step_delay=delay,
        budget=budget,
        digests=digests(operators, module),
        module=module,
        on=on,
    )
    return plan if recording is None else replayed(plan, recording.folder)


def _module(request: ArenaRequest, given: Any, problems: Problems) -> str | None:
    """Return the path of the user's module that makes the environment; None where a worker has that."""
    if given is None:
        found = module_path(request.env_id, request.passed)
        return None if found is None else str(found)
    path = Path(given)
    if not path.exists() or path.stem != request.env_id.partition(":")[0].partition(".")[0]:
        text = f"module={str(given)!r}: give the file or the folder of the module in env={request.env_id!r}"
        problems.add("module", text)
    return str(path)


def _check_choice(name: str, value: Any, known: Sequence[str], problems: Problems) -> None:
    if value not in known:
        problems.add(name, f"{name}={value!r}: give one of {', '.join(known)}")


def _check_total(request: ArenaRequest, episodes: Any, problems: Problems) -> None:
    total = 0 if problems.found else len(request.seeds) * len(request.lanes) * episodes
    if total > MOST_EPISODES:
        number = f"{total:,}" if total < 10**18 else "more than 10^18"
        problems.add("episodes", f"{number} episodes: {MOST_EPISODES:,} at most")


def plan_script(path: Path | str, find_run: FindRun) -> EvaluationPlan:
    """Return the plan of a script whose language models are not to be called; ``find_run`` finds the runs it
    names."""
    return read_plan(path, find_run, recorded=True)[1]


def read_plan(path: Path | str, find_run: FindRun, **more: Any) -> tuple[dict[str, Any], EvaluationPlan]:
    """Return a script's arguments and their plan; ``more`` are arguments of `plan_evaluation` that take the
    place of the script's."""
    given, problems = read_script(path, find_run)
    given = {"env": None, **given, **more}
    return given, plan_evaluation(**given, find_run=find_run, problems=problems)


def _default_parallel(operators: Iterable[OperatorSpec]) -> int:
    waits = any(spec.is_language_model and spec.settings.get("provider") != "local" for spec in operators)
    return max(cpu_cores(), _WAITING_ARENAS) if waits else cpu_cores()


def _recording(replay: Any, find_run: FindRun, request: ArenaRequest, problems: Problems) -> Recording | None:
    """Return the recording that is given; what it lacks for the request is a problem."""
    try:
        recording = recording_of(replay, find_run)
    except ConfigurationError as error:
        problems.add("replay", str(error))
        return None
    check_replay(recording, request, problems)
    return recording


def _out_of_kernel(request: ArenaRequest, problems: Problems) -> ArenaRequest:
    """Return the request with operators that another process can play; one that cannot be is a problem."""
    first = {
        key: (label, pattern)
        for label, lane in reversed(request.lanes.items())
        for pattern, key in reversed(lane.items())
    }
    operators = dict(request.operators)
    for key, (label, pattern) in first.items():
        try:
            operators[key] = importable(operators[key])
        except ConfigurationError as error:
            problems.add(f"operators.{label}.{pattern}", f"{label}: {error}")
    return replace(request, operators=operators)


def _repeated(seeds: Any, episodes: Any, seed_sequence: Any) -> tuple[Any, Any, Any]:
    """Return seeds, episodes and seed sequence where every seed is given equally often, several times: as so
    many episodes on the same environment. Anything else is returned as it is."""
    if isinstance(seeds, range | str | bytes) or not isinstance(seeds, Iterable):
        return seeds, episodes, seed_sequence
    seeds = list(islice(seeds, MOST_EPISODES + 1))
    if not all(isinstance(seed, Integral) and not isinstance(seed, bool) for seed in seeds):
        return seeds, episodes, seed_sequence
    times = Counter(seeds)
    one_episode = type(episodes) is int and (episodes == 1 or seed_sequence == "fixed")
    if len(set(times.values())) != 1 or len(times) == len(seeds) or not one_episode:
        return seeds, episodes, seed_sequence
    return list(times), episodes * len(seeds) // len(times), "fixed"
