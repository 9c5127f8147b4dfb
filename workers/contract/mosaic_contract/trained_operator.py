"""The operator of one agent that acts by a network of PyTorch, a base class for shims."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mosaic_contract.spaces import start_of
from mosaic_contract.trained_policy import AgentGenerators, checked_vector


class TrainedOperator:
    """Acts for one agent. Its random numbers are its own: the process's generators stay as they are.

    A subclass has `forward`, and where its networks are recurrent or actions are scaled also `initial_memory`
    and `bounded`. `epsilon` is the probability of a random discrete action, `noise` the deviation of a normal
    distribution that is added to continuous ones.
    """

    def __init__(
        self, observations: Any, actions: Any, *, seed: int | None, epsilon: float = 0.0, noise: float = 0.0
    ) -> None:
        self.actions = actions
        self._shape = observations.shape
        self._discrete, self._start = hasattr(actions, "n"), start_of(actions)
        self._epsilon, self._noise = epsilon, noise
        self._generators = AgentGenerators(seed)
        self._numpy = import_module("numpy")  # which the contract itself does without
        self._memory = self.initial_memory()

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        """Begin an episode; with a seed, the random numbers begin again from it."""
        self._memory = self.initial_memory()
        self._generators.begin(seed)

    def select_action(self, observation: Any) -> Any:
        x = checked_vector(observation, self._shape)
        with self._generators.torch_generator():
            action, self._memory = self.forward(x, self._memory)
        generator = self._generators.numpy
        if self._discrete:
            explores = self._epsilon and generator.random() < self._epsilon
            return self._start + int(generator.integers(self.actions.n) if explores else action)
        action = self._numpy.asarray(action)
        if self._noise:
            action = action + generator.normal(0.0, self._noise, self.actions.shape)
        return self.bounded(action).astype(self.actions.dtype, copy=False)

    def initial_memory(self) -> Any:
        """Return the state of a recurrent network at the start of an episode, None for any other network."""

    def forward(self, x: Any, memory: Any) -> tuple[Any, Any]:
        """Return the action of the network, a number or an array (n,), and its recurrent state after it."""
        raise NotImplementedError

    def bounded(self, action: Any) -> Any:
        """Return a continuous action within the bounds of the action space."""
        return self._numpy.clip(action, self.actions.low, self.actions.high)
