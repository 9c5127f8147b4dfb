"""The user's policies: functions and objects, called with the arguments that they accept.

Used in the notebook's kernel and in the processes of policy files. Errors of the user's code propagate to the
caller. NumPy is imported only for models with `predict`.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple

from mosaic_contract.errors import ConfigError

CONTEXT = ("agent", "action_mask", "info", "step_index")
"""Keyword arguments that a policy may accept in addition to the observation."""
_OF_MODELS = ("state", "episode_start", "deterministic", "action_masks")  # Stable-Baselines3's keywords

Memory = Dict[Any, Any]
"""The states of a recurrent model in an episode, by agent. Owned by the caller; initially empty."""


class UserPolicy:
    """A function of an observation, or an object with ``select_action`` or ``predict``.

    A function and ``select_action`` receive the observation, the action mask if they have a second required
    parameter, and the values of `CONTEXT` for their other parameters (all of them if they accept any
    keyword). ``predict`` is called as in Stable-Baselines3: with ``deterministic=True``, and with ``state``
    and ``episode_start`` for recurrent models; it returns an action or (action, state). An object may have
    ``episode_begin(seed, episode_index)``, else ``reset()`` with or without ``seed``, and
    ``episode_end(total_reward, steps)``. Raises `ConfigError` for an object that cannot be called this way.
    """

    def __init__(self, policy: Any) -> None:
        if isinstance(policy, type):
            raise ConfigError(
                f"{policy.__name__} is a class: give an instance, {policy.__name__}(), or "
                f'operators.python("FILE.py:{policy.__name__}")'
            )
        select, predict = getattr(policy, "select_action", None), getattr(policy, "predict", None)
        self.policy = policy
        self._predicts = select is None and callable(predict)
        call: Any = predict if self._predicts else policy if select is None else select
        if not callable(call):
            raise ConfigError(
                f"{policy!r:.200} is neither callable nor has it select_action(observation) or "
                "predict(observation)"
            )
        if inspect.iscoroutinefunction(call):
            raise ConfigError(f"{policy!r:.200} is an async function: give one that returns the action")
        self._call: Callable[..., Any] = call
        self._masked, self._accepted = _accepted(call, _OF_MODELS if self._predicts else ())

    def select_action(self, observation: Any, memory: Optional[Memory] = None, **context: Any) -> Any:
        """Return the answer of the user's code. ``memory`` is updated; None: no state is kept."""
        if self._predicts:
            return self._predict(observation, {} if memory is None else memory, context)
        mask = (context.get("action_mask"),) if self._masked else ()
        return self._call(observation, *mask, **{name: context.get(name) for name in self._accepted})

    def _predict(self, observation: Any, memory: Memory, context: Mapping[str, Any]) -> Any:
        agent = context.get("agent")
        available = {
            **context,
            "state": memory.get(agent),
            "episode_start": import_module("numpy").array([agent not in memory]),
            "deterministic": True,
            "action_masks": context.get("action_mask"),
        }
        answer = self._call(observation, **{name: available.get(name) for name in self._accepted})
        action, memory[agent] = answer if type(answer) is tuple and len(answer) == 2 else (answer, None)
        return action

    def episode_begin(self, seed: Optional[int], episode_index: int) -> None:
        """Call the object's ``episode_begin``, else its ``reset``, if it has one."""
        if callable(begin := getattr(self.policy, "episode_begin", None)):
            begin(seed, episode_index)
        elif callable(reset := getattr(self.policy, "reset", None)):
            reset(**({"seed": seed} if _takes_seed(reset) else {}))

    def episode_end(self, total_reward: float, steps: int) -> None:
        """Call the object's ``episode_end``, if it has one."""
        if callable(end := getattr(self.policy, "episode_end", None)):
            end(total_reward, steps)


def _accepted(function: Callable[..., Any], of_models: Sequence[str]) -> Tuple[bool, Tuple[str, ...]]:
    """Return whether a function takes the action mask as its second parameter, and the keywords it accepts.

    ``of_models``: the keywords of a model's ``predict``, empty for others. Raises `ConfigError` if the
    function requires other arguments.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C have no signature
        return False, ()
    parameters = list(signature.parameters.values())
    names = [p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    takes_any = not of_models and any(p.kind is p.VAR_KEYWORD for p in parameters)
    accepted = tuple(name for name in (*CONTEXT, *of_models) if takes_any or name in names)
    required = [
        p
        for p in parameters[1:]
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]
    masked = not of_models and len(required) == 1 and required[0].name not in accepted
    if masked:
        accepted = tuple(name for name in accepted if name != "action_mask")
    try:
        signature.bind(object(), *[object()] * masked, **dict.fromkeys(accepted))
    except TypeError as error:
        raise ConfigError(
            f"{function!r:.200} cannot be called with an observation, nor with an observation and an action "
            f"mask ({error}); it may also take, by name: {', '.join(CONTEXT)}"
        ) from None
    return masked, accepted


def _takes_seed(reset: Callable[..., Any]) -> bool:
    try:
        return "seed" in inspect.signature(reset).parameters
    except (TypeError, ValueError):
        return False
