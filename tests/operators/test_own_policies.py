"""User-defined policies: files, functions and objects, run with this kernel's Python."""

from __future__ import annotations

import importlib
import json
import sys
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arenas.comparison_fixtures import Compare
from evaluation.evaluation_fixtures import Evaluate
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab import operators, workers
from mosaic_lab.cli import main
from mosaic_lab.errors import ConfigurationError, MosaicError, RunFailed
from mosaic_lab.runs import Supervisor

CARTPOLE = "CartPole-v1"
POLICY = """
    import json, pathlib, random
    import numpy as np

    print("printed while it is imported")

    def act(observation):
        print("printed while it acts")
        return int(observation[2] > 0)

    def lean(observation, mask):
        assert mask is None
        return int(observation[2] > 0)

    def fails(observation):
        print("the last words")
        return observation["angle"]

    def dice(observation):
        return random.randrange(2) ^ int(np.random.random() < 0.5)

    class Leaner:
        def __init__(self, sign=1):
            self.sign, self.seeds = sign, []

        def reset(self, seed):
            self.seeds.append(seed)
            self.steps = 0

        def select_action(self, observation, *, agent, step_index):
            assert step_index == self.steps and agent == "agent_0" and self.seeds
            self.steps += 1
            return int(self.sign * observation[2] > 0)

    def make(sign=1):
        return Leaner(sign)

    class Batched:
        def select_action(self, observation):
            raise NotImplementedError

        def select_actions(self, observations):
            assert observations.shape == (16, 4)
            return (observations[:, 2] > 0).astype(int)

    class Single(Batched):
        def select_actions(self, observations):
            return 1

    class Recurrent:
        "A model with the interface of Stable-Baselines3's and sb3-contrib's: it alternates."

        def predict(self, observation, state=None, episode_start=None, deterministic=False):
            assert deterministic is True and episode_start.dtype == bool and episode_start.shape == (1,)
            assert (state is None) == bool(episode_start[0])
            count = 0 if state is None else state[0]
            return np.array(count % 2), (count + 1,)

    model = Recurrent()
    weights = pathlib.Path("weights.json")
    from_file = (lambda observation: json.loads(weights.read_text())) if weights.exists() else None
"""


@pytest.fixture
def policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The policies, imported from a file in the working directory as in a notebook."""
    (tmp_path / "own_policies.py").write_text(textwrap.dedent(POLICY))
    (tmp_path / "weights.json").write_text("1")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield importlib.import_module("own_policies")
    del sys.modules["own_policies"]


def from_file(name: str, **options: Any) -> operators.OperatorSpec:
    return operators.python(f"own_policies.py:{name}", **options)


def test_an_evaluation_plays_functions_objects_and_files(policies: Any, start_evaluation: Evaluate) -> None:
    alike = {
        "function": policies.act,
        "file": from_file("act"),
        "module": operators.python("own_policies:act"),
        "mask": from_file("lean"),
        "class": from_file("Leaner"),
        "factory": from_file("make"),
        "factory with keywords": from_file("make", sign=1.0),
        "batched": from_file("Batched"),
    }
    lanes = {**alike, "other": from_file("make", sign=-1.0), "model": from_file("model")}
    evaluation = start_evaluation(CARTPOLE, lanes, seeds=range(3), episodes=2, max_steps=60).wait(120)
    lengths = evaluation.results().groupby("operator", sort=False)["length"].apply(list).to_dict()
    assert all(lengths[label] == lengths["function"] for label in alike)
    assert evaluation.config["batches"] == {"batched": 16}
    assert max(lengths["other"]) < min(lengths["function"])
    actions = evaluation.steps("model", 2, 1)["action"].to_list()
    assert actions == [step % 2 for step in range(len(actions))], "its state is reset in each episode"
    log = next((evaluation.path / "arenas").glob("*-function.*/operator-*.log")).read_text()
    assert "printed while it is imported" in log and "printed while it acts" in log
    assert set(evaluation.versions["function"]) == {"gymnasium", "numpy", "python", "policy"}


def test_a_comparison_plays_them_beside_those_of_the_kernel(policies: Any, start_comparison: Compare) -> None:
    lanes = {
        "kernel": policies.act,
        "file": from_file("act"),
        "kernel's model": policies.Recurrent(),
        "model": from_file("model"),
        "lambda": lambda observation, mask: int(observation[2] > 0),
        "fails": from_file("fails"),
    }
    comparison = start_comparison(CARTPOLE, lanes, seeds=[7])
    for _ in range(2):
        comparison.reset()
        comparison.play()
        with pytest.warns(RuntimeWarning, match="fails has failed"):
            comparison.wait(60)
            comparison._warned.clear()
    lengths = comparison.results().query("episode_index == 2").set_index("lane")["length"]
    assert lengths["kernel"] == lengths["file"] == lengths["lambda"]
    assert lengths["kernel's model"] == lengths["model"]
    failed = comparison.lanes[-1]
    line = POLICY.splitlines().index('        return observation["angle"]')
    assert f"(line {line + 1} of own_policies.py, in fails)" in failed.reason
    assert failed.reason.startswith("fails for agent_0: IndexError: ")
    assert "the last words" in failed.log and 'return observation["angle"]' in failed.log
    assert "mosaic_contract/user_policy.py" not in failed.log, "the traceback starts in the user's file"


@pytest.mark.parametrize(
    ("env", "policy"), [("Blackjack-v1", "blackjack"), ("Taxi-v4", "taxi"), ("simple_spread_v3", "Player")]
)
def test_observations_masks_and_agents_are_as_their_environment_has_them(
    tmp_path: Path, start_comparison: Compare, env: str, policy: str
) -> None:
    """Each agent of a team has its own policy object."""
    (tmp_path / "kinds.py").write_text(
        "import numpy as np\n"
        "def blackjack(observation):\n"
        "    assert type(observation) is tuple and all(type(part) is int for part in observation)\n"
        "    return 0\n"
        "def taxi(observation, action_mask):\n"
        "    assert type(observation) is int and action_mask.dtype == np.int8\n"
        "    return int(np.flatnonzero(action_mask)[-1])\n"
        "class Player:\n"
        "    agents = None\n"
        "    def select_action(self, observation, agent, info):\n"
        "        self.agents = {agent} | (self.agents or set())\n"
        "        assert len(self.agents) == 1 and info == {}\n"
        "        return 0\n"
    )
    lanes = {"mine": operators.python(tmp_path / f"kinds.py:{policy}")}
    comparison = start_comparison(env, lanes, max_steps=4)
    comparison.play()
    comparison.wait(60)
    assert len(comparison.results()) == 1


def test_a_changed_file_is_noticed(policies: Any, start_evaluation: Evaluate, tmp_path: Path) -> None:
    acts = from_file("from_file", files=["weights.json"])
    arguments: dict[str, Any] = {"seeds": range(40), "step_delay": 0.005}
    evaluation = start_evaluation(CARTPOLE, {"mine": acts}, **arguments)
    wait_until(lambda: evaluation.done >= 2)
    evaluation.stop()
    (tmp_path / "weights.json").write_text("0")
    with pytest.raises(MosaicError, match=r"weights.json has changed since .* start a new evaluation"):
        evaluation.resume()
    (tmp_path / "weights.json").write_text("1")
    source = tmp_path / "own_policies.py"
    text = source.read_text()
    source.write_text(text + "\n")
    with pytest.raises(MosaicError, match=r"the code .*own_policies.py has changed since"):
        evaluation.resume()
    source.write_text(text)
    evaluation.resume().wait(60)
    assert evaluation.done == 40


def test_a_bundle_holds_the_source_and_runs_it_by_consent_only(
    policies: Any, start_evaluation: Evaluate, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With consent it gives the same results; random numbers follow from the seed."""
    weights = from_file("from_file", files=["weights.json"])
    lanes = {"act": policies.act, "weights": weights, "dice": from_file("dice")}
    evaluation = start_evaluation(CARTPOLE, lanes, seeds=range(2)).wait(60)
    bundle = evaluation.bundle(tmp_path / "share.zip")
    with zipfile.ZipFile(bundle) as inside:
        assert inside.read("policies/1/own_policies.py").decode() == textwrap.dedent(POLICY)
        assert "policies/1/own_policies.py" in json.loads(inside.read("manifest.json"))["files"]
        assert str(tmp_path).encode() not in inside.read("script.json")
    (tmp_path / "own_policies.py").write_text("raise SystemExit('not this one')")
    runs = ["--store", str(tmp_path / "elsewhere")]
    into = ["--into", str(tmp_path / "opened")]
    for verify in ([], ["--verify"]):
        assert main(["evaluate", str(bundle), *into, *runs, *verify]) == 1
        said = capsys.readouterr()
        assert "printed" not in said.out
        assert "share.zip runs Python code with your permissions on this machine" in said.err
        assert "act of policies/1/own_policies.py (SHA-256 " in said.err and "--run-code" in said.err
    assert not Supervisor(tmp_path / "elsewhere").runs()
    assert main(["evaluate", str(bundle), *into, *runs, "--verify", "--run-code"]) == 0
    assert "identical: 6 episodes gave the same results here" in capsys.readouterr().out
    script = tmp_path / "opened" / "script.json"
    lab = mosaic.Lab(tmp_path / "elsewhere")
    with pytest.raises(ConfigurationError, match="run_code=True"):
        lab.evaluate(script)


def test_a_script_names_a_policy_beside_it(policies: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        f'env = "{CARTPOLE}"\nseeds = [1, 2]\n[operators.mine]\nkind = "python"\n'
        'policy = "own_policies.py:make"\nkeywords = { sign = 1.0 }\n'
    )
    lab = mosaic.Lab(tmp_path / "runs")
    results = lab.evaluate(tmp_path / "mine.toml", run_code=True).wait(60).results()
    assert list(results["seed"]) == [1, 2] and results["length"].min() > 20, "it follows the pole's lean"


def test_what_only_the_kernel_has_is_answered_with_the_lines_to_write(tmp_path: Path) -> None:
    class PPO:
        def predict(self, observation: Any) -> Any:
            return np.array(0), None

        def save(self, path: str) -> None: ...

        @classmethod
        def load(cls, path: str) -> PPO:
            return cls()

    def balance(observation: Any) -> int:
        return 0

    lab = mosaic.Lab(tmp_path)
    refusals = {}
    for label, given in {"model": PPO(), "function": balance, "lambda": lambda observation: 0}.items():
        with pytest.raises(ConfigurationError) as caught:
            lab.evaluate(env=CARTPOLE, operators={label: given}, seeds=[1])
        refusals[label] = str(caught.value)
    assert (
        "balance exists only in this kernel, and an evaluation is a separate process" in refusals["function"]
    )
    for line in (
        "%%writefile policy.py",
        "def balance(observation):",
        'operators.python("policy.py:balance")',
    ):
        assert line in refusals["function"]
    assert "def act(observation):" in refusals["lambda"]
    assert "lambda exists only in this kernel" in refusals["lambda"]
    for line in ('save("policy.zip")', 'policy = PPO.load("policy.zip")', "import PPO", "policy.py:policy"):
        assert line in refusals["model"]


def test_what_cannot_be_found_is_refused_before_anything_starts(policies: Any, tmp_path: Path) -> None:
    def refusal(source: str, **options: Any) -> str:
        with pytest.raises(ConfigurationError) as caught:
            operators.python(source, **options)
        return str(caught.value)

    assert "must be a file or a module, and the name in it" in refusal("own_policies.py")
    assert f"there is no file {tmp_path / 'nowhere.py'}" in refusal("nowhere.py:act")
    assert "defines no 'atc': did you mean 'act'?" in refusal("own_policies.py:atc")
    assert "there is no module 'nowhere'" in refusal("nowhere:act")
    assert "there is no file" in refusal("own_policies.py:act", files=["none.zip"])
    assert "is outside of" in refusal("own_policies.py:act", files=["/etc/hostname"])
    assert "is not a JSON value" in refusal("own_policies.py:make", sign=object())
    (tmp_path / "broken.py").write_text("def act(:\n")
    assert "broken.py cannot be read as Python" in refusal("broken.py:act")
    with pytest.raises(ConfigurationError, match="sign: only for a policy in a file"):
        operators.python(policies.act, sign=1)


def test_code_that_cannot_be_imported_says_where(tmp_path: Path, start_evaluation: Evaluate) -> None:
    (tmp_path / "needy.py").write_text("act = None\nimport no_such_library\n")
    needy = operators.python(tmp_path / "needy.py:act")
    evaluation = start_evaluation(CARTPOLE, {"needy": needy}, seeds=[1])
    with pytest.raises(RunFailed, match=r"No module named 'no_such_library' \(line 2 of needy.py\)"):
        evaluation.wait(60)


def test_a_batch_needs_an_action_for_each_observation(policies: Any, start_evaluation: Evaluate) -> None:
    evaluation = start_evaluation(CARTPOLE, {"single": from_file("Single")}, seeds=[1])
    with pytest.raises(RunFailed, match=r"select_actions returned array\(1\), not an array of 16 actions"):
        evaluation.wait(60)


def test_the_worker_is_in_the_kernels_environment_and_never_installed(
    own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["workers", "install", "policy"]) == 0
    assert "runs in the environment of mosaic-lab" in capsys.readouterr().out
    found = workers.find("policy")
    assert found is not None and found.python == Path(sys.executable)
