"""Bounds on the HTTP client of an SDK: responses are complete within the timeout, have a maximum size, and
come from the configured server.

The client's own timeout applies between bytes: a server that occasionally sends one never exceeds it, in the
headers or in the body. Here every read of a connection ends at the deadline of the request.
"""

from __future__ import annotations

import codecs
import contextlib
import re
import threading
import time
import zlib
from importlib import import_module
from typing import Any, Callable, Iterator

from mosaic_contract.errors import EndpointRefused

MAX_BYTES = 16 << 20
"""Maximum size of a response in bytes, after decompression."""

_TAIL_BYTES = 64
_EVENTS = re.compile(rb"(data|event|id|retry)?:")
_MAX_FIELD_BYTES = len("event:")
_CONNECTED = (".connect_tcp.complete", ".start_tls.complete")  # trace events with a new network stream
_ANY_ZLIB = 47  # window bits for which zlib detects gzip and deflate by their headers


def bounded_client(sdk: Any, seconds: float) -> Any:
    """Return the SDK's HTTP client with a deadline of `seconds` for each request.

    Its responses have the content type of their data, whatever the server says, and a `stream` whose `tail`
    is the end of the data read. Bytes that are not UTF-8 become U+FFFD.
    """
    http = import_module("httpx2")
    bounded_stream = _bounded_stream(http)
    core = import_module("httpcore2")
    request_of_thread = threading.local()

    def begin(request: Any) -> None:
        request_of_thread.deadline = time.monotonic() + seconds
        request.headers["Accept-Encoding"] = "identity"
        request.extensions["trace"] = connected

    def connected(event: str, info: dict[str, Any]) -> None:
        if event.endswith(_CONNECTED):
            info["return_value"].read = until_the_deadline(info["return_value"].read)

    def until_the_deadline(read: Callable[..., bytes]) -> Callable[..., bytes]:
        def bounded_read(max_bytes: int, timeout: float | None = None) -> bytes:
            remaining = request_of_thread.deadline - time.monotonic()
            with contextlib.suppress(core.ReadTimeout):
                if remaining > 0:
                    return read(max_bytes, timeout=remaining)
            raise http.ReadTimeout(f"no whole answer within {seconds:g} s (raise timeout=)")

        return bounded_read

    def bound(response: Any) -> None:
        if response.has_redirect_location:
            _check_redirect(response.request.url, response.headers["Location"])
        encoding = response.headers.pop("Content-Encoding", "identity").strip().lower()
        if encoding not in ("identity", "gzip", "x-gzip", "deflate"):
            raise http.DecodingError(f"a response that is compressed as {encoding[:50]}, unrequested")
        decoder = None if encoding == "identity" else zlib.decompressobj(_ANY_ZLIB)
        response.stream = bounded_stream(response.stream, decoder)
        if response.is_success:
            response.headers["Content-Type"] = _content_type(response.stream.beginning())

    make = getattr(sdk, "DefaultHttpx2Client", None) or sdk.DefaultHttpxClient
    return make(timeout=seconds, event_hooks={"request": [begin], "response": [bound]})


def _content_type(beginning: bytes) -> str:
    if _EVENTS.match(beginning):
        return "text/event-stream"
    return "application/json" if beginning.startswith((b"{", b"[")) else "text/plain"


def _check_redirect(url: Any, location: str) -> None:
    """Refuse a redirect to another scheme, host or port: the client would send all headers there, including
    keys."""
    target = url.join(location)
    if target.origin != url.origin:
        source, destination = (
            str(address.copy_with(raw_path=b"/", userinfo=b"", fragment=None)) for address in (url, target)
        )
        raise EndpointRefused(
            f"{source:.200} redirects to {destination:.200}, and the key is sent to no other server than the "
            "given one: give base_url= of the server that answers"
        )


def _bounded_stream(http: Any) -> Any:
    """Return the class of response bodies that decompress, limit their size, and remember their end."""

    class Bounded(http.SyncByteStream):
        def __init__(self, stream: Any, decoder: Any) -> None:
            self._stream, self._decoder = stream, decoder
            self._pieces, self._text = self._read(), codecs.getincrementaldecoder("utf-8")("replace")
            self._beginning = b""
            self.tail = b""

        def beginning(self) -> bytes:
            """Return the data up to a few bytes after white space. Iteration yields it again."""
            while len(self._beginning) < _MAX_FIELD_BYTES and (piece := next(self._pieces, b"")):
                self._beginning = (self._beginning + piece).removeprefix(codecs.BOM_UTF8).lstrip()
            return self._beginning

        def __iter__(self) -> Iterator[bytes]:
            yield self._beginning
            yield from self._pieces

        def _read(self) -> Iterator[bytes]:
            size = 0
            for piece in self._stream:
                if self._decoder is not None:
                    piece = self._decompressed(piece, MAX_BYTES + 1 - size)
                size += len(piece)
                if size > MAX_BYTES:
                    raise http.ReadError(f"a response of more than {MAX_BYTES >> 20} MiB")
                piece = self._text.decode(piece).encode()
                self.tail = (self.tail + piece[-_TAIL_BYTES:])[-_TAIL_BYTES:]
                if piece:
                    yield piece

        def _decompressed(self, piece: bytes, max_bytes: int) -> bytes:
            try:
                return bytes(self._decoder.decompress(piece, max_bytes))
            except zlib.error as error:
                raise http.DecodingError(f"a response that cannot be decompressed: {error}") from None

        def close(self) -> None:
            self._stream.close()

    return Bounded
