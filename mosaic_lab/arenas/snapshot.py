"""A snapshot of a comparison as plain data, for display in a page. Its format::

    {"env_id", "environment": its display name, "seeds", "seed", "mode": "idle" | "playing" | "closed",
     "speed", "lanes": […], "episodes": [a row of `results`, as a dict, … the newest 200],
     "ended": their total number}
    lane: {"index", "label", "state", "reason", "log", "folder", "operators": [{"key", "name", "category",
     "agents", "settings", "trained_on": None | an environment's id,
     "wrappers": [names]}],
     "agents", "paradigm", "renders", "render_reason", "step", "seed", "episode",
     "turn": [agents], "moves": [as reported by the arena], "rewards", "returns": {agent: number},
     "return": their sum, "terminated", "truncated", "done",
     "thinking": None | {"agent", "operator", "seconds"},
     "partial": {agent: text received so far from its model}, "spending": None | see `ModelUsage.to_dict`,
     "requests": [{"id", "agent", "legal": [actions] | None}],
     "keys": {human-played agent: {key: action}},
     "described": {human-played agent to act: state as described by the environment's worker},
     "realtime": [agents], "action_spaces": {human-played agent: space},
     "action_meanings": {agent: [str] | None}, "series": [(step, return), …]}

Numbers may be NaN or infinite. ``thinking`` with an empty agent is about the environment itself.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from mosaic_contract.gymnasium_wrappers import in_short

from mosaic_lab.arenas.driver import Lockstep
from mosaic_lab.arenas.environment_info import EnvironmentInfo
from mosaic_lab.arenas.lane import Lane, LaneState, Progress
from mosaic_lab.arenas.plan import ArenaPlan
from mosaic_lab.arenas.tables import episode_rows
from mosaic_lab.workers.families import shown_as

_NEWEST = 200  # episodes
_THINKING_SECONDS = 1.0  # after which a wait that is not for an operator is shown as the environment's


def snapshot(lockstep: Lockstep, plan: ArenaPlan) -> dict[str, Any]:
    """Return a snapshot in this module's format; later changes do not affect it."""
    return {
        "env_id": plan.env_id,
        "environment": shown_as(plan.env_id, plan.family),
        "seeds": list(lockstep.seeds),
        "seed": lockstep.seed,
        "mode": lockstep.mode,
        "speed": lockstep.speed,
        "lanes": [lane_snapshot(lane) for lane in lockstep.lanes],
        "episodes": episode_rows(lockstep.lanes, _NEWEST),
        "ended": sum(len(lane.rows) for lane in lockstep.lanes),
    }


def lane_snapshot(lane: Lane) -> dict[str, Any]:
    """Return one lane of the snapshot."""
    return {
        "index": lane.index,
        "label": lane.label,
        "state": str(lane.state),
        "reason": lane.reason,
        "log": lane.log,
        "folder": str(lane.folder or ""),
        "done": lane.state is LaneState.FINISHED,
        "thinking": _thinking(lane),
        "spending": lane.usage.to_dict(),
        "operators": _operators(lane),
        **_environment(lane.environment),
        **_progress(lane.progress),
        **_people(lane),
    }


def _operators(lane: Lane) -> list[dict[str, Any]]:
    if lane.assignment is None:
        return []
    return [
        {
            "key": key,
            "name": spec.name,
            "category": spec.category,
            "agents": lane.assignment.agents_of(key),
            "settings": spec.settings,
            "trained_on": spec.trained_on,
            "wrappers": list(map(in_short, spec.wrappers)),
        }
        for key, spec in lane.assignment.operators.items()
    ]


def _environment(environment: EnvironmentInfo | None) -> dict[str, Any]:
    environment = environment or EnvironmentInfo("", "", [], {})  # until it is open
    return {
        "agents": list(environment.agents),
        "paradigm": environment.paradigm,
        "renders": environment.renders,
        "render_reason": environment.render_reason,
        "action_meanings": dict(environment.action_meanings),
    }


def _progress(now: Progress) -> dict[str, Any]:
    return {
        "step": now.step,
        "seed": now.seed,
        "episode": now.episode,
        "turn": list(now.turn),
        "moves": list(now.moves),
        "rewards": dict(now.rewards),
        "returns": dict(now.returns),
        "return": now.total,
        "terminated": now.terminated,
        "truncated": now.truncated,
        "partial": dict(now.partial),
        "described": dict(now.described),
        "series": list(now.series.points()),
    }


def _people(lane: Lane) -> dict[str, Any]:
    """Return the human players' open requests, keys and real-time agents."""
    operators, environment = lane.kernel_operators, lane.environment
    people = operators.people if operators else {}
    return {
        "requests": [asdict(request) for request in operators.open.values()] if operators else [],
        "keys": {
            agent: {**(environment.keys.get(agent) or {}), **spec.settings["keys"]}
            for agent, spec in people.items()
            if environment is not None
        },
        "realtime": [agent for agent, spec in people.items() if spec.settings["realtime"]],
        "action_spaces": {
            agent: environment.spaces[agent]["action"] for agent in people if environment is not None
        },
    }


def _thinking(lane: Lane) -> dict[str, Any] | None:
    now = lane.progress
    if now.thinking is not None or not lane.moving:
        return None if now.thinking is None else dict(now.thinking)
    seconds = time.monotonic() - now.started_at
    if seconds < _THINKING_SECONDS or (lane.kernel_operators and lane.kernel_operators.open):
        return None
    return {"agent": "", "operator": "the environment", "seconds": seconds}
