"""The algorithms by their names in configurations, with upstream's script of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping

from mosaic_contract.atari import STACKED
from mosaic_contract.metadata import Algorithm


@dataclass(frozen=True)
class ScriptAlgorithm(Algorithm):
    """One algorithm. `action` is the required kind of action space, `script` the module `cleanrl.<script>`.

    An on-policy script counts the steps of all its environments and learns once per rollout; the others count
    one step for all environments together and may learn at each.

    A script for `games` preprocesses the observations of Atari games itself; it observes the last `pictures`.
    A `recurrent` script has a network with memory, and minibatches of whole environments. A `single` script
    supports only `num_envs` 1. `also_bound` are further hyperparameters that a resumed training cannot
    change, each with the reason.
    """

    name: str
    script: str
    action: str
    on_policy: bool = False
    games: bool = False
    pictures: int = STACKED
    recurrent: bool = False
    single: bool = False
    also_bound: Mapping[str, str] = field(default_factory=dict)

    @property
    def actions(self) -> tuple[str]:  # type: ignore[override]
        return (self.action,)

    @property
    def bound(self) -> dict[str, str]:
        return {**_COUNTED_BY, **self.also_bound}


_COUNTED_BY = dict.fromkeys(
    ("num_envs", "num_steps"), "it defines the steps and rollouts that the checkpoint counts"
)
_ATOMS = dict.fromkeys(("n_atoms", "v_min", "v_max"), "the outputs of the network stand for these atoms")
_TEMPERATURE = dict.fromkeys(("alpha", "autotune"), "the temperature is a part of the checkpoint")

ALGORITHMS = {
    algorithm.name: algorithm
    for algorithm in (
        ScriptAlgorithm("ppo", "ppo", "discrete", on_policy=True),
        ScriptAlgorithm("ppo_continuous", "ppo_continuous_action", "continuous", on_policy=True),
        ScriptAlgorithm("dqn", "dqn", "discrete", single=True),
        ScriptAlgorithm("c51", "c51", "discrete", single=True, also_bound=_ATOMS),
        ScriptAlgorithm("ddpg", "ddpg_continuous_action", "continuous"),
        ScriptAlgorithm("td3", "td3_continuous_action", "continuous"),
        ScriptAlgorithm("sac", "sac_continuous_action", "continuous", also_bound=_TEMPERATURE),
        ScriptAlgorithm("rpo", "rpo_continuous_action", "continuous", on_policy=True),
        ScriptAlgorithm("pqn", "pqn", "discrete", on_policy=True),
        ScriptAlgorithm("ppo_atari", "ppo_atari", "discrete", on_policy=True, games=True),
        ScriptAlgorithm(
            "ppo_atari_lstm",
            "ppo_atari_lstm",
            "discrete",
            on_policy=True,
            games=True,
            pictures=1,
            recurrent=True,
        ),
        ScriptAlgorithm("dqn_atari", "dqn_atari", "discrete", games=True, single=True),
        ScriptAlgorithm("c51_atari", "c51_atari", "discrete", games=True, single=True, also_bound=_ATOMS),
        ScriptAlgorithm(
            "rainbow_atari", "rainbow_atari", "discrete", games=True, single=True, also_bound=_ATOMS
        ),
        ScriptAlgorithm("sac_atari", "sac_atari", "discrete", games=True, also_bound=_TEMPERATURE),
    )
}

NO_GAMES_IN_RELEASE = (
    "the scripts of the release 0.4.8 need the old gym's Atari, which is no longer available; those of "
    "current upstream run (`mosaic-lab workers install cleanrl --source git`), and sb3, tianshou, xuance "
    "and rllib train on games with wrappers=['atari'] (sb3 with an LSTM too: recurrent_ppo)"
)
"""Why no algorithm for games is available with the release in the registry."""

_ENVPOOL = (
    "trains on environments of EnvPool, from which no episodes, frames and checkpoints can be taken: for "
    "games there are ppo_atari, dqn_atari, c51_atari, rainbow_atari and sac_atari"
)
_JAX = "is written for JAX 0.4.8 and Flax 0.6.8, which have no wheels for Python 3.11 beside these pins"
_PROCGEN = "needs the package procgen, which has no wheels for Python 3.11"

REFUSED_SCRIPTS = {
    **dict.fromkeys(("ppo_atari_envpool", "ppo_rnd_envpool", "pqn_atari_envpool", "pqn_atari_envpool_lstm",
                     "ppo_atari_envpool_xla_jax", "ppo_atari_envpool_xla_jax_scan"), _ENVPOOL),
    **dict.fromkeys(("c51_jax", "c51_atari_jax", "dqn_jax", "dqn_atari_jax", "ddpg_continuous_action_jax",
                     "td3_continuous_action_jax", "qdagger_dqn_atari_jax_impalacnn"), _JAX),
    **dict.fromkeys(("ppo_procgen", "ppg_procgen"), _PROCGEN),
    "ppo_pettingzoo_ma_atari": "needs SuperSuit and PettingZoo 1.18 with the old gym",
    "ppo_atari_multigpu": "is started by torchrun, a process for each GPU",
    "qdagger_dqn_atari_impalacnn": "downloads the policy that it begins with from the Hugging Face Hub",
}  # fmt: skip
"""Why a script of current upstream is not an algorithm of this worker, as the end of a sentence."""

BROKEN_IN_RELEASE = {
    "ddpg": "the script of the release 0.4.8 creates its actor without the argument it needs "
    "(`Actor()` where `Actor(env)` is meant) and ends before it trains"
}
"""Why an algorithm is not available with the release in the registry."""


def find_algorithm(name: str) -> ScriptAlgorithm | None:
    """Return an algorithm by its name or its upstream script's name, ignoring case; None if there is none."""
    key = name.strip().lower().replace("-", "_")
    for algorithm in ALGORITHMS.values():
        if key in (algorithm.name, algorithm.script):
            return algorithm
    return None
