"""The start of a league: all its players against each other, in an evaluation of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mosaic_lab.arenas.arena_workers import environment_info
from mosaic_lab.arenas.request import build_request
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.launch import evaluate
from mosaic_lab.evaluation.league import League
from mosaic_lab.evaluation.league_players import expanded, lanes_of
from mosaic_lab.runs import Supervisor
from mosaic_lab.runs.training import new_group_name
from mosaic_lab.validation import Problems


def start_league(
    supervisor: Supervisor,
    env: str,
    players: Mapping[str, Any],
    *,
    agents: Sequence[str] | None,
    checkpoints: int,
    operator: Any,
    seeds: Iterable[int],
    progress: Callable[[str], None],
    **given: Any,
) -> League:
    """See `mosaic_lab.Lab.league`, whose arguments these are."""
    found, trained = expanded(players, checkpoints, operator)
    seeds = list(seeds)
    lanes_of(found, {}, ("one", "other"), ())  # refused before an environment is made
    sides = _two(agents, env) if agents is not None else _sides(env, found, seeds, progress, given)
    evaluation = evaluate(
        supervisor,
        progress=progress,
        env=env,
        operators=lanes_of(found, {}, sides, ()),
        seeds=seeds,
        league={"name": new_group_name("league", env), "trained": trained},
        **given,
    )
    return League([evaluation])


def _two(agents: Any, env: str) -> tuple[str, str]:
    sides = [] if isinstance(agents, str) else list(dict.fromkeys(agents))
    if len(sides) != 2:
        raise ConfigurationError(
            f"agents={agents!r}: a game of {env} has two sides: give two agents, teams or patterns"
        )
    return sides[0], sides[1]


def _sides(
    env: str,
    players: Mapping[str, Any],
    seeds: Sequence[int],
    progress: Callable[[str], None],
    given: Mapping[str, Any],
) -> tuple[str, str]:
    """Return the two agents or teams of an environment, which is made once. Raises ConfigurationError where
    it has others."""
    problems = Problems()
    names = ("settings", "max_steps", "step_timeout", "family", "pass_env")
    known = {name: given[name] for name in names if name in given}
    request = build_request(problems, env=env, operators=players, seeds=seeds, **known)
    problems.check()
    info = environment_info(request, progress)
    sides = list(info.teams) if len(info.teams) == 2 else info.agents
    if len(sides) != 2:
        teams = f", its teams {', '.join(info.teams)}" if info.teams else ""
        raise ConfigurationError(
            f"{env} is not a game of two sides: its agents are {', '.join(info.agents)}{teams}. Where some "
            'of them play together, agents=["red_*", "blue_*"] names the two sides'
        )
    return sides[0], sides[1]
