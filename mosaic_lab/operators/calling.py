"""Operators in the kernel: the user's own functions and objects, called with what they take.

Crosses the boundary: `KernelOperator`. It runs user code, in whatever thread it is called in; what that code
raises goes to the caller.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any

from mosaic_lab.errors import ConfigurationError

CONTEXT = ("agent", "action_mask", "info", "step_index")
"""What may be asked for beside the observation, by these names, as keywords."""


class KernelOperator:
    """A function of an observation, or an object with ``select_action``, as an arena asks it.

    Beside the observation it is given those of ``agent``, ``action_mask``, ``info`` and ``step_index`` that
    it has parameters for (all of them if it takes any keyword). An object may also have
    ``episode_begin(seed, episode_index)`` and ``episode_end(total_reward, steps)``. Of several lanes
    one calls it at a time: who holds its ``turn``. Raises ConfigurationError for what cannot be called so.
    """

    def __init__(self, given: Any) -> None:
        self.given = given
        if isinstance(given, type):
            raise ConfigurationError(f"{given.__name__} is a class: give an instance, {given.__name__}()")
        self._select: Callable[..., Any] = getattr(given, "select_action", given)
        if not callable(self._select):
            raise ConfigurationError(f"{given!r} is neither callable nor has it a select_action(observation)")
        if inspect.iscoroutinefunction(self._select):
            raise ConfigurationError(f"{given!r} is an async function: give one that returns the action")
        self._taken = _context_taken(self._select)
        self.turn = threading.Lock()

    def select_action(self, observation: Any, **context: Any) -> Any:
        """What the user's code answers: an action, or something with ``action`` (and ``action_str``,
        ``reasoning``).
        """
        return self._select(observation, **{name: context.get(name) for name in self._taken})

    def episode_begin(self, seed: int, episode_index: int) -> None:
        """Tell an object that cares that an episode begins."""
        if callable(begin := getattr(self.given, "episode_begin", None)):
            begin(seed, episode_index)

    def episode_end(self, total_reward: float, steps: int) -> None:
        """Tell an object that cares that its episode is over."""
        if callable(end := getattr(self.given, "episode_end", None)):
            end(total_reward, steps)


def _context_taken(function: Callable[..., Any]) -> tuple[str, ...]:
    """Which of `CONTEXT` a function takes. Raises ConfigurationError when an observation is not enough."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions of C do not tell
        return ()
    parameters = signature.parameters.values()
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    by_keyword = {p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    taken = tuple(name for name in CONTEXT if takes_any or name in by_keyword)
    try:
        signature.bind(object(), **dict.fromkeys(taken))
    except TypeError as error:
        raise ConfigurationError(
            f"{function!r} cannot be called with an observation alone ({error}); it may also take, by name: "
            + ", ".join(CONTEXT)
        ) from None
    return taken
