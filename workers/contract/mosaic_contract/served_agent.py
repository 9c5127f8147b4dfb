"""One agent of an operator's process: its setup, its operator, and the partial texts that it sends."""

from __future__ import annotations

import inspect
import logging
import threading
import time
from contextlib import contextmanager
from typing import Any, Callable, Iterator

from mosaic_contract.errors import BadMessage
from mosaic_contract.messages import ALONE
from mosaic_contract.operators import AgentSetup
from mosaic_contract.policy_queries import queries_of

_HINTS = ("action_mask", "info", "step_index", "frame", "teammates", "description", "messages")
_PARTIAL_SECONDS = 0.2  # between two partial lines of an agent
_PARTIAL_LIMIT = 20_000  # characters

log = logging.getLogger("mosaic_contract")


class ServedAgent:
    """One agent's operator, the hints that it accepts and the queries that it answers."""

    def __init__(self, setup: AgentSetup, operator: Any) -> None:
        self.setup = setup
        self.player_id = setup.player_id
        self.operator = operator
        self.hints = accepted_hints(operator.select_action)
        self.queries = queries_of(operator)
        self._shape = (
            tuple(self.queries.observation_space["shape"]) if self.queries and self.queries.selects else None
        )
        self._lock = threading.Lock()
        self._calling = self._retired = False

    def selects(self, observations: Any) -> bool:
        """Whether the policy selects the actions for these observations, an array, all at once."""
        return self._shape is not None and getattr(observations, "shape", (0,))[1:] == self._shape

    def select_action(self, observation: Any, **hints: Any) -> Any:
        """Return the operator's answer to an observation."""
        if self._shape is not None and getattr(observation, "shape", None) == self._shape:
            assert self.queries is not None
            action = self.queries.select(observation[None])[0]
            return action if action.ndim else action.item()
        return self.operator.select_action(observation, **hints)

    @contextmanager
    def in_call(self) -> Iterator[None]:
        """Enclose one call. If the agent was retired meanwhile, it is closed at the end of the block."""
        with self._lock:
            self._calling = True
        try:
            yield
        finally:
            with self._lock:
                self._calling = False
                retired = self._retired
            if retired:
                self.close()

    def retire(self) -> None:
        """Close the agent, which has been replaced: now, or at the end of its call."""
        with self._lock:
            self._retired = True
            calling = self._calling
        if not calling:
            self.close()

    def call(self, name: str, *values: Any) -> None:
        method = getattr(self.operator, name, None)
        if method is not None:
            method(*values)

    def close(self) -> None:
        try:
            self.call("close")
        except Exception:
            log.warning("the operator of %s did not close", self.player_id, exc_info=True)


def accepted_hints(select_action: Callable[..., Any]) -> tuple[str, ...]:
    """Return the keywords in the signature of an operator's `select_action`."""
    try:
        parameters = inspect.signature(select_action).parameters
    except (TypeError, ValueError):  # implemented in C
        return ()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return _HINTS
    return tuple(name for name in _HINTS if name in parameters)


class _Partials:
    """An agent's `send_partial`: the first text is sent at once, then at most five per second."""

    def __init__(self, player_id: str, send: Callable[[dict[str, Any]], bool]) -> None:
        self._player_id = player_id
        self._send = send
        self._sent_at = 0.0

    def __call__(self, text: str) -> None:
        now = time.monotonic()
        if now - self._sent_at >= _PARTIAL_SECONDS:
            self._sent_at = now
            self._send({"type": "partial", "player_id": self._player_id, "text": text[-_PARTIAL_LIMIT:]})


def setup_of(command: dict[str, Any], send: Callable[[dict[str, Any]], bool]) -> AgentSetup:
    """Return the agent described by `init_agent`; `send` sends its partial lines. Raises `BadMessage`."""
    seed, player_id = command.get("seed"), command.get("player_id", ALONE)
    if not isinstance(player_id, str) or not player_id:
        raise BadMessage(f"player_id must be a string, not {player_id!r:.100}")
    if seed is not None and (type(seed) is not int or seed < 0):
        raise BadMessage(f"seed must be an integer ≥ 0, not {seed!r:.100}")
    objects: dict[str, Any] = {
        name: command.get(name) for name in ("observation_space", "action_space", "settings")
    }
    for name, value in objects.items():
        if not isinstance(value, (dict, type(None))):
            raise BadMessage(f"{name} must be an object, not {value!r:.100}")
    objects["settings"] = objects["settings"] or {}
    game_name = command.get("game_name") or ""
    return AgentSetup(player_id, game_name, seed, **objects, send_partial=_Partials(player_id, send))
