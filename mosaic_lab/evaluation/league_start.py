"""The start of a league: all its players against each other, in an evaluation of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from mosaic_lab.arenas.arena_workers import environment_info
from mosaic_lab.arenas.request import plan_arenas
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.launch import evaluate
from mosaic_lab.evaluation.league import League
from mosaic_lab.evaluation.league_players import expanded, lanes_of
from mosaic_lab.evaluation.request import EvaluateRequest
from mosaic_lab.runs import Supervisor
from mosaic_lab.runs.training import new_group_name
from mosaic_lab.validation import Problems


def start_league(
    supervisor: Supervisor,
    request: EvaluateRequest,
    players: Mapping[str, Any],
    agents: Sequence[str] | None,
    checkpoints: int,
    operator: Any,
    progress: Callable[[str], None],
) -> League:
    """See `mosaic_lab.Lab.league`; ``request`` has all that is not of a league, without the operators."""
    found, trained = expanded(players, checkpoints, operator)
    request = replace(request, seeds=list(request.seeds))
    lanes_of(found, {}, ("one", "other"), ())  # refused before an environment is made
    env = str(request.env)
    sides = _two(agents, env) if agents is not None else _sides(replace(request, operators=found), progress)
    request = replace(request, operators=lanes_of(found, {}, sides, ()))
    league = {"name": new_group_name("league", env), "trained": trained}
    return League([evaluate(supervisor, request, progress, league)])


def _two(agents: Any, env: str) -> tuple[str, str]:
    sides = [] if isinstance(agents, str) else list(dict.fromkeys(agents))
    if len(sides) != 2:
        raise ConfigurationError(
            f"agents={agents!r}: a game of {env} has two sides: give two agents, teams or patterns"
        )
    return sides[0], sides[1]


def _sides(request: EvaluateRequest, progress: Callable[[str], None]) -> tuple[str, str]:
    """Return the two agents or teams of an environment, which is made once. Raises ConfigurationError where
    it has others."""
    problems = Problems()
    plan = plan_arenas(request, problems)
    problems.check()
    info = environment_info(plan, progress)
    sides = list(info.teams) if len(info.teams) == 2 else info.agents
    if len(sides) != 2:
        teams = f", its teams {', '.join(info.teams)}" if info.teams else ""
        raise ConfigurationError(
            f"{request.env} is not a game of two sides: its agents are {', '.join(info.agents)}{teams}. "
            'Where some of them play together, agents=["red_*", "blue_*"] names the two sides'
        )
    return sides[0], sides[1]
