"""A trained policy as a function, answered by a process of its worker's, in the worker's environment."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from mosaic_contract import pack
from mosaic_contract.policy_queries import ACTION
from mosaic_contract.seeds import operator_seed
from mosaic_contract.space_compatibility import text_of

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keeper.warm_workers import WarmWorker
from mosaic_lab.kernel_policy.observations import Space, arranged
from mosaic_lab.kernel_policy.process import PolicyProcess

_OPEN_SECONDS = 120.0  # for imports, on a busy machine


class Policy:
    """A trained policy that answers from its worker's process; made by `mosaic_lab.policy`.

    Called with one observation, it returns the action; called with arrays that have a row for each of N
    observations, it returns the N actions of one forward pass. The other queries work the same way;
    ``provides`` names those available.

    Successive calls with one observation form an episode: recurrent networks and wrappers such as
    ``frame_stack`` remember the observations that were acted on, until `reset`. Other queries leave this
    memory unchanged. In arrays, each observation is the first of an episode.
    """

    def __init__(
        self,
        command: Sequence[str],
        variables: Mapping[str, str],
        *,
        name: str,
        worker: str,
        agent: str,
        settings: Mapping[str, Any],
        seed: int,
        deadline: float | None,
        trained_on: str | None,
        observation_space: Space | None,
        warm: WarmWorker | None = None,
    ) -> None:
        _checked_seed(seed)
        self._name, self._worker, self._agent = name, worker, agent
        self._trained_on, self._deadline = trained_on, deadline
        self._process = PolicyProcess(f"the policy {name}", command, variables, warm)
        self._end = weakref.finalize(self, self._process.end)
        try:
            ready = self._request(_OPEN_SECONDS, cmd="init_agent", settings=settings)
            self.provides: tuple[str, ...] = tuple(ready.get("provides", (ACTION,)))
            self._answers_many = "provides" in ready
            self._space: Space | None = ready.get("observation_space") or observation_space
            self.reset(seed)
        except BaseException:
            self.close()
            raise

    def __call__(self, observation: Any, *, action_mask: Any = None, info: Any = None) -> Any:
        """Return the action for one observation, or an array with a row for each of several.

        ``action_mask`` and ``info`` belong to one observation, for policies that use them.
        """
        hints = {"action_mask": action_mask, "info": info}
        given = {name: pack(hint) for name, hint in hints.items() if hint is not None}
        return self._answer(ACTION, observation, **given)

    def probabilities(self, observation: Any) -> Any:
        """Return the probability of each discrete action."""
        return self._answer("probabilities", observation)

    def logits(self, observation: Any) -> Any:
        """Return the logits of the distribution over discrete actions."""
        return self._answer("logits", observation)

    def value(self, observation: Any) -> Any:
        """Return the value of the state, as the policy's critic estimates it."""
        return self._answer("value", observation)

    def action_values(self, observation: Any) -> Any:
        """Return the value of each discrete action, for algorithms such as DQN."""
        return self._answer("action_values", observation)

    def reset(self, seed: int | None = None) -> None:
        """Begin another episode. A seed also restarts the random numbers, as in an evaluation's episode with
        the same operator and seed."""
        if seed is not None:
            seed = operator_seed(_checked_seed(seed), self._name, self._agent)
        self._request(self._deadline, cmd="episode_begin", seed=seed, episode_index=0)

    @property
    def pid(self) -> int:
        """The id of the policy's process."""
        return self._process.pid

    def close(self) -> None:
        """End the policy's process. May be called more than once."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        trained = f" of {self._trained_on}" if self._trained_on else ""
        return (
            f"<{'' if self._end.alive else 'closed '}policy {self._name}{trained} ({self._worker}): observes "
            f"{'anything' if self._space is None else text_of(self._space)}, "
            f"provides {', '.join(self.provides)}>"
        )

    def _answer(self, what: str, observation: Any, **hints: Any) -> Any:
        if what not in self.provides:
            raise ConfigurationError(
                f"the policy {self._name} of worker '{self._worker}' has no {what}; it provides "
                f"{', '.join(self.provides)}"
            )
        rows = None
        if self._space is not None:
            observation, rows = arranged(self._space, observation)
        if rows is not None and not self._answers_many:
            raise ConfigurationError(
                f"the policy {self._name} only acts, and on one observation at a time: call it for each"
            )
        if rows is not None and hints:
            raise ConfigurationError(f"{' and '.join(hints)}: for one observation only, not for {rows}")
        query = {"player_id": self._agent, "what": what, "alone": rows is None, **hints}
        return self._process.query(query, observation, self._deadline)

    def _request(self, seconds: float | None, **message: Any) -> dict[str, Any]:
        return self._process.request({**message, "player_id": self._agent}, seconds)


def _checked_seed(seed: Any) -> int:
    if type(seed) is not int or seed < 0:
        raise ConfigurationError(f"seed={seed!r}: must be an integer ≥ 0")
    return seed
