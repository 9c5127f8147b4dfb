"""mosaic-multigrid: soccer, basketball, American football and collect, from the views of `minigrid`.

Rules and roles follow from the environment's id and the agents. Views are the agent's own, of three by three
cells unless the environment uses another size.
"""

from __future__ import annotations

import re
from typing import Any, Mapping, Sequence

from mosaic_contract.language.describers.environment_describer import EnvironmentDescriber, number, role_of
from mosaic_contract.language.describers.minigrid import (
    is_view,
    names_of,
    position_text,
    text_of,
    text_of_other,
    view_of,
)

_ID = re.compile(r"(?:.*[/:])?MosaicMultiGrid-(S|BB|AF|C)(-|$)")

_WORLD = (
    "You are one of several agents in a field of square cells that is walled in, seen from above. All agents "
    "act at the same time. You see only the cells in front of you and beside you. Places are given in steps "
    "from you: ahead, and to your left or right. Turning does not move you; going forward moves you one "
    "cell, if the cell in front of you is free. "
)
_BALL = (
    "To pick up the ball, stand in front of it, face it and pick up. In the same way you take it from an "
    "opponent who carries it; after that neither of you can take it for some steps. To drop while you carry "
    "the ball passes it to a teammate, wherever on the field that is; without a teammate it lands in front "
    "of you. "
)
_RULES = {
    "S": _WORLD
    + "This is soccer. "
    + _BALL
    + "Your team scores when you walk with the ball onto the goal (team "
    "goal) of the opponents' colour; the goal of your own colour is the one to defend. The first team "
    "with two goals wins.",
    "BB": _WORLD
    + "This is basketball. "
    + _BALL
    + "Your team scores when you carry the ball to the basket (team "
    "goal) of the opponents' colour, at the far end of the court; the one of your own colour is to be "
    "defended. The first team with two goals wins.",
    "AF": _WORLD
    + "This is American football. "
    + _BALL
    + "Your team scores when you carry the ball into the end "
    "zone of the opponents' colour, at their end of the field.",
    "C": _WORLD
    + "The teams collect balls. To collect one, stand in front of it, face it and pick up; it counts for "
    "your team and disappears. The team with the most balls wins.",
}
_ADVICE = {
    "S": "Search the field for the ball; when a teammate has it, move towards the opponents' goal to be free "
    "for a pass, or stay back to defend. Carry the ball straight to the opponents' goal, and pass when an "
    "opponent is in front of you.",
    "BB": "Search the court for the ball; when a teammate has it, run towards the opponents' basket. Carry "
    "the ball to the basket by the shortest way, and pass when an opponent is in front of you.",
    "AF": "With the ball, run straight for the opponents' end zone; without it, chase whoever has it. Pass "
    "when an opponent is in front of you.",
    "C": "Explore in lines that do not overlap with those of your teammates, and turn to look to the sides. "
    "Go for the nearest ball, and leave balls that a teammate is closer to.",
}
_ROLES = {
    "C": (
        "You collect in the half of the field that lies ahead of where you started.",
        "You collect in the half of the field that lies behind where you started.",
    ),
    "": (
        "You attack: win the ball, carry it forward and score.",
        "You defend: stay near your own side, take the ball from opponents and pass it to your attacker.",
        "You support: stay between attack and defence, be free for passes and win loose balls.",
    ),
}
_LOOKS = {
    "ahead": "the same way as you",
    "right": "to your right",
    "back": "the opposite way",
    "left": "to your left",
}
_ALONE = "You play alone: win the ball, and score by yourself."


def describer(
    env_id: str,
    space: Mapping[str, Any] | None,
    meanings: Sequence[str] | None,
    agent: str,
    teammates: Sequence[str],
) -> EnvironmentDescriber | None:
    """Return the describer of a team game for one agent; None for any other environment."""
    match = _ID.match(env_id)
    if match is None or not is_view(space):
        return None
    game = match[1]
    return EnvironmentDescriber(
        rules=_RULES[game],
        advice=_ADVICE[game],
        role=_role(game, agent, teammates),
        names=names_of(meanings),
        observe=_describe,
        observe_other=_describe_other,
    )


def _describe(observation: Any, description: Mapping[str, Any]) -> str:
    lines = [text_of(view_of(observation), mission=False)]
    if isinstance(scores := description.get("scores"), Mapping) and scores:
        lines.append(f"Score: {', '.join(f'{team} {number(points)}' for team, points in scores.items())}.")
    return "\n".join(lines)


def _describe_other(observation: Any, position: Mapping[str, Any]) -> str:
    """Describe a teammate's view, after its position and direction relative to the reader."""
    lines = [text_of_other(view_of(observation))]
    if "ahead" in position and "right" in position:
        location = position_text(int(position["right"]), int(position["ahead"]))
        looks = _LOOKS.get(str(position.get("facing")), "")
        lines.insert(0, f"From you it is {location}{looks and f' and looks {looks}'}.")
    return "\n".join(lines)


def _role(game: str, agent: str, teammates: Sequence[str]) -> str:
    if not teammates:
        return "" if game == "C" else _ALONE
    return role_of(_ROLES.get(game, _ROLES[""]), agent, teammates)
