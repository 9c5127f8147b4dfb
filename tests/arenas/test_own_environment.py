"""User-defined environments: "module:Id" works in training, comparison, evaluation and bundles."""

from __future__ import annotations

import functools
import hashlib
import json
import re
import sys
import zipfile
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import pytest
from support import marked_processes, wait_until

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.cli import main
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.sharing import open_bundle
from mosaic_lab.workers.own_environments import own_id

ENV = "corridor:Corridor-v0"
MODULE = """
import gymnasium
import numpy


class Corridor(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 9, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, length=9):
        self.length = length

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return numpy.float32([0]), {}

    def step(self, action):
        self.place = max(0, self.place + (1 if action else -1))
        return numpy.float32([self.place]), -1.0, self.place == self.length, False, {}


gymnasium.register("Corridor-v0", Corridor, max_episode_steps=50)
"""


@pytest.fixture
def lab(tmp_path: Path, cleanrl_environment: object) -> mosaic.Lab:
    """A lab; the environment's module is in its own folder beside the store."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "corridor.py").write_text(MODULE, encoding="utf-8")
    return mosaic.Lab(tmp_path / "runs")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "own"))


@pytest.mark.extended
@pytest.mark.usefixtures("path")
def test_it_is_trained_on_compared_in_and_evaluated_alike(
    lab: mosaic.Lab,
    tmp_path: Path,
    recwarn: pytest.WarningsRecorder,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    passed = {"env": ENV, "pass_env_vars": ["PYTHONPATH"]}
    run = lab.train("cleanrl", algorithm="ppo", total_timesteps=1_024, num_steps=64, frames=False, **passed)
    assert isinstance(run, mosaic.Run)
    lanes = {"ppo": operators.rl(run.wait(300)), "right": lambda seen: 1}
    comparison = lab.compare(operators=lanes, seeds=[1], env_kwargs={"length": 7}, **passed)
    try:
        comparison.play()
        comparison.wait(120)
        assert comparison.results().set_index("lane").loc["right", "return"] == -7
    finally:
        comparison.close()
    evaluation = lab.evaluate(operators={"ppo": lanes["ppo"]}, seeds=range(3), **passed).wait(120)
    assert list(evaluation.results()["status"]) == ["ok"] * 3
    assert evaluation.verify(2).same
    script = tmp_path / "script.json"
    script.write_text(json.dumps({**passed, "operators": {"random": {"kind": "random"}}, "seeds": [1]}))
    assert list(lab.evaluate(script).wait(120).results()["status"]) == ["ok"]
    bundle, there = evaluation.bundle(tmp_path / "share.zip"), ["--store", str(tmp_path / "elsewhere")]
    monkeypatch.delenv("PYTHONPATH")
    opened = open_bundle(bundle, tmp_path / "opened")
    with pytest.raises(ConfigurationError, match=r"runs Python code .*\n.* environment/corridor\.py"):
        opened.replay("ppo", seed=1)
    assert opened.replay("ppo", seed=1, run_code=True).difference is None
    assert main(["evaluate", str(bundle), "--into", str(tmp_path / "a"), *there]) == 1
    asked = re.search(r"environment/corridor.py \(SHA-256 (\w{16})…\)", capsys.readouterr().err)
    with zipfile.ZipFile(bundle) as archive:
        content = archive.read("environment/corridor.py")
    assert asked and hashlib.sha256(content).hexdigest().startswith(asked[1])
    assert not (tmp_path / "a").exists() and not (tmp_path / "elsewhere").exists()
    agreed = ["--verify", "--run-code", "--into", str(tmp_path / "b")]
    assert main(["evaluate", str(bundle), *agreed, *there]) == 0
    script = ["evaluate", str(tmp_path / "b" / "script.json"), *there]
    assert (main(script), main([*script, "--run-code"])) == (1, 0)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "own"))
    assert not [str(one.message) for one in recwarn if issubclass(one.category, UserWarning)]
    (tmp_path / "own" / "corridor.py").write_text(MODULE.replace("-1.0", "-2.0"), encoding="utf-8")
    with pytest.warns(UserWarning, match=r"/own/corridor\.py has changed since step-\d+\.pt was"):
        lab.evaluate(operators={"ppo": lanes["ppo"]}, seeds=[1], **passed).wait(120)
    wait_until(lambda: not marked_processes(tmp_path))


def test_without_its_folder_the_worker_that_lacks_it_is_named_and_what_to_do(lab: mosaic.Lab) -> None:
    lacks = (
        r"he Python of the worker '{}', /.*/python\S*, has no module 'corridor'.*pass_env_vars=\[.PYTHONPATH"
    )
    with pytest.raises(ConfigurationError, match=lacks.format("gymnasium")):
        lab.compare(ENV, {"random": operators.random()}, seeds=[1])
    with pytest.raises(ConfigurationError, match=lacks.format("cleanrl")):
        lab.train("cleanrl", algorithm="ppo", env=ENV, total_timesteps=1_024)


@pytest.mark.usefixtures("path")
def test_an_id_that_the_module_does_not_register_is_refused_with_the_nearest(lab: mosaic.Lab) -> None:
    said = "the module 'corridor' registers no environment 'Coridor-v0'. Did you mean Corridor-v0?"
    with pytest.raises(ConfigurationError, match=said):
        lab.compare("corridor:Coridor-v0", {"r": operators.random()}, seeds=[1], pass_env_vars=["PYTHONPATH"])


@pytest.mark.usefixtures("path")
def test_a_worker_for_one_agent_refuses_a_team_with_the_workers_that_train_it(
    lab: mosaic.Lab, tmp_path: Path
) -> None:
    (tmp_path / "own" / "convoy_v0.py").write_text("def parallel_env(render_mode=None): ...\n")
    (tmp_path / "own" / "fleet.py").write_text("from pettingzoo import ParallelEnv\n")
    for env in ("convoy_v0", "simple_tag_v3", "convoy_v0:convoy_v0", "fleet:Fleet"):
        with pytest.raises(ConfigurationError) as caught:
            lab.train(
                "cleanrl", algorithm="ppo", env=env, total_timesteps=1_024, pass_env_vars=["PYTHONPATH"]
            )
        assert "worker 'cleanrl' trains no teams: train them with worker 'xuance'" in str(caught.value)
        assert "PYTHONPATH" not in str(caught.value) and ".." not in str(caught.value)


@pytest.mark.usefixtures("path")
def test_an_id_without_its_module_is_refused_with_the_module(
    lab: mosaic.Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trainings and arenas give the same refusal; for a missing package, it has the command to install it."""
    (tmp_path / "own" / "needy.py").write_text("import a_package_that_is_missing\n")
    passed, lanes = {"pass_env_vars": ["PYTHONPATH"]}, {"random": operators.random()}

    def refusals(env: str) -> tuple[str, str]:
        with pytest.raises(ConfigurationError) as of_training:
            lab.train("cleanrl", algorithm="ppo", env=env, total_timesteps=1_024, **passed)
        with pytest.raises(ConfigurationError) as of_comparison:
            lab.compare(env, lanes, seeds=[1], **passed)
        return str(of_training.value), str(of_comparison.value)

    for refusal in refusals("Corridor-v0"):
        assert "Did you mean 'corridor:Corridor-v0'? Put the folder" in refusal
    install = "mosaic-lab workers install {} --with a_package_that_is_missing"
    for worker, refusal in zip(("cleanrl", "gymnasium"), refusals("needy:Any-v0"), strict=True):
        assert install.format(worker) in refusal


def starts(lab: mosaic.Lab, env: Any) -> list[Callable[[], object]]:
    """Return a call of each verb that takes an environment."""
    training = {"algorithm": "ppo", "total_timesteps": 1_024}
    search = {"metric": "episode_return", "search": {"gamma": [0.9, 0.99]}, "trials": 2}
    lanes = {"random": operators.random()}
    return [
        lambda: lab.train("cleanrl", env=env, **training),
        lambda: lab.sweep("cleanrl", env=env, **training, **search),
        lambda: lab.compare(env, lanes, seeds=[1]),
        lambda: lab.evaluate(env=env, operators=lanes),
    ]


def test_what_is_not_an_id_is_refused_alike_by_every_verb(lab: mosaic.Lab) -> None:
    class Thermostat:
        pass

    for env, kind, name in (
        (Thermostat, "a class", "Thermostat"),
        (Thermostat(), "an object", "Thermostat"),
        (lambda: Thermostat(), "a function", "make_env"),
    ):
        stages = [mosaic.Stage(env, steps=1_000)]
        in_stages = functools.partial(lab.train, "cleanrl", algorithm="ppo", curriculum=stages)
        for start in (*starts(lab, env), in_stages):
            with pytest.raises(
                ConfigurationError,
                match=f'give an id, not {kind}: a worker is another process.*give env="{__name__}:{name}"',
            ):
                start()


def test_a_made_environment_is_refused_with_its_id(lab: mosaic.Lab) -> None:
    class Gymnasium:
        metadata: ClassVar[dict[str, Any]] = {"render_modes": []}
        spec = SimpleNamespace(id="CartPole-v1")

    class PettingZoo:
        metadata: ClassVar[dict[str, Any]] = {"name": "simple_spread_v3"}

    for env, known in ((Gymnasium(), "CartPole-v1"), (PettingZoo(), "simple_spread_v3")):
        for start in starts(lab, env):
            with pytest.raises(ConfigurationError, match=f'not an object: .* itself. Give env="{known}"$'):
                start()


def test_an_id_that_only_this_process_knows_is_refused_by_trainings_and_arenas_alike(
    lab: mosaic.Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Thermostat:
        __module__ = "__main__"  # as if defined in a notebook cell

    points = {"A-v0": Thermostat, "B-v0": "__main__:Thermostat", "C-v0": functools.partial(Thermostat)}
    gymnasium = ModuleType("gymnasium")
    gymnasium.__spec__ = ModuleSpec("gymnasium", None)
    gymnasium.__dict__["registry"] = {name: SimpleNamespace(entry_point=one) for name, one in points.items()}
    monkeypatch.setitem(sys.modules, "gymnasium", gymnasium)
    alone = 'is registered in this process alone, and a worker is another: .* give env="my_env:{}"'
    for name in points:
        assert re.search(alone.format(name), own_id(name))
    train, _, compare, _ = starts(lab, "C-v0")
    for start in (train, compare):
        with pytest.raises(ConfigurationError, match=alone.format("C-v0")):
            start()
    assert not lab.runs
