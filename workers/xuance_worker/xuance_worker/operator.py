"""Operators that act with trained policies.

Without `deterministic`, actions are sampled as at the end of upstream's schedules: from the policy's
distribution, at random with the probability `end_greedy`, or with noise of `end_noise`. Agents with the same
checkpoint share only its networks.
"""

from __future__ import annotations

import functools
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable, Mapping

import numpy as np
import torch
from mosaic_contract import AgentSetup, Operator, make_space
from mosaic_contract.checkpoints import spaces_of
from mosaic_contract.messages import ALONE
from mosaic_contract.played_wrappers import through_wrappers
from mosaic_contract.policy_queries import Answer
from mosaic_contract.pytorch import in_sequence, load_torch, prepare_acting
from mosaic_contract.trained_policy import TrainedOperator, trained_policy, transform_of
from xuance.common import EPS

from .algorithms import ALGORITHMS
from .checkpoints import restore_policy
from .config import XuancePlan
from .environments import XuanceEnvironmentSpec
from .factory import make_acting_agent
from .training_environments import upstream_names

_VALUE_POLICIES = ("BasicQnetwork", "DuelQnetwork", "NoisyQnetwork")
"""Upstream's classes of policies whose third output has the value of each action."""
_SAMPLING_TEAMS = ("masac", "isac")
"""Algorithms of teams whose policies always sample."""
_VECTOR_CLASSES = ("Basic_Identical", "Basic_MLP")
"""Upstream's classes of representations of vectors."""


def operate(setup: AgentSetup) -> Operator:
    """Return the operator of one agent. Raises `ConfigError` for an unusable checkpoint."""
    prepare_acting()
    policies, described, deterministic = trained_policy(setup, XuancePlan.FORMAT, ALGORITHMS, XuancePolicies)
    agent = setup.player_id if policies.several else ALONE
    return through_wrappers(described, XuanceOperator(policies, described, agent, deterministic, setup.seed))


class XuancePolicies:
    """The policies of one checkpoint, of a team or of a single agent."""

    def __init__(self, path: Path, described: dict[str, Any]) -> None:
        spaces = spaces_of(described)
        self.name = described["algorithm"]
        self.values = described["hyperparameters"]
        self.observations = {agent: make_space(transform_of(described, agent).space) for agent in spaces}
        self.actions = {agent: make_space(entry["action_space"]) for agent, entry in spaces.items()}
        spec = XuanceEnvironmentSpec(
            described["env_id"],
            self.observations,
            self.actions,
            several="agents" in described,
            chooses=False,
            longest=int(described.get("longest_episode", 0)),
        )
        self.several = spec.several
        with tempfile.TemporaryDirectory(prefix="mosaic-xuance-") as folder:
            self._agent = make_acting_agent(ALGORITHMS[self.name], spec, self.values, Path(folder))
        restore_policy(self._agent, load_torch(path, "policy"))
        self._agent.policy.eval()
        self._agent.egreedy = self.values.get("end_greedy", 0.0)  # COMA's policy mixes it in
        self._agent.noise_scale = 0.0  # of NoisyDQN
        self._names = upstream_names(spec.actions)
        self._zeros = {
            self._names[agent]: np.zeros(space.shape, space.dtype)
            for agent, space in self.observations.items()
        }

    @property
    def _is_discrete(self) -> bool:
        return type(next(iter(self.actions.values()))).__name__ == "Discrete"

    def memory(self, count: int) -> Any:
        """Return the initial state of a recurrent network, None for any other network."""
        if not self.values.get("use_rnn"):
            return None
        hidden = self._agent.init_rnn_hidden(count)
        return hidden[0] if isinstance(hidden, tuple) else hidden

    def act(self, agent: str, xs: Any, memory: Any, *, deterministic: bool) -> tuple[Any, Any]:
        """Return the actions of one agent for N observations, and its new recurrent state."""
        with torch.inference_mode():
            if self.several:
                return self._act_in_team(agent, xs, memory, deterministic)
            return self._act_alone(xs, deterministic), None

    def answers(self) -> dict[str, Answer]:
        """Return the answers to queries besides actions; a team's policies have none."""
        policy = self._agent.policy
        if self.several:
            return {}
        if type(policy).__name__ in _VALUE_POLICIES:
            values = self._scores or (lambda inputs: policy(inputs)[2])
            return {
                "action_values": self._answer(values),
                "value": self._answer(lambda inputs: values(inputs).amax(1)),
            }
        if not ALGORITHMS[self.name].on_policy:
            return {}
        answers = {}
        if self._is_discrete:
            answers["probabilities"] = self._answer(lambda inputs: policy(inputs)[1].probs)
            answers["logits"] = self._answer(lambda inputs: policy(inputs)[1].logits)
        if self._values(policy) is not None:
            critic = self._layers("ActorCriticPolicy", "critic") or (lambda inputs: policy(inputs)[2])
            answers["value"] = self._answer(lambda inputs: critic(inputs).flatten())
        return answers

    @functools.cached_property
    def _normalized(self) -> Callable[[Any], Any]:
        """Upstream's normalization of observations, with its constants computed once."""
        agent = self._agent
        if not agent.use_obsnorm or not isinstance(agent.obs_rms.mean, np.ndarray):
            return lambda xs: agent._process_observation(xs)
        mean, scale, limit = agent.obs_rms.mean, agent.obs_rms.std + EPS, agent.obsnorm_range
        return lambda xs: np.minimum(np.maximum((xs - mean) / scale, -limit), limit)

    @functools.cached_property
    def _scores(self) -> Callable[[Any], Any] | None:
        """The function from N vectors to a score for each action, highest for the best action; None for
        policies that select it otherwise."""
        if (values := self._layers("BasicQnetwork", "eval_Qhead")) is not None:
            return values
        return self._layers("ActorCriticPolicy", "actor") if self._is_discrete else None

    def _layers(self, policy: str, head: str) -> Callable[[Any], Any] | None:
        """Return the function from N vectors to the output of a head of the policy, with the same operations;
        None for another policy or other inputs."""
        network = self._agent.policy
        if type(network).__name__ != policy or type(network.representation).__name__ not in _VECTOR_CLASSES:
            return None
        layers = in_sequence(*network.representation.children(), getattr(network, head).model)
        return lambda inputs: layers(torch.as_tensor(inputs, dtype=torch.float32))

    def _values(self, policy: Any) -> Any:
        """Return the values of a state, None if the policy has no critic."""
        with torch.inference_mode():
            zeros = next(iter(self._zeros.values()))[None]
            return policy(self._normalized(zeros))[2]

    def _answer(self, function: Callable[[Any], Any]) -> Answer:
        return lambda xs, memory: function(self._normalized(xs))

    def _act_in_team(self, agent: str, xs: Any, memory: Any, deterministic: bool) -> tuple[Any, Any]:
        """Return the actions of one agent, computed for the whole team as upstream requires. Each action
        depends only on the agent's own observation, so the others' observations are left empty."""
        name = self._names[agent]
        observations = [{**self._zeros, name: x} for x in xs]
        on_policy = ALGORITHMS[self.name].on_policy
        hidden = {"rnn_hidden_actor" if on_policy else "rnn_hidden": memory}
        samples_coma = self.name == "coma" and not deterministic
        if samples_coma:  # upstream then also uses its critic
            hidden["rnn_hidden_critic"] = self._agent.init_rnn_hidden(len(xs))[1]
        with ExitStack() as stack:
            if deterministic and self.name in _SAMPLING_TEAMS:
                for actor in self._agent.policy.actor.values():
                    stack.enter_context(actor.register_forward_hook(_always_best))
            answer = self._agent.get_actions(
                obs_dict=observations,
                state=[np.concatenate(list(self._zeros.values()))] * len(xs),
                test_mode=not samples_coma,
                deterministic=deterministic,
                **hidden,
            )
        actions = np.asarray([actions[name] for actions in answer["actions"]])
        return actions, answer["rnn_hidden_actor" if on_policy else "hidden_state"]

    def _act_alone(self, xs: Any, deterministic: bool) -> Any:
        agent = self._agent
        inputs = self._normalized(xs)
        if deterministic and self._scores is not None:
            return self._scores(inputs).argmax(1).numpy()
        if self.name == "noisydqn":  # its noise replaces upstream's arguments for exploration
            return agent.get_actions(inputs)
        if ALGORITHMS[self.name].on_policy:
            policy = agent.policy
            if deterministic and self._is_discrete and hasattr(policy, "representation"):
                state = policy.representation(inputs)["state"]  # without the critic, which upstream also runs
                return policy.actor(state).logits.argmax(1).numpy()
            return agent.get_actions(inputs, deterministic=deterministic)["actions"]
        if self.name == "sac" and deterministic:  # upstream itself always samples
            distribution = agent.policy.actor(agent.policy.actor_representation(inputs)["state"])
            return _best(distribution).numpy()
        return agent.get_actions(inputs, test_mode=True)["actions"]


def _best(distribution: Any) -> Any:
    """Return the most probable action, or the squashed mean."""
    best = distribution.deterministic_sample()
    activate = getattr(distribution, "activation_fn", None)
    return activate(best) if activate else best


def _always_best(actor: Any, inputs: Any, distribution: Any) -> SimpleNamespace:
    """Return a distribution whose every sample is the best action. A forward hook of an actor."""
    return SimpleNamespace(activated_rsample_and_logprob=lambda: (_best(distribution), None))


class XuanceOperator(TrainedOperator):
    """An operator that acts for one agent with its policy."""

    def __init__(
        self,
        policies: XuancePolicies,
        described: Mapping[str, Any],
        agent: str,
        deterministic: bool,
        seed: int | None,
    ) -> None:
        self._policies, self._agent = policies, agent
        explores = not deterministic and not ALGORITHMS[policies.name].on_policy
        super().__init__(
            described,
            agent,
            policies.observations[agent],
            policies.actions[agent],
            seed=seed,
            epsilon=policies.values.get("end_greedy", 0.0) if explores else 0.0,
            noise=policies.values.get("end_noise", 0.0) if explores else 0.0,
            deterministic=deterministic,
        )

    def initial_memory(self, count: int = 1) -> Any:
        return self._policies.memory(count)

    def answers(self) -> dict[str, Answer]:
        return self._policies.answers()

    def forward(self, xs: Any, memory: Any) -> tuple[Any, Any]:
        return self._policies.act(self._agent, xs, memory, deterministic=self._deterministic)
