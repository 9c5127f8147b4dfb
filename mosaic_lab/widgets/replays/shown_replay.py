"""A replay as an output of a notebook: its player, and the static form in the saved file.

The static form is a short film and the table of steps.
"""

from __future__ import annotations

from base64 import b64encode
from functools import partial
from html import escape

from PIL import Image

from mosaic_lab.arenas.replays import Replay, Replays
from mosaic_lab.fastlane.encoding import rgb
from mosaic_lab.fastlane.pictures import image_png, joined
from mosaic_lab.widgets.page.saved_form import Caption, ShownOutputs, html_notes, html_table
from mosaic_lab.widgets.replays.replay_player import PanelOf, ReplayView

MAX_SHOWN_REPLAYS = 16
"""Maximum number of players in a kernel's notebooks; beyond it the oldest are replaced by their static
form."""
_SAVED_ROWS = 40  # of a replay's table in a saved notebook: half from the beginning, half from the end
_SAVED_BYTES = 3 << 20  # of films in a saved notebook
_SAVED_PICTURES, _SAVED_SIDE, _GAP = 6, 160, 4
_VIDEO = "width:320px; max-width:100%; background:#000"


_shown = ShownOutputs(MAX_SHOWN_REPLAYS)


def show(replays: Replay | Replays, panel_of: PanelOf) -> None:
    """Show a player, with its static form, as an output of the running cell."""
    view = ReplayView(replays, panel_of)
    title = f"Replay · {view.player.title}"
    _shown.show(view.box, title, partial(_caption, view), partial(_picture, view), view.close)


def _caption(view: ReplayView) -> Caption:
    """Return the films, as many as fit, and the tables of steps."""
    free_bytes, parts = _SAVED_BYTES, []
    for replay, film in zip(view.replays, view.player.films, strict=True):
        notes = [f"{replay.operator}: {replay.verdict}", *filter(None, [replay.note])]
        video = ""
        if film and (free_bytes := free_bytes - len(film)) >= 0:
            source = f"data:video/mp4;base64,{b64encode(film).decode()}"
            label = escape(replay.title)
            video = f'<video style="{_VIDEO}" controls muted src="{source}" aria-label="{label}"></video>'
        parts.append(html_notes(notes) + video + _steps_table(replay))
    step = view.player.first_difference
    return Caption("" if step is None else f"they differ from step {step:,} on", "".join(parts))


def _picture(view: ReplayView) -> bytes | None:
    """Return a strip of pictures over the episode, a row for each replay."""
    rows = [_strip(replay) for replay in view.replays if replay.pictured]
    return image_png(joined(rows, _GAP)) if rows else None


def _steps_table(replay: Replay) -> str:
    """Return the table of a replay's steps as HTML, without its middle if it is long."""
    names = ["step", "agent", "action", "reward", "return"]
    table = replay.table()
    rows = [[str(row[name]) for name in names] for row in table.to_dict("records")]
    if (omitted := len(rows) - _SAVED_ROWS) > 0:
        half = _SAVED_ROWS // 2
        rows = [*rows[:half], [f"… {omitted:,} more", "", "", "", ""], *rows[-half:]]
    if len(replay.agents) == 1:
        rows = [[row[0], *row[2:]] for row in rows]
        names.remove("agent")
    body = html_table(names, rows)
    return f"<details><summary>{len(replay):,} steps</summary>{body}</details>"


def _strip(replay: Replay) -> Image.Image:
    """Return a few pictures of a replay in a row, from the first to the last."""
    packets = replay.packets
    count = min(_SAVED_PICTURES, len(packets))
    indices = [round(index * (len(packets) - 1) / max(1, count - 1)) for index in range(count)]
    pictures = []
    for index in indices:
        picture = Image.fromarray(rgb(packets[index].decode()))
        picture.thumbnail((_SAVED_SIDE, _SAVED_SIDE))
        pictures.append(picture)
    return joined(pictures, _GAP, across=True)
