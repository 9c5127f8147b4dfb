"""Films as a strip in HTML that needs nothing else: each with its first frame, playing where it is."""

from __future__ import annotations

import html
from base64 import b64encode
from collections.abc import Iterable, Sequence

from mosaic_lab.errors import MosaicError
from mosaic_lab.number_format import number
from mosaic_lab.runs.film import TYPE, Film

_MOST = 50
"""Films in a strip: the newest."""
_BYTES = 6 << 20
"""Of all films in a strip, which a notebook keeps; what is beyond shows its first frame alone."""
_WIDTH = 240


def strip(films: Sequence[Film], notes: Iterable[str]) -> str:
    """Return the films as HTML, with the notes below."""
    shown, used = [], 0
    for film in reversed(films[-_MOST:]):
        try:
            data, poster = film.read(), film.first_frame
        except MosaicError:
            continue  # removed meanwhile
        used += len(data)
        shown.append(_figure(film, poster, data if used <= _BYTES else None))
    older = [f"{len(films) - _MOST:,} older films are not shown"] if len(films) > _MOST else []
    below = "".join(f"<p>{html.escape(note)}</p>" for note in [*older, *notes])
    row = "display:flex; gap:8px; overflow-x:auto; padding:4px 0"
    return f'<div style="{row}">{"".join(reversed(shown))}</div>{below}'


def caption(film: Film) -> str:
    """Return what is said below a film: ``step 1,000: return 23.5, 23 steps``."""
    cut = "" if film.complete else ", cut off"
    return f"step {film.step:,}: return {number(film.episode_return)}, {film.length:,} steps{cut}"


def _figure(film: Film, poster: bytes, data: bytes | None) -> str:
    text = html.escape(caption(film))
    picture = f"data:image/png;base64,{b64encode(poster).decode()}"
    size = f'style="width:{_WIDTH}px; max-height:{_WIDTH}px; background:#000; object-fit:contain"'
    if data is None:
        shown = f'<img {size} src="{picture}" alt="{text}">'
    else:
        source = f"data:{TYPE};base64,{b64encode(data).decode()}"
        shown = (
            f'<video {size} controls muted playsinline preload="none" poster="{picture}" '
            f'src="{source}" aria-label="{text}"></video>'
        )
    note = f'<figcaption style="width:{_WIDTH}px; font-size:small">{text}</figcaption>'
    return f'<figure style="margin:0">{shown}{note}</figure>'
