"""Transcripts: exchanges are indexed as they are recorded, selected by attribute and text, and saved."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mosaic_contract.language.exchange import Exchange, Turn, image_name, prompt_of
from mosaic_contract.language.recording import CallKey, RecordingWriter

from mosaic_lab.arenas.exchange_index import ExchangeIndex, Selection
from mosaic_lab.arenas.transcript import Transcript
from mosaic_lab.errors import ConfigurationError

Write = Callable[..., None]
RED = b"\x89PNG red"


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Write]:
    """Record an exchange of a lane's episode as its operator's process would."""
    writers: dict[str, RecordingWriter] = {}

    def write(lane: str, episode: int, step: int, answer: str = "go", **more: Any) -> None:
        folder = tmp_path / "exchanges"
        writer = writers.setdefault(lane, RecordingWriter(folder, f"{lane}.jsonl"))
        turns = [
            Turn("system", "You play."),
            Turn("user", more.pop("prompt", "A door."), more.pop("images", ())),
        ]
        writer.images(turns)
        values = {"parsed": answer, "faults": (), "model": "m", "started": 1000.0 + step, **more}
        key = CallKey(lane, "agent_0", 9, episode, step, 0)
        writer.write(Exchange(prompt_of(turns), answer, **values), key, "LLM", "openai")

    yield write
    for writer in writers.values():
        writer.close()


@pytest.fixture
def index(tmp_path: Path) -> ExchangeIndex:
    return ExchangeIndex(
        tmp_path / "exchanges", ["first", "second"], lambda lane, index: {0: 30, 1: 40}.get(index // 2), 2
    )


def transcript(index: ExchangeIndex) -> Transcript:
    return Transcript(
        store=index.folder.parents[1],
        name="run-1",
        environment="Lake-v1",
        index=index,
        alive=lambda: False,
        returns=lambda: {("first", 30, 1): 0.5},
    )


def steps(index: ExchangeIndex, **selection: Any) -> list[tuple[str, int, int, int]]:
    """Return operator, seed, episode and step of the selected exchanges."""
    found = index.find(Selection(**selection))
    assert found.complete
    return [(row["operator"], row["seed"], row["episode"], row["step"]) for row in index.rows(found.numbers)]


def test_exchanges_are_in_the_order_of_play_with_the_seeds_of_the_user(
    write: Write, index: ExchangeIndex
) -> None:
    assert steps(index) == []
    write("second", 0, 0)
    write("first", 3, 0)
    assert steps(index) == [("first", 40, 1, 0), ("second", 30, 0, 0)]
    write("first", 1, 1)
    write("first", 1, 0)
    assert steps(index)[:2] == [("first", 30, 1, 0), ("first", 30, 1, 1)], "exchanges written since are read"


def test_exchanges_are_selected_by_attributes_and_text(write: Write, index: ExchangeIndex) -> None:
    write("first", 0, 0, "I go north", prompt="A wall and a KEY.", reasoning="Über den Zaun")
    write("first", 2, 1, "??", parsed=None, faults=("unparsed", "default"))
    write("second", 0, 2, "stay " * 9)
    one, two, three = ("first", 30, 0, 0), ("first", 40, 0, 1), ("second", 30, 0, 2)
    assert steps(index, operator="first") == [one, two]
    assert steps(index, seed=30) == [one, three]
    assert steps(index, fault="default") == steps(index, fault="any") == [two]
    assert steps(index, fault="none") == [one, three]
    assert steps(index, answer=(3, 20)) == [one] and steps(index, answer=(None, 2)) == [two]
    assert steps(index, prompt=(20, None)) == [one]
    assert steps(index, text="a key") == steps(index, text="über") == steps(index, text="NORTH") == [one]
    assert steps(index, text="prompt") == [], "field names are not searched"
    assert steps(index, text="stay", operator="first") == []
    assert index.facets() == {"operators": {"first": 0, "second": 1}, "faults": {"unparsed": 1, "default": 1}}


def test_a_search_that_takes_too_long_continues_with_the_next_call(
    write: Write, index: ExchangeIndex
) -> None:
    for step in range(300):
        write("first", 0, step, "needle" if step % 100 == 99 else "hay" * 300)
    index.find()
    parts = [index.find(Selection(text="needle"), seconds=0.0) for _ in range(12)]
    counts = [len(found.numbers) for found in parts]
    assert counts == sorted(counts) and counts[-1] == 3 and parts[-1].complete
    assert 0 < parts[1].searched < 1 and not parts[1].complete


def test_damaged_lines_are_counted_and_a_line_being_written_is_awaited(
    write: Write, index: ExchangeIndex
) -> None:
    write("first", 0, 0)
    write("first", 0, 1)
    path = index.folder / "first.jsonl"
    one, two = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(one + two.replace(b"door", b"wall") + two[:40])
    assert len(index.find().numbers) == index.damaged == 1
    with path.open("ab") as file:
        file.write(two[40:])
    assert len(index.find().numbers) == 2 and index.damaged == 1


def test_an_exchange_is_found_by_its_id(write: Write, index: ExchangeIndex) -> None:
    write("first", 0, 0, "go")
    (row,) = index.rows(index.find().numbers)
    place, line = index.exchange(row["id"])
    assert (place["step"], line["answer"]) == (0, "go")
    for unknown in ("first.jsonl:7", "../config.json:0", "x"):
        with pytest.raises(ConfigurationError, match="is not in the recording"):
            index.exchange(unknown)


def test_amounts_are_averaged_over_the_episodes_at_each_step(write: Write, index: ExchangeIndex) -> None:
    for episode, latency in ((0, 100.0), (1, 300.0)):
        for step in (0, 1):
            write("first", episode, step, latency_ms=latency + step, input_tokens=5, output_tokens=1)
    (means,) = index.means(index.find().numbers, "latency_ms").values()
    assert [part.tolist() for part in means] == [[0.0, 1.0], [200.0, 201.0]]
    costs = index.means(index.find().numbers, "cost_usd")["first"]
    assert costs[1].tolist() == [], "an unknown cost is not 0"


def test_the_selected_exchanges_are_saved(write: Write, index: ExchangeIndex, tmp_path: Path) -> None:
    write(
        "first", 1, 0, "=go", images=(RED,), cost_usd=0.25, input_tokens=7, output_tokens=2, reasoning="Hm."
    )
    write("first", 1, 1, "stop")
    write("second", 0, 0, "no")
    played = transcript(index).select(operator="first")
    lines = [json.loads(line) for line in played.save(tmp_path / "a.jsonl").read_text().splitlines()]
    assert [line["answer"] for line in lines] == ["=go", "stop"] and lines[0]["prompt"][1]["role"] == "user"
    with played.save(tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["answer"] for row in rows] == ["'=go", "stop"], "a spreadsheet evaluates no answer"
    table = played.table()
    assert table["answer"].tolist() == ["=go", "stop"] and list(table) == list(rows[0])
    assert table["reasoning"][0] == "Hm."

    log = json.loads(played.save(tmp_path / "a.json").read_text())
    (sample,) = log["samples"]
    assert (log["version"], log["eval"]["task"], log["eval"]["model"]) == (2, "Lake-v1", "m")
    assert (sample["id"], sample["epoch"], sample["scores"]) == (
        "first, seed 30",
        2,
        {"return": {"value": 0.5}},
    )
    assert set(log) == {"version", "status", "eval", "plan", "stats", "samples"}, "as `inspect view` requires"
    assert (log["stats"]["started_at"], sample["total_time"]) == ("1970-01-01T00:16:40+00:00", 1.0)
    assert sample["model_usage"]["m"] == {
        "input_tokens": 7,
        "output_tokens": 2,
        "total_tokens": 9,
        "total_cost": 0.25,
    }
    first, second = sample["events"]
    assert (first["event"], first["metadata"]["action"]) == ("model", "=go")
    assert first["output"]["usage"] == sample["model_usage"]["m"]
    image = f"attachment://{image_name(RED)[:32]}"
    assert first["input"][1]["content"][1] == {"type": "image", "image": image}
    assert sample["attachments"][image.removeprefix("attachment://")].startswith("data:image/png;base64,")
    assert second["output"]["choices"][0]["message"]["content"] == "stop"


def test_what_cannot_be_selected_or_saved_is_refused(index: ExchangeIndex, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="fault='ilegal': must be one of any, none, unparsed"):
        transcript(index).select(fault="ilegal")
    with pytest.raises(ConfigurationError, match="text=3: must be a string"):
        transcript(index).select(text=3)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"must end in one of \.jsonl, \.csv, \.json"):
        transcript(index).save(tmp_path / "log.txt")
    with pytest.raises(ConfigurationError, match=r"transcript\.save: missing a required argument: 'path'"):
        transcript(index).save()  # type: ignore[call-arg]
