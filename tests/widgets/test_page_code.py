"""Code that widgets load in the page: small, self-contained modules, and a helpful error if not built."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mosaic_lab.errors import MosaicError
from mosaic_lab.widgets.page import page_code as where
from mosaic_lab.widgets.page.page_code import page_code

LOADED = {
    name
    for file in Path(where.__file__).parents[1].rglob("*.py")
    for name in re.findall(r'page_code\("([\w.]+)"\)', file.read_text())
}


@pytest.mark.parametrize("name", sorted(name for name in LOADED if name.endswith(".js")))
def test_every_widget_has_a_module_that_needs_no_other_file(name: str) -> None:
    module = page_code(name)
    assert re.search(r"export\s*\{[^}]*\bas default\b", module), "anywidget loads its default export"
    assert re.search(r"\bimport\b", module) is None


def test_what_is_built_is_what_widgets_load() -> None:
    built = {file.name for file in where.STATIC.iterdir() if file.suffix in (".js", ".css")}
    assert built == LOADED


def test_what_a_panel_sends_is_small() -> None:
    """Every widget model sends its module to the page; the parts of a panel share the header's module."""
    for part in ("controls", "footer", "collapsible"):
        assert len(page_code(f"{part}.js")) < 1_000
    for widget in ("header", "film_strip"):
        assert len(page_code(f"{widget}.js")) < 40_000


def test_code_that_is_not_built_says_how_to_build_it() -> None:
    with pytest.raises(MosaicError, match=r"other\.js is missing; `pip install -e \.` .* builds it"):
        page_code("other.js")
