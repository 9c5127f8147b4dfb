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
NO_PICTURE = {"src": "", "text": "image"}
"""Of an image that is not available, and in a form that contains no images."""
_KEPT = 64
_SHA256 = re.compile(r"[0-9a-f]{64}")


def thumbnail(folder: Path, image: Any) -> Mapping[str, str]:
    """Return an image of a prompt as {"src": data URL, "text": its size in words}.

    ``folder`` contains the images of the recording.
    """
    if not isinstance(image, str) or not _SHA256.fullmatch(image):
        return NO_PICTURE
    return _thumbnail(folder / f"{image}.png")


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
        return NO_PICTURE
    return {"src": f"data:image/png;base64,{b64encode(file.getvalue()).decode()}", "text": text}
