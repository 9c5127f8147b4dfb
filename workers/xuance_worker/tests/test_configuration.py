"""Invalid configurations are refused before training starts, with the reason and a remedy."""

from __future__ import annotations

from typing import Any

import pytest
from shim_kit.promise_checks import (  # noqa: F401
    assert_a_changing_team_is_trained,
    assert_environments_are_checked,
    assert_keyword_arguments_are_passed,
    promises,
)
from shim_kit.training_worker import assert_refused

SPREAD = "simple_spread_v3"
BAD = {
    "algorithm": ({"algorithm": "mapo"}, "did you mean 'mappo'?"),
    "recurrent": ({"algorithm": "qtran", "use_rnn": True}, "upstream's qtran fails with recurrent networks"),
    "communicates": (
        {"algorithm": "CommNet"},
        "commnet of XuanCe is not offered: its agents act on each other's messages",
    ),
    "variant": (
        {"algorithm": "QTRAN_alt"},
        "qtran_alt of XuanCe is not offered: upstream's learner fails with a network for each agent",
    ),
    "environment": (
        {"env_id": "simple_spred_v3"},
        "environment 'simple_spred_v3' cannot be made here: Environment `simple_spred_v3` "
        "doesn't exist; did you mean 'simple_spread_v3'?",
    ),
    "a family": ({"env_id": "sisl/multiwalkr_v9"}, "did you mean 'multiwalker_v9'?"),
    "turns": (
        {"env_id": "classic/connect_four_v3"},
        "classic/connect_four_v3 is played in turns; this worker has parallel environments only",
    ),
    "one agent": (
        {"env_id": "CartPole-v1"},
        "mappo trains several agents at once; CartPole-v1 has one agent (for it: ppo, a2c, pg, ppg,",
    ),
    "a team": (
        {"algorithm": "ppo"},
        "ppo trains one agent; simple_spread_v3 has 3 agents (for it: mappo, ippo, coma, iac, vdac",
    ),
    "a team of one": ({"env_id": "simple_v3"}, "simple_v3 is a team of one"),
    "continuous": (
        {"algorithm": "qmix", "continuous_action": True},
        "qmix needs discrete actions; agent_0 of simple_spread_v3 has Box(0.0, 1.0, (5,), float32)",
    ),
    "discrete": (
        {"algorithm": "maddpg", "continuous_action": False},
        "maddpg needs continuous actions; agent_0 of simple_spread_v3 has Discrete(5); for these actions use",
    ),
    "observations": ({"env_id": "classic/rps_v2"}, "needs vectors (a Box of one dimension) as observations"),
    "pictures": (
        {"algorithm": "sac", "env_id": "CarRacing-v3"},
        "; for convolutional networks train ppo; lab.",
    ),
    "mixed spaces": ({"env_id": "simple_tag_v3"}, "give use_parameter_sharing=False"),
    "mixed sizes": (
        {"env_id": "simple_tag_v3", "use_parameter_sharing": False},
        "joins observations of one size only, and those of simple_tag_v3 differ: give use_global_state=True",
    ),
    "entropy": (
        {"algorithm": "sac", "env_id": "CartPole-v1", "use_automatic_entropy_tuning": True},
        "leave it out, and give alpha",
    ),
    "device": ({"device": "gpu"}, "'gpu' is not one of 'auto', 'cpu', 'cuda', 'cuda:0'"),
    "range": ({"gamma": 1.5}, "hyperparameter 'gamma': 1.5 is more than 1"),
    "widths": ({"actor_hidden_size": []}, "'actor_hidden_size' must be a list of widths, such as [64, 64]"),
    "buffer": ({"parallels": 3}, "buffer_size=400 must be a multiple of parallels=3"),
    "short": ({"total_timesteps": 300}, "total_timesteps=300 ends before the first update"),
}


def test_bad_configurations(worker: Any, subtests: pytest.Subtests) -> None:
    assert_refused(worker, BAD, subtests, algorithm="mappo", env_id=SPREAD)


@pytest.mark.extended  # rarely changes: upstream is pinned
def test_each_name_in_upstreams_registry_is_known_or_refused_with_a_reason(worker: Any) -> None:
    script = "import json, xuance.torch; print(json.dumps(list(xuance.torch.REGISTRY_Agents)))"
    names = worker.output_of("-c", script)
    assert {"PPO_KL", "OWQMIX", "QTRAN_alt", "DCG_S"} <= set(names)
    errors = worker.errors(*({"algorithm": name, "env_id": SPREAD} for name in names))
    assert [name for name, error in zip(names, errors, strict=True) if "unknown" in error] == []
    assert not errors[names.index("OWQMIX")]


@pytest.mark.extended  # rarely changes: upstream is pinned
def test_hyperparameters_are_upstreams_by_name_type_and_default(worker: Any) -> None:
    """The reference is upstream's own `get_arguments`."""
    script = """
import json
from xuance import get_arguments
print(json.dumps(vars(get_arguments("qmix", "mpe", "simple_spread_v3"))))
"""
    upstream = worker.output_of("-c", script)
    listed = worker.hyperparameters["qmix"]
    assert {"learning_rate", "hidden_dim_mixing_net", "parallels", "double_q"} <= set(listed)
    ours = {"backend", "device", "env_kwargs"}
    own = {name: p["default"] for name, p in listed.items() if name not in ours}
    assert own == {name: upstream[name] for name in own}
    assert listed["hidden_dim_mixing_net"]["help"] == "hidden units of mixing network"
    assert listed["batch_size"]["type"] == "int"


def test_a_default_that_depends_on_the_kind_of_actions_is_listed_for_both(worker: Any) -> None:
    listed = {name: (p["default"], p["help"]) for name, p in worker.hyperparameters["sac"].items()}
    assert listed["gamma"] == (None, "by default: discrete 0.99, continuous 0.98")
    assert listed["activation_action"] == (None, "by default: continuous tanh")
    assert listed["tau"][0] == 0.005
    for env_id, gamma in (("CartPole-v1", 0.99), ("Pendulum-v1", 0.98)):
        assert worker.resolved(algorithm="sac", env_id=env_id)["hyperparameters"]["gamma"] == gamma


@pytest.mark.extended
@pytest.mark.usefixtures("promises")
def test_a_team_whose_agents_leave_and_come_later_is_trained(worker: Any, operators: Any) -> None:
    """The run's log states once how their absence is filled."""
    small = {"algorithm": "mappo", "parallels": 1, "buffer_size": 64, "use_parameter_sharing": False}
    mixing = {"algorithm": "qmix", "parallels": 2, "start_training": 32, "training_frequency": 2}
    for config in (
        {"env_id": "leaving_v0", **small, "use_global_state": True},
        {"env_id": "leaving_v0:Leaving", **small, "use_global_state": True},
        {"env_id": "leaving_v0:Leaving", **mixing, "use_parameter_sharing": False},
    ):
        log = assert_a_changing_team_is_trained(worker, operators, **config)
        (said,) = (line for line in log.splitlines() if "absent" in line)
        assert "in a part of an episode: red team/1, late.0. Upstream" in said
        assert "they observe zeros, get reward 0, and are masked in the losses" in said
