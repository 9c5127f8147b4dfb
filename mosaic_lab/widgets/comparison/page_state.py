"""The state of a comparison for the page: short texts and plain values, made from `Comparison.view`.

No value is NaN or infinite, because JSON cannot represent them. Texts are bounded in length.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
from mosaic_contract.arena.exchanges import exchanges_of, number_of

from mosaic_lab.arenas.action_text import action_text
from mosaic_lab.chart_style import color
from mosaic_lab.number_format import UNKNOWN, duration, milliseconds, number
from mosaic_lab.overview.exchange_view import fault_texts, total_facts
from mosaic_lab.widgets.charts.chart import DISTINCT_STYLES, Line, LineStyle
from mosaic_lab.workers.families import same_environment

MAX_ACTIONS = 24
"""Maximum number of action buttons for one player. With more actions, only legal ones get a button, or
actions are typed."""
MAX_AGENTS = 12
"""Maximum number of agents whose last action is displayed."""
MAX_RETURNS = 4
"""Maximum number of agents whose own returns the table shows beside the sum."""
_LONGEST = 4000  # characters of a reason, a reasoning, a log
_LONGEST_TEXT = 20_000  # characters of a description
Y_LABEL = "return"
_EPISODE_COLUMNS = {
    "Lane": False,
    "Operator": False,
    "Seed": True,
    "Return": True,
    "Steps": True,
    "End": False,
    "Faults": True,
    "Time": True,
}
"""The titles of the episodes' columns, and whether they are numeric."""
SPEAKERS = ("llm", "vlm")
"""Categories of operators that give reasons: their lanes reserve space for them."""
_STEP = re.compile(r"step-(\d+)")


def page_state(view: Mapping[str, Any], ended: bool, early: Mapping[tuple[int, str], str]) -> dict[str, Any]:
    """Return the state of `LanesView`.

    ``ended``: whether the comparison has ended. ``early``: by lane and player, the outcome of a key pressed
    while no action was awaited.
    """
    lanes = [_lane(lane, view["env_id"], early) for lane in view["lanes"]]
    can_step = any(lane["state"] in ("ready", "stepping", "opening") for lane in lanes)
    return {
        "seeds": view["seeds"],
        "seed": view["seed"],
        "mode": "closed" if ended else view["mode"],
        "can_step": can_step,
        "lanes": lanes,
    }


def episodes_table(view: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contents of a `Table` of the finished episodes, newest first."""
    colors = {lane["label"]: color(lane["index"]) for lane in view["lanes"]}
    rows = [_row(row, colors.get(row["lane"], color(0))) for row in reversed(view["episodes"])]
    omission = f", the last {len(rows)} of them here" if view["ended"] > len(rows) else ""
    columns = [{"title": title, "numeric": numeric} for title, numeric in _EPISODE_COLUMNS.items()]
    return {"columns": columns, "rows": rows, "caption": f"Finished episodes: {view['ended']}{omission}"}


def person_action_text(action: Any, agent: str, view: Mapping[str, Any]) -> str:
    """Return a player's action as readable text; numbers are those of the action space."""
    space = view["action_spaces"].get(agent, {})
    index = action - space.get("start", 0) if isinstance(action, int) else action
    return action_text(index, view["action_meanings"].get(agent))


def _row(row: Mapping[str, Any], lane_color: str) -> list[dict[str, Any]]:
    returns = {
        name.removeprefix("return "): value for name, value in row.items() if name.startswith("return ")
    }
    return [
        {
            "text": row["lane"],
            "color": lane_color,
            "hint": "Replay this episode",
            "choose": [row["lane"], row["seed"], row["episode_index"]],
        },
        {"text": row["operator"]},
        {"text": str(row["seed"])},
        {"text": _returns(row["return"], returns), "hint": _of_each(returns)},
        {"text": number(row["length"])},
        {"text": _end(row)},
        {"text": str(row["faults"] or "")},
        {"text": duration(row["seconds"])},
    ]


def _returns(total: float, returns: Mapping[str, float]) -> str:
    """Return the sum and the returns of a few agents; in a two-player game the sum is uninformative."""
    if not 1 < len(returns) <= MAX_RETURNS:
        return number(total)
    return f"{number(total)} ({_of_each(returns)})"


def _end(row: Mapping[str, Any]) -> str:
    if row["forfeit"] is not None:
        return f"forfeited by {row['forfeit']}"
    word = "terminated" if row["terminated"] else "truncated" if row["truncated"] else "ended"
    success = row["success"]
    return word if success is None else f"{word}, {'success' if success else 'no success'}"


def _lane(view: Mapping[str, Any], env_id: str, early: Mapping[tuple[int, str], str]) -> dict[str, Any]:
    moves, operators = view["moves"], view["operators"]
    passive = {operator["key"] for operator in operators if operator["category"] == "passive"}
    return {
        "index": view["index"],
        "label": view["label"],
        "color": color(view["index"]),
        "run": view["folder"],
        "state": view["state"],
        "reason": view["reason"][:_LONGEST],
        "log": view["log"][-_LONGEST:],
        "operators": [
            {
                "key": operator["key"],
                "name": operator["name"],
                "category": str(operator["category"]),
                "agents": operator["agents"],
                "about": operator_facts(operator, env_id, view["seed"]),
            }
            for operator in operators
        ],
        "speaks": any(operator["category"] in SPEAKERS for operator in operators) or bool(view["spending"]),
        "several": len(view["agents"]) > 1,
        "aec": view["paradigm"] == "aec",
        "turn": view["turn"][:MAX_AGENTS],
        "facts": _facts(view),
        "totals": total_facts(view["spending"]),
        "moves": [_move(move, view, passive) for move in moves[:MAX_AGENTS]],
        "more": max(0, len(moves) - MAX_AGENTS),
        "flags": [name for name in ("terminated", "truncated") if view[name]],
        "done": view["done"],
        "thinking": _thinking(view),
        "blank": "" if view["renders"] else f"no pictures: {view['render_reason'] or 'it renders none'}",
        "people": [
            {**_person(agent, keys, view), "early": early.get((view["index"], agent), "")}
            for agent, keys in view["keys"].items()
        ],
    }


def _facts(view: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return numbers with their names and hints; with two agents, each agent's return is beside the sum."""
    rewards, returns = view["rewards"], view["returns"]
    return_text = _returns(view["return"], returns) if len(returns) == 2 else number(view["return"])
    return [
        (number(view["step"]), "step", "steps in this episode"),
        (number(sum(rewards.values())) if rewards else number(None), "reward", _of_each(rewards)),
        (return_text, "return", _of_each(returns)),
    ]


def _of_each(values: Mapping[str, float]) -> str:
    return ", ".join(f"{agent} {number(value)}" for agent, value in values.items()) if len(values) > 1 else ""


def _move(move: Mapping[str, Any], view: Mapping[str, Any], passive: Collection[str]) -> dict[str, Any]:
    """Return an agent's last move. ``passive``: the keys of passive operators."""
    meanings = view["action_meanings"]
    agent = move["agent"]
    text, reasoning = action_text(move.get("action"), meanings.get(agent)), move.get("reasoning") or ""
    words = move.get("action_str")
    if words and move.get("operator") in passive:  # the reason changes less often than the action
        reasoning = words
    elif words:
        text = words
    reward, latency = view["rewards"].get(agent), move.get("latency_ms")
    return {
        "agent": agent,
        "text": str(text)[:200],
        "reasoning": str(reasoning)[:_LONGEST],
        "fault": move.get("fault") or "",
        "fault_text": str(move.get("fault_text") or "")[:_LONGEST],
        "model_faults": fault_texts(move),
        "reward": "" if reward is None else number(reward),
        "latency": "" if latency is None else milliseconds(latency),
        "tokens": [_tokens(move, name) for name in ("input_tokens", "output_tokens")],
    }


def _tokens(move: Mapping[str, Any], name: str) -> str:
    """Return the tokens of an action; unknown if one of its exchanges does not report them."""
    if any(number_of(exchange, name) is None for exchange in exchanges_of(move)):
        return UNKNOWN
    return number(move.get(name) or 0)


def _thinking(view: Mapping[str, Any]) -> str:
    """Return which operators are busy, and whether a model is already writing; human players are prompted
    elsewhere."""
    thinking = view["thinking"]
    if thinking is None or thinking.get("agent") in view["keys"]:
        return ""
    seconds = thinking.get("seconds") or 0.0
    seconds_text = f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}"
    if not thinking.get("agent"):
        return f"no step for {seconds_text} s, waiting for {thinking.get('operator')}"
    several = len(view["agents"]) > 1
    if writing := list(view["partial"]):
        subject = ", ".join(writing) if several else thinking.get("operator")
        return f"{subject} {'are' if len(writing) > 1 else 'is'} writing… {seconds_text} s"
    subject = thinking["agent"] if several else thinking.get("operator")
    return f"{subject} is thinking, {seconds_text} s"


def _person(agent: str, keys: Mapping[str, Any], view: Mapping[str, Any]) -> dict[str, Any]:
    request = next((request for request in view["requests"] if request["agent"] == agent), None)
    space = view["action_spaces"][agent]
    # Gymnasium's masks are only advisory: Taxi's marks the actions that would change the state.
    legal = request["legal"] if request and view["paradigm"] != "single_agent" else None
    described = view["described"].get(agent, {})
    moves = list(described["legal_moves"]) if "legal_moves" in described else None
    actions = _actions(space, keys, legal) if moves is None else []
    start = space.get("start", 0)
    return {
        "agent": agent,
        "keys": [[key, action] for key, action in keys.items()],
        "actions": [[action, person_action_text(action, agent, view)] for action in actions],
        "bounds": [start, start + space["n"] - 1] if space.get("type") == "Discrete" else None,
        "typed": not actions,
        "moves": moves,
        "text": _situation(described),
        "words": space.get("type") == "Text",
        "board": {"fen": described["fen"], "moves": moves or []} if "fen" in described else None,
        "request": None if request is None else str(request["id"]),
        "legal": legal if legal is None or len(legal) <= MAX_ACTIONS else None,
        "turn": agent in view["turn"],
        "realtime": agent in view["realtime"],
    }


def _situation(described: Mapping[str, Any]) -> str | None:
    """Return the mission and the state in words; None if there is neither."""
    text, mission = described.get("text"), described.get("mission")
    lines = [text] if isinstance(text, str) else []
    if mission and not (lines and mission in lines[0]):
        lines.insert(0, f"Mission: {mission}")
    return "\n".join(lines)[:_LONGEST_TEXT] if lines else None


def _actions(space: Mapping[str, Any], keys: Mapping[str, Any], legal: Sequence[int] | None) -> list[Any]:
    """Return the actions that get a button: all, the legal ones, or those with keys."""
    count = space.get("n")
    if space.get("type") == "Discrete" and isinstance(count, int):
        start = space.get("start", 0)
        if count <= MAX_ACTIONS:
            return list(range(start, start + count))
        if legal is not None and len(legal) <= MAX_ACTIONS:
            return list(legal)
    distinct: list[Any] = []
    for action in keys.values():
        if action not in distinct and _is_plain(action):
            distinct.append(action)
    return distinct[:MAX_ACTIONS]


def _is_plain(action: Any) -> bool:
    if isinstance(action, list):
        return all(map(_is_plain, action))
    return isinstance(action, int | str) or (isinstance(action, float) and math.isfinite(action))


def lane_style(index: int) -> LineStyle:
    """Return the line style of the lane at ``index``. Styles differ because lanes often have the same return
    for a while."""
    return DISTINCT_STYLES[index % len(DISTINCT_STYLES)]


def return_lines(view: Mapping[str, Any]) -> list[Line]:
    """Return a line of the return after each step for every lane that has made a step in its episode."""
    lines = []
    for lane in view["lanes"]:
        if len(lane["series"]) < 2:  # only the start
            continue
        points = np.array(lane["series"], dtype=np.float64).reshape(-1, 2)
        curve = points[:, 0], points[:, 1]
        index = lane["index"]
        lines.append(Line(str(index), lane["label"], color(index), curve, style=lane_style(index)))
    return lines


class Fact(NamedTuple):
    """A short text, its meaning, and whether it is a warning."""

    text: str
    hint: str
    warns: bool = False


def operator_facts(operator: Mapping[str, Any], env_id: str, seed: int) -> list[Fact]:
    """Return the facts about an operator of a comparison's view in an episode of ``env_id`` on ``seed``.

    The most important fact is first.
    """
    describe = _BY_CATEGORY.get(operator["category"])
    return describe(operator, env_id, seed) if describe else []


def _trained(operator: Mapping[str, Any], env_id: str, seed: int) -> list[Fact]:
    settings, trained_on = operator["settings"], operator["trained_on"]
    facts = []
    if trained_on is not None and not same_environment(trained_on, env_id):
        facts.append(Fact(f"trained on {trained_on}", f"and acts here in {env_id}", warns=True))
    if path := settings.get("checkpoint"):
        file = PurePath(str(path))
        step = _STEP.fullmatch(file.stem)
        hint = f"checkpoint {path}" + (f", trained on {trained_on}" if trained_on else "")
        facts.append(Fact(f"step {int(step[1]):,}" if step else file.name, hint))
    if wrappers := ", ".join(operator["wrappers"]):
        facts.append(Fact(wrappers, "the wrappers that observations go through, as in its training"))
    if "deterministic" in settings:
        facts.append(
            Fact("deterministic", "the best action, always")
            if settings["deterministic"]
            else Fact("sampling", f"drawn from the policy's distribution, from seed {seed} and the agent")
        )
    return facts


def _random(operator: Mapping[str, Any], env_id: str, seed: int) -> list[Fact]:
    hint = f"each legal action is as likely as the others; drawn from seed {seed} and the agent's name"
    return [Fact(f"uniform, seed {seed}", hint)]


def _passive(operator: Mapping[str, Any], env_id: str, seed: int) -> list[Fact]:
    return [Fact("does what changes least", "a no-op or keeping still, where the environment has it")]


def _human(operator: Mapping[str, Any], env_id: str, seed: int) -> list[Fact]:
    if operator["settings"]["realtime"]:
        return [Fact("in real time", "the environment does not wait: a key counts while it is held")]
    return [Fact("turn by turn", "every step waits for a key or a button")]


def _python(operator: Mapping[str, Any], env_id: str, seed: int) -> list[Fact]:
    if file := operator["settings"].get("file"):
        return [Fact(f"{file}:{operator['settings']['attribute']}", "your code, in a separate process")]
    return [Fact("runs in this kernel", "your code, called with the observation")]


def _speaker(operator: Mapping[str, Any], env_id: str, seed: int) -> list[Fact]:
    model = operator["settings"].get("model")
    return [Fact(str(model), "model")] if model and model != operator.get("name") else []


def _engine(operator: Mapping[str, Any], env_id: str, seed: int) -> list[Fact]:
    settings = operator["settings"]
    facts = [Fact(f"Elo {settings['elo']}", "weakened to this rating by itself")] if settings["elo"] else []
    limits = {"nodes": settings["nodes"], "depth": settings["depth"]}
    return [
        *facts,
        *(Fact(f"{name} {value:,}", "searched for a move") for name, value in limits.items() if value),
    ]


_BY_CATEGORY: dict[str, Callable[[Mapping[str, Any], str, int], list[Fact]]] = {
    "rl": _trained,
    "random": _random,
    "passive": _passive,
    "human": _human,
    "python": _python,
    "engine": _engine,
    "llm": _speaker,
    "vlm": _speaker,
}
