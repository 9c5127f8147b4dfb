"""Recordings: an exchange is written before its action is played, never paid twice, and replays exactly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from language.language_calls import KEY_VARIABLE, PNG, PROMPT, Asker, model, parse, recording_in, settings_for
from language.language_fixtures import FakeServer
from mosaic_contract import AgentSetup
from mosaic_contract.codec import is_sealed
from mosaic_contract.errors import RecordingMismatch
from mosaic_contract.language import LanguageModel, Turn, recording

pytestmark = pytest.mark.usefixtures("server_key")

NUMBERS = ("input_tokens", "output_tokens", "cost_usd", "latency_ms", "model")


def replaying(old: Path, new: Path, **more: Any) -> LanguageModel:
    settings = {"model": "m", "recording": recording_in(new, replay=str(old), **more)}
    return LanguageModel(AgentSetup("agent_0", seed=1, settings=settings))


def test_the_contents_of_a_recording(server: FakeServer, tmp_path: Path) -> None:
    one = model(server, "say=go forward", recording=recording_in(tmp_path / "exchanges"))
    one.begin_episode(7, 2)
    one.begin_step(5)
    turns = [PROMPT[0], Turn("user", "Look.", (PNG,)), Turn("user", "And again.", (PNG,))]
    exchanges = [one.ask(turns, parse), one.ask(PROMPT, parse, repair=True)]
    entries = list(recording.read(tmp_path / "exchanges"))
    assert [entry["call"] for entry in entries] == [0, 1]
    first = entries[0]
    assert {name: first[name] for name in ("lane", "operator", "agent", "seed")} == {
        "lane": "lane",
        "operator": "LLM",
        "agent": "agent_0",
        "seed": 7,
    }
    assert (first["episode_index"], first["step_index"], first["provider"]) == (2, 5, "openai")
    assert {name: first[name] for name in exchanges[0].to_dict()} == exchanges[0].to_dict()
    assert first["parsed"] == "go forward" and first["recorded"] is False
    images = [path.name for path in (tmp_path / "exchanges" / "images").iterdir()]
    assert images == [f"{first['prompt'][1]['images'][0]}.png"], "each image is stored once"
    assert entries[1]["faults"] == ["repair"]


def test_damaged_lines_are_skipped_and_counted(server: FakeServer, tmp_path: Path) -> None:
    one = model(server, "say=go forward", recording=recording_in(tmp_path))
    for step in range(3):
        one.begin_step(step)
        one.ask(PROMPT, parse)
    one.close()
    file = tmp_path / "lane-op.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    assert all(is_sealed(line) for line in lines)
    changed = lines[1].replace(b"go forward", b"turn right", 1)
    file.write_bytes(
        lines[0] + changed + b"x" * (recording.LINE_LIMIT + 5) + b"\n" + lines[2] + lines[2][:50]
    )
    reading = recording.read(tmp_path)
    assert [entry["step_index"] for entry in reading] == [0, 2]
    assert (reading.damaged, reading.damaged_in) == (3, {"lane-op.jsonl": 3})
    again = model(server, "say=go forward", recording=recording_in(tmp_path))
    again.begin_step(3)
    again.ask(PROMPT, parse)
    assert [entry["step_index"] for entry in recording.read(tmp_path)] == [0, 2, 3], "after the torn line"
    assert list(recording.read(tmp_path / "nowhere")) == []


def test_nothing_that_was_answered_is_paid_twice(server: FakeServer, tmp_path: Path) -> None:
    settings = settings_for(server, "say=go forward", recording=recording_in(tmp_path, reuse=True))
    with Asker(settings, steps=3) as killed:
        killed.answer()
        killed.play()
        assert killed.answer() == {"answer": "go forward", "recorded": False, "loaded": ["openai"]}
        killed.kill()  # between the answer and its action
    with Asker(settings, steps=3) as again:
        for recorded in (True, True, False):
            assert again.answer()["recorded"] is recorded
            again.play()
    assert len(server.requests(settings["model"])) == 3
    assert [entry["step_index"] for entry in recording.read(tmp_path)] == [0, 1, 2]

    one = LanguageModel(AgentSetup("agent_0", seed=1, settings=settings))
    one.begin_step(9)
    one.ask(PROMPT, parse)
    one.begin_step(9)  # the episode is played again in the same process
    assert one.ask(PROMPT, parse).recorded
    one.begin_step(9)
    other = [PROMPT[0], Turn("user", "Another prompt")]
    assert not one.ask(other, parse).recorded
    assert len(server.requests(settings["model"])) == 5


def test_a_replay_needs_no_endpoint(
    server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    settings = settings_for(server, "cost=0.5+say=go forward", recording=recording_in(old))
    with Asker(settings, steps=2) as paid:
        for _ in range(2):
            assert not paid.answer()["recorded"]
            paid.play()
    monkeypatch.delenv(KEY_VARIABLE)
    played = settings | {"base_url": "http://nowhere.invalid/v1"}
    with Asker(played | {"recording": recording_in(new, replay=str(old))}, steps=2) as replayed:
        for _ in range(2):
            assert replayed.answer() == {"answer": "go forward", "recorded": True, "loaded": []}
            replayed.play()
    assert len(server.requests(settings["model"])) == 2
    before, after = list(recording.read(old)), list(recording.read(new))
    for mine, theirs in zip(after, before, strict=True):
        assert mine["recorded"] and {**mine, "recorded": False, "checksum": ""} == {**theirs, "checksum": ""}
    with Asker(played | {"recording": recording_in(tmp_path / "third", replay=str(new))}) as third:
        assert third.answer()["recorded"], "a replay can itself be replayed"


def test_a_replay_reports_where_it_departs_from_its_recording(server: FakeServer, tmp_path: Path) -> None:
    one = model(server, "filter,say=go forward", recording=recording_in(tmp_path / "old"))
    one.begin_episode(3, 0)
    one.begin_step(5)
    assert one.ask(PROMPT, parse).faults == ("refused",)
    again = replaying(tmp_path / "old", tmp_path / "new")
    again.begin_episode(3, 0)
    again.begin_step(5)
    exchange = again.ask(PROMPT, parse)
    assert (exchange.faults, exchange.action, exchange.answer) == (("refused",), 2, "ok")

    def leaves(*turns: Turn, step: int = 5) -> str:
        again.begin_step(step)
        with pytest.raises(RecordingMismatch) as caught:
            again.ask(turns, parse)
        return str(caught.value)

    where = "LLM departs from the recording at episode 0, step 5: "
    assert leaves(PROMPT[0], Turn("user", "Actions: go forward, turn right")) == (
        f"{where}its prompt is not the recorded one; they first differ in turn 2 (user) at character 26: "
        "'Actions: go forward, turn left' is now 'Actions: go forward, turn right'"
    )
    assert leaves(*PROMPT, PROMPT[1]).endswith("not the recorded one; it had 2 turns and has 3")
    assert leaves(PROMPT[1], PROMPT[1]).endswith("in turn 1, which was of the system and is of the user")
    assert leaves(PROMPT[0], Turn("user", PROMPT[1].text, (PNG,))).endswith("in turn 2, in its images")
    assert leaves(*PROMPT, step=6) == (
        "LLM departs from the recording at episode 0, step 6: nothing is recorded there for agent_0 (call 0)"
    )


def test_an_answer_is_kept_whose_parsing_raises(server: FakeServer, tmp_path: Path) -> None:
    one = model(server, "say=go forward", recording=recording_in(tmp_path))
    with pytest.raises(ZeroDivisionError):
        one.ask(PROMPT, lambda text: parse(str(1 / 0)))
    assert [entry["answer"] for entry in recording.read(tmp_path)] == ["go forward"]
    with pytest.raises(ValueError, match="at most 1,000,000 characters"):
        one.ask([Turn("user", "x" * 1_000_001)], parse)


def test_lines_are_json_that_others_can_read(server: FakeServer, tmp_path: Path) -> None:
    model(server, "say=größer 🎲", recording=recording_in(tmp_path)).ask(PROMPT, parse)
    (line,) = (tmp_path / "lane-op.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["answer"] == "größer 🎲"
