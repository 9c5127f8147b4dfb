"""From the arguments of an evaluation, or its script, to its plan: all is checked before anything starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from numbers import Integral
from pathlib import Path
from typing import Any

from mosaic_lab.arenas.request import MOST_EPISODES, Asked, as_seconds, asked, check_count
from mosaic_lab.defaults import STEP_TIMEOUT
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.budgets import check_budget
from mosaic_lab.evaluation.fingerprints import digests
from mosaic_lab.evaluation.plan import ON_FAILURE, SEED_SEQUENCES, Key, Plan
from mosaic_lab.evaluation.recordings import FindRun, Recording, check_replay, recording_of, replayed
from mosaic_lab.evaluation.scripts import read_script
from mosaic_lab.operators import OperatorSpec, importable
from mosaic_lab.problems import Problems
from mosaic_lab.workers.worker_environment import cores

_WAITING_ARENAS = 8
"""Arenas at once by default where operators wait for an endpoint: that takes no time of a core."""


def planned(
    *,
    env: Any,
    operators: Any = None,
    policies: Any = None,
    seeds: Any = range(100),
    episodes: Any = 1,
    settings: Any = None,
    max_steps: Any = None,
    step_timeout: Any = STEP_TIMEOUT,
    family: Any = None,
    deadline: Any = None,
    fallback: Any = None,
    pass_env: Any = (),
    parallel: Any = None,
    on_failure: Any = "stop",
    seed_sequence: Any = "procedural",
    step_delay: Any = 0.0,
    budget: Any = None,
    replay: Any = None,
    recorded: bool = False,
    find_run: FindRun,
    only: Sequence[Key] | None = None,
    problems: Problems | None = None,
) -> Plan:
    """What there is to play, not `equipped` yet; see `mosaic_lab.Lab.evaluate`.

    ``recorded``: language models are not to be called, so that none of their keys need be set. ``find_run``
    finds the run whose id ``replay`` is. ``only``: the keys of the episodes to play, None for all of them.
    ``problems``: what is known to be wrong already.
    """
    problems = problems or Problems()
    seeds, episodes, seed_sequence = _repeated(seeds, episodes, seed_sequence)
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
        recorded=recorded or replay is not None,
    )
    what = _out_of_kernel(what, problems)
    budget = check_budget(budget, what.operators, problems)
    recording = None if replay is None else _recording(replay, find_run, what, problems)
    if budget is not None and recording is not None:
        problems.add("budget", "budget: what is played from a recording costs nothing; leave the budget out")
    for name, value, known in (
        ("on_failure", on_failure, ON_FAILURE),
        ("seed_sequence", seed_sequence, SEED_SEQUENCES),
    ):
        if value not in known:
            problems.add(name, f"{name}={value!r}: give one of {', '.join(known)}")
    check_count("episodes", episodes, problems)
    if parallel is None:
        parallel = _default_parallel(what.operators)
    check_count("parallel", parallel, problems)
    delay = as_seconds(step_delay)
    if not delay >= 0:
        problems.add("step_delay", f"step_delay={step_delay!r}: give seconds, 0 or more")
    total = 0 if problems.found else len(what.seeds) * len(what.lanes) * episodes
    if total > MOST_EPISODES:
        asked_for = f"{total:,}" if total < 10**18 else "more than 10^18"
        problems.add("episodes", f"{asked_for} episodes: {MOST_EPISODES:,} at most")
    problems.check()
    what.warn()
    keys = {id(spec): str(number) for number, spec in enumerate(what.operators, 1)}
    plan = Plan(
        env_id=env,
        settings=what.settings,
        max_steps=max_steps,
        step_timeout=what.step_timeout,
        family=what.family,
        arena=[],
        commands={},
        operators={keys[id(spec)]: spec for spec in what.operators},
        lanes={
            label: {pattern: keys[id(spec)] for pattern, spec in lane.items()}
            for label, lane in what.lanes.items()
        },
        seeds=what.seeds,
        episodes=episodes,
        seed_sequence=seed_sequence,
        on_failure=on_failure,
        parallel=parallel,
        step_delay=delay,
        pass_env=what.pass_env,
        budget=budget,
        only=None if only is None else list(only),
        digests=digests(what.operators),
    )
    return plan if recording is None else replayed(plan, recording.folder)


def planned_script(path: Path | str, find_run: FindRun) -> Plan:
    """What a script asks for, its language models not to be called; ``find_run`` finds the runs it names."""
    return plan_of_script(path, find_run, recorded=True)[1]


def plan_of_script(path: Path | str, find_run: FindRun, **more: Any) -> tuple[dict[str, Any], Plan]:
    """A script's arguments, and what they ask for; ``more`` are arguments of `planned` that go before."""
    given, problems = read_script(path, find_run)
    given = {"env": None, **given, **more}
    return given, planned(**given, find_run=find_run, problems=problems)


def _default_parallel(operators: Iterable[OperatorSpec]) -> int:
    waits = any(spec.is_language_model and spec.settings.get("provider") != "local" for spec in operators)
    return max(cores(), _WAITING_ARENAS) if waits else cores()


def _recording(replay: Any, find_run: FindRun, what: Asked, problems: Problems) -> Recording | None:
    """The recording that is given, checked."""
    try:
        recording = recording_of(replay, find_run)
    except ConfigurationError as error:
        problems.add("replay", str(error))
        return None
    check_replay(recording, what.env_id, what.lanes, what.seeds, problems)
    return recording


def _out_of_kernel(what: Asked, problems: Problems) -> Asked:
    """With every operator as the evaluation's processes can play it, where that is possible."""
    made: dict[int, OperatorSpec] = {}
    for label, lane in what.lanes.items():
        for pattern, spec in lane.items():
            if id(spec) not in made:
                try:
                    made[id(spec)] = importable(spec)
                except ConfigurationError as error:
                    problems.add(f"operators.{label}.{pattern}", f"{label}: {error}")
    lanes = {
        label: {pattern: made.get(id(spec), spec) for pattern, spec in lane.items()}
        for label, lane in what.lanes.items()
    }
    return replace(what, lanes=lanes)


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
