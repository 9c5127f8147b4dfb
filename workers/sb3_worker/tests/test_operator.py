"""Policies act as upstream's own do, from this worker's checkpoints and from zips of other origin."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shim_kit.policies import Refusals, actions, actions_of, begin, sampled_twice

import mosaic_lab as mosaic

UPSTREAM = Path(__file__).with_name("upstream_acts.py")
NORMALIZED = Path(__file__).with_name("normalized_model.py")
BY_VALUE = ("dqn", "qrdqn")
ONE_ANSWER = ("td3", "ddpg", "ars")
SIZES = {"Pendulum-v1": 3, "CartPole-v1": 4, "masked_walk:MaskedWalk-v0": 1}
BOX = {"type": "Box", "shape": [4], "dtype": "float32", "low": "-Infinity", "high": "Infinity"}
TWO = {"type": "Discrete", "shape": [], "dtype": "int64", "n": 2, "start": 0}
CARTPOLE = {"observation_space": BOX, "action_space": TWO}

pytestmark = pytest.mark.extended


def test_actions_are_those_of_upstreams_own_predict(worker: Any, operators: Any) -> None:
    """Best actions, and actions sampled from a distribution."""
    checkpoints = {name: worker.trained(name).checkpoints[-1] for name in worker.small}
    pairs = [f"{name}={path}" for name, path in checkpoints.items()]
    upstream = dict(zip(checkpoints, worker.output_of(str(UPSTREAM), *pairs), strict=True))
    for algorithm, checkpoint in checkpoints.items():
        size = SIZES[worker.small[algorithm]["env_id"]]
        seen = np.random.default_rng(3).normal(size=(20, size)).astype(np.float32)
        best, drawn = upstream[algorithm]
        assert actions(operators, checkpoint, seen) == best, algorithm
        if algorithm not in BY_VALUE:
            assert actions(operators, checkpoint, seen, deterministic=False) == drawn, algorithm
            assert (drawn == best) == (algorithm in ONE_ANSWER), algorithm


def test_sampled_actions_are_determined_by_the_seed(worker: Any, operators: Any) -> None:
    checkpoint = worker.trained("dqn").checkpoints[-1]
    assert len(set(sampled_twice(operators, checkpoint, [np.zeros(4, np.float32)] * 300))) == 2
    assert len(set(actions(operators, checkpoint, [np.zeros(4, np.float32)] * 100))) == 1


def test_masked_actions_are_not_chosen(worker: Any, operators: Any) -> None:
    begin(operators, worker.trained("maskable_ppo").checkpoints[-1])
    for allowed in range(4):
        mask = np.arange(4) == allowed
        answer = operators.ask(
            "select_action", player_id="agent_0", observation=[0.0], action_mask=mask.astype(int).tolist()
        )
        assert answer["action"] == allowed


def test_an_arena_passes_on_the_masks_of_such_an_environment(worker: Any, tmp_path: Path) -> None:
    """Every operator gets the masks of an environment with `action_masks()`."""
    players = {
        "walker": mosaic.operators.rl(worker.trained("maskable_ppo").checkpoints[-1], deterministic=False),
        "random": mosaic.operators.random(),
    }
    evaluation = mosaic.Lab(tmp_path / "runs").evaluate(
        env="masked_walk:MaskedWalk-v0",
        family="sb3",
        operators=players,
        seeds=range(3),
        pass_env_vars=["PYTHONPATH"],
    )
    assert evaluation.wait(300).results()["return"].min() > -10


def test_an_unusable_checkpoint_is_refused(worker: Any, operators: Any, tmp_path: Path) -> None:
    refused = Refusals(operators, worker.trained("ppo").checkpoints[-1], tmp_path)
    refused.check_all("Discrete(2)")
    three = {"type": "Discrete", "n": 3}
    assert "do not fit" in refused.of_copy("other", refused.whole, action_space=three)


class Elsewhere:
    """Zips without a description, as upstream saves them."""

    def __init__(self, worker: Any, operators: Any, folder: Path) -> None:
        self._worker, self._operators, self._folder = worker, operators, folder

    def copy(self, algorithm: str) -> Path:
        return Path(
            shutil.copy(self._worker.trained(algorithm).checkpoints[-1], self._folder / f"{algorithm}.zip")
        )

    def settings(self, path: Path, **more: Any) -> dict[str, Any]:
        return {"checkpoint": str(path), "algorithm": None, "deterministic": True, "trust": False, **more}

    def made(self, path: Path, spaces: Any, **more: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self._operators.ask(
            "init_agent", player_id="agent_0", seed=5, settings=self.settings(path, **more), **spaces
        )
        return answer


@pytest.fixture
def elsewhere(worker: Any, operators: Any, tmp_path: Path) -> Elsewhere:
    return Elsewhere(worker, operators, tmp_path)


def test_the_algorithm_of_a_zip_from_elsewhere_is_found(
    worker: Any, operators: Any, elsewhere: Elsewhere
) -> None:
    """The policy acts as from a checkpoint with a description."""
    for algorithm in worker.small:
        checkpoint = worker.trained(algorithm).checkpoints[-1]
        described = json.loads(checkpoint.with_suffix(".json").read_text())
        spaces = {name: described[name] for name in ("observation_space", "action_space")}
        seen = np.random.default_rng(3).normal(size=(20, *spaces["observation_space"]["shape"]))
        best = actions(operators, checkpoint, seen.astype(np.float32))
        for trust in (False, True):
            answer = elsewhere.made(elsewhere.copy(algorithm), spaces, trust=trust)
            assert answer["type"] == "agent_ready", (algorithm, answer)
            assert actions_of(operators, seen.astype(np.float32)) == best, (algorithm, trust)


def test_a_zip_for_another_environment_is_refused_with_both_shapes(elsewhere: Elsewhere) -> None:
    message = elsewhere.made(elsewhere.copy("sac"), CARTPOLE)["message"]
    assert "its observations are Box(4), the policy was trained for Box(3)" in message
    assert "its actions are Discrete(2), the policy was trained for Box(1)" in message


def test_nothing_of_a_zip_is_executed(elsewhere: Elsewhere, tmp_path: Path) -> None:
    """Pickles are not loaded; a policy that needs them is refused with the reason."""
    whole, bomb = elsewhere.copy("ppo"), tmp_path / "bomb.zip"
    ran = tmp_path / "ran"
    pickled = f"cposix\nsystem\n(S'touch {ran}'\ntR."
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(bomb, "w") as target:
        for member in source.namelist():
            data = source.read(member)
            if member == "data":
                document = json.loads(data)
                for value in document.values():
                    if isinstance(value, dict) and ":serialized:" in value:
                        value[":serialized:"] = _base64(pickled)
                data = json.dumps(document).encode()
            target.writestr(member, data)
    assert elsewhere.made(bomb, CARTPOLE)["type"] == "agent_ready"
    assert not ran.exists()
    own = _with_policy_class(bomb, tmp_path / "own.zip")
    message = elsewhere.made(own, CARTPOLE)["message"]
    assert "has a policy of the class mine.Policy" in message and "trust=True" in message
    assert not ran.exists()


def test_the_statistics_of_vecnormalize_are_applied_and_nothing_of_them_executed(
    worker: Any, operators: Any, elsewhere: Elsewhere, tmp_path: Path
) -> None:
    """Statistics inside the zip, beside it, and beside a zip saved by a callback."""
    best = worker.output_of(str(NORMALIZED), str(tmp_path))
    seen = 5 * np.random.default_rng(3).normal(size=(10, 3)).astype(np.float32)
    described = json.loads(worker.trained("sac").checkpoints[-1].with_suffix(".json").read_text())
    pendulum = {name: described[name] for name in ("observation_space", "action_space")}

    def played(path: Path) -> list[Any]:
        assert elsewhere.made(path, pendulum)["type"] == "agent_ready"
        return actions_of(operators, seen)

    assert played(tmp_path / "model.zip") == pytest.approx(np.array(best))
    statistics = (tmp_path / "vecnormalize.pkl").rename(tmp_path / "rl_vecnormalize_99_steps.pkl")
    assert played(tmp_path / "model.zip") != pytest.approx(np.array(best))
    assert played(tmp_path / "inside.zip") == pytest.approx(np.array(best))
    saved = shutil.copy(tmp_path / "model.zip", tmp_path / "rl_99_steps.zip")
    assert played(Path(saved)) == pytest.approx(np.array(best))
    ran = tmp_path / "ran"
    statistics.write_text(f"cposix\nsystem\n(S'touch {ran}'\ntR.")
    refused = elsewhere.made(Path(saved), pendulum)["message"]
    assert "rl_vecnormalize_99_steps.pkl beside it is not the statistics of a VecNormalize" in refused
    assert not ran.exists()


DIVERGE = """
import sys
from stable_baselines3 import PPO
model = PPO.load(sys.argv[1], device="cpu")
next(model.policy.parameters()).data.fill_(float("nan"))
model.save(sys.argv[1])
print("{}")
"""


def test_a_model_that_diverged_is_refused(worker: Any, elsewhere: Elsewhere) -> None:
    diverged = elsewhere.copy("ppo")
    worker.output_of("-c", DIVERGE, str(diverged))
    for trust in (False, True):
        message = elsewhere.made(diverged, CARTPOLE, trust=trust)["message"]
        assert "is NaN in its parameters: the training diverged, choose an earlier one" in message


def test_a_zip_without_a_model_is_refused(elsewhere: Elsewhere, tmp_path: Path) -> None:
    assert "there is no file" in elsewhere.made(tmp_path / "none.zip", CARTPOLE)["message"]
    (tmp_path / "text.zip").write_text("text")
    assert "cannot be loaded" in elsewhere.made(tmp_path / "text.zip", CARTPOLE)["message"]
    other = elsewhere.made(elsewhere.copy("dqn"), CARTPOLE, algorithm="ppo")["message"]
    assert "has a policy of dqn, not of ppo: leave algorithm out" in other
    unknown = elsewhere.made(elsewhere.copy("ppo"), CARTPOLE, algorithm="pppo")["message"]
    assert "unknown algorithm 'pppo'; did you mean 'ppo'? Known are a2c, " in unknown


def _base64(text: str) -> str:
    import base64

    return base64.b64encode(text.encode()).decode()


def _with_policy_class(path: Path, other: Path) -> Path:
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(other, "w") as target:
        for member in source.namelist():
            data = source.read(member)
            if member == "data":
                document = json.loads(data)
                document["policy_class"] |= {
                    "__module__": "mine",
                    "__init__": "<function Policy.__init__ at 0x7>",
                }
                data = json.dumps(document).encode()
            target.writestr(member, data)
    return other
