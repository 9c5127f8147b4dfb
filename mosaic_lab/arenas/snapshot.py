"""A comparison as plain data: what a page shows of it, and nothing that a page could break.

Crosses the boundary: `view_of`. The shape, for whoever draws it::

    {"env_id", "environment": how it is shown, "seeds", "seed", "mode": "idle" | "playing" | "closed",
     "speed", "max_steps", "lanes": […], "episodes": [a row of `results`, as a dict, … the newest 200],
     "ended": how many there are in all}
    lane: {"index", "label", "state", "reason", "log", "folder", "operators": [{"key", "name", "category",
     "agents", "settings", "trained_on": None | an environment's id,
     "wrappers": [names]}],
     "agents", "paradigm", "renders", "render_reason", "step", "seed", "episode",
     "turn": [agents], "moves": [as the arena tells them], "rewards", "returns": {agent: number},
     "return": their sum, "terminated", "truncated", "done",
     "thinking": None | {"agent", "operator", "seconds"},
     "partial": {agent: what its model has written so far}, "spending": None | see `Spending.to_dict`,
     "asks": [{"id", "agent", "legal": [actions] | None}], "keys": {agent: {key: action}} of people's agents,
     "described": {agent of a person who acts next: what its environment's worker says of the state},
     "realtime": [agents], "action_meanings": {agent: [str] | None}, "series": [(step, return), …]}

Numbers may be NaN or infinite. ``thinking`` with an empty agent means the environment itself.
"""

from __future__ import annotations

import time
from typing import Any

from mosaic_lab.arenas.lane import Lane, LaneState
from mosaic_lab.arenas.lockstep import Lockstep
from mosaic_lab.arenas.setup import Setup
from mosaic_lab.arenas.tables import episode_rows
from mosaic_lab.workers.families import shown_as

_NEWEST = 200  # episodes
_THINKING_SECONDS = 1.0  # after which a step that nobody accounts for is the environment's


def view_of(lockstep: Lockstep, setup: Setup) -> dict[str, Any]:
    """See this module; nothing in it changes any more when the comparison goes on."""
    return {
        "env_id": setup.env_id,
        "environment": shown_as(setup.env_id, setup.family),
        "seeds": list(lockstep.seeds),
        "seed": lockstep.seed,
        "mode": lockstep.mode,
        "speed": lockstep.speed,
        "max_steps": setup.max_steps,
        "lanes": [lane_view(lane) for lane in lockstep.lanes],
        "episodes": episode_rows(lockstep.lanes, _NEWEST),
        "ended": sum(len(lane.rows) for lane in lockstep.lanes),
    }


def lane_view(lane: Lane) -> dict[str, Any]:
    opened, assignment, now = lane.opened, lane.assignment, lane.now
    operators = assignment.operators if assignment else {}
    people = lane.asks.people if lane.asks else {}
    return {
        "index": lane.index,
        "label": lane.label,
        "state": str(lane.state),
        "reason": lane.reason,
        "log": lane.log,
        "folder": str(lane.folder or ""),
        "operators": [
            {
                "key": key,
                "name": spec.name,
                "category": spec.category,
                "agents": assignment.agents_of(key),
                "settings": spec.settings,
                "trained_on": spec.trained_on,
                "wrappers": list(spec.wrappers),
            }
            for key, spec in operators.items()
            if assignment is not None
        ],
        "agents": list(opened.agents) if opened else [],
        "paradigm": opened.paradigm if opened else "",
        "renders": opened.renders if opened else True,
        "render_reason": opened.render_reason if opened else "",
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
        "done": lane.state is LaneState.FINISHED,
        "thinking": _thinking(lane),
        "partial": dict(now.partial),
        "spending": lane.spending.to_dict(),
        "asks": [ask.to_dict() for ask in lane.asks.open.values()] if lane.asks else [],
        "keys": {
            agent: {**(opened.keys.get(agent) or {}), **spec.settings["keys"]}
            for agent, spec in people.items()
            if opened is not None
        },
        "described": dict(now.described),
        "realtime": [agent for agent, spec in people.items() if spec.settings["realtime"]],
        "action_meanings": dict(opened.action_meanings) if opened else {},
        "series": list(now.series.points()),
    }


def _thinking(lane: Lane) -> dict[str, Any] | None:
    now = lane.now
    if now.thinking is not None or not lane.moving:
        return None if now.thinking is None else dict(now.thinking)
    seconds = time.monotonic() - now.since
    if seconds < _THINKING_SECONDS or (lane.asks and lane.asks.open):
        return None
    return {"agent": "", "operator": "the environment", "seconds": seconds}
