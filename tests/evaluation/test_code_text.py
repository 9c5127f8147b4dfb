"""Generated code of an evaluation: executing it reproduces the plan."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mosaic_lab import operators
from mosaic_lab.evaluation.fingerprints import identity
from mosaic_lab.evaluation.plan import EvaluationPlan
from mosaic_lab.evaluation.planning import plan_evaluation, plan_script
from mosaic_lab.evaluation.request import EvaluateRequest
from mosaic_lab.keeper.run_store import write_json
from mosaic_lab.runs import Run
from mosaic_lab.runs.kinds import code_of


def no_run(name: str) -> Any:
    raise AssertionError(name)


def planned(**given: Any) -> EvaluationPlan:
    return plan_evaluation(EvaluateRequest(**given), no_run)


def code_of_plan(plan: dict[str, Any], folder: Path) -> str:
    folder.mkdir(exist_ok=True)
    write_json(folder / "config.json", plan)
    write_json(folder / "launch.json", {"worker": "evaluation"})
    return code_of(Run(folder))


def test_the_code_makes_the_same_plan(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text("def act(observation):\n    return 0\n")
    checkpoint = tmp_path / "step-7.pt"
    checkpoint.write_bytes(b"PK\x05\x06" + bytes(18))  # an empty zip file
    checkpoint.with_suffix(".json").write_text('{"format": "mosaic-cleanrl/1", "algorithm": "ppo"}')
    request = EvaluateRequest(
        env="CartPole-v1",
        operators={
            "random": operators.random(),
            "dice": operators.random(deadline=5.0, fallback="default").with_(name="dice two"),
            "still": {"*": operators.passive()},
            "PPO": operators.rl(checkpoint, deterministic=False),
            "DQN": operators.Algorithm({"s1": operators.rl(checkpoint), "s2": operators.random()}),
            "mine": operators.python(f"{tmp_path}/policy.py:act", name="my own"),
        },
        seeds=range(10),
        episodes=3,
        env_kwargs={"sutton_barto_reward": True, "limits": (-2.4, [2.4, (1,)])},
        max_steps=50,
        on_failure="skip",
    )
    made = plan_evaluation(request, no_run)
    plan = made.to_config()
    code = code_of_plan(plan, tmp_path / "run")
    scope = {"lab": SimpleNamespace(evaluate=planned)}
    body, call = code.rsplit("\n\n", 1)
    exec(body, scope)
    assert eval(call, scope).to_config() == plan
    assert (
        "seeds=range(10)" in call
        and "(-2.4, [2.4, (1,)])" in call
        and "family=" not in call
        and "budget" not in call
    )
    recorded = tmp_path / "run" / "request.json"
    write_json(recorded, made.recorded_request(request).to_json())
    assert plan_script(recorded, no_run).to_config() == plan, "the recorded request is a valid script"
    assert code_of(Run(tmp_path / "run")) == code


def test_a_small_evaluation_is_one_short_line(tmp_path: Path) -> None:
    plan = planned(env="CartPole-v1", operators={"a": operators.random()}, seeds=[3, 5])
    expected = 'lab.evaluate(env="CartPole-v1", operators={"a": mosaic.operators.random()}, seeds=[3, 5])'
    assert code_of_plan(plan.to_config(), tmp_path).replace("\n    ", " ").replace("( ", "(").replace(
        ",\n)", ")"
    ) == (f"import mosaic_lab as mosaic\n\n{expected}")


def test_a_shared_operator_and_a_language_model_play_the_same_again(tmp_path: Path) -> None:
    one = operators.random()
    model = operators.llm("local", history=2, name="small")
    plan = planned(env="CartPole-v1", operators={"a": one, "b": one, "LLM": model}, seeds=[1])
    scope = {"lab": SimpleNamespace(evaluate=planned)}
    body, call = code_of_plan(plan.to_config(), tmp_path / "run").rsplit("\n\n", 1)
    exec(body, scope)
    assert identity(eval(call, scope)) == identity(plan)


@pytest.mark.parametrize("changes", [{"lanes": 3}, {"env_id": None, "operators": {}}, {"seeds": None}])
def test_without_a_valid_plan_there_is_no_code(tmp_path: Path, changes: dict[str, Any]) -> None:
    one = operators.random()
    plan = planned(env="CartPole-v1", operators={"a": one}, seeds=[1]).to_config()
    assert code_of_plan(plan, tmp_path / "good")
    assert code_of_plan({**plan, **changes}, tmp_path / "bad") == ""
    pair = planned(env="CartPole-v1", operators={"a": {"left": one, "right": one}}, seeds=[1])
    assert code_of_plan(pair.to_config(), tmp_path / "pair") == "", "one process for two agents has no code"


def test_a_plan_of_an_earlier_version_has_the_same_identity() -> None:
    plan = planned(env="CartPole-v1", operators={"a": operators.random()}, seeds=[1])
    earlier = {name: value for name, value in plan.to_config().items() if name != "trainings"}
    assert identity(EvaluationPlan.from_config(earlier)) == identity(plan)
    assert "trainings" not in identity(plan)
