"""Loading of trained policies, from an agent's settings to the shim's own policy, and a base class for
operators that act through a network. NumPy and PyTorch are used if a shim has them."""

from __future__ import annotations

import functools
from contextlib import contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any, Callable, Collection, Iterator, Mapping, TypeVar

from mosaic_contract.checkpoints import (
    description_of,
    env_settings_of,
    read_description,
    spaces_of,
    wrappers_of,
)
from mosaic_contract.codec import read_document
from mosaic_contract.errors import ConfigError
from mosaic_contract.gymnasium_wrappers import check_user_code
from mosaic_contract.messages import ALONE
from mosaic_contract.operators import AgentSetup
from mosaic_contract.played_wrappers import as_policy_sees
from mosaic_contract.policy_queries import ACTION, Answer, PolicyQueries
from mosaic_contract.space_compatibility import misfit, settings_advice
from mosaic_contract.spaces import start_of
from mosaic_contract.wrappers import ObservationTransform, observation_transform

Description = Mapping[str, Any]
Policy = TypeVar("Policy")

_MAX_CACHED = 8  # policies


def trained_policy(
    setup: AgentSetup, format: str, algorithms: Collection[str], make: Callable[[Path, Any], Policy]
) -> tuple[Policy, dict[str, Any], bool]:
    """Return the policy of an agent, its description, and whether it acts deterministically.

    `setup.settings` are {"checkpoint": path, "deterministic": bool, default true, "run_code": whether
    user-defined wrappers may be executed}. `make` makes the policy from the checkpoint's path and
    description; the policies of the last eight checkpoints are cached and shared by agents. Both descriptions
    have the spaces that the policy sees (`as_policy_sees`). `format` and `algorithms` are as for
    `read_description`. Raises `ConfigError` for invalid settings, checkpoints and spaces, and for any
    exception of `make`.
    """
    deterministic = setup.settings.get("deterministic", True)
    if not isinstance(deterministic, bool):
        raise ConfigError(f"deterministic must be true or false, not {deterministic!r:.100}")
    path = setup.settings.get("checkpoint")
    if not isinstance(path, str) or not path:
        raise ConfigError('this worker acts from a checkpoint: give "checkpoint", the path of one')
    file, described = read_description(path, format, algorithms)
    _check_spaces(described, setup)
    check_user_code(described, setup.settings.get("run_code") is True)
    return _policy(make, file, file.stat().st_mtime_ns), as_policy_sees(described), deterministic


@functools.lru_cache(_MAX_CACHED)
def _policy(make: Callable[[Path, Any], Policy], path: Path, modified: int) -> Policy:
    """Return the policy of a file. `modified`, its modification time, makes the cache reload a new file."""
    try:
        return make(path, as_policy_sees(read_document(description_of(path))))
    except ConfigError:
        raise
    except Exception as error:  # damaged files raise arbitrary exceptions, also in upstream's code
        raise ConfigError(f"no policy can be made from {path}: {type(error).__name__}: {error}") from error


def _check_spaces(described: Description, setup: AgentSetup) -> None:
    """Raise `ConfigError` if a checkpoint has no policy for an agent, or the policy has other spaces."""
    policy = f"{described['algorithm']} of {described['env_id']}"
    by_agent = spaces_of(described)
    spaces = by_agent.get(setup.player_id) if "agents" in described else next(iter(by_agent.values()))
    if spaces is None:
        raise ConfigError(
            f"{policy} has no policy for {setup.player_id}; it has those of {', '.join(by_agent)}"
        )
    problems = [
        f"{policy} cannot act for {setup.player_id}: its {text}"
        for name, noun in (("observation_space", "observations"), ("action_space", "actions"))
        if (space := getattr(setup, name)) is not None and (text := misfit(spaces[name], space, noun))
    ]
    if problems:
        raise ConfigError([*problems, *settings_advice(policy, env_settings_of(described))])


def transform_of(described: Description, agent: str = ALONE) -> ObservationTransform:
    """Return the observation transform that an agent's described policy was trained with. Raises
    `ConfigError` for an unknown wrapper."""
    return observation_transform(
        spaces_of(described)[agent]["observation_space"], wrappers_of(described), described["env_id"]
    )


class AgentGenerators:
    """The random generators of one agent, seeded by its seed.

    `numpy` is a separate generator. Within `torch_generator()`, PyTorch's global generator has this agent's
    state; its former state is restored afterwards.
    """

    def __init__(self, seed: int | None) -> None:
        self._torch = import_module("torch")
        self.begin(0 if seed is None else seed)

    def begin(self, seed: int | None) -> None:
        """Seed the generators again; None lets their streams continue."""
        if seed is not None:
            self._previous_state = self._state = self._torch.Generator().manual_seed(seed).get_state()
            self.numpy = import_module("numpy").random.default_rng(seed)

    @contextmanager
    def torch_generator(self) -> Iterator[None]:
        process_state = self._torch.get_rng_state()
        self._torch.set_rng_state(self._state)
        try:
            yield
        finally:
            self._previous_state, self._state = self._state, self._torch.get_rng_state()
            self._torch.set_rng_state(process_state)

    @property
    def drew(self) -> bool:
        """Whether the last `torch_generator` drew numbers."""
        return not self._torch.equal(self._previous_state, self._state)


class TrainedOperator:
    """An operator that acts as `agent` through a network. It has its own random generators and does not
    change the process's generators.

    `described` is the policy's description, `observations` and `actions` are the spaces of the network, after
    the described wrappers. Subclasses implement `forward`, and `initial_memory` for recurrent networks or
    `bounded` for scaled actions; `answers` are the queries that they answer besides actions. `epsilon` is the
    probability of a random discrete action, `noise` the standard deviation of the normal noise added to
    continuous actions. `deterministic`: networks that draw no number for the first action draw none later.
    """

    def __init__(
        self,
        described: Description,
        agent: str,
        observations: Any,
        actions: Any,
        *,
        seed: int | None,
        epsilon: float = 0.0,
        noise: float = 0.0,
        deterministic: bool = False,
    ) -> None:
        self._may_draw, self._deterministic = True, deterministic
        self.actions = actions
        self._space, self._alone = spaces_of(described)[agent]["observation_space"], agent == ALONE
        self._observe = transform_of(described, agent).observe if wrappers_of(described) else None
        self._shape = observations.shape
        self._discrete, self._start = hasattr(actions, "n"), start_of(actions)
        self._epsilon, self._noise = epsilon, noise
        self._generators = AgentGenerators(seed)
        self._numpy = import_module("numpy")  # the contract itself does not depend on it
        self._memory = self.initial_memory()

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        """Begin an episode. A seed reseeds the random generators."""
        self._memory = self.initial_memory()
        self._generators.begin(seed)

    def select_action(self, observation: Any) -> Any:
        if self._observe is not None:
            observation = self._observe(observation)
        return self.act(observation)

    def act(self, observation: Any) -> Any:
        """Return the action for one input of the network. Raises `ValueError` for an input of another
        shape."""
        vector = self._numpy.asarray(observation, dtype="float32")
        if vector.shape != self._shape:
            raise ValueError(f"the policy takes {self._shape[0]} numbers, this observation has {vector.size}")
        actions, self._memory = self._act(vector[None], self._memory)
        return int(actions[0]) if self._discrete else actions[0]

    def queries(self) -> PolicyQueries | None:
        """Return the queries that the policy answers, None if it answers none."""
        observe = self._observe

        def input_of(observation: Any, alone: bool) -> Any:
            return observation if observe is None else observe(observation)

        return PolicyQueries(
            self._space,
            {ACTION: lambda xs, memory: self._act(xs, memory)[0], **self._array_answers()},
            None if observe is None else input_of,
            lambda: self._memory,
            memoryless=self._discrete and self._deterministic and self._memory is None and self._alone,
        )

    def answers(self) -> Mapping[str, Answer]:
        """Return the answers to queries besides actions: functions of float32 inputs that return tensors,
        called with gradients off."""
        return {}

    def initial_memory(self, count: int = 1) -> Any:
        """Return the initial state of a recurrent network for N inputs, None for any other network."""

    def forward(self, xs: Any, memory: Any) -> tuple[Any, Any]:
        """Return the actions of the network for N inputs, (N,) or (N, n), and its new recurrent state."""
        raise NotImplementedError

    def bounded(self, action: Any) -> Any:
        """Return continuous actions within the bounds of the action space."""
        return self._numpy.clip(action, self.actions.low, self.actions.high)

    def _array_answers(self) -> dict[str, Answer]:
        torch = import_module("torch")

        def of_arrays(answer: Answer) -> Answer:
            def array(xs: Any, memory: Any) -> Any:
                with torch.inference_mode():
                    return answer(self._numpy.asarray(xs, "float32"), memory).numpy()

            return array

        return {name: of_arrays(answer) for name, answer in self.answers().items()}

    def _act(self, xs: Any, memory: Any) -> tuple[Any, Any]:
        """Return the actions for N inputs, with the operator's exploration, and the new recurrent state."""
        numpy, generator, count = self._numpy, self._generators.numpy, len(xs)
        xs = numpy.asarray(xs, "float32")
        memory = self.initial_memory(count) if memory is None else memory
        with self._generators.torch_generator() if self._may_draw else nullcontext():
            actions, memory = self.forward(xs, memory)
        self._may_draw = not self._deterministic or (self._may_draw and self._generators.drew)
        actions = numpy.asarray(actions)
        if self._discrete:
            if self._epsilon and (explores := generator.random(count) < self._epsilon).any():
                actions = actions.copy()
                actions[explores] = [generator.integers(self.actions.n) for _ in range(explores.sum())]
            return self._start + actions, memory
        if self._noise:
            actions = actions + generator.normal(0.0, self._noise, (count, *self.actions.shape))
        return self.bounded(actions).astype(self.actions.dtype, copy=False), memory
