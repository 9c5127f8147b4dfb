"""From what the user types to an evaluation: all of it checked before anything starts.

Crosses the boundary: `evaluate`, which `mosaic_lab.Lab.evaluate` and scripts pass their arguments to.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic_lab import environments
from mosaic_lab.arenas.workers import commands_of, holder_of
from mosaic_lab.environments import Environment
from mosaic_lab.environments.families import family_of
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.evaluation.fingerprints import digests
from mosaic_lab.evaluation.handle import COMMAND, ENVIRON, WORKER, Evaluation
from mosaic_lab.evaluation.plan import ON_FAILURE, SEED_SEQUENCES, Key, Plan
from mosaic_lab.evaluation.problems import Problems
from mosaic_lab.evaluation.scripts import read_script
from mosaic_lab.operators import FALLBACKS, OperatorSpec, as_operator
from mosaic_lab.supervisor import Supervisor

_LARGEST_SEED = 2**32 - 1
_MOST = 10_000_000  # episodes
_ELSEWHERE = (
    "answers in this kernel, but an evaluation is a process of its own that outlives it. People and code in "
    "the notebook play in lab.compare(...); workers/README.md says how code becomes a worker"
)


def evaluate(
    supervisor: Supervisor,
    *,
    env: Any,
    operators: Any,
    seeds: Any = range(100),
    episodes: Any = 1,
    settings: Any = None,
    max_steps: Any = None,
    family: Any = None,
    deadline: Any = None,
    fallback: Any = None,
    parallel: Any = None,
    on_failure: Any = "stop",
    seed_sequence: Any = "procedural",
    step_delay: Any = 0.0,
    only: Sequence[Key] | None = None,
    problems: Problems | None = None,
    progress: Callable[[str], None] = print,
) -> Evaluation:
    """See `mosaic_lab.Lab.evaluate`. ``only``: the keys of the episodes to play, None for all of them;
    ``problems``: what is known to be wrong already."""
    problems = problems or Problems()
    lanes, specs = _lanes(operators, deadline, fallback, problems)
    for name, value, known in (
        ("on_failure", on_failure, ON_FAILURE),
        ("seed_sequence", seed_sequence, SEED_SEQUENCES),
    ):
        if value not in known:
            problems.add(name, f"{name}={value!r}: give one of {', '.join(known)}")
    numbers = _seeds(seeds, problems)
    _count("episodes", episodes, problems)
    if max_steps is not None:
        _count("max_steps", max_steps, problems)
    if parallel is None:
        parallel = os.cpu_count() or 1
    _count("parallel", parallel, problems)
    delay = _number(step_delay)
    if not delay >= 0:
        problems.add("step_delay", f"step_delay={step_delay!r}: give seconds, 0 or more")
    plain = _settings(settings or {}, problems)
    holder_name = _family(env, family, problems)
    for name in {spec.worker for spec in specs.values() if spec.worker is not None}:
        _known(name, problems)
    if not problems.found and len(numbers) * len(lanes) * episodes > _MOST:
        problems.add("episodes", f"{len(numbers) * len(lanes) * episodes:,} episodes: {_MOST:,} at most")
    problems.check()
    holder = holder_of(holder_name, progress)
    commands = commands_of(specs.values(), progress)
    plan = Plan(
        env_id=env,
        settings=plain,
        max_steps=max_steps,
        family=holder.name,
        arena=holder.command(),
        commands=commands,
        operators=specs,
        lanes=lanes,
        seeds=numbers,
        episodes=episodes,
        seed_sequence=seed_sequence,
        on_failure=on_failure,
        parallel=parallel,
        step_delay=delay,
        only=None if only is None else list(only),
        digests=digests(specs.values()),
    )
    return start(supervisor, plan, holder)


def evaluate_script(
    supervisor: Supervisor, path: Path | str, progress: Callable[[str], None] = print
) -> Evaluation:
    """An evaluation as a file says it; see `mosaic_lab.evaluation.scripts`."""
    given, problems = read_script(path, supervisor.run)
    given.setdefault("env", None)
    return evaluate(supervisor, **given, problems=problems, progress=progress)


def start(supervisor: Supervisor, plan: Plan, holder: Environment | None = None) -> Evaluation:
    """Start the process of an evaluation that is known to be right."""
    described = {} if holder is None else {"origin": holder.origin, "freeze": holder.freeze}
    run = supervisor.start(
        COMMAND,
        plan.to_config(),
        worker=WORKER,
        label=f"evaluation {plan.env_id}: {', '.join(plan.lanes)}"[:200],
        environ=ENVIRON,
        environment={"worker": plan.family, **described},
    )
    return Evaluation(run.folder)


def _lanes(
    given: Any, deadline: Any, fallback: Any, problems: Problems
) -> tuple[dict[str, dict[str, str]], dict[str, OperatorSpec]]:
    """Labels with {pattern: key of the operator}, and the operators. What is one object stays one."""
    if problems.found and given == {}:
        return {}, {}  # a script, and it is known why it has none
    if not isinstance(given, Mapping) or not given:
        problems.add(
            "operators",
            f"operators={given!r}: give names with their operators, such as "
            '{"PPO": operators.rl(run), "random": operators.random()}',
        )
        return {}, {}
    changes = {name: value for name, value in (("deadline", deadline), ("fallback", fallback)) if value}
    if fallback is not None and fallback not in FALLBACKS:
        problems.add("fallback", f"fallback={fallback!r}: give one of {', '.join(FALLBACKS)}")
        changes.pop("fallback", None)
    keys: dict[int, str] = {}
    specs: dict[str, OperatorSpec] = {}
    lanes: dict[str, dict[str, str]] = {}
    for label, value in given.items():
        place = f"operators.{label}"
        if not isinstance(label, str) or not label.strip():
            problems.add("operators", f"{label!r} is no name for an operator: give a text")
            continue
        lane = value if isinstance(value, Mapping) else {"*": value}
        if not lane:
            problems.add(place, f"{label}: no operators are given")
        lanes[label] = {}
        for pattern, operator in lane.items():
            if id(operator) not in keys:
                spec = _spec(operator, changes, f"{place}.{pattern}", label, problems)
                if spec is None:
                    continue
                keys[id(operator)] = str(len(keys) + 1)
                specs[keys[id(operator)]] = spec
            lanes[label][str(pattern)] = keys[id(operator)]
    return lanes, specs


def _spec(
    operator: Any, changes: Mapping[str, Any], place: str, label: str, problems: Problems
) -> OperatorSpec | None:
    try:
        spec = as_operator(operator).with_(**changes)
    except ConfigurationError as error:
        problems.add(place, f"{label}: {error}")
        return None
    if spec.worker is None:
        problems.add(place, f"{label}: {spec.name} {_ELSEWHERE}")
        return None
    return spec


def _seeds(seeds: Any, problems: Problems) -> list[int]:
    if isinstance(seeds, int):
        seeds = [seeds]
    if isinstance(seeds, str | bytes) or not isinstance(seeds, Iterable):
        problems.add("seeds", f"seeds={seeds!r}: give a list of whole numbers")
        return []
    numbers: list[int] = []
    for seed in seeds:
        number = seed.item() if hasattr(seed, "item") else seed
        if type(number) is int and 0 <= number <= _LARGEST_SEED:
            numbers.append(number)
        else:
            problems.add("seeds", f"seed {seed!r}: give a whole number from 0 to {_LARGEST_SEED}")
    if not numbers:
        problems.add("seeds", "seeds is empty: give one at least")
    if len(set(numbers)) < len(numbers):
        twice = sorted(number for number, times in Counter(numbers).items() if times > 1)
        problems.add("seeds", f"seeds holds {', '.join(map(str, twice))} more than once")
    return numbers


def _count(name: str, value: Any, problems: Problems) -> None:
    if type(value) is not int or value < 1:
        problems.add(name, f"{name}={value!r}: give a whole number, 1 or more")


def _number(value: Any) -> float:
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if known else math.nan


def _settings(settings: Any, problems: Problems) -> dict[str, Any]:
    try:
        return dict(json.loads(json.dumps(dict(settings), allow_nan=False)))
    except (TypeError, ValueError) as error:
        problems.add("settings", f"settings={settings!r:.200}: give {{name: value}} that fits JSON ({error})")
        return {}


def _family(env: Any, family: Any, problems: Problems) -> str:
    if env is None and problems.found:
        return ""
    try:
        return family_of(env, family)
    except MosaicError as error:
        problems.add("env" if family is None else "family", str(error))
        return ""


def _known(worker: str, problems: Problems) -> None:
    try:
        environments.info(worker)
    except MosaicError as error:
        problems.add("operators", str(error))
