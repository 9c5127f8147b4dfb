"""Operators that act with trained policies.

Without `deterministic`, actions are sampled as in training: for PPO and SAC from their distributions, for
`dqn` and `c51` at random with the probability `end_e`, for `td3` and `ddpg` with `exploration_noise`. An
agent's random numbers depend only on its seed.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

import numpy as np
import torch
from mosaic_contract import AgentSetup, ConfigError, Operator, make_space
from mosaic_contract.checkpoints import wrappers_of
from mosaic_contract.played_wrappers import through_wrappers
from mosaic_contract.policy_queries import ACTION, Answer, PolicyQueries
from mosaic_contract.pytorch import load_torch, prepare_acting
from mosaic_contract.spaces import start_of
from mosaic_contract.trained_policy import trained_policy, transform_of
from mosaic_contract.wrappers import ObservationTransform

from .algorithms import ALGORITHMS
from .config import ScriptPlan
from .networks import (
    Acts,
    Memory,
    RecurrentScores,
    Scores,
    acts_of,
    answers_of,
    exploration,
    make_networks,
    recurrent_scores_of,
    scores_of,
    value_of,
)
from .upstream import Upstream, required

_DESCRIBED = {"legacy", "upstream", "preprocessing"}

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CleanRLPolicy:
    """A checkpoint that is ready to act. `scores` is set for discrete actions, `acts` for continuous ones,
    `recurrent_scores` for a network with memory, whose `scores` are those of an episode's first observations.
    """

    description: dict[str, Any]
    observe: Observe
    action_space: Any
    scores: Scores | None
    recurrent_scores: RecurrentScores | None
    acts: Acts | None
    answers: Mapping[str, Scores]


def operate(setup: AgentSetup) -> Operator:
    """Return the operator of one agent. Raises `ConfigError` for an unusable checkpoint."""
    prepare_acting()
    policy, described, deterministic = trained_policy(setup, ScriptPlan.FORMAT, ALGORITHMS, _make)
    return through_wrappers(described, _operator_class(policy)(policy, deterministic, setup.seed))


def _operator_class(policy: CleanRLPolicy) -> type[DiscreteOperator] | type[ContinuousOperator]:
    if policy.recurrent_scores is not None:
        return RecurrentOperator
    return DiscreteOperator if policy.scores is not None else ContinuousOperator


class ScriptOperator:
    """The base class of operators from checkpoints, with the agent's own random generator."""

    def __init__(self, policy: CleanRLPolicy, deterministic: bool, seed: int | None) -> None:
        self._policy, self._observe = policy, policy.observe
        self._generator = None if deterministic else torch.Generator()
        self.episode_begin(seed, 0)

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        """Seed the exploration generator; without a seed its stream continues."""
        if self._generator is not None and seed is not None:
            self._generator.manual_seed(seed)

    def queries(self) -> PolicyQueries:
        """Return the queries that the policy answers."""
        answers = {ACTION: lambda x: self.actions(x), **self._policy.answers}
        return PolicyQueries(
            self._policy.description["observation_space"],
            {name: _of_arrays(answer, self._observe.space.shape) for name, answer in answers.items()},
            None if self._observe.plain else lambda observation, alone: self._observe(observation)[0].numpy(),
            memoryless=self._generator is None and self._policy.scores is not None,
        )

    def actions(self, x: torch.Tensor) -> np.ndarray[Any, Any]:
        """Return the actions for N inputs of the network."""
        raise NotImplementedError


class DiscreteOperator(ScriptOperator):
    """An operator that acts on the scores of the actions. Masks are ignored, as in training."""

    def __init__(self, policy: CleanRLPolicy, deterministic: bool, seed: int | None) -> None:
        super().__init__(policy, deterministic, seed)
        assert policy.scores is not None
        self._scores = policy.scores
        self._count, self._start = int(policy.action_space.n), start_of(policy.action_space)
        self._epsilon = exploration(policy.description)

    def select_action(self, observation: Any) -> int:
        return int(self.actions(self._observe(observation))[0])

    def actions(self, x: torch.Tensor) -> np.ndarray[Any, Any]:
        return self._start + self._choose(self._scores(x)).numpy()

    def _choose(self, scores: torch.Tensor) -> torch.Tensor:
        best = scores.argmax(1)
        if self._generator is None:
            return best
        if self._epsilon is None:
            samples = torch.multinomial(torch.softmax(scores, dim=1), 1, generator=self._generator)
            return samples[:, 0]
        explores = torch.rand(len(best), generator=self._generator) < self._epsilon
        if count := int(explores.sum()):
            best[explores] = torch.randint(self._count, (count,), generator=self._generator)
        return best


class RecurrentOperator(DiscreteOperator):
    """An operator whose network remembers what it has observed since the episode began. It plays games,
    whose policies answer no queries."""

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        super().episode_begin(seed, episode_index)
        self._memory: Memory | None = None

    def select_action(self, observation: Any) -> int:
        assert self._policy.recurrent_scores is not None
        scores, self._memory = self._policy.recurrent_scores(self._observe(observation), self._memory)
        return self._start + int(self._choose(scores)[0])


class ContinuousOperator(ScriptOperator):
    """An operator that acts within the bounds of the action space."""

    def __init__(self, policy: CleanRLPolicy, deterministic: bool, seed: int | None) -> None:
        super().__init__(policy, deterministic, seed)
        assert policy.acts is not None
        self._acts = policy.acts
        space = policy.action_space
        self._low, self._high, self._shape, self._dtype = space.low, space.high, space.shape, space.dtype
        self._size = int(np.prod(space.shape))

    def select_action(self, observation: Any) -> np.ndarray[Any, Any]:
        action: np.ndarray[Any, Any] = self.actions(self._observe(observation))[0]
        return action

    def actions(self, x: torch.Tensor) -> np.ndarray[Any, Any]:
        size = len(x), self._size
        noise = None if self._generator is None else torch.randn(size, generator=self._generator)
        actions = self._acts(x, noise).numpy().reshape(len(x), *self._shape)
        return np.clip(actions, self._low, self._high).astype(self._dtype, copy=False)


def _of_arrays(answer: Callable[[torch.Tensor], Any], shape: Sequence[int]) -> Answer:
    """Return the answer to N inputs as arrays; each has this shape."""

    def answer_arrays(inputs: Any, state: Any) -> np.ndarray[Any, Any]:
        x = torch.from_numpy(np.asarray(inputs, np.float32))
        return np.asarray(answer(x.view(-1, *shape)))

    return answer_arrays


class Observe:
    """An observation in the form of the network's input: (1, n), for games (1, 4, 84, 84), after the wrappers
    of the run and the preprocessing of the script's own wrappers."""

    def __init__(self, view: ObservationTransform, preprocessing: Mapping[str, Any], wrapped: bool) -> None:
        space = make_space(view.space)
        self._wrapped = view.observe
        self.space = _network_space(space, preprocessing)
        self._one_hot = preprocessing["one_hot"]
        self._nested = space if preprocessing["flatten"] and type(space).__name__ != "Box" else None
        self.size = int(np.prod(self.space.shape))
        self.plain = not (wrapped or preprocessing["normalise"] or self._one_hot or self._nested is not None)
        """Whether an input has the numbers of the observation itself."""
        statistics = preprocessing["normalise"]
        self._normalise = bool(statistics)
        if statistics:
            self._mean = np.array(statistics["mean"], dtype=np.float64)
            self._deviation = np.sqrt(np.array(statistics["var"]) + statistics["epsilon"])
            self._clip = statistics["clip"]

    def __call__(self, observation: Any) -> torch.Tensor:
        observation = self._wrapped(observation)
        if self._one_hot is not None:
            x = np.zeros(self._one_hot, dtype=np.float32)
            x[int(observation)] = 1.0
            return torch.from_numpy(x).view(1, -1)
        if self._nested is not None:
            from gymnasium.spaces import flatten

            observation = flatten(self._nested, observation)
        x = np.array(observation, dtype=np.float64 if self._normalise else np.float32)
        if x.size != self.size:
            raise ValueError(f"the policy takes {self.size} numbers, this observation has {x.size}")
        if self._normalise:
            x = np.clip((x.reshape(-1) - self._mean) / self._deviation, -self._clip, self._clip)
            x = x.astype(np.float32)
        return torch.from_numpy(x).view(1, *self.space.shape)


def _make(path: Path, description: dict[str, Any]) -> CleanRLPolicy:
    if missing := ", ".join(sorted(_DESCRIBED - set(description))):
        raise ConfigError(
            f"{path} is not a checkpoint of this worker ({ScriptPlan.FORMAT}): it lacks {missing}"
        )
    upstream = _fitting_upstream(path, description)
    algorithm, legacy = ALGORITHMS[description["algorithm"]], description["legacy"]
    hyperparameters = description["hyperparameters"]
    action_space = make_space(description["action_space"])
    view = transform_of(description)
    if algorithm.games:
        view = replace(view, space={**view.space, "shape": [algorithm.pictures, *view.space["shape"][1:]]})
    observe = Observe(view, description["preprocessing"], wrapped=bool(wrappers_of(description)))
    network, critics = make_networks(
        upstream.script(algorithm.script),
        algorithm.name,
        legacy=legacy,
        observation_space=observe.space,
        action_space=action_space,
        hyperparameters=hyperparameters,
        modules=load_torch(path, "modules")["modules"],
    )
    scores = recurrent_scores = acts = None
    nothing = torch.zeros(1, *observe.space.shape)
    with torch.inference_mode():  # a network's first action takes ten times as long: not in an episode
        if algorithm.action == "discrete":
            recurrent_scores = recurrent_scores_of(network) if algorithm.recurrent else None
            scores = scores_of(network, algorithm.name, legacy=legacy)
            scores(nothing)
        else:
            keywords = {"action_space": action_space, "hyperparameters": hyperparameters}
            acts = acts_of(network, algorithm.name, legacy=legacy, **keywords)
            acts(nothing, None)
    answers = answers_of(network, algorithm.name, scores)
    if critics and acts is not None:
        answers["value"] = value_of(critics, acts, legacy=legacy)
    return CleanRLPolicy(description, observe, action_space, scores, recurrent_scores, acts, answers)


def _fitting_upstream(path: Path, description: Mapping[str, Any]) -> Upstream:
    """Return the installed upstream, if its networks match the checkpoint's."""
    upstream = required()
    script = ALGORITHMS[description["algorithm"]].script
    made_by = description["upstream"]
    if description["legacy"] != upstream.legacy or not upstream.script(script).is_file():
        raise ConfigError(
            f"{path.name} was trained with CleanRL {made_by['version']} (source {made_by['source']}), whose "
            f"networks differ from those of CleanRL {upstream.version}, which is installed. The worker acts "
            "from it once it is installed from there: mosaic-lab workers install cleanrl --source "
            f"{'PATH' if made_by['source'] == 'path' else made_by['source']}"
        )
    if upstream.describe(script)["script_sha256"] != made_by["script_sha256"]:
        log.warning("%s was trained by another version of cleanrl.%s than is installed", path.name, script)
    return upstream


def _network_space(space: Any, preprocessing: Mapping[str, Any]) -> Any:
    """Return the observation space after the script's wrappers."""
    import gymnasium

    if preprocessing["one_hot"] is not None:
        return gymnasium.spaces.Box(0, 1, (preprocessing["one_hot"],))
    return gymnasium.spaces.flatten_space(space) if preprocessing["flatten"] else space
