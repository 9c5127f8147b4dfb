"""Bundles of language-model evaluations: their recordings, prompts, describers and images."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from evaluation.evaluation_fixtures import Evaluate, resealed
from evaluation.sharing.forged_bundles import bundled, members_of, refused
from language.frozen_lake import KEY, LAKE, model
from language.language_fixtures import FakeServer

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.cli import main
from mosaic_lab.errors import MosaicError, UnknownRun
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.evaluation.fingerprints import identity
from mosaic_lab.evaluation.planning import plan_evaluation, plan_script
from mosaic_lab.evaluation.request import EvaluateRequest
from mosaic_lab.evaluation.scripts import LANGUAGE_MODELS
from mosaic_lab.evaluation.sharing import open_bundle
from mosaic_lab.evaluation.sharing.bundle_script import SCRIPT, check_script, script_of
from mosaic_lab.operators.tables import lanes_code

pytestmark = pytest.mark.usefixtures("lake_key")


def test_a_bundle_without_recordings_says_what_it_needs(
    tmp_path: Path, played: Evaluation, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.warns(UserWarning, match=r"share.zip is reproduced by calling fake:legal"):
        bundle = played.bundle(tmp_path / "share.zip", recordings=False)
    elsewhere = ["--into", str(tmp_path / "into"), "--store", str(tmp_path / "elsewhere")]
    assert main(["evaluate", str(bundle), *elsewhere]) == 1
    said = capsys.readouterr()
    assert "share.zip has no recording: fake:legal (fake:legal, openai) would have to be called" in said.out
    assert "base_url" in said.err
    assert open_bundle(bundle, tmp_path / "again").records()[0]["status"] == "ok"


def recording_in(members: dict[str, bytes]) -> str:
    return min(name for name in members if name.startswith("exchanges/") and name.endswith(".jsonl"))


def line_with(**changes: Any) -> Callable[[dict[str, bytes]], dict[str, bytes]]:
    """Return a function that changes and reseals the first line of a recording."""

    def change(members: dict[str, bytes]) -> dict[str, bytes]:
        name = recording_in(members)
        first, *rest = members[name].splitlines(keepends=True)
        entry = json.loads(first[:-24] + b"}") | changes
        return {
            name: resealed(json.dumps(entry).encode()[:-1] + b',"checksum":"00000000"}\n') + b"".join(rest)
        }

    return change


def image(content: bytes, name: str) -> Callable[[dict[str, bytes]], dict[str, bytes]]:
    return lambda members: {f"exchanges/images/{name}.png": content}


HOSTILE: dict[str, tuple[Callable[[dict[str, bytes]], dict[str, bytes]], str]] = {
    "another lane": (line_with(lane="PPO"), "there is no operator 'PPO'"),
    "a terminal's command": (line_with(model="\x1b[2J"), r"model='\\x1b\[2J' is not a name"),
    "a long name": (line_with(agent="a" * 1000), "agent='aaa.* is not a name"),
    "another prompt": (line_with(prompt=[]), "its prompt does not match its SHA-256"),
    "no dialog": (line_with(prompt=[{"role": "root", "text": "", "images": []}]), "not a valid turn"),
    "an image elsewhere": (
        line_with(prompt=[{"role": "user", "text": "", "images": ["../../x"]}]), "not the name of an image"
    ),
    "no image": (line_with(prompt=[{"role": "user", "text": "", "images": ["0" * 64]}]), "is missing"),
    "no number": (line_with(cost_usd="free"), "cost_usd='free' is not an amount"),
    "infinite": (line_with(latency_ms=1e999), "is not an amount"),
    "half a token": (line_with(input_tokens=0.5), "input_tokens=0.5 is not a count"),
    "a count": (line_with(step_index=-1), "step_index=-1 is not a count"),
    "an answer": (line_with(answer={"a": 1}), "its answer is not a string"),
    "faults": (line_with(faults=["x"] * 100), "more than 20 faults"),
    "nested": (line_with(prompt=7), "cannot be read"),
    "a page": (image(b"<script>", "0" * 64), "does not match its name"),
}  # fmt: skip


def test_recordings_that_others_made_are_refused_by_what_is_wrong_with_them(
    tmp_path: Path, played: Evaluation
) -> None:
    members, path = members_of(played.bundle(tmp_path / "honest.zip")), tmp_path / "hostile.zip"
    for change, says in HOSTILE.values():
        refused(bundled(path, members, change(members)), rf"'exchanges/.*{says}")
    name = recording_in(members)
    for content, says in (
        (members[name].replace(b'"answer"', b'"Answer"', 1), "line 1: the checksum does not match"),
        (members[name][:-10], r"line \d: it is cut off"),
    ):
        refused(bundled(path, members, {name: content}), says)


def test_a_prompt_and_code_of_the_users_go_along_and_run_by_consent_only(
    tmp_path: Path, start_evaluation: Evaluate, server: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "describe.py").write_text(
        'def text(observation):\n    return f"field {observation}"\n'
        "def twice(prompt, ask):\n    ask(prompt)\n    return ask(prompt)\n"
    )
    own = tmp_path / "mine" / "describe.py"
    prompt = {"system": "Walk, {agent}.", "history": {"tokens": 500}, "top_p": 0.5}
    prompt["examples"] = [{"observations": ["field 14"], "actions": ["right"]}]
    described = model(server, describe=f"{own}:text", strategy=f"{own}:twice", **prompt)
    evaluation = start_evaluation(operators={"LLM": described}, seeds=[1], **LAKE).wait(240)
    exchanges = evaluation.exchanges()
    for shown in ("field 0", "Walk, agent_0.", "Example 1, step 1.\n\nfield 14"):
        assert exchanges["prompt"].str.contains(shown, regex=False).all(), shown
    assert len(exchanges) == 2 * evaluation.results()["length"].sum(), "two requests per step"
    bundle = evaluation.bundle(tmp_path / "share.zip")
    verify = ["evaluate", str(bundle), "--verify", "--store", str(tmp_path / "elsewhere")]
    assert main([*verify, "--into", str(tmp_path / "into")]) == 1
    assert re.search(r"text of policies/1/describe\.py.*--run-code", capsys.readouterr().err, re.DOTALL)
    assert main([*verify, "--into", str(tmp_path / "into"), "--run-code"]) == 0
    assert "identical: 1 episodes" in capsys.readouterr().out


def test_pictures_of_a_vision_model_go_along(
    tmp_path: Path, start_evaluation: Evaluate, server: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    sees = operators.vlm("fake:legal", base_url=server.openai_url, api_key_env=KEY)
    evaluation = start_evaluation(operators={"VLM": sees}, seeds=[1], **{**LAKE, "max_steps": 2}).wait(240)
    bundle = evaluation.bundle(tmp_path / "share.zip")
    members = members_of(bundle)
    (picture, *_) = (name for name in members if name.startswith("exchanges/images/"))
    where = ["--into", str(tmp_path / "into"), "--store", str(tmp_path / "elsewhere")]
    assert main(["evaluate", str(bundle), "--verify", *where]) == 0
    assert "identical: 1 episodes" in capsys.readouterr().out

    bomb = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (60_000).to_bytes(4, "big") * 2
    named = f"exchanges/images/{hashlib.sha256(bomb).hexdigest()}.png"
    hostile: list[tuple[dict[str, bytes], str]] = [
        ({picture: members[picture] + b"!"}, "does not match its name"),
        ({named: bomb}, "has 60,000 × 60,000 pixels, 16,777,216 at most"),
        ({f"exchanges/images/{hashlib.sha256(b'<svg/>').hexdigest()}.png": b"<svg/>"}, "is not a PNG image"),
    ]
    (tmp_path / "hostile").mkdir()
    for change, says in hostile:
        refused(bundled(tmp_path / "hostile" / "share.zip", members, change), says)
    del members[picture]
    refused(bundled(tmp_path / "hostile" / "share.zip", members, {}), r"its image [0-9a-f]{64} is missing")


def test_every_kind_of_language_model_is_read_as_a_bundle_writes_it(tmp_path: Path) -> None:
    def nowhere(run: str) -> None:
        raise UnknownRun(run)

    sampled: dict[str, Any] = {"temperature": 0.5, "top_p": 0.9, "stop": ["\n"], "reasoning_effort": "low"}
    prompted: dict[str, Any] = {
        "system": "Walk, {agent}.",
        "strategy": "few_shot",
        "examples": [{"observations": ["a wall"], "actions": ["left"], "seed": 2}],
        "history": {"steps": 3, "tokens": 500},
    }
    made = {
        kind: make("gpt-5-mini", **sampled, **(prompted if kind in ("llm", "vlm") else {}))
        for kind, make in LANGUAGE_MODELS.items()
    }
    request = EvaluateRequest(env="CartPole-v1", operators=made, seeds=[1])
    plan = plan_evaluation(request, nowhere, recorded=True)
    script = tmp_path / SCRIPT
    script_of_made = json.dumps(script_of(plan, {}))
    script.write_text(script_of_made)
    check_script(script, "share.zip", len(made))
    assert identity(plan_script(script, nowhere)) == identity(plan)
    for kind, text in lanes_code(plan.tables()).items():
        assert eval(text, {"mosaic": mosaic}).settings == made[kind].settings, "from generated code"
    for change, says in (
        ({"base_url": "https://evil.example/v1"}, "an operator in a bundle must not have the key 'base_url'"),
        (
            {"system": "/etc/secret.txt"},
            "the system prompt and the examples of an operator must be in the sc",
        ),
        (
            {"examples": "/etc/secret.json"},
            "the system prompt and the examples of an operator must be in the",
        ),
        ({"strategy": "/etc/evil.py:run"}, "the folder None is not a policy of the bundle"),
        ({"strategy": {"folder": "/etc", "file": "evil.py"}}, "the folder None is not a policy"),
    ):
        hostile = json.loads(script_of_made)
        hostile["operators"]["llm"] |= change
        script.write_text(json.dumps(hostile))
        with pytest.raises(MosaicError, match=f"'llm': {says}"):
            check_script(script, "share.zip", len(made))
