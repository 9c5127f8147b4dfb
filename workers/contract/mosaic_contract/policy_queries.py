"""Queries of a trained policy: its actions for many observations at once, and its probabilities and values.

An operator that answers queries has a method `queries`, which returns its `PolicyQueries`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Callable, Mapping, Sequence

ACTION = "action"

KNOWN = (ACTION, "probabilities", "logits", "value", "action_values")
"""The names of queries: actions of the environment; of a distribution over discrete actions its probabilities
and logits; the value of the state; the value of each discrete action."""

Answer = Callable[[Any, Any], Any]
"""(the network's inputs for N observations, recurrent state) → an array with N rows. Without a state, each is
the first of an episode."""


@dataclass(frozen=True)
class PolicyQueries:
    """The answers of one operator's policy, by their names in `KNOWN`.

    observation_space: description of the space of its observations.
    observe: (observation, alone) → the network's input for one observation: `alone`, as the next one of the
        episode, otherwise as the first of another. None if the observations themselves are the inputs.
    state: returns the recurrent state after the last action; None for any other network.
    """

    observation_space: Mapping[str, Any]
    answers: Mapping[str, Answer]
    observe: Callable[[Any, bool], Any] | None = None
    state: Callable[[], Any] = lambda: None

    def answer(self, what: str, observations: Any) -> Any:
        """Return an array with a row for each of several observations, in arrays with a row for each."""
        inputs = observations
        if self.observe is not None:
            inputs = _joined([self.observe(one, False) for one in _rows(observations)])
        return self.answers[what](inputs, None)

    def answer_alone(self, what: str, observation: Any) -> Any:
        """Return the answer for the observation that follows on the operator's last action."""
        one = observation if self.observe is None else self.observe(observation, True)
        return self.answers[what](_joined([one]), self.state())[0]


def queries_of(operator: Any) -> PolicyQueries | None:
    """Return the queries that an operator answers, None if it answers none."""
    method = getattr(operator, "queries", None)
    return method() if method is not None else None


def _rows(observations: Any) -> Sequence[Any]:
    """Return the single observations of arrays with a row for each."""
    if isinstance(observations, Mapping):
        parts = {key: _rows(part) for key, part in observations.items()}
        return [dict(zip(parts, row)) for row in zip(*parts.values())]
    if isinstance(observations, (list, tuple)):
        return list(zip(*map(_rows, observations)))
    return observations


def _joined(inputs: Sequence[Any]) -> Any:
    if isinstance(inputs[0], Mapping):
        return {key: _joined([one[key] for one in inputs]) for key in inputs[0]}
    if isinstance(inputs[0], tuple):
        return tuple(map(_joined, zip(*inputs)))
    numpy = import_module("numpy")
    return numpy.asarray(inputs[0])[None] if len(inputs) == 1 else numpy.stack(inputs)
