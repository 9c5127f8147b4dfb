"""Strategies: the form of a language model's answer, and its parser.

A named strategy is an instruction for the prompt and a parser of the answer. A user-defined strategy is a
Python function that may send several requests.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Mapping, Protocol, Sequence

from mosaic_contract.errors import ConfigError
from mosaic_contract.language.exchange import Exchange, Parsed, Turn
from mosaic_contract.language.parsing import Actions, between_marks
from mosaic_contract.user_code import USER_ERRORS, attribute_of, error_text, keywords_of

CONTEXT = ("agent", "info", "legal_actions", "memory", "observation", "step_index")
"""Keyword arguments that a user-defined strategy may accept in addition to the prompt and `ask`."""

_MAX_REQUESTS = 100  # in a step
_ROLES = ("system", "user", "assistant")
_PLAN = re.compile(
    r"^[\W_]*plan[*_`]*[ \t]*[:：][*_`]*\s*(.*?)(?=^[\W_]*action[*_`]*[ \t]*[:：]|\Z)", re.I | re.M | re.S
)
_NO_CHANGE = "no changes"


@dataclass(frozen=True)
class Strategy:
    """A way to answer.

    `thinking` is the instruction before the action; None asks for a short thought. `bare`: an answer is an
    action and nothing else. `marked`: the action is between marks. `plans`: the answer begins with a plan,
    which the next prompt repeats.
    """

    thinking: str | None = None
    bare: bool = False
    marked: bool = False
    plans: bool = False

    @property
    def reasons(self) -> bool:
        """Whether answers need room for more than an action."""
        return bool(self.thinking)

    @property
    def missing(self) -> str:
        """The fault of an answer without an action, as a sentence."""
        if self.bare:
            return "It was not an action and nothing else."
        return f"It had no {'action between the marks' if self.marked else 'line that begins with ACTION:'}."

    def form(self, action: str) -> str:
        """Return the line of an answer with an action; `action` may describe one."""
        return action if self.bare else f"<|ACTION|>{action}<|END|>" if self.marked else f"ACTION: {action}"

    def parse(self, actions: Actions, answer: str, legal: Sequence[Any]) -> Parsed:
        """Return the action in an answer, as `Actions.parse` does."""
        if not self.marked:
            return actions.parse(answer, legal)
        return actions.parse("\n".join(f"ACTION: {text}" for text in between_marks(answer)), legal)

    def plan(self, answer: str, plan: str) -> str:
        """Return the plan in an answer, or `plan`, the previous one, if the answer does not change it."""
        match = _PLAN.search(answer) if self.plans else None
        new_plan = match[1].strip() if match else ""
        return plan if not new_plan or new_plan.lower().startswith(_NO_CHANGE) else new_plan


DEFAULT = Strategy()
STRATEGIES = {
    "naive": Strategy("", bare=True),
    "cot": Strategy("Think step by step about what to do best."),
    "robust_cot": Strategy("Think step by step about what to do best.", marked=True),
    "few_shot": Strategy("", bare=True),
    "plan": Strategy("Make a plan for this episode, and keep or change it at each step.", plans=True),
}
"""The strategies by name. `few_shot` is shown examples."""


def strategy_of(value: Any) -> Strategy:
    """Return a strategy by its name; the default one for None and for a function."""
    return STRATEGIES[value] if isinstance(value, str) else DEFAULT


class Ask(Protocol):
    """Sends a dialog to the model. `structured` restricts the answer to the legal actions, None if the
    operator does."""

    def __call__(self, turns: Sequence[Turn], structured: bool | None) -> Exchange: ...


class UserStrategy:
    """The user's function `strategy(prompt, ask)`, which returns an answer with an action.

    `prompt` is the default dialog, a list of {"role", "content"}, with "images" if it has any.
    `ask(messages)` returns the model's answer to such a list as a string; `ask(messages, structured=False)`
    leaves it unrestricted. Raises `ConfigError` with the line in the user's file, at once if the function
    cannot be imported or called this way.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._function, self._file = attribute_of(settings)
        self._accepted = keywords_of(self._function, self._file, ("a prompt", "ask"), CONTEXT)

    def answer(self, turns: Sequence[Turn], ask: Ask, **context: Any) -> tuple[str, list[Exchange]]:
        """Return the function's answer, and the exchanges that it has made."""
        exchanges: list[Exchange] = []
        failures: list[Exception] = []

        def send(messages: Any, structured: bool | None = None) -> str:
            if not isinstance(messages, (list, tuple)) or not messages:
                raise ConfigError(f'ask({messages!r:.100}): must be a list of {{"role": …, "content": …}}')
            dialog = list(map(_turn, messages))
            if len(exchanges) == _MAX_REQUESTS:
                raise ConfigError(f"a strategy may send at most {_MAX_REQUESTS} requests in a step")
            try:
                exchanges.append(ask(dialog, structured))
            except Exception as error:  # of the endpoint or the budget, not of the user's code
                failures.append(error)
                raise
            return exchanges[-1].answer

        prompt = [
            {
                "role": turn.role,
                "content": turn.text,
                **({"images": list(turn.images)} if turn.images else {}),
            }
            for turn in turns
        ]
        answer: Any = None
        try:
            answer = self._function(prompt, send, **{name: context.get(name) for name in self._accepted})
        except USER_ERRORS as error:
            if not failures:
                raise ConfigError(f"the strategy failed: {error_text(error, self._file)}") from error
        if failures:
            raise failures[0]
        if not isinstance(answer, str):
            raise ConfigError(
                f"the strategy of {self._file.name} returned {answer!r:.200}, not a string with an action"
            )
        return answer, exchanges


def _turn(message: Any) -> Turn:
    role, text, images = (
        message.get(name) if isinstance(message, Mapping) else None for name in ("role", "content", "images")
    )
    if (
        role not in _ROLES
        or not isinstance(text, str)
        or not all(isinstance(image, bytes) for image in images or ())
    ):
        raise ConfigError(
            f'ask: {message!r:.100} must be {{"role": …, "content": text}} with a role of {", ".join(_ROLES)}'
        )
    return Turn(role, text, tuple(images or ()))
