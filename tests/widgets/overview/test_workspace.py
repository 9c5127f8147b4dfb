"""Workspace in a saved notebook: its current view as a picture or a table."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from many_runs import write_runs
from PIL import Image

import mosaic_lab as mosaic
from mosaic_lab.widgets.overview.workspace import RunWorkspace
from mosaic_lab.widgets.page import saved_form

STATE: dict[str, Any] = {
    "charts": None,
    "colors": {},
    "axes": None,
    "result": "last_return",
    "scatterX": None,
}


@pytest.fixture
def workspace(tmp_path: Path) -> RunWorkspace:
    write_runs(tmp_path, 12, points=50)
    return mosaic.workspace(mosaic.Lab(tmp_path).runs)


def shown(workspace: RunWorkspace, view: str, **more: Any) -> tuple[str, bytes | None]:
    """Tables and picture of a view."""
    workspace.view.state = STATE | {"pair": None, "view": view} | more
    return workspace._caption().tables, workspace._picture()


def test_each_view_is_saved_as_it_is(workspace: RunWorkspace) -> None:
    pictures = {view: shown(workspace, view)[1] for view in ("charts", "parallel", "scatter")}
    assert len(set(pictures.values())) == 3
    for picture in pictures.values():
        assert picture is not None and Image.open(io.BytesIO(picture)).width > 600
    assert shown(workspace, "scatter", scatterX="learning_rate")[1] != pictures["scatter"]
    table, picture = shown(workspace, "difference")
    assert picture is None
    assert "<td>seed</td><td>0</td><td>1</td>" in table and "<td>worker</td>" not in table
    assert shown(workspace, "charts")[0] == ""


def test_the_picture_is_saved_by_the_cell_itself(
    workspace: RunWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    published: list[dict[str, Any]] = []
    monkeypatch.setattr(saved_form, "publish", lambda bundle, *_, **__: published.append(bundle))
    monkeypatch.setattr(
        "mosaic_lab.widgets.overview.workspace.MOMENT_SECONDS", 60.0
    )  # a busy machine draws slowly
    workspace._ipython_display_()
    assert any("image/png" in bundle for bundle in published)
