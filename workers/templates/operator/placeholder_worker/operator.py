"""An operator, which acts for one agent."""

from __future__ import annotations

from random import Random
from typing import Any

from mosaic_contract import AgentSetup, ConfigError


class Policy:
    """Repeats a random legal action for `patience` steps, then takes another. `setup.settings` are the
    keywords of `mosaic.operators.worker("placeholder", …)`."""

    def __init__(self, setup: AgentSetup) -> None:
        # FILL IN: load the policy; report all unsupported spaces and settings at once.
        space = setup.action_space or {}
        patience = setup.settings.get("patience", 4)
        problems = []
        if space.get("type") != "Discrete":
            problems.append(f"it acts in Discrete spaces, not in {space.get('type', 'one that is unknown')}")
        if type(patience) is not int or patience < 1:
            problems.append(f"patience must be an integer from 1, got {patience!r}")
        if problems:
            raise ConfigError(problems)
        self._start = space.get("start", 0)
        self._count = space["n"]
        self._patience = patience
        self.episode_begin(setup.seed, 0)

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        """Begin an episode: the same seed gives the same actions."""
        self._random = Random(seed)
        self._action = self._repeated = 0

    def select_action(self, observation: Any, *, action_mask: Any = None) -> int:
        # FILL IN: choose an action from the observation (NumPy arrays if NumPy is installed, else lists).
        legal = [
            number for number in range(self._count) if action_mask is None or action_mask[number]
        ] or range(self._count)
        if self._action not in legal or self._repeated % self._patience == 0:
            self._action = self._random.choice(legal)
            self._repeated = 0
        self._repeated += 1
        return self._start + self._action
