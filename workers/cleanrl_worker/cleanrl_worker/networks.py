"""Upstream's own networks, made without running its scripts.

The class of the network and its dependencies (functions, constants, imports) are extracted from a script's
source text: no environment is made, and no library is loaded that the class does not use. The rest of this
module converts each network's output to an action: `Scores` for discrete and `Acts` for continuous actions.
"""

from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable, Mapping, Sequence

import torch
from mosaic_contract.pytorch import in_sequence

from .algorithms import ALGORITHMS

Scores = Callable[[torch.Tensor], torch.Tensor]
"""N observations (N, n) → a score for each action (N, actions): logits or values."""

Memory = tuple[torch.Tensor, torch.Tensor]
"""The state of an LSTM."""

RecurrentScores = Callable[[torch.Tensor, "Memory | None"], tuple[torch.Tensor, Memory]]
"""N observations and the memory before them (None: they begin episodes) → scores and the memory after."""

Acts = Callable[[torch.Tensor, "torch.Tensor | None"], torch.Tensor]
"""N observations and standard normal noise (or None for the best actions) → N actions (N, m)."""

_CLASSES = {
    "ppo": "Agent",
    "ppo_continuous": "Agent",
    "dqn": "QNetwork",
    "c51": "QNetwork",
    "ddpg": "Actor",
    "td3": "Actor",
    "sac": "Actor",
    "rpo": "Agent",
    "pqn": "QNetwork",
    "ppo_atari": "Agent",
    "ppo_atari_lstm": "Agent",
    "dqn_atari": "QNetwork",
    "c51_atari": "QNetwork",
    "rainbow_atari": "NoisyDuelingDistributionalNetwork",
    "sac_atari": "Actor",
}
_MODULES = {
    "Agent": "agent", "QNetwork": "q_network", "Actor": "actor", "Policy": "pg",
    "NoisyDuelingDistributionalNetwork": "q_network",
}  # fmt: skip
"""The variable of the acting network in the scripts. (The release's `c51` collects with its target network, a
copy of this network that is a few steps old.)"""
_CRITICS = {"ddpg": "QNetwork", "td3": "QNetwork", "sac": "SoftQNetwork"}
"""The classes of critics that value an observation and an action."""
_CPU = torch.device("cpu")


def make_networks(
    script: Path,
    algorithm: str,
    *,
    legacy: bool,
    observation_space: Any,
    action_space: Any,
    hyperparameters: Mapping[str, Any],
    modules: Mapping[str, Mapping[str, torch.Tensor]],
) -> tuple[Any, list[Any]]:
    """Return the network that acts and the critics that value an observation and an action, if the algorithm
    has any, as its script makes them for these spaces (after its wrappers), with the weights in `modules`.

    Raises the errors of upstream's code, and `RuntimeError` for weights of another shape.
    """
    name = "Policy" if legacy and algorithm == "sac" else _CLASSES[algorithm]
    network_class = class_of(script, name, hyperparameters)
    environments = _environments(legacy, observation_space, action_space)
    if name == "Policy":
        network = network_class(observation_space.shape[0], action_space.shape[0], environments)
    elif algorithm in ("c51", "c51_atari", "rainbow_atari"):
        atoms = {key: hyperparameters[key] for key in ("n_atoms", "v_min", "v_max")}
        options = {"env": environments, **({"device": _CPU} if legacy else {})}
        network = network_class(**options, **atoms)
    elif algorithm == "rpo":
        network = network_class(environments, hyperparameters["rpo_alpha"])
    else:
        network = network_class(environments)
    acting = _with_weights(network, modules[_MODULES[name]])
    if algorithm not in _CRITICS:
        return acting, []
    critic_class = class_of(script, _CRITICS[algorithm], hyperparameters)
    arguments: tuple[Any, ...] = (environments,)
    if name == "Policy":
        arguments = observation_space.shape[0], action_space.shape[0], lambda layer: None
    names = [name for name in ("qf1", "qf2") if name in modules]
    return acting, [_with_weights(critic_class(*arguments), modules[name]) for name in names]


def _with_weights(network: Any, weights: Mapping[str, torch.Tensor]) -> Any:
    network.load_state_dict(dict(weights))
    return network.eval().requires_grad_(False)


def class_of(script: Path, name: str, hyperparameters: Mapping[str, Any]) -> Any:
    """Return a class of a script, with the hyperparameters in place of the script's `args`."""
    tree = ast.parse(script.read_text(encoding="utf-8"), str(script))
    defined = {bound: node for node in tree.body for bound in _names_bound(node)}
    needed, waiting = set(), [name]
    while waiting:
        node = defined.get(waiting.pop())
        if node is not None and node not in needed:
            needed.add(node)
            waiting += [inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)]
    body = [node for node in tree.body if node in needed]
    scope: dict[str, Any] = {"__name__": f"cleanrl.{script.stem}", "args": SimpleNamespace(**hyperparameters)}
    exec(compile(ast.Module(body, []), str(script), "exec"), scope)  # executed by the training too
    return scope[name]


def scores_of(network: Any, algorithm: str, *, legacy: bool) -> Scores:
    """Return the function that computes the script's score of each action."""
    if ALGORITHMS[algorithm].games:
        return _scores_of_game(network, algorithm)
    if algorithm == "ppo":
        return in_sequence(network.actor)
    if algorithm in ("dqn", "pqn"):
        return (lambda x: network(x, _CPU)) if legacy else in_sequence(network.network)
    layers = in_sequence(network.network)
    atoms, count = network.atoms, network.n_atoms

    def expected(x: torch.Tensor) -> torch.Tensor:
        return (torch.softmax(layers(x).view(len(x), -1, count), dim=2) * atoms).sum(2)

    return expected


def recurrent_scores_of(network: Any) -> RecurrentScores:
    """Return the function that computes the logits of the script's recurrent network."""
    lstm = network.lstm

    @torch.inference_mode()
    def scores(x: torch.Tensor, memory: Memory | None) -> tuple[torch.Tensor, Memory]:
        if memory is None:
            memory = (torch.zeros(lstm.num_layers, len(x), lstm.hidden_size),) * 2
        hidden, memory = network.get_states(x, memory, torch.zeros(len(x)))
        return network.actor(hidden), memory

    return scores


def answers_of(network: Any, algorithm: str, scores: Scores | None) -> dict[str, Scores]:
    """Return the answers of the networks to N observations besides actions; none for games, whose policies
    answer no queries.

    These are the probabilities and logits of policies that sample by their scores, the values of actions of
    others, and the value of the state if the algorithm learns one.
    """
    answers: dict[str, Scores] = {}
    if ALGORITHMS[algorithm].games:
        return answers
    if scores is not None and algorithm == "ppo":
        answers["probabilities"] = lambda x: torch.softmax(scores(x), dim=1)
        answers["logits"] = scores
    elif scores is not None:
        answers["action_values"] = scores
        answers["value"] = lambda x: scores(x).amax(1)
    if hasattr(network, "critic"):
        answers["value"] = lambda x: network.critic(x)[:, 0]
    return {name: torch.inference_mode()(answer) for name, answer in answers.items()}


def value_of(critics: Sequence[Any], acts: Acts, *, legacy: bool) -> Scores:
    """Return the function that computes the lowest of the critics' values of the best action."""
    device = (_CPU,) if legacy else ()

    @torch.inference_mode()
    def value(x: torch.Tensor) -> torch.Tensor:
        actions = acts(x, None)
        return torch.cat([critic(x, actions, *device) for critic in critics], 1).amin(1)

    return value


def exploration(description: Mapping[str, Any]) -> float | None:
    """Return the probability of a random action; None for algorithms without `end_e`, such as PPO and SAC,
    which sample from their policy. Rainbow explores by noise in its weights, which is not drawn here: 0."""
    if description["algorithm"] == "rainbow_atari":
        return 0.0
    end: float | None = description["hyperparameters"].get("end_e")
    return end


def _scores_of_game(network: Any, algorithm: str) -> Scores:
    """Return the scores for images of bytes."""

    def ppo(x: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = network.actor(network.network(x / 255.0))
        return scores

    def sac(x: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = network(x / 255.0)
        return scores

    def c51(x: torch.Tensor) -> torch.Tensor:
        logits = network.network(x / 255.0)
        return (torch.softmax(logits.view(len(x), network.n, -1), dim=2) * network.atoms).sum(2)

    def rainbow(x: torch.Tensor) -> torch.Tensor:
        expected: torch.Tensor = (network(x) * network.support).sum(2)
        return expected

    def lstm(x: torch.Tensor) -> torch.Tensor:
        return recurrent_scores_of(network)(x, None)[0]

    functions = {
        "ppo_atari": ppo, "ppo_atari_lstm": lstm, "sac_atari": sac, "c51_atari": c51, "rainbow_atari": rainbow
    }  # fmt: skip
    return functions.get(algorithm, network.forward)


def acts_of(
    network: Any, algorithm: str, *, legacy: bool, action_space: Any, hyperparameters: Mapping[str, Any]
) -> Acts:
    """Return the function that computes the script's action, before it is clipped to the action space."""
    forward = (lambda x: network(x, _CPU)) if legacy and algorithm != "ppo_continuous" else network.forward
    if algorithm in ("ppo_continuous", "rpo"):
        mean_of, deviation = in_sequence(network.actor_mean), network.actor_logstd.exp()

        def ppo(x: torch.Tensor, noise: torch.Tensor | None) -> torch.Tensor:
            mean = mean_of(x)
            return mean if noise is None else mean + deviation * noise

        return ppo
    if algorithm == "sac":

        def sac(x: torch.Tensor, noise: torch.Tensor | None) -> torch.Tensor:
            mean, log_deviation = forward(x)
            inner = mean if noise is None else mean + log_deviation.exp() * noise
            action: torch.Tensor = torch.tanh(inner) * network.action_scale + network.action_bias
            return action

        return sac
    reach = float(action_space.high[0]) if legacy else network.action_scale
    spread = reach * hyperparameters["exploration_noise"]

    def actor(x: torch.Tensor, noise: torch.Tensor | None) -> torch.Tensor:
        action: torch.Tensor = forward(x)
        return action if noise is None else action + spread * noise

    return actor


def _environments(legacy: bool, observation_space: Any, action_space: Any) -> Any:
    """Return a replacement, with spaces only, for the environments from which scripts make networks."""
    if legacy:
        return SimpleNamespace(observation_space=observation_space, action_space=action_space)
    from gymnasium.vector.utils import batch_space

    return SimpleNamespace(
        single_observation_space=observation_space,
        single_action_space=action_space,
        action_space=batch_space(action_space, 1),  # used only by DDPG, which trains on one environment
    )


def _names_bound(node: ast.stmt) -> list[str]:
    """Return the names defined by a module-level statement: classes, functions, imports and constants, but
    nothing computed."""
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(alias.asname or alias.name).split(".")[0] for alias in node.names]
    if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Constant, ast.UnaryOp)):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []
