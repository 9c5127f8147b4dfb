"""The images of recorded prompts, small enough for a page.

Images are read from the folder of the recording, which names them by their SHA-256, and from nowhere else.
"""

from __future__ import annotations

import io
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

MOST_PIXELS = 240
"""Of a thumbnail's longer side."""
_KEPT = 64
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Thumbnails:
    """Those of the recording in ``folder``; called with an image of a prompt."""

    def __init__(self, folder: Path) -> None:
        self._images = folder / "images"

    def __call__(self, image: Any) -> Mapping[str, str]:
        """Return {"src": data URL, or "" for an image that is not to be had, "text": its size in words}."""
        if not isinstance(image, str) or not _SHA256.fullmatch(image):
            return {"src": "", "text": "image"}
        return _thumbnail(self._images / f"{image}.png")


def sizes_only(image: Any) -> Mapping[str, str]:
    """An image without its picture, for forms that hold none."""
    return {"src": "", "text": "image"}


@lru_cache(_KEPT)
def _thumbnail(path: Path) -> Mapping[str, str]:
    from PIL import Image

    try:
        with Image.open(path, formats=["PNG"]) as image:
            text = f"image {image.width} × {image.height}"
            image.thumbnail((MOST_PIXELS, MOST_PIXELS))
            file = io.BytesIO()
            image.save(file, "PNG")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return {"src": "", "text": "image"}
    return {"src": f"data:image/png;base64,{b64encode(file.getvalue()).decode()}", "text": text}
