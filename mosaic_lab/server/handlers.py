"""The routes of Jupyter's server for reading run stores below its root."""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import url_path_join
from tornado import web

from mosaic_lab import __version__
from mosaic_lab.server.reader_process import Payload, ReaderEnded, ReaderProcess
from mosaic_lab.server.wire import PayloadKind

MAX_REQUEST = 4 << 20
"""Maximum size of a request in bytes; the ids of ten thousand runs take one million."""
LONGEST_WAIT = 25.0
"""Maximum seconds to wait for changes (``follow``): proxies end requests that are silent for 30 or 60 s."""
VERSION_HEADER = "X-Mosaic-Lab-Version"
_STATUS = {PayloadKind.REFUSED: HTTPStatus.BAD_REQUEST, PayloadKind.FAILED: HTTPStatus.INTERNAL_SERVER_ERROR}


class RequestRefused(Exception):
    """Raised if a request has no answer; the page shows the reason."""

    def __init__(self, message: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(message)
        self.status = status


class _Handler(APIHandler):
    """Passes a request to the reader, and its answer back unchanged."""

    auth_resource = "contents"
    _track_activity = False  # a page that only reads must not keep an idle server from being shut down

    def initialize(self, reader: ReaderProcess) -> None:
        self._reader = reader
        self._request: asyncio.Task[Payload] | None = None

    def set_default_headers(self) -> None:
        """Mark each answer, including refusals, as coming from this extension."""
        super().set_default_headers()
        self.set_header(VERSION_HEADER, __version__)
        self.set_header("Cache-Control", "no-store")

    def on_connection_close(self) -> None:
        """Cancel the request, because the page has left before the answer."""
        if self._request is not None:
            self._request.cancel()
        super().on_connection_close()

    async def answer(self) -> None:
        """Answer this request."""
        try:
            method, store, params, wait = self.requested()
            self._request = asyncio.ensure_future(self._reader.request(method, store, params, wait))
            kind, content = await self._request
            if kind in _STATUS:
                raise RequestRefused(content.decode(errors="replace"), _STATUS[kind])
        except asyncio.CancelledError:
            return
        except RequestRefused as error:
            self._refuse(error.status, str(error))
            return
        except TimeoutError:
            self._refuse(HTTPStatus.GATEWAY_TIMEOUT, "the run store could not be read in time")
            return
        except ReaderEnded as error:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
            return
        binary = kind is PayloadKind.BINARY
        self.finish(content, set_content_type="application/octet-stream" if binary else "application/json")

    def requested(self) -> tuple[str, str | None, dict[str, Any], float]:
        """Return the method, the store, the parameters and the seconds to wait. Raises RequestRefused."""
        raise NotImplementedError

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        # Not an HTTPError: that formats its message, and logs errors that concern only the user.
        self.set_status(status)
        self.finish(json.dumps({"message": message}))


class CallHandler(_Handler):
    """``POST mosaic-lab/api/call`` with ``{"store", "method", "params", "wait"}``.

    In addition to the methods of `mosaic_lab.overview.service`, ``follow`` waits for changes in several
    stores at once: a browser allows few connections to a server, and a page follows many stores.
    """

    @web.authenticated
    @authorized("read")
    async def post(self) -> None:
        await self.answer()

    def requested(self) -> tuple[str, str | None, dict[str, Any], float]:
        if len(self.request.body) > MAX_REQUEST:
            raise RequestRefused(
                f"a request may have at most {MAX_REQUEST >> 20} MiB", HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            )
        try:
            body = msgspec.json.decode(self.request.body)  # unlike json's, refuses lone surrogates and NaN
        except (ValueError, RecursionError) as error:
            raise RequestRefused(f"the request is not JSON: {error}") from None
        if not isinstance(body, dict):
            raise RequestRefused("the request is not a JSON object")
        method, store, params = body.get("method"), body.get("store"), body.get("params", {})
        wait = body.get("wait", 0)
        if not isinstance(method, str) or not (store is None or isinstance(store, str)):
            raise RequestRefused('a request must name a "method", and a "store" by its path')
        if not isinstance(params, dict) or isinstance(wait, bool) or not isinstance(wait, int | float):
            raise RequestRefused('"params" must be an object, and "wait" a number of seconds')
        return method, store, params, float(min(wait, LONGEST_WAIT)) if wait > 0 else 0.0


class StoresHandler(_Handler):
    """``GET mosaic-lab/api/stores``: the run stores found below the server's root."""

    @web.authenticated
    @authorized("read")
    async def get(self) -> None:
        await self.answer()

    def requested(self) -> tuple[str, str | None, dict[str, Any], float]:
        return "stores", None, {}, 0.0


def add_handlers(server: Any) -> None:
    """Add the routes to the server."""
    reader = {"reader": ReaderProcess(Path(server.root_dir), server.log)}
    api = url_path_join(server.web_app.settings["base_url"], "mosaic-lab", "api")
    calls = (url_path_join(api, "call"), CallHandler, reader)
    stores = (url_path_join(api, "stores"), StoresHandler, reader)
    server.web_app.add_handlers(".*$", [calls, stores])
