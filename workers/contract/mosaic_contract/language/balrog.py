"""BALROG's agents: their instructions to the model, and how each reads its action from an answer.

Parsing follows BALROG exactly, so that the same answers lead to the same actions; the instructions are worded
independently. Used by the operator and by reports on its recorded exchanges.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Callable, NamedTuple

CURRENT, EARLIER = "Current observation:", "Observation:"
"""The first lines of the turns with the latest observation and with earlier observations."""
DIVIDER = "\n\n---\n\n"
"""Separator between the latest observation and the agent's instructions."""
DEFAULT_ACTIONS = {
    "babyai": "go forward",
    "minigrid": "go forward",
    "crafter": "Noop",
    "textworld": "help",
    "nle": "esc",
    "minihack": "north",
}
"""The action played after an answer without a valid action, by BALROG's name of the environment."""
NO_CHANGE = "No changes to the plan."
NOT_MARKED = "The reasoning holds no marked action."
"""The action that robust_cot reads from an answer without a marked action."""

_MARKED = re.compile(r"<\|ACTION\|>(.*?)<\|END\|>", re.DOTALL)
_NOT_LETTERS = re.compile(r"[^a-zA-Z\s:]")

_ONE_ACTION = (
    "Answer with exactly one of the actions listed above and nothing else. Every answer names an action,"
    " until the episode ends."
)
_THEN_ACTION = (
    "Think step by step about what to do best. End your message with a single action, in this form: "
    "ACTION: <action>"
)
_MARKED_FORM = "<|ACTION|>the action<|END|>"
_ONE_MARKED = (
    f"Choose exactly one of the listed actions and write it in this form:\n\n{_MARKED_FORM}\n\n"
    "with your choice between the marks, and nothing else: no explanation, no reasoning."
)
_THEN_MARKED = (
    "Think about what to do best. Then choose exactly one of the listed actions and write it in this form:"
    f"\n\n{_MARKED_FORM}\n\nwith your choice between the marks."
)
_WITH_PLAN = (
    "Look at your plan above, if you have one: keep it, or change it. Then choose the next action; every"
    " answer "
    f'needs one. Answer in this form:\nPLAN: <your new plan, or "{NO_CHANGE}" where you keep it>\n'
    "ACTION: <your next action>"
)


class AgentAnswer(NamedTuple):
    """The parts of a model's answer: the text of the action (None: no action), the reasoning to record, and
    the new plan (None: unchanged)."""

    candidate: str | None
    reasoning: str | None = None
    plan: str | None = None


@dataclass(frozen=True)
class Agent:
    """An agent of BALROG.

    ``instructions`` follow the current observation; ``read`` parses an answer. ``remembers``: its reasoning
    is repeated in later prompts. ``plans``: its plan is repeated. ``learns``: prompts begin with
    demonstrations.
    """

    instructions: str
    read: Callable[[str], AgentAnswer]
    remembers: bool = False
    plans: bool = False
    learns: bool = False


def _read_letters(answer: str) -> AgentAnswer:
    return AgentAnswer(_NOT_LETTERS.sub("", answer))


def _read_thought(answer: str) -> AgentAnswer:
    return AgentAnswer(_NOT_LETTERS.sub("", answer).split("ACTION:")[-1].strip(), answer)


def _read_marked(answer: str) -> AgentAnswer:
    marked = _MARKED.search(answer)
    return AgentAnswer(marked[1].strip() if marked else answer.strip())


def _read_marked_thought(answer: str) -> AgentAnswer:
    marked = _MARKED.search(answer)
    return AgentAnswer(marked[1].strip() if marked else NOT_MARKED, answer)


def _read_plan(answer: str) -> AgentAnswer:
    _, has_action, action = _partition(answer, "action:")
    _, has_plan, remaining = _partition(answer, "plan:")
    plan = _partition(remaining.lstrip(), "\naction:")[0].strip() if has_plan else NO_CHANGE
    return AgentAnswer(action.strip() if has_action else None, plan, None if plan == NO_CHANGE else plan)


def _partition(text: str, label: str) -> tuple[str, bool, str]:
    """Return the text before the first `label`, whether it occurs, and the text after it. Case is ignored."""
    match = re.search(re.escape(label), text, re.IGNORECASE)
    return (text[: match.start()], True, text[match.end() :]) if match else (text, False, "")


AGENTS: dict[str, Agent] = {
    "naive": Agent(_ONE_ACTION, _read_letters),
    "cot": Agent(_THEN_ACTION, _read_thought, remembers=True),
    "robust_naive": Agent(_ONE_MARKED, _read_marked),
    "robust_cot": Agent(_THEN_MARKED, _read_marked_thought),
    "few_shot": Agent(_ONE_ACTION, _read_letters, learns=True),
    "custom": Agent(_WITH_PLAN, _read_plan, plans=True),
    "dummy": Agent("", lambda answer: AgentAnswer("wait")),
}
"""Agents by their names in BALROG. "dummy" always plays "wait" and calls no model."""


def observation_in(turn: str) -> str:
    """Return the observation in the last turn of a prompt, without the following instructions."""
    return turn.rpartition(DIVIDER)[0].removeprefix(CURRENT).lstrip("\n")
