"""The page's widget code: JavaScript and CSS built from `js/src/widgets` into `static`."""

from __future__ import annotations

from pathlib import Path

from mosaic_lab.errors import MosaicError

STATIC = Path(__file__).parents[1] / "static"


def page_code(name: str) -> str:
    """Return a built file, such as ``header.js``. Raises MosaicError if it is missing."""
    try:
        return (STATIC / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MosaicError(
            f"the page's code is not built: {STATIC / name} is missing; "
            "`pip install -e .` in the checkout builds it (js/README.md)"
        ) from None
