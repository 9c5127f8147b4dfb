"""mpe2's particle environments: the position, velocity or colour behind each number of an observation."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from mosaic_contract.language.describers.environment_describer import (
    EnvironmentDescriber,
    number,
    role_of,
    rounded,
)

_WORLD = (
    "You are a particle in a plane; all particles act at the same time. x grows to the right, y upwards; the "
    "other positions are relative to you. "
)
_SELF = (("your velocity", "vector"), ("your position", "vector"))
_CATCH = (
    "Adversaries chase the agent, which is faster, around two obstacles. Adversaries are rewarded for "
    "touching it; the agent is punished for being touched and for leaving the area from -1 to 1."
)


def _numbered(name: str, count: int, kind: str = "place") -> tuple[tuple[str, str], ...]:
    return tuple((f"{name} {index}", kind) for index in range(1, count + 1))


_SIZES = {"vector": 2, "place": 2, "colour": 3, "word3": 3, "word4": 4, "word10": 10}
_GAMES: Mapping[str, Mapping[int, tuple[str, str, tuple[tuple[str, str], ...]]]] = {
    # by environment and length of the observation: rules, advice, parts
    "simple": {
        4: (
            "Move to the landmark.",
            "Move along the longer distance first.",
            (("your velocity", "vector"), ("the landmark", "place")),
        )
    },
    "simple_spread": {
        18: (
            "Three agents shall cover three landmarks, one each, without colliding. All share the reward, "
            "which is the higher, the closer each landmark is to some agent; a collision costs 1.",
            "Choose the landmark that no other agent is closer to, and stay on it.",
            (
                *_SELF,
                *_numbered("landmark", 3),
                *_numbered("other agent", 2),
                *_numbered("message of other agent", 2, "vector"),
            ),
        )
    },
    "simple_tag": {
        16: (
            _CATCH + " You are an adversary.",
            "Close in from a side where no other adversary is.",
            (
                *_SELF,
                *_numbered("obstacle", 2),
                *_numbered("other adversary", 2),
                ("the agent", "place"),
                ("the agent's velocity", "vector"),
            ),
        ),
        14: (
            _CATCH + " You are the agent.",
            "Move away from the nearest adversary, and not into a corner.",
            (*_SELF, *_numbered("obstacle", 2), *_numbered("adversary", 3)),
        ),
    },
    "simple_adversary": {
        8: (
            "Two agents know which of two landmarks is the target; you, the adversary, do not. You are "
            "rewarded for being close to the target, they for being close to it while you are not.",
            "Guess the target from where the agents go.",
            (*_numbered("landmark", 2), *_numbered("agent", 2)),
        ),
        10: (
            "Two agents, you are one, know which of two landmarks is the target; the adversary does not. You "
            "are rewarded for one of you being close to the target, and for the adversary being far from it.",
            "Cover both landmarks, so that the adversary does not see which is the target.",
            (
                ("the target", "place"),
                *_numbered("landmark", 2),
                ("the adversary", "place"),
                ("the other agent", "place"),
            ),
        ),
    },
    "simple_push": {
        8: (
            "You are the adversary: push the agent away from its landmark, which you do not know.",
            "Stay between the agent and the landmark it goes to.",
            (("your velocity", "vector"), *_numbered("landmark", 2), ("the agent", "place")),
        )
    },
    "simple_speaker_listener": {
        3: (
            "You are the speaker. The listener must move to the landmark of this colour, which only you "
            "know. Your action is the word that the listener reads.",
            "Use one word for each colour, always the same.",
            (("the colour of the target", "colour"),),
        ),
        11: (
            "You are the listener. Move to the landmark that the speaker's word means.",
            "Find out which word goes with which landmark.",
            (("your velocity", "vector"), *_numbered("landmark", 3), ("the speaker's word", "word3")),
        ),
    },
    "simple_reference": {
        21: (
            "Two agents: each knows the colour of the other's target landmark, and says one of ten words in "
            "each step. An action is a movement together with a word: action = 5 × word + movement, with the "
            "movements none, left, right, down, up. Both are rewarded for being close to their targets.",
            "Say the same word for the same colour.",
            (
                ("your velocity", "vector"),
                *_numbered("landmark", 3),
                ("the colour of the other's target", "colour"),
                ("the other's word", "word10"),
            ),
        )
    },
    "simple_crypto": {
        4: (
            "Alice sends Bob an encrypted bit pattern; you are Eve, and see the cipher but not the key. "
            "Reconstruct what Alice sends.",
            "",
            (("the cipher", "word4"),),
        ),
        8: (
            "Alice sends Bob a pattern encrypted with a key that both know. Alice chooses the cipher, Bob "
            "the pattern that he reads from it; Eve must not be able to read it.",
            "Combine pattern and key.",
            (
                ("the pattern (Alice) or the key (Bob)", "word4"),
                ("the key (Alice) or the cipher (Bob)", "word4"),
            ),
        ),
    },
}


_ROLES: Mapping[str, Sequence[str]] = {
    "simple_spread": tuple(f"You cover landmark {place}." for place in (1, 2, 3)),
    "simple_tag": (
        "You chase the agent, straight at it.",
        "You cut the agent off: go to where it is about to be.",
        "You keep to the middle, so that the agent can only flee along the edge.",
    ),
    "simple_adversary": ("You go to the target.", "You go to the landmark that is not the target."),
}


def describer(
    env_id: str, space: Mapping[str, Any] | None, agent: str, teammates: Sequence[str]
) -> EnvironmentDescriber | None:
    """Return the describer of an mpe2 environment for the agent with this space; None for any other."""
    name = env_id.rpartition("/")[2].rpartition("_v")[0]
    shape = (space or {}).get("shape")
    game = _GAMES.get(name, {}).get(shape[0]) if isinstance(shape, list) and len(shape) == 1 else None
    if game is None:
        return None
    rules, advice, parts = game
    return EnvironmentDescriber(
        rules=_WORLD + rules,
        advice=advice,
        role=role_of(_ROLES[name], agent, teammates) if teammates and name in _ROLES else "",
        observe=lambda observation, _: _text(observation, parts),
    )


def _text(observation: Any, parts: Sequence[tuple[str, str]]) -> str:
    lines, start = [], 0
    for label, kind in parts:
        values = [float(value) for value in observation[start : start + _SIZES[kind]]]
        start += _SIZES[kind]
        lines.append(f"- {label}: {_position_text(*values) if kind == 'place' else rounded(values)}")
    return "\n".join(lines)


def _position_text(x: float, y: float) -> str:
    """Return a relative position in words."""
    horizontal = f"{number(abs(x))} to the {'right' if x > 0 else 'left'}"
    return f"{horizontal}, {number(abs(y))} {'up' if y > 0 else 'down'}"
