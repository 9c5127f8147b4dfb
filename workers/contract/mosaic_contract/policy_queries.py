"""Queries of a trained policy: its actions for many observations at once, and its probabilities and values.
An operator that answers queries has a method `queries`, which returns its `PolicyQueries`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Callable, Mapping, Sequence

ACTION = "action"

QUERIES = (ACTION, "probabilities", "logits", "value", "action_values")
"""The names of queries: actions of the environment; the probabilities and logits of a distribution over
discrete actions; the value of the state; the value of each discrete action."""

WIDTH = 16
"""The number of rows of a network's input when actions are selected. An input of fewer observations is
padded, so that the arithmetic of a row does not depend on their number."""
MAX_ELEMENTS = 1024
"""Maximum number of elements of such an observation: for larger ones, such as images, padding costs more than
a batch saves."""

Answer = Callable[[Any, Any], Any]
"""(the network's inputs for N observations, recurrent state) → an array or a tensor with N rows. Without a
state, each is the first of an episode."""


@dataclass(frozen=True)
class PolicyQueries:
    """The answers of one operator's policy, by their names in `QUERIES`.

    observation_space: description of the space of its observations.
    observe: (observation, alone) → the network's input for one observation: `alone`, as the next one of the
        episode, otherwise as the first of another. None if the observations themselves are the inputs.
    state: returns the recurrent state after the last action; None for any other network.
    memoryless: whether the selected action is a single number that depends on the observation only, so
        that queries give it, too. (Numbers in arrays would differ from upstream's own in the last digits.)
    """

    observation_space: Mapping[str, Any]
    answers: Mapping[str, Answer]
    observe: Callable[[Any, bool], Any] | None = None
    state: Callable[[], Any] = lambda: None
    memoryless: bool = False

    def answer(self, query: str, observations: Any) -> Any:
        """Return the answers for several observations (arrays with a row for each), as an array with a row
        for each."""
        inputs = observations
        if self.observe is not None:
            inputs = _joined([self.observe(observation, False) for observation in _rows(observations)])
        return self.answers[query](inputs, None)

    @property
    def selects(self) -> bool:
        """Whether `select` returns the actions of episodes."""
        space = self.observation_space
        small = space["type"] == "Box" and math.prod(space["shape"]) <= MAX_ELEMENTS
        return self.memoryless and small

    def select(self, observations: Any) -> Any:
        """Return the actions for an array of observations, in an array with a row for each, computed
        `WIDTH` at a time. If `selects`, they are the actions of any episode."""
        if self.observe is not None:
            observations = _joined([self.observe(observation, False) for observation in observations])
        numpy = import_module("numpy")
        actions = []
        for first in range(0, len(observations), WIDTH):
            rows = observations[first : first + WIDTH]
            inputs = numpy.zeros((WIDTH, *rows.shape[1:]), rows.dtype)
            inputs[: len(rows)] = rows
            actions.append(self.answers[ACTION](inputs, None)[: len(rows)])
        return actions[0] if len(actions) == 1 else numpy.concatenate(actions)

    def answer_alone(self, query: str, observation: Any) -> Any:
        """Return the answer for the observation that follows the operator's last action."""
        network_input = observation if self.observe is None else self.observe(observation, True)
        return self.answers[query](_joined([network_input]), self.state())[0]


def queries_of(operator: Any) -> PolicyQueries | None:
    """Return the queries that an operator answers, None if it answers none."""
    method = getattr(operator, "queries", None)
    return method() if method is not None else None


def _rows(observations: Any) -> Sequence[Any]:
    """Return the single observations in arrays that have a row for each."""
    if isinstance(observations, Mapping):
        parts = {key: _rows(part) for key, part in observations.items()}
        return [dict(zip(parts, row)) for row in zip(*parts.values())]
    if isinstance(observations, (list, tuple)):
        return list(zip(*map(_rows, observations)))
    return observations


def _joined(inputs: Sequence[Any]) -> Any:
    if isinstance(inputs[0], Mapping):
        return {key: _joined([parts[key] for parts in inputs]) for key in inputs[0]}
    if isinstance(inputs[0], tuple):
        return tuple(map(_joined, zip(*inputs)))
    numpy = import_module("numpy")
    return numpy.asarray(inputs[0])[None] if len(inputs) == 1 else numpy.stack(inputs)
