"""Operators that act with trained policies, without starting Ray.

Without `deterministic`, actions are sampled from the policy's distribution; DQN acts at random with the last
probability of its `epsilon`. Agents with the same checkpoint share only its networks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Mapping

import numpy as np
import torch
import tree
from mosaic_contract import AgentSetup, ConfigError, Operator, make_space
from mosaic_contract.checkpoints import spaces_of
from mosaic_contract.messages import ALONE
from mosaic_contract.played_wrappers import through_wrappers
from mosaic_contract.policy_queries import Answer
from mosaic_contract.pytorch import in_sequence, load_torch, prepare_acting
from mosaic_contract.trained_policy import TrainedOperator, trained_policy, transform_of
from ray.rllib.core.models.torch.encoder import TorchMLPEncoder
from ray.rllib.core.models.torch.heads import TorchMLPHead
from ray.rllib.utils.spaces.space_utils import clip_action, unsquash_action

from .algorithms import ALGORITHMS
from .config import RllibPlan
from .factory import make_modules
from .turns import observation_vector, vector_space

_STATE_IN, _STATE_OUT = "state_in", "state_out"


def operate(setup: AgentSetup) -> Operator:
    """Return the operator of one agent. Raises `ConfigError` for an unusable checkpoint."""
    prepare_acting()
    policies, described, deterministic = trained_policy(setup, RllibPlan.FORMAT, ALGORITHMS, RllibPolicies)
    agent = setup.player_id if "agents" in described else ALONE
    operator_class = RllibTurnOperator if described.get("in_turns") else RllibOperator
    return through_wrappers(described, operator_class(policies, described, agent, deterministic, setup.seed))


class RllibPolicies:
    """The policies of one checkpoint, with the spaces of their agents."""

    def __init__(self, path: Path, described: dict[str, Any]) -> None:
        spaces = spaces_of(described)
        self.values = described["hyperparameters"]
        self.policy_of = {agent: described["policy_of"][agent] for agent in spaces}
        self.observations = {agent: make_space(transform_of(described, agent).space) for agent in spaces}
        self.actions = {agent: make_space(entry["action_space"]) for agent, entry in spaces.items()}
        if described.get("in_turns"):
            self.observations = {
                agent: vector_space(space, self.actions[agent]) for agent, space in self.observations.items()
            }
        policy_spaces = {
            policy: (self.observations[agent], self.actions[agent])
            for agent, policy in self.policy_of.items()
        }
        self.modules = make_modules(described["algorithm"], self.values, policy_spaces)
        weights = load_torch(path, "policies")["policies"]
        for policy, module in self.modules.items():
            missing = module.load_state_dict(weights[policy], strict=False).missing_keys
            if missing:
                raise ConfigError(f"{path} lacks weights of {policy}: {', '.join(missing[:3])}")
            module.eval()


class RllibOperator(TrainedOperator):
    """An operator that acts for one agent with its policy."""

    def __init__(
        self,
        policies: RllibPolicies,
        described: Mapping[str, Any],
        agent: str,
        deterministic: bool,
        seed: int | None,
    ) -> None:
        self._module = policies.modules[policies.policy_of[agent]]
        self._vector_logits = _vector_layers(self._module, "actor_encoder", "pi")
        self._normalized = policies.values["normalize_actions"]
        schedule = policies.values.get("epsilon")
        epsilon = schedule[-1][1] if schedule and not deterministic else 0.0
        spaces = policies.observations[agent], policies.actions[agent]
        super().__init__(described, agent, *spaces, seed=seed, epsilon=epsilon, deterministic=deterministic)

    def initial_memory(self, count: int = 1) -> Any:
        if not self._module.is_stateful():
            return None
        initial = self._module.get_initial_state()
        return tree.map_structure(lambda state: torch.stack([torch.as_tensor(state)] * count), initial)

    def forward(self, xs: Any, memory: Any) -> tuple[Any, Any]:
        with torch.inference_mode():
            outputs = self._outputs(self._batch(xs, memory))
            if "actions" in outputs:  # from DQN, whose networks select the action
                return outputs["actions"].numpy(), None
            inputs = outputs["action_dist_inputs"]
            if memory is not None:
                inputs = inputs[:, 0]
            inputs = self.allowed(inputs)
            if self._deterministic and self._discrete:
                return inputs.argmax(1).numpy(), outputs.get(_STATE_OUT)
            distribution = self._module.get_inference_action_dist_cls().from_logits(inputs)
            if self._deterministic:
                distribution = distribution.to_deterministic()
            actions = distribution.sample().numpy()
        return actions, outputs.get(_STATE_OUT)

    def answers(self) -> dict[str, Answer]:
        answers: dict[str, Answer] = {}
        module = self._module
        if hasattr(module, "compute_q_values"):
            answers["action_values"] = self._answer(lambda batch: module.compute_q_values(batch)["qf_preds"])
            answers["value"] = self._answer(lambda batch: module.compute_q_values(batch)["qf_preds"].amax(1))
            return answers
        if self._discrete and not module.is_stateful():
            answers["probabilities"] = self._answer(lambda batch: self._logits(batch).softmax(1))
            answers["logits"] = self._answer(self._logits)
        if hasattr(module, "compute_values") and not module.is_stateful():
            layers = _vector_layers(module, "critic_encoder", "vf")
            values = module.compute_values if layers is None else lambda batch: layers(batch["obs"])[:, 0]
            answers["value"] = self._answer(values)
        return answers

    def _answer(self, function: Callable[[Any], Any]) -> Answer:
        return lambda xs, memory: function(self._batch(xs, None))

    def _logits(self, batch: dict[str, Any]) -> Any:
        return self._outputs(batch)["action_dist_inputs"]

    def _outputs(self, batch: dict[str, Any]) -> Any:
        """Return the module's outputs; without those of the critic, if it has an encoder of its own."""
        if self._vector_logits is not None:
            return {"action_dist_inputs": self._vector_logits(batch["obs"])}
        module = self._module
        actor = getattr(getattr(module, "encoder", None), "actor_encoder", None)
        if actor is None or module.is_stateful():
            return module.forward_inference(batch)
        return {"action_dist_inputs": module.pi(actor(batch)["encoder_out"])}

    def _batch(self, xs: Any, memory: Any) -> dict[str, Any]:
        observations = torch.from_numpy(xs)
        return {"obs": observations} if memory is None else {"obs": observations[:, None], _STATE_IN: memory}

    def allowed(self, inputs: Any) -> Any:
        """Return the inputs of the action distribution, with illegal actions masked out."""
        return inputs

    def bounded(self, action: Any) -> Any:
        # As in upstream's own last step before an environment; then for environments that do not clip.
        return clip_action(
            unsquash_action(action, self.actions) if self._normalized else action, self.actions
        )


def _vector_layers(module: Any, encoder: str, head: str) -> Callable[[Any], Any] | None:
    """Return the function from N vectors to the output of a head of a module, with the same operations,
    through its own `encoder` or the shared one. None for modules that are not linear layers."""
    encoders: Any = getattr(module, "encoder", None)
    layers: Any = getattr(encoders, encoder, None) or getattr(encoders, "encoder", None)
    output: Any = getattr(module, head, None)
    if type(layers) is not TorchMLPEncoder or type(output) is not TorchMLPHead or output.clip_log_std:
        return None
    return in_sequence(layers.net.mlp, output.net.mlp)


class RllibTurnOperator(RllibOperator):
    """An operator for one player of a turn-based game that plays only legal moves."""

    def select_action(self, observation: Any, action_mask: Any = None) -> Any:
        if action_mask is None:
            action_mask = np.ones(self.actions.n)
        self._legal = torch.from_numpy(np.asarray(action_mask, bool))
        return self.act(observation_vector(observation, action_mask))

    def queries(self) -> None:
        """Return None: moves are chosen by the mask of one position."""

    def allowed(self, inputs: Any) -> Any:
        return inputs.masked_fill(~self._legal, -torch.inf)
