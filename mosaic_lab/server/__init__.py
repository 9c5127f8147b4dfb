"""A Jupyter server extension: run stores are read without a kernel.

Jupyter's server loads it by itself: the wheel installs ``jupyter_server_config.d/mosaic-lab.json``. To be
without it: ``jupyter server extension disable mosaic_lab.server``; everything that has a kernel works.

What it answers is read by a process of its own (`mosaic_lab.server.reader`), so that the server, which
carries every message of every kernel, imports and parses nothing of ours.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from traitlets import Bool
from traitlets.config import Configurable


class MosaicLab(Configurable):
    """The settings of this extension: ``c.MosaicLab.… = …`` in ``jupyter_server_config.py``.

    A small message waits until the page's system has confirmed the one before, which it delays by 40 ms:
    acknowledgements of frames, clicks and their answers take 46 ms at the median, and 3 ms where the server's
    end of each websocket between a kernel and a page has TCP_NODELAY. That changes Jupyter's own handler of
    these websockets, and with it the messages of all other extensions, so whoever runs the server decides.
    """

    small_messages_at_once = Bool(
        False, help="Send small messages of every kernel to its pages without delay (TCP_NODELAY)."
    ).tag(config=True)


def apply_settings(server: Any) -> None:
    """Have every websocket of kernels opened without delay from now on, where the server is set to.

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
    """Called by the server, once, as it starts."""
    from mosaic_lab.server.handlers import add_handlers

    apply_settings(server)
    add_handlers(server)
