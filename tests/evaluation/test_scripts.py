"""Evaluation scripts in TOML or JSON: data without code, fully validated before any process starts."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import store

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.cli import main
from mosaic_lab.errors import ConfigurationError, UnknownRun
from mosaic_lab.evaluation.launch import evaluate_script
from mosaic_lab.evaluation.request import EvaluateRequest
from mosaic_lab.evaluation.scripts import read_script
from mosaic_lab.runs.request import arguments_of

WHOLE = """\
env = "CartPole-v1"
seeds = { first = 10, count = 3 }
max_steps = 20
step_timeout = 600

[operators.dice]
kind = "random"
deadline = 5.0
[operators."the still one"."*"]
kind = "passive"
fallback = "default"
"""

WRONG = """\
env = "CartPole-v1"
seeds = []
episodes = -3
episode = 1

[operators.dice]
kind = "lmm"
[operators.trained]
kind = "rl"
checkpoint = "nowhere.pt"
[operators.mixed.red_0]
kind = "passive"
deadlin = 5
[operators.mixed.blue_0]
kind = "worker"
worker = "absent"
[operators.empty]
"""


def write(folder: Path, text: str, name: str = "script.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_json_says_the_same_and_a_file_may_have_the_same_seed_several_times(tmp_path: Path) -> None:
    document = {"env": "CartPole-v1", "seeds": [1000] * 3, "operators": {"dice": {"kind": "random"}}}
    lab = mosaic.Lab(tmp_path / "runs")
    table = lab.evaluate(write(tmp_path, json.dumps(document), "script.json")).wait(120).results()
    assert list(zip(table["seed"], table["episode_index"], table["episode_seed"], strict=True)) == [
        (1000, index, 1000) for index in range(3)
    ]
    unclear = (
        ({"seeds": [1, 2, 1]}, "seeds has duplicates: 1. For several episodes"),
        ({"seeds": [1, 1], "episodes": 2}, "seeds has duplicates: 1"),
        ({"environment_mode": "fixed"}, "unknown key 'environment_mode'; here it is called 'seed_sequence'"),
    )
    for wrong, said in unclear:
        with pytest.raises(ConfigurationError, match=re.escape(said)):
            lab.evaluate(write(tmp_path, json.dumps(document | wrong), "script.json"))
    for more in ({"env": "CartPole-v1"}, {"seeds": range(5)}):
        with pytest.raises(ConfigurationError, match="either a script or env= and operators="):
            lab.evaluate("script.json", **more)


def test_the_help_shows_a_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate", "--help"])
    help_text = capsys.readouterr().out
    shown = help_text.partition("in TOML or JSON:\n")[2].partition("\n\nhelp(")[0]

    def nowhere(run: str) -> None:
        raise UnknownRun(f"no run {run}")

    given, problems = read_script(write(tmp_path, shown), nowhere)
    assert (given.env, given.seeds, list(given.operators)) == ("CartPole-v1", range(100), ["dice", "LLM"])
    with pytest.raises(ConfigurationError, match=r"^script\.toml, line 6: PPO: no run k3f9$"):
        problems.check()  # nothing else is wrong
    for name, argument in arguments_of(EvaluateRequest).items():
        assert f"\n  {name:<15} {argument.meta.description}" in help_text


def test_every_problem_is_reported_with_its_line(tmp_path: Path) -> None:
    lab = mosaic.Lab(tmp_path / "runs")
    with pytest.raises(ConfigurationError) as caught:
        lab.evaluate(write(tmp_path, WRONG))
    head, *problems = str(caught.value).splitlines()
    assert head == f"script.toml has {len(problems)} problems:"
    for expected in (
        "line 2: seeds is empty: give at least one",
        "line 3: episodes=-3: must be an integer ≥ 1",
        "line 4: unknown key 'episode'; did you mean 'episodes'?",
        "line 7: dice: unknown kind 'lmm'; did you mean 'llm'?",
        "line 8: trained: there is no checkpoint",
        "line 13: mixed: unknown key 'deadlin'; did you mean 'deadline'?",
        'line 17: empty: {} is not an operator: it must be a table with a "kind", one of "random", '
        '"passive", "rl"',
    ):
        assert any(problem.strip().startswith(expected) for problem in problems), expected
    assert any("absent" in problem for problem in problems)
    assert len(problems) == 8
    assert not lab.runs


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("script.py", "print(1)", "must be a .toml or .json file, which contains no code"),
        ("script.toml", "env = \n", r"not valid TOML: .*line 1"),
        ("script.toml", "[operators.a]\nkind=1\n[operators.a]\n", r"not valid TOML: .*line 3"),
        ("script.json", '{"env": \n}', r"not valid JSON: .*line 2"),
        ("script.json", '{"env": "A-v0", "env": "B-v0"}', r"it has a duplicate key 'env' in one object"),
        ("script.json", "[]", "is not an object with keys"),
        ("script.json", "{}", "2 problems:\n  env is missing\n  operators is missing"),
        ("script.toml", 'env = "CartPole-v1"\nseeds = {count = -1}\noperators = 3', "operators=3"),
        ("script.toml", '[operators.mine]\nkind = "python"\n', 'line 1: mine: give the "policy": a file or'),
    ],
)
def test_an_invalid_script_is_refused(tmp_path: Path, name: str, text: str, said: str) -> None:
    with store(tmp_path / "runs") as supervisor, pytest.raises(ConfigurationError, match=said):
        evaluate_script(supervisor, write(tmp_path, text, name))


def test_a_policy_mapping_needs_no_other_operator(tmp_path: Path) -> None:
    text = 'env = "simple_spread_v3"\nmax_steps = 5\nseeds = [1]\n[policies.agent_0]\nkind = "passive"\n'
    script = write(tmp_path, text + '[policies."*"]\nkind = "random"\ndeadlin = 5\n')
    with store(tmp_path / "runs") as supervisor:
        with pytest.raises(ConfigurationError, match="line 8: policies: unknown key 'deadlin'"):
            evaluate_script(supervisor, script)
        script.write_text(script.read_text().replace("deadlin", "deadline"))
        (row,) = evaluate_script(supervisor, script).wait(120).results().to_dict("records")
        assert (row["operator"], row["category"]) == ("policies", "passive, random")


def test_checkpoints_lie_beside_the_script(tmp_path: Path) -> None:
    space = {"type": "Discrete", "n": 2}
    described = {"format": "mosaic-toy/1", "observation_space": space, "action_space": space}
    (tmp_path / "policy.json").write_text(json.dumps(described))
    (tmp_path / "policy.npy").write_bytes(b"weights")
    text = '[operators.trained]\nkind = "rl"\ncheckpoint = "policy.npy"\ndeterministic = false\n'
    given, _ = read_script(write(tmp_path, 'env = "x"\n' + text), lambda run_id: None)
    expected = operators.rl(tmp_path / "policy.npy", deterministic=False)
    assert given.operators["trained"].settings == expected.settings


def test_operators_that_agents_share(tmp_path: Path) -> None:
    shared = 'env = "x"\n[operators.a."red_*"]\nkind = "random"\n[operators.a.blue_0]\nkind = "same"\nas = '
    given, problems = read_script(write(tmp_path, shared + '"red_*"\n'), lambda run_id: None)
    assert given.operators["a"]["red_*"] is given.operators["a"]["blue_0"]
    problems.check()
    for wrong in ('"green"', '"blue_0"', "[1]", '"red_*"\ndeadline = 3'):
        _, problems = read_script(write(tmp_path, shared + wrong), lambda run_id: None)
        with pytest.raises(
            ConfigurationError, match=r"line 4: a: .* as= must name another operator of its lane"
        ):
            problems.check()


def test_the_command_line_plays_a_script_and_goes_on_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, runs = write(tmp_path, WHOLE), str(tmp_path / "runs")
    assert main(["evaluate", str(script), "--store", runs]) == 0
    said = capsys.readouterr().out
    assert "completed, 6 of 6 episodes" in said
    assert "the still one" in said
    run_id = said.split(runs + "/")[1].split()[0]
    played = mosaic.Lab(runs).run(run_id)
    assert isinstance(played, mosaic.Evaluation)
    plan = played.plan
    assert (plan.seeds, plan.request.max_steps, plan.request.step_timeout) == ([10, 11, 12], 20, 600)
    assert list(plan.lanes) == ["dice", "the still one"]
    assert plan.mapping("dice")["*"].deadline == 5.0
    assert plan.mapping("the still one")["*"].fallback == "default"
    assert list(played.results()["seed"]) == [10, 10, 11, 11, 12, 12]
    assert main(["evaluate", "--resume", run_id, "--store", runs]) == 0
    assert main(["evaluate", str(write(tmp_path, WRONG)), "--store", runs]) == 1
    assert "line 7: dice" in capsys.readouterr().err
    alone = subprocess.run([sys.executable, "-m", "mosaic_lab.evaluation"], capture_output=True, timeout=60)
    assert alone.returncode == 2
