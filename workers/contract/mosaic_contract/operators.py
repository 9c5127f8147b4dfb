"""The interface of operators: an `Operator` is made for an `AgentSetup` and answers with a `Decision`."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping, Protocol, Sequence

from mosaic_contract.arrays import pack
from mosaic_contract.metadata import WorkerCapabilities, WorkerMetadata

_HINTS = ("action_mask", "info", "step_index", "frame", "teammates", "description", "messages")


def _send_nothing(text: str) -> None:
    """Default of `AgentSetup.send_partial`, if no viewer can be reached."""


@dataclass(frozen=True)
class AgentSetup:
    """The agent that an operator is made for.

    The spaces are descriptions (`make_space` converts one to a Gymnasium space); they and `seed` are None if
    the arena does not provide them. `settings` are the user's, and the arena adds: env_id, action_meanings,
    keys, instructions (the task of the environment), agents (all ids) and teammates (ids).

    `send_partial(text)` shows viewers the complete text written so far in this call; calls in quick
    succession and all but the last 20,000 characters are dropped.
    """

    player_id: str
    game_name: str = ""
    seed: int | None = None
    observation_space: Mapping[str, Any] | None = None
    action_space: Mapping[str, Any] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    send_partial: Callable[[str], None] = field(default=_send_nothing, repr=False, compare=False)


@dataclass(frozen=True)
class Decision:
    """An action with its text, its reasoning and the tokens spent on it.

    `exchanges` are the requests to language models that led to it, as JSON objects with the keys prompt,
    answer, parsed, faults, input_tokens, output_tokens, cost_usd, latency_ms, model and recorded (None for
    unknown numbers). `messages` are messages to other agents, as {"to": agent id or "all", "text"}. `forfeit`
    is the reason why the agent gives up the episode, which ends it for all; the action is then not played.
    """

    action: Any
    action_str: str = ""
    reasoning: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    exchanges: Sequence[Mapping[str, Any]] = ()
    messages: Sequence[Mapping[str, str]] = ()
    forfeit: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the operator's fields of "action_selected"."""
        fields = {**vars(self), "action": pack(self.action)}
        for name in ("exchanges", "messages", "forfeit"):
            if not fields[name]:
                del fields[name]
        return fields


class Operator(Protocol):
    """An object that answers an observation with an action or a `Decision`.

    `select_action` receives each of the following keywords that its signature has:

    - action_mask: as in Gymnasium's `sample(mask=…)`, or None
    - info: a dict, or None
    - step_index: number of steps done in this episode, or None
    - messages: a list of {"from", "text", "step_index"}, sent by other agents since this agent's last action

    and these, which the arena sends only if they are listed in the operator's "needs", else None:

    - frame: the rendered frame, uint8 (height, width, 3)
    - teammates: {agent: observation} of its team, or of all other agents if there are no teams
    - description: a dict in which the environment's worker describes the state

    Optional methods are called too: `episode_begin(seed, episode_index)`, `episode_end(total_reward, steps)`,
    `close()`. Raise `ConfigError` for an error that would occur again.
    """

    def select_action(self, observation: Any) -> Any: ...


Operate = Callable[[AgentSetup], Operator]
Describe = Callable[[], "tuple[WorkerMetadata, WorkerCapabilities]"]


def accepted_hints(select_action: Callable[..., Any]) -> tuple[str, ...]:
    """Return the keywords in the signature of an operator's `select_action`."""
    try:
        parameters = inspect.signature(select_action).parameters
    except (TypeError, ValueError):  # implemented in C
        return ()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return _HINTS
    return tuple(name for name in _HINTS if name in parameters)
