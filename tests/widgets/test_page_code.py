"""The code that widgets load in the page: each has a module, and a missing build is an error that helps."""

from __future__ import annotations

import re

import pytest

from mosaic_lab.errors import MosaicError
from mosaic_lab.widgets.comparison.parts import EpisodesView, LanesView
from mosaic_lab.widgets.evaluation.figures import PlotNote
from mosaic_lab.widgets.evaluation.panel import OperatorsTable
from mosaic_lab.widgets.frames.collapsible import Fold
from mosaic_lab.widgets.frames.wall import FrameView
from mosaic_lab.widgets.page.page_code import page_code
from mosaic_lab.widgets.page.panel_widgets import Controls, Footer, Header

WIDGETS = (
    *(Header, Controls, Footer, Fold, FrameView),
    *(LanesView, EpisodesView, OperatorsTable, PlotNote),
)


@pytest.mark.parametrize("widget", WIDGETS)
def test_every_widget_has_a_module_of_its_own(widget: type) -> None:
    module = str(widget._esm)  # type: ignore[attr-defined]
    assert re.search(r"export\s*\{\s*\w+ as default\s*\}", module), "anywidget loads its default export"
    assert "import " not in module.split("\n")[0], "it needs no other file"


def test_a_page_code_that_is_not_built_says_how_to_build_it() -> None:
    with pytest.raises(MosaicError, match=r"other\.js is missing; `pip install -e \.` .* builds it"):
        page_code("other.js")
