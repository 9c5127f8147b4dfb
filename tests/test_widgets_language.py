"""What the page and the saved notebook show of a lane's language models, without a browser."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from mosaic_lab.widgets.comparison.exchanges import exchanges_of
from mosaic_lab.widgets.comparison.thumbnails import Thumbnails, sizes_only
from mosaic_lab.widgets.formats import milliseconds, money


def huge(**more: Any) -> dict[str, Any]:
    """A lane's view as if its arena had sent much more than arenas send."""
    turns = [{"role": "user", "text": "x" * 100_000, "images": ["../../secret"] * 3} for _ in range(500)]
    call = {"prompt": turns, "answer": "a" * 2_000_000, "parsed": "a" * 1_000_000, "faults": ["odd"]} | more
    message = {"to": "b", "text": "y" * 100_000}
    moves = [{"agent": name, "exchanges": [call] * 90, "messages": [message] * 90} for name in "ab"]
    return {"moves": moves, "step": 7, "folder": ""}


def test_what_is_shown_is_bounded() -> None:
    shown = exchanges_of(huge(), "b", sizes_only)
    assert (shown["agent"], len(shown["calls"]), shown["earlier"]) == ("b", 4, 86)
    assert len(json.dumps(shown)) < 200_000
    text = shown["calls"][0]["turns"][0]["text"]
    assert "99,000 characters are left out here" in text
    assert shown["calls"][0]["note"] == "476 turns after the first one are left out"
    assert shown["calls"][0]["faults"] == [("odd", "")]
    assert [value for value, _ in shown["calls"][0]["facts"]] == ["unknown tokens", "cost unknown", "–"]
    nothing = exchanges_of({"moves": [{"agent": "a"}], "step": 1, "folder": ""}, "", sizes_only)
    assert (nothing["agents"], nothing["calls"], nothing["messages"]) == ([], [], [])


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder of exchanges with an image of 640 × 480, and the image's name there."""
    images = tmp_path / "exchanges" / "images"
    images.mkdir(parents=True)
    Image.new("RGB", (640, 480), "red").save(images / "made.png")
    name = hashlib.sha256((images / "made.png").read_bytes()).hexdigest()
    (images / "made.png").rename(images / f"{name}.png")
    yield tmp_path / "exchanges", name


def test_images_of_prompts_are_thumbnails_of_the_recorded_ones(recording: tuple[Path, str]) -> None:
    folder, name = recording
    found = Thumbnails(folder)(name)
    assert found["text"] == "image 640 × 480"
    assert found["src"].startswith("data:image/png;base64,") and len(found["src"]) < 5000
    (folder / "secret.png").write_bytes((folder / "images" / f"{name}.png").read_bytes())
    for absent in ("../secret", "f" * 64, None, {"sha256": name}):
        assert Thumbnails(folder)(absent) == {"src": "", "text": "image"}


def test_an_unknown_cost_is_never_zero() -> None:
    assert [money(usd) for usd in (None, float("nan"), 0.0, 0.00042, 0.5, 12.3456)] == [
        "unknown",
        "unknown",
        "$0",
        "$0.00042",
        "$0.5",
        "$12.35",
    ]
    assert [milliseconds(value) for value in (None, 4.21, 870.0, 1312.4, 75_000.0)] == [
        "–",
        "4.2 ms",
        "870 ms",
        "1.3s",
        "1m 15s",
    ]
