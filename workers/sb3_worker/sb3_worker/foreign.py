"""Policies from zip files trained elsewhere: their algorithm, and their compatibility with the agent."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping

from mosaic_contract import AgentSetup, ConfigError, make_space
from mosaic_contract.checkpoints import check_file, loading
from mosaic_contract.pytorch import check_weights
from mosaic_contract.space_compatibility import misfit
from mosaic_contract.spaces import describe_space
from mosaic_contract.training_plan import nearest_algorithm

from .algorithms import ALGORITHMS, Sb3Algorithm
from .factory import upstream_class
from .model_zip import ModelZip
from .saved_policy import SavedPolicy, channels_first, finished, load_policy
from .vec_normalize import Observe, normalization_of

_CONTRIB_ALGORITHMS = {"recurrent": "recurrent_ppo", "maskable": "maskable_ppo"}
_IDENTIFYING_ATTRIBUTES = (  # the first attribute found in a model identifies its algorithm
    ("delta_std_schedule", "ars"),
    ("cg_max_steps", "trpo"),
    ("top_quantiles_to_drop_per_net", "tqc"),
    ("target_entropy", "sac"),
    ("target_policy_noise", "td3"),
    ("exploration_initial_eps", "dqn"),
    ("clip_range", "ppo"),
    ("gae_lambda", "a2c"),
)
_SPACES = {"observation_space": "observations", "action_space": "actions"}
_TRUST_HINT = "trust=True unpickles it, for files of whose origin you are sure"


def foreign_policy(setup: AgentSetup) -> tuple[SavedPolicy, str, bool, Mapping[str, Any], Observe | None]:
    """Return the policy, the name of its algorithm, whether it acts deterministically, its observation space,
    and the function that normalizes its observations.

    Without spaces in `setup`, the file's own are used. `setup.settings` are {"checkpoint": path, "algorithm":
    name or None, "deterministic": bool, "trust": bool}; `trust` loads the file with upstream's own `load`,
    which unpickles. Raises `ConfigError`.
    """
    path = Path(str(setup.settings.get("checkpoint"))).expanduser().resolve()
    if not path.is_file():
        raise ConfigError(f"there is no file {path}")
    check_file(path)
    saved = ModelZip(path)
    algorithm = _algorithm(saved, setup.settings.get("algorithm"))
    described = [getattr(setup, name) or _full_description(saved, name) for name in _SPACES]
    if problems := list(_misfits(saved, setup)):
        raise ConfigError(problems)
    deterministic = setup.settings.get("deterministic", True) is True
    observations, actions = map(make_space, described)
    facts = algorithm.name, deterministic, described[0], normalization_of(path, observations)
    if setup.settings.get("trust") is True:
        return _unpickled(path, algorithm), *facts
    try:
        return load_policy(path, algorithm, observations, actions), *facts
    except ConfigError as error:
        hint = f". {_TRUST_HINT}" if "unpickled" in str(error) else ""
        raise ConfigError(f"{error}{hint}") from None


def _algorithm(saved: ModelZip, requested: Any) -> Sb3Algorithm:
    """Return the algorithm of a file: the given one, else the one identified by the model's attributes."""
    if requested is not None:
        if requested not in ALGORITHMS:
            raise ConfigError(
                f"unknown algorithm {requested!r:.100}{nearest_algorithm(str(requested), ALGORITHMS)}"
            )
        return ALGORITHMS[requested]
    names, module = saved.names(), saved.class_name("policy_class").split(".")
    identified = next((name for attribute, name in _IDENTIFYING_ATTRIBUTES if attribute in names), None)
    if identified == "ppo":
        identified = next((name for part, name in _CONTRIB_ALGORITHMS.items() if part in module), identified)
    if identified == "dqn" and "qrdqn" in module:
        identified = "qrdqn"
    if identified is None or "crossq" in module:
        raise ConfigError(
            f"{saved.path} does not say which algorithm it is of: give algorithm=, one of "
            f"{', '.join(ALGORITHMS)}"
        )
    return ALGORITHMS[identified]


def _unpickled(path: Path, algorithm: Sb3Algorithm) -> SavedPolicy:
    with loading(path):  # also reports errors raised by the file's own code
        model: Any = upstream_class(algorithm).load(path, device="cpu")
        check_weights(model.get_parameters(), "parameters")
    return finished(model.policy, getattr(model, "exploration_rate", 0.0), model.use_sde)


def _misfits(saved: ModelZip, setup: AgentSetup) -> Iterator[str]:
    """Yield why the policy cannot act for the agent, one sentence for each of its spaces."""
    for name, label in _SPACES.items():
        if (offered := getattr(setup, name)) is None:
            continue
        trained = _description(saved, name)
        space = (
            {**offered, **_shape_of(channels_first(make_space(offered)))}
            if label == "observations"
            else offered
        )
        if trained and (text := misfit(trained, space, label)):
            yield f"{saved.path.name}: its {text}"


def _shape_of(space: Any) -> dict[str, Any]:
    return {"shape": list(space.shape)} if type(space).__name__ == "Box" else {}


def _full_description(saved: ModelZip, name: str) -> dict[str, Any]:
    """Return a space as a file describes it. Raises `ConfigError` if it does not describe all of it."""
    described, texts = _description(saved, name), saved.attributes(name)
    if described.get("type") == "Box":
        described["dtype"] = str(texts.get("dtype", "float32"))
        bounds = {bound: _numbers(texts.get(bound)) for bound in ("low", "high")}
        if name == "observation_space":  # whose bounds do not matter to a policy
            described |= {"low": "-Infinity", "high": "Infinity"}
        elif described["shape"] == [len(bounds["low"])] == [len(bounds["high"])]:
            described |= bounds
    if not described or ("dtype" in described and "low" not in described):
        raise ConfigError(
            f"{saved.path.name} does not describe its {name}: give the agent its observation_space and its "
            "action_space"
        )
    return describe_space(make_space(described))


def _description(saved: ModelZip, name: str) -> dict[str, Any]:
    """Return a space in the form of `describe_space`, as far as its texts describe it; {} if they are
    incomplete."""
    space_type, texts = saved.type_name(name), saved.attributes(name)
    reader = _READERS.get(space_type)
    try:
        return {"type": space_type, **reader(texts)} if reader else {}
    except (KeyError, ValueError, TypeError, IndexError):
        return {}


def _numbers(text: Any) -> list[float]:
    return [float(number) for number in re.findall(r"-?(?:inf|\d+(?:\.\d*)?(?:e[+-]?\d+)?)", str(text))]


def _box(texts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bounds of a Box if its texts contain all of them: one number for all, or one for each
    element."""
    shape = [int(length) for length in texts["_shape"]]
    bounds = {bound: _numbers(texts.get(f"{bound}_repr")) for bound in ("low", "high")}
    if "..." in f"{texts.get('low_repr')}{texts.get('high_repr')}" or not all(bounds.values()):
        return {"shape": shape}
    limits = {bound: numbers[0] if len(numbers) == 1 else numbers for bound, numbers in bounds.items()}
    return {"shape": shape, **limits}


_READERS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "Box": _box,
    "Discrete": lambda texts: {"n": int(texts["n"]), "start": int(texts.get("start", 0))},
    "MultiDiscrete": lambda texts: {"nvec": [int(number) for number in _numbers(texts["nvec"])]},
    "MultiBinary": lambda texts: {"n": int(texts["n"])},
}
