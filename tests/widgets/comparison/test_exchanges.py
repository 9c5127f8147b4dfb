"""Exchanges of a lane's language models, on the page and in the saved notebook, without a browser."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from arenas.comparison_fixtures import Compare
from PIL import Image
from support import wait_until
from widgets.pages import bring_up_to_date

from mosaic_lab import operators
from mosaic_lab.arenas import Comparison
from mosaic_lab.number_format import money
from mosaic_lab.overview.exchange_view import NO_PICTURE, shown_exchanges, thumbnail
from mosaic_lab.widgets.comparison.comparison_panel import ComparisonPanel, panel_of
from mosaic_lab.widgets.comparison.exchanges_model import COLLAPSED_LENGTH, ExchangesModel
from mosaic_lab.widgets.comparison.saved_comparison import exchanges_html

EVIL = "</pre><script>alert(1)</script>"


def converse(**settings: Any) -> Any:
    return operators.worker("odd", category="llm", behaviour="converse", **settings)


def draws(panel: ComparisonPanel, lane: int = 0) -> ExchangesModel:
    """Refresh the panel for a page that has drawn everything sent before."""
    model = panel.lanes.language[lane]
    model.drawn = model.number
    bring_up_to_date(panel)
    return model


@pytest.fixture
def talks(odd_home: Path, start_comparison: Compare) -> Comparison:
    lanes = {
        "paid": converse(cost=0.0005, answer=f"Action: forward {EVIL}"),
        "unknown": converse(prompt=EVIL),
    }
    comparison = start_comparison("odd", lanes | {"plain": operators.worker("odd")}, family="odd")
    comparison.step()
    return comparison


def test_a_folded_card_says_what_was_wrong_with_an_answer(talks: Comparison) -> None:
    moves = [lane["moves"][0] for lane in panel_of(talks).lanes.state["lanes"]]
    unparsed = ("no action found", "no action was found in this answer")
    assert [move["model_faults"] for move in moves] == [[unparsed], [unparsed], []]


def test_the_prompt_of_a_model_is_sent_while_it_is_unfolded(talks: Comparison) -> None:
    panel = panel_of(talks)
    model = draws(panel)
    number = model.number
    talks.step()
    assert (draws(panel).shown, model.number) == ({}, number), "exchanges are sent to a folded card"
    model.opened = True
    assert draws(panel).shown["agents"] == ["agent_0"]
    first, second = model.shown["calls"]
    assert [turn["role"] for turn in first["turns"]] == ["system", "user"]
    assert first["faults"] == [("no action found", "no action was found in this answer")]
    assert [turn["text"] for turn in second["turns"]] == ["Well.", "Name one action."]
    assert second["note"] == "2 turns as above"
    assert second["answer"] == ("Action: ", "forward", f" {EVIL}")
    assert [value for value, _ in second["facts"]] == ["small-1", "100 → 10 tokens", "cost $0.0005", "1.3s"]
    number = model.number
    bring_up_to_date(panel)
    assert model.number == number, "unchanged exchanges are sent again"
    talks.step()
    model.drawn = 0  # the page has not drawn the last update
    bring_up_to_date(panel)
    assert (model.number, model.shown["step"]) == (number, "2")
    assert draws(panel).shown["step"] == "3"
    talks.stop()
    model.opened = False
    assert draws(panel).shown == {}
    model.opened = True
    assert draws(panel).shown["step"] == "3", "nothing shown after the comparison has ended"


def test_a_lane_has_the_sums_of_its_models(talks: Comparison) -> None:
    talks.step()
    talks.reset()  # a reset keeps the sums
    paid, unknown, plain = (
        [(value, name) for value, name, _ in lane["totals"]]
        for lane in panel_of(talks)._page_state()["lanes"]
    )
    rest = [("400 → 40", "tokens"), ("4", "calls"), ("1.3s", "p50"), ("2", "parse failures")]
    assert paid == [("$0.002", "cost"), *rest]
    assert unknown == [("unknown", "cost"), *rest]
    assert plain == []


def test_a_saved_notebook_has_the_last_exchanges_folded(talks: Comparison) -> None:
    html = exchanges_html(talks.view())
    assert html.count("<details>") == 2 and "<details open" not in html
    assert "<summary>Prompt and answer of paid at step 1</summary>" in html
    assert "Action: <b>forward</b> &lt;/pre&gt;&lt;script&gt;" in html
    assert "<script>" not in html
    assert "<td>unknown</td><td>unknown</td><td>200 → 20</td><td>2</td>" in html
    talks.reset()
    assert "<details>" not in exchanges_html(talks.view())


def test_what_a_model_writes_is_seen_while_it_writes(
    odd_home: Path, start_comparison: Compare, tmp_path: Path
) -> None:
    lanes = {"slow": converse(until=str(tmp_path / "go")), "other": operators.worker("odd")}
    comparison = start_comparison("odd", lanes, family="odd")
    panel = panel_of(comparison)
    comparison.step(timeout=0)
    model = panel.lanes.language[0]
    wait_until(lambda: draws(panel).writing and len(model.writing[0][1]) == COLLAPSED_LENGTH)
    state = wait_until(lambda: draws(panel) and panel._page_state()["lanes"][0]["thinking"])
    assert state.startswith("slow is writing… ")
    model.opened = True
    wait_until(lambda: len(draws(panel).writing[0][1]) > COLLAPSED_LENGTH)
    for step in (1, 2, 3):
        comparison.step(lane="other") if step > 1 else None
        wait_until(lambda: comparison.lanes[1].step == step)  # noqa: B023
    assert comparison.lanes[0].step == 0
    comparison.reset()
    assert draws(panel).writing == [], "an abandoned answer is still shown"
    (tmp_path / "go").touch()
    comparison.step()
    assert draws(panel).writing == []
    assert model.shown["step"] == "1"


def no_picture(image: Any) -> dict[str, str]:
    return NO_PICTURE


def huge(**more: Any) -> dict[str, Any]:
    """A lane's view with far more data than any arena sends."""
    turns = [{"role": "user", "text": "x" * 100_000, "images": ["../../secret"] * 3} for _ in range(500)]
    call = {"prompt": turns, "answer": "a" * 2_000_000, "parsed": "a" * 1_000_000, "faults": ["odd"]} | more
    message = {"to": "all", "text": "y" * 100_000}
    moves = [{"agent": name, "exchanges": [call] * 90, "messages": [message] * 90} for name in "ab"]
    return {"moves": moves, "step": 7, "folder": ""}


def test_what_is_shown_is_bounded() -> None:
    shown = shown_exchanges(huge(), "b", no_picture)
    assert (shown["agent"], len(shown["calls"]), shown["earlier"]) == ("b", 4, 86)
    assert len(json.dumps(shown)) < 200_000
    assert [message[:2] for message in shown["messages"]] == [["b", "all"]] * 16, "not the newest 16"
    text = shown["calls"][0]["turns"][0]["text"]
    assert "99,000 characters are left out here" in text
    assert shown["calls"][0]["note"] == "476 turns after the first one are left out"
    assert shown["calls"][0]["faults"] == [("odd", "")]
    assert [value for value, _ in shown["calls"][0]["facts"]] == ["unknown tokens", "cost unknown", "–"]
    strange = huge(prompt={"no": "list"}, answer=5, faults="none", latency_ms="soon", cost_usd=True)
    (turn,) = shown_exchanges(strange, "a", no_picture)["calls"][0]["turns"]
    assert turn["text"] == "{'no': 'list'}", "malformed data of a third-party worker"
    nothing = shown_exchanges({"moves": [{"agent": "a"}], "step": 1, "folder": ""}, "", no_picture)
    assert (nothing["agents"], nothing["calls"], nothing["messages"]) == ([], [], [])


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder of exchanges with an image of 640 × 480, and the image's name in it."""
    images = tmp_path / "exchanges" / "images"
    images.mkdir(parents=True)
    Image.new("RGB", (640, 480), "red").save(images / "made.png")
    name = hashlib.sha256((images / "made.png").read_bytes()).hexdigest()
    (images / "made.png").rename(images / f"{name}.png")
    yield tmp_path / "exchanges", name


def test_images_of_prompts_are_thumbnails_of_the_recorded_ones(recording: tuple[Path, str]) -> None:
    folder, name = recording
    found = thumbnail(folder / "images", name)
    assert found["text"] == "image 640 × 480"
    assert found["src"].startswith("data:image/png;base64,") and len(found["src"]) < 5000
    (folder / "secret.png").write_bytes((folder / "images" / f"{name}.png").read_bytes())
    for absent in ("../secret", "f" * 64, None, {"sha256": name}):
        assert thumbnail(folder / "images", absent) == NO_PICTURE


def test_an_unknown_cost_is_never_zero() -> None:
    assert [money(usd) for usd in (None, float("nan"), 0.0, 0.5)] == ["unknown", "unknown", "$0.00", "$0.50"]
