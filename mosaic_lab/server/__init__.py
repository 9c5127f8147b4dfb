"""A Jupyter server extension: run stores are read without a kernel.

Jupyter's server loads it by itself: the wheel installs ``jupyter_server_config.d/mosaic-lab.json``. To be
without it: ``jupyter server extension disable mosaic_lab.server``; everything that has a kernel works. Its
setting is in `mosaic_lab.server.nodelay`.

What it answers is read by a process of its own (`mosaic_lab.server.reader`), so that the server, which
carries every message of every kernel, imports and parses nothing of ours.
"""

from __future__ import annotations

from typing import Any


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "mosaic_lab.server"}]


def _load_jupyter_server_extension(server: Any) -> None:
    """Called by the server, once, as it starts."""
    from mosaic_lab.server.handlers import add_handlers
    from mosaic_lab.server.nodelay import apply_settings

    apply_settings(server)
    add_handlers(server)
