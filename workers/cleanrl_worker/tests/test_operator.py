"""Policies act as upstream's own networks do, from checkpoints of real trainings, through `--interactive`."""

from __future__ import annotations

import functools
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from operators.conversation import Conversation

TRAINED = [("default source", algorithm) for algorithm in ("ppo", "dqn", "sac")]
EXTENDED = [("default source", algorithm) for algorithm in ("ppo_continuous", "c51", "td3")]
if os.environ.get("MOSAIC_TEST_CLEANRL_CHECKOUT"):
    TRAINED += [("checkout", algorithm) for _, algorithm in TRAINED]
    EXTENDED += [("checkout", algorithm) for algorithm in ("c51", "td3", "ddpg", "rpo", "pqn")]
UPSTREAM = Path(__file__).with_name("upstream_acts.py")
CARTPOLE = {
    "observation_space": {
        "type": "Box",
        "shape": [4],
        "dtype": "float32",
        "low": "-Infinity",
        "high": "Infinity",
    },
    "action_space": {"type": "Discrete", "shape": [], "dtype": "int64", "n": 2, "start": 0},
}
PENDULUM = {
    "observation_space": {
        "type": "Box", "shape": [3], "dtype": "float32", "low": [-1.0, -1.0, -8.0], "high": [1.0, 1.0, 8.0],
    },
    "action_space": {"type": "Box", "shape": [1], "dtype": "float32", "low": -2.0, "high": 2.0},
}  # fmt: skip


class Operators(Conversation):
    """The operators of one process, made from checkpoints."""

    def make(self, agent: str, checkpoint: Path, deterministic: bool = True, **setup: Any) -> dict[str, Any]:
        """The answer to `init_agent`."""
        settings = {"checkpoint": str(checkpoint), "deterministic": deterministic}
        return self.ask("init_agent", game_name="test", player_id=agent, settings=settings, **setup)

    def made(self, agent: str, checkpoint: Path, deterministic: bool = True, **setup: Any) -> None:
        answer = self.make(agent, checkpoint, deterministic, **setup)
        assert (answer["type"], answer["player_id"]) == ("agent_ready", agent), answer

    def action(self, agent: str, observation: Any) -> Any:
        """The action for an observation, as plain numbers."""
        return np.asarray(self.act(observation, player_id=agent)["action"]).tolist()


class Trained(NamedTuple):
    """A policy, the process that it acts in, and the environment's spaces."""

    worker: Any
    operators: Operators
    algorithm: str
    checkpoint: Path
    spaces: dict[str, Any]


@pytest.fixture(
    params=[*TRAINED, *(pytest.param(one, marks=pytest.mark.extended) for one in EXTENDED)], ids="-".join
)
def trained(
    workers: Callable[[str], Any], processes: Callable[[str], Operators], request: pytest.FixtureRequest
) -> Trained:
    """The last checkpoint of a small training of each algorithm that a source has."""
    source, algorithm = request.param
    worker = workers(source)
    spaces = CARTPOLE if worker.small[algorithm]["env_id"] == "CartPole-v1" else PENDULUM
    checkpoint = worker.trained(algorithm).checkpoints[-1]
    return Trained(worker, processes(worker.python), algorithm, checkpoint, spaces)


@pytest.fixture(scope="module")
def processes() -> Iterator[Callable[[str], Operators]]:
    """Processes with operators, by their interpreter; they end as they should."""
    with ExitStack() as stack:

        @functools.cache
        def process(python: str) -> Operators:
            operators = Operators([python, "-m", "cleanrl_worker.cli"])
            stack.enter_context(operators)
            return operators

        yield process


@pytest.fixture
def operators(worker: Any, processes: Callable[[str], Operators]) -> Operators:
    """The one process of the worker in which all operators of this module act."""
    return processes(worker.python)


def observations(spaces: dict[str, Any], count: int = 8) -> list[list[float]]:
    generator = np.random.default_rng(3)
    size = spaces["observation_space"]["shape"][0]
    return [generator.normal(size=size).astype(np.float32).tolist() for _ in range(count)]


def test_actions_are_those_of_upstreams_own_network(trained: Trained) -> None:
    """To the last bit: the best ones, and where the script draws from a distribution, the drawn ones."""
    worker, operators, _, checkpoint, spaces = trained
    seen = observations(spaces)
    upstream = worker.output_of(str(UPSTREAM), str(checkpoint), json.dumps(seen), "5")
    operators.made("best", checkpoint, **spaces)
    operators.made("drawn", checkpoint, deterministic=False, seed=5, **spaces)
    assert [operators.action("best", observation) for observation in seen] == upstream["best"]
    drawn = [operators.action("drawn", observation) for observation in seen]
    if upstream["drawn"][0] is None:
        assert all(action in (0, 1) or -2 <= action[0] <= 2 for action in drawn)
    else:
        within = np.clip(upstream["drawn"], -2, 2)  # upstream's environment clips; Pendulum's bounds
        assert drawn == within.tolist()


def test_the_draws_of_an_agent_follow_from_its_seed(trained: Trained) -> None:
    _, operators, algorithm, checkpoint, spaces = trained
    seen = observations(spaces, 1) * 40

    def episode(agent: str, seed: int) -> list[Any]:
        operators.ask("episode_begin", player_id=agent, seed=seed, episode_index=0)
        return [operators.action(agent, observation) for observation in seen]

    for agent in ("one", "two"):
        operators.made(agent, checkpoint, deterministic=False, **spaces)
    first = episode("one", 7)
    assert episode("two", 7) == first
    assert episode("one", 7) == first
    if algorithm not in ("dqn", "c51"):  # of those one action in twenty is drawn
        assert episode("one", 8) != first
        assert len({str(action) for action in first}) > 1


def test_agents_of_other_spaces_are_refused_before_they_act(trained: Trained) -> None:
    _, operators, _, checkpoint, spaces = trained
    discrete = spaces is CARTPOLE
    other = {
        "observation_space": {**spaces["observation_space"], "shape": [8], "low": -1.0, "high": 1.0},
        "action_space": {**CARTPOLE["action_space"], "n": 4},
    }
    answer = operators.make("agent_0", checkpoint, **other)
    assert answer["error_type"] == "ConfigError"
    assert answer["retryable"] is False
    size = spaces["observation_space"]["shape"][0]
    actions = "Discrete(2)" if discrete else "Box(1)"
    first, second = answer["message"].splitlines()
    assert first.endswith(
        f"cannot act for agent_0: its observations are Box(8), the policy was trained for Box({size})"
    )
    assert second.endswith(f"its actions are Discrete(4), the policy was trained for {actions}")
    if not discrete:
        narrow = {**spaces, "action_space": {**spaces["action_space"], "low": -1.0, "high": 1.0}}
        message = operators.make("agent_0", checkpoint, **narrow)["message"]
        assert message.endswith("its actions reach from -1 to 1, the policy was trained for from -2 to 2")
    operators.made("agent_0", checkpoint, **spaces)  # the process is as good as before


def test_an_observation_of_another_size_is_an_error_and_no_action(worker: Any, operators: Operators) -> None:
    operators.made("agent_0", worker.trained("ppo").checkpoints[-1])  # without spaces nothing is known
    answer = operators.ask("select_action", player_id="agent_0", observation=[0.0] * 5)
    assert answer["message"] == "the policy takes 4 numbers, this observation has 5"
    assert operators.action("agent_0", [0.0] * 4) in (0, 1)


DIVERGE = """
import sys, torch
saved = torch.load(sys.argv[1], weights_only=True)
next(iter(next(iter(saved["modules"].values())).values())).fill_(float("nan"))
torch.save(saved, sys.argv[1])
print("{}")
"""


def test_what_is_no_checkpoint_is_refused(worker: Any, operators: Operators, tmp_path: Path) -> None:
    checkpoint = worker.trained("dqn").checkpoints[-1]

    def copy(name: str, data: bytes | None = None, **changes: Any) -> Path:
        path = tmp_path / f"{name}.pt"
        path.write_bytes(checkpoint.read_bytes() if data is None else data)
        described = json.loads(checkpoint.with_suffix(".json").read_text())
        path.with_suffix(".json").write_text(json.dumps({**described, **changes}))
        return path

    alone, diverged = tmp_path / "alone.pt", copy("diverged")
    shutil.copy(checkpoint, alone)
    worker.output_of("-c", DIVERGE, str(diverged))
    vast = copy("vast", note="x" * (17 << 20))
    cases = {
        vast: "vast.json, which would describe it: it is larger than 16 MiB",
        tmp_path / "none.pt": "there is no checkpoint",
        alone: "alone.json, which would describe it: ",
        copy("torn", checkpoint.read_bytes()[:900]): "torn.pt cannot be loaded: it is damaged or incomplete",
        copy("pickle", b"cos\nsystem\n(S'true'\ntR."): "pickle.pt cannot be loaded: it begins with b",
        diverged: "is NaN in its modules: the training diverged, choose an earlier one",
        copy("foreign", format="theirs/1"): "is not a checkpoint of this worker (mosaic-cleanrl/1)",
        copy("other", algorithm="c51"): "no policy can be made from",
        copy("lacking", upstream=None): "no policy",
    }
    for path, text in cases.items():
        answer = operators.make("agent_0", path)
        assert answer["error_type"] == "ConfigError", answer
        assert text in answer["message"], answer
    assert 'give "checkpoint"' in operators.ask("init_agent", player_id="a", settings={})["message"]


def test_a_checkpoint_of_the_other_upstream_says_what_to_install(
    worker: Any, operators: Operators, tmp_path: Path
) -> None:
    checkpoint = worker.trained("sac").checkpoints[-1]
    described = json.loads(checkpoint.with_suffix(".json").read_text())
    path = tmp_path / checkpoint.name
    shutil.copy(checkpoint, path)
    made_by = {**described["upstream"], "version": "9.9", "source": "git"}
    path.with_suffix(".json").write_text(
        json.dumps({**described, "legacy": not worker.legacy, "upstream": made_by})
    )
    message = operators.make("agent_0", path)["message"]
    assert "was trained with CleanRL 9.9 (source git)" in message
    assert message.endswith("mosaic-lab workers install cleanrl --source git")


def test_an_observation_of_a_discrete_space_is_encoded_as_the_script_does(
    worker: Any, operators: Operators
) -> None:
    if not worker.legacy:  # which refuses them
        return
    run = worker.trained("frozen_lake")
    spaces = {
        "observation_space": {"type": "Discrete", "shape": [], "dtype": "int64", "n": 16, "start": 0},
        "action_space": {"type": "Discrete", "shape": [], "dtype": "int64", "n": 4, "start": 0},
    }
    upstream = worker.output_of(str(UPSTREAM), str(run.checkpoints[-1]), json.dumps(list(range(16))), "1")
    operators.made("agent_0", run.checkpoints[-1], **spaces)
    assert [operators.action("agent_0", place) for place in range(16)] == upstream["best"]
