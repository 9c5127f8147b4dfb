"""Saved form of panels: caption and picture, updated in place, complete once the panel has ended."""

from __future__ import annotations

from typing import Any

import pytest
from support import wait_until

from mosaic_lab.widgets.page.saved_form import Caption, SavedForm
from mosaic_lab.widgets.status import take_report


class Widget:
    def _repr_mimebundle_(self) -> dict[str, Any]:
        return {"application/vnd.jupyter.widget-view+json": {}}


def test_a_panel_is_saved_by_its_caption_and_its_picture_also_when_that_cannot_be_drawn(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    outputs: dict[str, dict[str, Any]] = {}
    published: list[str] = []

    def publish(data: dict[str, Any], *, metadata: Any, transient: Any, update: bool) -> None:
        assert update is (transient["display_id"] in outputs)
        outputs[transient["display_id"]] = data
        published.append(transient["display_id"])

    monkeypatch.setattr("mosaic_lab.widgets.page.saved_form.publish_display_data", publish)
    captions = [Caption("moves"), Caption("moves <fast>"), Caption("ended", "<table></table>")]
    pictures: list[Any] = [b"first", ValueError("too dark"), ValueError("too dark")]
    removed: list[bool] = []

    def draw() -> bytes:
        picture = pictures.pop(0)
        if isinstance(picture, Exception):
            raise picture
        return bytes(picture)

    form = SavedForm("Runs", lambda: captions[0], draw, on_removed=lambda: removed.append(True))
    place = form.add()
    form.show(Widget(), place, update=False)
    assert "<b>Runs</b> · moves</div>" in outputs[place.caption]["text/html"]
    assert published == [place.live, place.caption, place.picture], "not in the order of the cell"
    assert outputs[place.picture]["text/plain"] == "", "a picture before the first drawing"
    form.update()
    assert outputs[place.picture]["image/png"] == b"first"
    del captions[0]
    form.update()
    assert outputs[place.caption]["text/plain"] == "Runs: moves <fast>"
    assert "moves &lt;fast&gt;" in outputs[place.caption]["text/html"]
    del captions[0]
    form.update(final=True)
    assert form.final and outputs[place.caption]["text/html"].endswith("ended<table></table></div>")
    assert outputs[place.picture]["image/png"] == b"first", "the previous picture was lost"
    assert published[-2:] == [place.picture, place.caption], "caption before picture"
    assert caplog.text.count("could not be drawn") == 1
    form.hide_widget([place])
    assert set(outputs[place.live]) == {"text/html", "text/plain"}
    assert not removed
    take_report({"gone": [place.caption]})
    wait_until(lambda: removed == [True])
