"""BALROG's agents through the real SDK: dialogs, played actions, result files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from language.language_fixtures import FakeServer

import mosaic_lab as mosaic
from mosaic_lab.errors import ConfigurationError, MosaicError

GOTO = "balrog/babyai/goto"
TASK = "BabyAI-MixedTrainLocal-v0/goto"


def player(server: FakeServer, model: str, *answers: str, **options: Any) -> Any:
    """Return a BALROG agent whose model gives these answers in turn and then repeats the last."""
    server.script(model, *(f"say={answer}" for answer in answers))
    return mosaic.operators.balrog(model, base_url=server.openai_url, api_key_env="FAKE_KEY", **options)


def test_agents_play_by_the_protocol_and_leave_balrogs_files(
    lab: mosaic.Lab, language_server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_KEY", language_server.key)
    shown = [
        {"observations": ["a red ball 1 step left", "a red ball 1 step forward"], "actions": ["turn left"]}
    ]
    (tmp_path / "shown.json").write_text(json.dumps(shown))
    operators = {
        "cot": player(
            language_server, "thinker", "I turn. ACTION: turn left", "I jump. ACTION: jump!", agent="cot"
        ),
        "few": player(
            language_server, "pupil", "turn right.", agent="few_shot", demonstrations=tmp_path / "shown.json"
        ),
        "dummy": mosaic.operators.balrog(agent="dummy"),
    }
    ev = lab.evaluate(env=GOTO, operators=operators, seeds=[3], max_steps=3).wait(200)
    assert set(ev.results()["status"]) == {"ok"}, ev.log(50)
    assert set(ev.results()["progression"]) == {0.0}

    first, second, third = (request["body"]["messages"] for request in language_server.requests("thinker"))
    assert [turn["role"] for turn in third] == ["user", "user", "assistant", "user", "assistant", "user"]
    assert "Your goal is to go to" in _text(first[0]) and "turn left" in _text(first[0])
    assert second[-2]["role"] == "assistant" and "I turn." in _text(second[-2])
    assert _text(third[2]) == "turn left", "only the latest answer keeps its reasoning"
    assert "I jump. ACTION: jump!" in _text(third[4])
    assert "named no valid action" in _text(third[5]) and "go forward" in _text(third[5])
    pupils = [_text(turn) for turn in language_server.requests("pupil")[0]["body"]["messages"]]
    assert any("a red ball 1 step left" in text for text in pupils[1:3]) and "turn left" in pupils

    table = ev.balrog_results(tmp_path / "results")
    overall = table[table["environment"] == "all"].set_index("operator")
    assert dict(overall["episodes_played"]) == {"cot": 1, "few": 1, "dummy": 1}
    place = tmp_path / "results" / "cot" / "babyai" / TASK
    episode = json.loads((place / f"{TASK}_run_00.json").read_text())
    assert episode["action_frequency"] == {"turn left": 1, "go forward": 2}
    assert episode["failed_candidates"] == ["jump", "jump"]
    assert episode["num_steps"] == 3 and episode["progression"] == 0.0 and episode["seed"] == 3
    assert episode["agent"]["type"] == "cot" and episode["client"]["model_id"] == "thinker"
    with (place / f"{TASK}_run_00.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["Action"] for row in rows] == ["turn left", "jump", "jump"]
    assert rows[0]["Reasoning"].startswith("I turn.") and "a wall" in rows[0]["Observation"]
    assert "named no valid action" in rows[1]["Observation"] and rows[2]["Done"] == "True"
    summary = json.loads((tmp_path / "results" / "cot" / "summary.json").read_text())
    assert summary["environments"]["babyai"]["episodes_played"] == 1
    dummy = json.loads(next((tmp_path / "results" / "dummy").rglob("*_run_00.json")).read_text())
    assert dummy["failed_candidates"] == ["wait"] * 3

    again = mosaic.operators.balrog("local", agent="few_shot", demonstrations=ev)
    assert again.settings["demonstrations"] == str(ev.path / "exchanges")
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert language_server.key.encode() not in written


def test_what_cannot_be_is_refused_at_once(lab: mosaic.Lab) -> None:
    with pytest.raises(ConfigurationError) as refused:
        mosaic.operators.balrog(agent="clever", max_text_history=-1, demonstrations="no-such-file.json")  # type: ignore[arg-type]
    for part in ("agent='clever'", "max_text_history=-1", "there is no", "not 'clever'"):
        assert part in str(refused.value)
    with pytest.raises(ConfigurationError, match="needs demonstrations="):
        mosaic.operators.balrog(agent="few_shot")
    ev = lab.evaluate(env=GOTO, operators={"random": mosaic.operators.random()}, seeds=[1], max_steps=2).wait(
        100
    )
    with pytest.raises(MosaicError, match="no BALROG operator"):
        ev.balrog_results("results")


def _text(turn: dict[str, Any]) -> str:
    content = turn["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
