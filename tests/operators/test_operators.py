"""Operator specifications: their contents before any process runs, and refused arguments."""

from __future__ import annotations

import functools
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from operators.team_fixtures import discrete, save_policies
from support import start_peer, store

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.operators import OperatorSpec, PythonPolicy, as_operator
from mosaic_lab.runs import Checkpoint


def refusal(make: Any, *given: Any, **keywords: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        make(*given, **keywords)
    return str(caught.value)


def test_each_maker_makes_its_category() -> None:
    assert mosaic.operators is operators
    made = [operators.random(), operators.passive(), operators.human(), operators.python(max)]
    assert [(one.category, one.name, one.worker) for one in made] == [
        ("random", "random", "random"),
        ("passive", "passive", "passive"),
        ("human", "human", None),
        ("python", "max", None),
    ]
    assert [one.deadline for one in made] == [60.0, 60.0, None, 60.0], "a human player has no deadline"
    assert {one.fallback for one in made} == {"wait"}


def test_any_worker_may_act_with_settings_of_its_own() -> None:
    spec = operators.worker(
        "hill", weights=Path("w.npy"), noise=np.float32(0.5), deadline=1, fallback="forfeit"
    )
    assert (spec.category, spec.name, spec.worker, spec.deadline) == ("rl", "hill", "hill", 1)
    assert spec.settings == {"weights": "w.npy", "noise": 0.5}
    assert operators.worker("random").category == "random"
    assert operators.worker("mine", category="llm").category == "llm"
    assert "is not a worker's name" in refusal(operators.worker, "")
    assert "is not a JSON value" in refusal(operators.worker, "hill", model=object())


def test_settings_hold_no_secrets() -> None:
    for name in ("api_key", "OPENAI_API_KEY", "apikey", "client-secret", "password", "access_token"):
        for settings in ({name: "sk-1"}, {"model": [{name: "sk-1"}]}):
            message = refusal(operators.worker, "llm", **settings)
            assert repr(name) in message and "environment variable" in message
            assert "sk-1" not in message
    for given in ("OPENAI_API_KEY", ["OPENAI_API_KEY=sk-1"], [3], None):
        message = refusal(operators.worker, "llm", pass_env_vars=given)
        assert "names of environment variables" in message
        assert "sk-1" not in message
    plain = {"max_tokens": 5, "token_limit": 5, "keys": {"a": 1}, "api_key": None}
    assert operators.worker("llm", **plain).settings == plain


def test_deadlines_and_fallbacks_are_checked_at_once() -> None:
    for deadline in (0, -1, float("nan"), float("inf"), "soon", True):
        assert f"deadline={deadline!r}" in refusal(operators.random, deadline=deadline)
    message = "fallback='skip': must be one of wait, default, forfeit"
    assert refusal(operators.passive, fallback="skip") == message
    changed = operators.random(deadline=None).with_(deadline=0.5, fallback="default")
    assert repr(changed) == "<random operator random, deadline 0.5 s, then default>"
    assert "fallback" in refusal(changed.with_, fallback="skip")


def test_a_persons_keys() -> None:
    spec = operators.human(keys={"a": 0, "ArrowUp": np.array([0.0, 1.0])}, realtime=True, default=3)
    assert spec.settings == {"keys": {"a": 0, "ArrowUp": [0.0, 1.0]}, "realtime": True, "default": 3}
    assert "5 is not a key" in refusal(operators.human, keys={5: 1})
    assert "realtime=1" in refusal(operators.human, realtime=1)


class Plays:
    """User-defined policy that takes optional arguments and has `episode_begin`."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def select_action(self, observation: Any, *, action_mask: Any, agent: str) -> Any:
        self.calls.append((observation, action_mask, agent))
        return 2

    def episode_begin(self, seed: int, episode_index: int) -> None:
        self.calls.append((seed, episode_index))


def test_code_of_the_users_gets_what_it_requests() -> None:
    everything = {"agent": "red_0", "action_mask": [1, 0], "info": {"legal_moves": [0]}, "step_index": 7}
    plays = Plays()
    spec = operators.python(plays)
    assert spec.name == "Plays"
    assert spec.function is not None
    spec.function.episode_begin(9, 0)
    assert spec.function.select_action([1.0], **everything) == 2
    spec.function.episode_end(1.0, 2)  # Plays has no episode_end
    assert plays.calls == [(9, 0), ([1.0], [1, 0], "red_0")]
    assert PythonPolicy(lambda observation: observation).select_action(5, **everything) == 5
    assert PythonPolicy(lambda _, **hints: hints).select_action(5, **everything) == everything
    assert PythonPolicy(lambda _, step_index=3: step_index).select_action(5, **everything) == 7
    assert PythonPolicy(functools.partial(max, 3)).select_action(5, **everything) == 5
    assert PythonPolicy(lambda _, mask: mask).select_action(5, **everything) == [1, 0]
    assert as_operator(lambda observation: 0).name == "lambda"


def test_what_cannot_act_is_refused() -> None:
    async def later(observation: Any) -> int:
        return 0

    assert "is not an operator. Operators are mosaic_lab.operators.random()" in refusal(as_operator, "ppo")
    assert refusal(as_operator, Plays).startswith("Plays is a class: give an instance, Plays(), or ")
    assert "cannot be called with an observation" in refusal(as_operator, lambda a, b, c: 0)
    assert "cannot be called with an observation" in refusal(as_operator, lambda: 0)
    assert "is an async function" in refusal(as_operator, later)
    assert "is a function: call it" in refusal(as_operator, operators.passive)
    assert "category='magic'" in refusal(OperatorSpec, "magic", "name")


def test_a_policy_from_a_run_or_one_of_its_checkpoints(tmp_path: Path) -> None:
    with store(tmp_path / "runs") as supervisor:
        run = start_peer(supervisor, "save_checkpoints").wait(60)
        newest = run.path / "checkpoints" / "step-20"
        spec = operators.rl(run)
        assert (spec.category, spec.worker, spec.name) == ("rl", "peer", "step-20")
        assert spec.settings == {"checkpoint": str(newest), "deterministic": True}
        assert spec.spaces_for("anyone") is None
        assert spec.trained_on == "Peer-v0", "from the run: the checkpoint does not state it"
        assert operators.rl(run.path).settings == spec.settings
        assert operators.rl(str(newest)).settings == spec.settings
        first = operators.rl(run.checkpoints[0], deterministic=False, name="early", deadline=None)
        assert first.name == "early"
        assert first.settings == {"checkpoint": str(newest.with_name("step-10")), "deterministic": False}

        described = {"format": "mosaic-other/2", "algorithm": "dqn"}
        spaces = {"observation_space": discrete(5), "action_space": discrete(2)}
        newest.with_suffix(".json").write_text(json.dumps({**described, **spaces}))
        spec = operators.rl(run)
        assert (spec.worker, spec.name) == ("other", "dqn"), "the checkpoint's description outranks its run"
        assert spec.spaces_for("anyone") == (discrete(5), discrete(2))
        assert (spec.observation_space, spec.action_space) == (discrete(5), discrete(2))

        elsewhere = tmp_path / "elsewhere"
        shutil.copy(newest, elsewhere)
        assert "does not say which worker can read it" in refusal(operators.rl, elsewhere)
        shutil.copy(newest.with_suffix(".json"), elsewhere.with_suffix(".json"))
        assert operators.rl(elsewhere).worker == "other"
        for odd in (
            {"low": "abc"},
            {"shape": 5},
            {"type": "Dict", "spaces": 5},
            {"type": "Tuple", "spaces": [5]},
        ):
            box = {"type": "Box", "shape": [1], "dtype": "float32", "low": -1.0, "high": 1.0, **odd}
            elsewhere.with_suffix(".json").write_text(json.dumps({**described, "action_space": box}))
            assert "has an invalid space" in refusal(operators.rl, elsewhere)
        elsewhere.with_suffix(".json").write_text("{")
        assert "which should describe elsewhere, cannot be read" in refusal(operators.rl, elsewhere)

        missing = refusal(operators.rl, newest.with_name("step-30"))
        assert missing.startswith(f"there is no checkpoint {newest.with_name('step-30')}")
        assert "neither a run, a checkpoint nor the path of one" in refusal(operators.rl, 7)
        assert "deterministic='yes'" in refusal(operators.rl, run, deterministic="yes")
        none = start_peer(supervisor, "train").wait(60)
        assert f"run {none.id} (" in refusal(operators.rl, none)
        assert refusal(operators.rl, none).endswith("has no checkpoint: it ended before it saved one")
        for worker, instead in (
            ("evaluation", "Pass a training that it evaluates"),
            ("sweep", "Pass a training of it, such as sweep.runs(sweep.best)[0]"),
        ):
            launch = json.loads(none.folder.launch_path.read_text())
            none.folder.launch_path.write_text(json.dumps({**launch, "worker": worker}))
            assert refusal(operators.rl, none.path).endswith(f"its kind is {worker}, not training. {instead}")


def test_a_model_of_stable_baselines3_from_elsewhere(tmp_path: Path) -> None:
    path, other = tmp_path / "lander.zip", tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", "{}")
        archive.writestr("policy.pth", b"")
    spec = operators.sb3(path, "ppo", deadline=5)
    assert (spec.category, spec.name, spec.worker, spec.deadline) == ("rl", "lander", "sb3", 5)
    assert spec.settings == {
        "checkpoint": str(path),
        "algorithm": "ppo",
        "deterministic": True,
        "trust": False,
    }
    assert list(spec.files.values()) == [path], "an evaluation resumes only with the same file"
    assert f"load it with operators.sb3('{path}')" in refusal(operators.rl, path)
    other.write_bytes(b"text")
    assert "is not a zip file written by model.save()" in refusal(operators.sb3, other)
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("data", "{}")
    assert "it has no policy.pth" in refusal(operators.sb3, other)
    text = refusal(operators.sb3, tmp_path / "none.zip", 3, trust="yes")
    assert "there is no file" in text and "lander.zip, other.zip" in text
    assert "algorithm=3" in text and "trust='yes': must be True or False" in text


def test_a_checkpoint_of_several_agents(tmp_path: Path) -> None:
    spec = operators.rl(Checkpoint(save_policies(tmp_path, red_0=0, red_1=1)))
    assert (spec.worker, spec.name) == ("odd", "linear")
    assert spec.spaces_for("red_1") == (discrete(6), discrete(3))
    with pytest.raises(KeyError):
        spec.spaces_for("blue_0")
    described = tmp_path / "policies.json"
    content = json.loads(described.read_text())
    content["agents"]["red_0"]["action_space"] = 3
    described.write_text(json.dumps(content))
    message = refusal(operators.rl, tmp_path / "policies.weights")
    assert message.endswith("does not have the spaces of 'red_0'")
