"""The plan of a training from a run's configuration, validated before anything starts."""

from __future__ import annotations

import math
import os
import re
import socket
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping

from mosaic_contract import Parameter, TrainingConfig, check_hyperparameters
from mosaic_contract.gymnasium_wrappers import NORMALIZE_REWARD, with_statistics
from mosaic_contract.hyperparameters import ENV_KWARGS, env_kwargs_of, width_problems
from mosaic_contract.training_plan import DescribedCheckpoint, PlannedTraining
from mosaic_contract.wrappers import CHANNELS_LAST, SCALED

from . import policies
from .algorithms import ALGORITHMS, MODEL, RllibAlgorithm
from .environments import RllibEnvironmentSpec, default_filters, is_images, misfits, spec_of
from .hyperparameters import ADDRESS, ALIASES, POLICIES, SHARED, numbers_as_words, parameters_of

_CONNECT_SECONDS = 5.0
_SETTINGS = 4  # the type of HTTP/2's first frame
FILTERS = "conv_filters"
_WIDTHS = ("fcnet_hiddens", "head_fcnet_hiddens")
_BOUND = (*MODEL, POLICIES, ENV_KWARGS.name, "normalize_actions", "dueling", "num_atoms", "twin_q")
"""Hyperparameters that a resumed training cannot change: they define its networks or the meaning of its
actions."""


@dataclass(frozen=True)
class RllibPlan(PlannedTraining):
    """A validated and resolved training."""

    FORMAT = "mosaic-rllib/1"
    ALGORITHMS = ALGORITHMS
    MAX_SEED = 2**31 - 1  # upstream adds each runner's index and seeds NumPy with the sum
    GAME_WRAPPERS = (CHANNELS_LAST, SCALED)

    algorithm: RllibAlgorithm
    own_spec: RllibEnvironmentSpec
    spec: RllibEnvironmentSpec

    @classmethod
    def adapted(cls, config: TrainingConfig) -> TrainingConfig:
        name = config.algorithm.lower()  # upstream's own names are in capitals
        # The cluster of the checkpoint's training does not apply to this one.
        hyperparameters = {ADDRESS: None, **_current_names(config.hyperparameters)}
        return replace(config, algorithm=name, hyperparameters=hyperparameters)

    @classmethod
    def probed(
        cls, config: TrainingConfig, hyperparameters: Mapping[str, Any]
    ) -> tuple[TrainingConfig, Any, Any]:
        own_spec = spec_of(config.env_id, env_kwargs_of(hyperparameters))
        spec = own_spec.wrapped(config.wrappers)
        sees = ALGORITHMS[config.algorithm].sees_pictures
        if sees and is_images(spec) and all(space.dtype.kind in "iu" for space in spec.observations.values()):
            config = replace(config, wrappers=(*config.wrappers, SCALED))  # upstream's convolutions need it
            spec = own_spec.wrapped(config.wrappers)
        return config, own_spec, spec

    @classmethod
    def _resumed(cls, config: TrainingConfig) -> tuple[DescribedCheckpoint | None, dict[str, Any]]:
        resume_from, hyperparameters = super()._resumed(config)
        return resume_from, _current_names(hyperparameters)

    @property
    def bound(self) -> Mapping[str, str]:
        return dict.fromkeys(_BOUND, "the networks are built, or the actions meant, by it")

    def misfits(self) -> Iterable[str]:
        values = self.hyperparameters
        for old, name in ALIASES.items():
            if old in values:
                yield f"{old}={values[old]} and {name}={values[name]} are the same and disagree"
        if self.resume_from is not None:
            checkpoint, folder = self.resume_from[0], rllib_folder(self.resume_from[0])
            if not folder.is_dir():
                yield (
                    f"checkpoint.resume_from: {checkpoint.name} can act, but its folder {folder.name}, which "
                    "training continues from, is not beside it"
                )
        if self.config.wrappers == (SCALED,) and values.get(ADDRESS) is not None:
            yield f"images of integers are scaled by a wrapper, only on this machine: leave out {ADDRESS}"
        elif self.config.wrappers and values.get(ADDRESS) is not None:
            yield f"wrappers: supported only on this machine; leave them out, or {ADDRESS}"
        if self.config.wrappers and self.spec.games:
            yield "wrappers: a game in turns is observed as a vector already; leave them out"
        shared = with_statistics(self.config.wrappers)
        if NORMALIZE_REWARD in shared:
            yield f"wrappers: RLlib would report the normalized rewards as returns: omit {NORMALIZE_REWARD}"
        if shared and values.get("num_env_runners") != 0:
            yield (
                f"wrappers: the statistics of {', '.join(shared)} cannot be shared by RLlib's runners: give "
                "num_env_runners=0"
            )
        yield from misfits(self.algorithm, self.spec, filters=bool(values.get(FILTERS)))
        yield from policies.problems_of(values.get(POLICIES, SHARED), self.spec)

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        return parameters_of(self.algorithm.name)

    def checked(self, problems: Iterable[str]) -> dict[str, Any]:
        values = {
            name: value for name, value in self.hyperparameters.items() if name not in (POLICIES, *ALIASES)
        }
        checked = check_hyperparameters(numbers_as_words(values, self.parameters), self.parameters, problems)
        if FILTERS in checked and checked[FILTERS] is None:
            checked[FILTERS] = default_filters(self.spec)
        return {**checked, POLICIES: self.hyperparameters.get(POLICIES, SHARED)}

    def disagreements(self) -> Iterable[str]:
        values = self.hyperparameters
        problems = [*_list_problems(values), *_value_problems(values), *_address_problems(values[ADDRESS])]
        if self.config.environment_server and self.address is not None and self.runners:
            server = self.config.environment_server["worker"]
            problems.append(
                f"{self.config.env_id} is served by worker {server!r}, which runners on a cluster cannot "
                f"start: leave {ADDRESS} out, or give num_env_runners=0"
            )
        yield from problems
        if not problems and self.config.end_step < self.first_update:
            hint = "train_batch_size_per_learner" if self.algorithm.on_policy else (
                "num_steps_sampled_before_learning_starts"
            )  # fmt: skip
            yield (
                f"{self.config.end_field} ends before the first update, which comes at step "
                f"{self.first_update}; raise it, or lower {hint}"
            )

    def resolved(self) -> dict[str, Any]:
        gpus = self.gpus if self.learns_here else 0
        return {**super().resolved(), "policy_of": self.policy_of, "cpus": self.cpus, "gpus": gpus}

    @property
    def policy_of(self) -> dict[str, str]:
        """The policy of each agent, by name."""
        return policies.mapping_of(self.hyperparameters[POLICIES], self.spec)

    @property
    def address(self) -> str | None:
        """The address of an existing Ray cluster, None for a local one."""
        return self.hyperparameters[ADDRESS]

    @property
    def runners(self) -> int:
        """The number of processes with environments; 0: only this process."""
        return int(self.hyperparameters["num_env_runners"])

    @property
    def environments(self) -> int:
        return 0 if self.runners else int(self.hyperparameters["num_envs_per_env_runner"])

    @property
    def cpus(self) -> int:
        """The number of CPUs that Ray reserves: for runners, for learners without a GPU, and for processes
        that collect data for learners."""
        values = self.hyperparameters
        learners = values["num_learners"]
        collecting = max(1, learners) * values["num_aggregator_actors_per_learner"]
        learning = 0 if values["num_gpus_per_learner"] else learners
        return math.ceil(self.runners * values["num_cpus_per_env_runner"]) + int(learning + collecting)

    @property
    def gpus(self) -> float:
        """The number of GPUs of all learners, including the learner in this process."""
        values = self.hyperparameters
        return float(max(1, values["num_learners"]) * values["num_gpus_per_learner"])

    @property
    def learns_here(self) -> bool:
        """Whether the learners run on this machine rather than on nodes of a cluster."""
        return self.address is None or not self.hyperparameters["num_learners"]

    @property
    def iteration(self) -> str:
        """The steps and updates of an iteration in words; empty for algorithms without epochs."""
        values = self.hyperparameters
        batch, epochs = values["train_batch_size_per_learner"], values.get("num_epochs")
        if epochs is None:
            return ""
        minibatch = values["minibatch_size"] or batch
        count = f"{batch:,} steps and {epochs * math.ceil(batch / minibatch):,} updates"
        return f", after {count} (num_epochs={epochs}, minibatch_size={minibatch})"

    @property
    def first_update(self) -> int:
        """The environment step of the first update. Off-policy algorithms also count the steps of the
        trainings that this one resumes from."""
        values = self.hyperparameters
        if self.algorithm.on_policy:
            batch = values["train_batch_size_per_learner"] * max(1, values["num_learners"])
            return self.start_step + int(batch)
        return max(self.start_step + 1, int(values["num_steps_sampled_before_learning_starts"]))


def rllib_folder(checkpoint: Path) -> Path:
    """Return the folder of upstream's own checkpoint, beside the file of weights."""
    return checkpoint.with_suffix(".rllib")


def _current_names(hyperparameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyperparameters with older names replaced by current ones, unless both are given and differ."""
    values = dict(hyperparameters)
    for old, name in ALIASES.items():
        if old in values and values.setdefault(name, values[old]) == values[old]:
            del values[old]
    return values


def _list_problems(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lists that upstream would reject only during training."""
    yield from width_problems({name: values.get(name) for name in _WIDTHS}, may_be_empty=_WIDTHS)
    if values.get(FILTERS) is not None and not _is_convolutions(values[FILTERS]):
        yield (
            f"{FILTERS} must be a list of [channels, kernel, stride], such as [[32, 3, 1], [64, 3, 1]], got "
            f"{values[FILTERS]}"
        )
    if "epsilon" in values and not _is_schedule(values["epsilon"]):
        yield (
            "hyperparameter 'epsilon' must be a list of [step, value] from step 0 on, such as "
            f"[[0, 1.0], [10000, 0.05]], got {values['epsilon']}"
        )


def _is_convolutions(value: Any) -> bool:
    return bool(value) and all(
        isinstance(layer, list) and len(layer) == 3 and all(type(size) is int and size > 0 for size in layer)
        for layer in value
    )


def _is_schedule(value: Any) -> bool:
    pairs = all(
        isinstance(pair, list) and len(pair) == 2 and all(type(n) in (int, float) for n in pair)
        for pair in value
    )
    return bool(value) and pairs and value[0][0] == 0 and all(0 <= pair[1] <= 1 for pair in value)


def _value_problems(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield values that are valid alone, but not together."""
    batch, minibatch = values["train_batch_size_per_learner"], values.get("minibatch_size")
    if minibatch is not None and minibatch > batch:
        yield f"minibatch_size={minibatch} is more than train_batch_size_per_learner={batch}"
    if values.get("num_atoms", 1) > 1 and values["v_min"] >= values["v_max"]:
        yield f"v_min must be below v_max, got {values['v_min']} and {values['v_max']}"
    if values.get("use_lstm") and values["max_seq_len"] > batch:
        yield f"max_seq_len={values['max_seq_len']} is more than train_batch_size_per_learner={batch}"


def _address_problems(address: str | None) -> Iterator[str]:
    """Yield why no Ray cluster can be joined at an address."""
    if address is None:
        return
    match = re.fullmatch(r"(?P<host>[\w.-]+|\[[\da-fA-F:]+\]):(?P<port>\d{1,5})", address)
    if match is None:
        yield f'{ADDRESS} must be host:port of a Ray cluster, such as "10.0.0.5:6379", got {address!r:.100}'
        return
    try:
        _check_speaks_grpc(match["host"].strip("[]"), int(match["port"]))
    except (OSError, OverflowError) as error:
        yield (
            f"{ADDRESS}: no Ray cluster answers at {address} ({error}); `ray status` on its head node says "
            f"where it listens; leave {ADDRESS} out for a local one"
        )


def _check_speaks_grpc(host: str, port: int) -> None:
    """Open a connection with gRPC, Ray's protocol: send HTTP/2's preface and expect a settings frame. Raises
    `OSError` for a server that answers differently; a server with TLS is only checked for reachability."""
    with socket.create_connection((host, port), _CONNECT_SECONDS) as connection:
        if os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
            return
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, _SETTINGS, 0, 0, 0, 0, 0]))
        answer = connection.recv(4)
    if answer[3:] != bytes([_SETTINGS]):
        raise ConnectionError("the server there does not speak gRPC")
