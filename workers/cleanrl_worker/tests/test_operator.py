"""Policies act as upstream's own networks do, from checkpoints of real trainings, through `--interactive`."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from operators.conversation import Conversation
from shim_kit.policies import SEED, Refusals, actions_of, begin

TRAINED = [("default source", algorithm) for algorithm in ("ppo", "dqn", "sac")]
EXTENDED = [("default source", algorithm) for algorithm in ("ppo_continuous", "c51", "td3")]
if os.environ.get("MOSAIC_TEST_CLEANRL_CHECKOUT"):
    TRAINED += [("checkout", algorithm) for _, algorithm in TRAINED]
    EXTENDED += [("checkout", algorithm) for algorithm in ("c51", "td3", "ddpg", "rpo", "pqn")]
UPSTREAM = Path(__file__).with_name("upstream_acts.py")

Trained = tuple[Any, str, Path, Conversation]


@pytest.fixture(
    params=[*TRAINED, *(pytest.param(one, marks=pytest.mark.extended) for one in EXTENDED)], ids="-".join
)
def trained(
    workers: Callable[[str], Any], operators_of: Callable[[Any], Conversation], request: pytest.FixtureRequest
) -> Trained:
    """A worker, an algorithm, the last checkpoint of its small training, and its operator process."""
    source, algorithm = request.param
    worker = workers(source)
    return worker, algorithm, worker.trained(algorithm).checkpoints[-1], operators_of(worker)


def observations(worker: Any, algorithm: str, count: int = 8) -> list[list[float]]:
    size = 4 if worker.small[algorithm]["env_id"] == "CartPole-v1" else 3
    return np.random.default_rng(3).normal(size=(count, size)).astype(np.float32).tolist()


def test_actions_are_those_of_upstreams_own_network(trained: Trained) -> None:
    """Bit for bit: the best actions, and the sampled ones where the script samples from a distribution."""
    worker, algorithm, checkpoint, operators = trained
    seen = observations(worker, algorithm)
    upstream = worker.output_of(str(UPSTREAM), str(checkpoint), json.dumps(seen), str(SEED))
    begin(operators, checkpoint, deterministic=True)
    assert actions_of(operators, seen) == upstream["best"]
    begin(operators, checkpoint, deterministic=False)
    drawn = actions_of(operators, seen)
    if upstream["drawn"][0] is None:
        assert all(action in (0, 1) or -2 <= action[0] <= 2 for action in drawn)
    else:
        within = np.clip(upstream["drawn"], -2, 2)  # upstream's environment clips to these bounds
        assert drawn == within.tolist()


def test_sampled_actions_are_determined_by_the_seed(trained: Trained) -> None:
    worker, algorithm, checkpoint, operators = trained
    seen = observations(worker, algorithm, 1) * 40

    def episode(agent: str, seed: int) -> list[Any]:
        operators.ask("episode_begin", player_id=agent, seed=seed, episode_index=0)
        return actions_of(operators, seen, agent)

    for agent in ("one", "two"):
        begin(operators, checkpoint, agent, deterministic=False)
    first = episode("one", 7)
    assert episode("two", 7) == first
    assert episode("one", 7) == first
    if algorithm not in ("dqn", "c51"):  # only one action in twenty is random
        assert episode("one", 8) != first
        assert len({str(action) for action in first}) > 1


def test_an_observation_of_another_size_is_an_error_and_no_action(
    worker: Any, operators: Conversation
) -> None:
    begin(operators, worker.trained("ppo").checkpoints[-1])  # no spaces are given to check
    answer = operators.ask("select_action", player_id="agent_0", observation=[0.0] * 5)
    assert answer["message"] == "the policy takes 4 numbers, this observation has 5"
    assert actions_of(operators, [[0.0] * 4])[0] in (0, 1)


DIVERGE = """
import sys, torch
saved = torch.load(sys.argv[1], weights_only=True)
next(iter(next(iter(saved["modules"].values())).values())).fill_(float("nan"))
torch.save(saved, sys.argv[1])
print("{}")
"""


def test_an_unusable_checkpoint_is_refused(worker: Any, operators: Conversation, tmp_path: Path) -> None:
    checkpoint = worker.trained("dqn").checkpoints[-1]
    refused = Refusals(operators, checkpoint, tmp_path)
    refused.check_all("Discrete(2)")
    assert "no policy can be made from" in refused.of_copy("other", refused.whole, algorithm="c51")
    assert "no policy" in refused.of_copy("lacking", refused.whole, upstream=None)
    diverged = Path(shutil.copy(checkpoint, tmp_path / "diverged.pt"))
    worker.output_of("-c", DIVERGE, str(diverged))
    said = refused.of_copy("diverged", diverged.read_bytes())
    assert "is NaN in its modules: the training diverged, choose an earlier one" in said


def test_a_checkpoint_of_the_other_upstream_says_what_to_install(
    worker: Any, operators: Conversation, tmp_path: Path
) -> None:
    checkpoint = worker.trained("sac").checkpoints[-1]
    refused = Refusals(operators, checkpoint, tmp_path)
    upstream = json.loads(checkpoint.with_suffix(".json").read_text())["upstream"]
    made_by = {**upstream, "version": "9.9", "source": "git"}
    said = refused.of_copy("theirs", refused.whole, legacy=not worker.legacy, upstream=made_by)
    assert "was trained with CleanRL 9.9 (source git)" in said
    assert said.endswith("mosaic-lab workers install cleanrl --source git")


def test_an_observation_of_a_discrete_space_is_encoded_as_the_script_does(
    worker: Any, operators: Conversation
) -> None:
    if not worker.legacy:  # current upstream refuses them
        return
    checkpoint = worker.trained("frozen_lake").checkpoints[-1]
    places = list(range(16))
    upstream = worker.output_of(str(UPSTREAM), str(checkpoint), json.dumps(places), "1")
    begin(operators, checkpoint)
    assert actions_of(operators, places) == upstream["best"]
