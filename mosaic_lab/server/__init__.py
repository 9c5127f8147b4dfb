"""A Jupyter server extension that reads run stores without a kernel.

Jupyter's server loads it automatically: the wheel installs ``jupyter_server_config.d/mosaic-lab.json``.
``jupyter server extension disable mosaic_lab.server`` disables it; everything that uses a kernel still works.

Run stores are read by a separate process (`mosaic_lab.server.reader`), so that the server, which carries
every message of every kernel, imports and parses nothing of ours.
"""

from __future__ import annotations

from typing import Any

from traitlets import Bool
from traitlets.config import Configurable

_CONNECTION = "kernel_websocket_connection_class"


class MosaicLab(Configurable):
    """The settings of this extension: ``c.MosaicLab.… = …`` in ``jupyter_server_config.py``.

    Without TCP_NODELAY on the server's end of a kernel's websocket, a small message waits until the page's
    system has acknowledged the previous one. That system delays acknowledgements by 40 ms, so that a page
    draws 40 frames per second instead of 60. The option affects the messages of all extensions: they leave
    sooner and in smaller packets.
    """

    small_messages_at_once = Bool(
        True, help="Send small messages of every kernel to its pages without delay (TCP_NODELAY)."
    ).tag(config=True)


def apply_settings(server: Any) -> None:
    """Disable Nagle's algorithm for websockets of kernels opened from now on, unless configured otherwise."""
    if not MosaicLab(parent=server).small_messages_at_once:
        return
    settings = server.web_app.settings
    configured = settings.get(_CONNECTION)
    if not isinstance(configured, type):
        server.log.warning(
            f"mosaic_lab.server: small messages of kernels may be delayed: {_CONNECTION} is {configured!r}"
        )
        return

    class SmallMessagesAtOnce(configured):  # type: ignore[misc,valid-type]
        """The configured connection of a page to a kernel, with TCP_NODELAY."""

        def connect(self) -> Any:
            self.websocket_handler.set_nodelay(True)
            return super().connect()

    settings[_CONNECTION] = SmallMessagesAtOnce


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "mosaic_lab.server"}]


def _load_jupyter_server_extension(server: Any) -> None:
    """Set up the extension; called once by the server at its start."""
    from mosaic_lab.server.handlers import add_handlers

    add_handlers(server)
    apply_settings(server)
