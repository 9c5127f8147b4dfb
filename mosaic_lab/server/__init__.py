"""A Jupyter server extension that reads run stores without a kernel.

Jupyter's server loads it automatically: the wheel installs ``jupyter_server_config.d/mosaic-lab.json``.
``jupyter server extension disable mosaic_lab.server`` disables it; everything with a kernel still works.

Run stores are read by a separate process (`mosaic_lab.server.reader`), so that the server, which carries
every message of every kernel, imports and parses nothing of ours.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from traitlets import Bool
from traitlets.config import Configurable


class MosaicLab(Configurable):
    """The settings of this extension: ``c.MosaicLab.… = …`` in ``jupyter_server_config.py``.

    A small message waits until the page's system has acknowledged the previous one, which that system delays
    by 40 ms. Acknowledgements of frames, clicks and their answers take 46 ms at the median, and 3 ms if the
    server's end of each websocket between a kernel and a page has TCP_NODELAY. The option changes Jupyter's
    own websocket handler and thus affects the messages of all other extensions, so the server's operator
    decides.
    """

    small_messages_at_once = Bool(
        False, help="Send small messages of every kernel to its pages without delay (TCP_NODELAY)."
    ).tag(config=True)


def apply_settings(server: Any) -> None:
    """Disable Nagle's algorithm for websockets of kernels opened from now on, if the server is configured so.

    The handler is not a public interface: checked on jupyter_server 2.21.
    """
    if not MosaicLab(parent=server).small_messages_at_once:
        return
    try:
        from jupyter_server.services.kernels import websocket

        handler: Any = websocket.KernelWebsocketHandler
        opened = handler.open
    except (ImportError, AttributeError) as error:
        server.log.warning(f"mosaic_lab.server: small messages of kernels may be delayed: {error}")
        return

    @wraps(opened)
    async def open_without_delay(self: Any, *arguments: Any, **keywords: Any) -> None:
        self.set_nodelay(True)
        await opened(self, *arguments, **keywords)

    handler.open = open_without_delay


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "mosaic_lab.server"}]


def _load_jupyter_server_extension(server: Any) -> None:
    """Set up the extension; called once by the server at its start."""
    from mosaic_lab.server.handlers import add_handlers

    apply_settings(server)
    add_handlers(server)
