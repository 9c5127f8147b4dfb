"""A loopback server for OpenAI's `/v1/chat/completions` and Anthropic's `/v1/messages`, streamed or not, that
fails in every way that a real server does: `python -m peers.language_server` prints its address.

The model's name selects the behaviour: `fake:` and a comma-separated sequence with one item per request, the
last one for all further requests. An item is any number of options and one behaviour, joined by `+`:

    fake:legal   fake:say=go forward   fake:latency=0.5+legal   fake:429,429,ok   fake:retry-after=1+429,ok

Behaviours: ok (says "ok"), say=TEXT, legal (the first action after "actions:" or "moves:" in the latest turn
that has one), chess (in a dialog of the chess worker: queries the legal moves, then makes the first), echo
(the latest user turn), a number (that HTTP status), cut (the connection breaks in mid-answer), malformed
(damaged JSON), filter (content filter), tool (a tool call in place of text), empty, length (stopped by
max_tokens), long (2 MB), drip (comments at intervals, never an answer), drip-head (the same with headers),
drop (the connection closes without an answer), wrong-model (404), html=STATUS (a web page), bomb (endless
gzip), json (200 with JSON in another form), error (200 with an error in place of an answer), to=URL (a
redirect), deep (JSON of 100,000 nested lists).
Options: think=THOUGHTS (before the text), latency=SECONDS, retry-after=SECONDS, cost=USD (as OpenRouter
reports it), cached=TOKENS, no-usage, slow=SECONDS (duration of the stream), refuses=PARAMETER (400 if a
request has this parameter; "system": the role, "consecutive": turns that do not alternate), plain (does not
stream), gzip (a plain answer, compressed), parts (content as a list of parts), strings (as a list of
strings), halves (an event for each UTF-16 unit), bytes (a chunk for each byte), no-finish (ends without a
finish reason), null-choices, tokens=VALUE (in the usage), says=TEXT (at the end of an error),
echoes=CHARACTERS (of the key, in an error, after 490 other characters), resets=DURATION (of a rate limit, in
the error's headers), type=CONTENT-TYPE (replaces the answer's true type), bom (a byte-order mark before the
answer), status=STATUS (for refuses=system), detail (the refusal's message, under "detail").

`POST /script` {"model": ["item", …]} scripts a model with another name. `GET /requests` gives {"count",
"requests": the last 2,000, each {"model", "path", "stream", "body", "headers", "images": [format, width,
height] of each, "key", "status", "began", "ended"}}. An image that is not a valid PNG gets a 400, a request
without the key given by `--key` a 401. `GET /v1/models` lists two models.
"""

from __future__ import annotations

import argparse
import codecs
import gzip
import json
import socket
import sys
import threading
import time
import zlib
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from typing import Any

from peers.language_speakers import Anthropic, OpenAI, Speaker, image_facts, images_in

KEY = "sk-fake-0123456789abcdef"
"""The accepted key, unless the server is started with another one."""

_KEPT = 2_000  # requests
_OPTIONS = (
    "latency", "retry-after", "cost", "cached", "no-usage", "slow", "refuses", "think", "plain", "gzip",
    "parts", "halves", "no-finish", "null-choices", "tokens", "says", "echoes", "resets",
    "type", "bom", "status", "detail", "strings", "bytes",
)  # fmt: skip
_PAGE = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Welcome</body></html>"


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def __init__(self, port: int, key: str) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.key = key
        self.lock = threading.Lock()
        self.count = 0
        self.requests: deque[dict[str, Any]] = deque(maxlen=_KEPT)
        self.scripts: dict[str, list[str]] = {}
        self.served: dict[str, int] = {}

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print no traceback: some tests disconnect their client."""

    def behaviour(self, model: str) -> tuple[str, dict[str, str]]:
        """Return the behaviour and options for the next request to a model. Raises `LookupError`."""
        with self.lock:
            items = self.scripts.get(model)
            if items is None:
                kind, colon, script = model.partition(":")
                if kind != "fake" or not colon:
                    raise LookupError(model)
                items = script.split(",")
            index = self.served.get(model, 0)
            self.served[model] = index + 1
        words = items[min(index, len(items) - 1)].split("+")
        options = dict((*word.split("=", 1), "")[:2] for word in words)
        behaviour = next((word for word in words if word.split("=", 1)[0] not in _OPTIONS), "ok")
        return behaviour, options


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        if self.path.startswith("/v1/models"):
            if self.given_key() not in ("", self.server.key):
                return self.send_json(401, {"error": {"message": f"no such key: {self.given_key()}"}})
            return self.send_json(200, {"data": [{"id": "fake:legal"}, {"id": "models/fake:ok"}]})
        with self.server.lock:
            found = {"count": self.server.count, "requests": list(self.server.requests)}
        return self.send_json(200, found)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/script":
            with self.server.lock:
                self.server.scripts.update(body)
            return self.send_json(200, {})
        request = {
            "model": body.get("model"),
            "path": self.path,
            "stream": bool(body.get("stream")),
            "body": body,
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "images": [],
            "key": self.given_key() == self.server.key,
            "status": None,
            "began": time.time(),
            "ended": None,
        }
        with self.server.lock:
            self.server.count += 1
            self.server.requests.append(request)
        self.request_entry = request
        try:
            request["images"] = [image_facts(data) for data in images_in(body)]
            self.answer(body, request["key"])
        except ValueError as error:
            self.refuse(400, f"Invalid image: {error}", "invalid_image")
        except OSError:  # the client disconnected
            self.close_connection = True
        finally:
            request["ended"] = time.time()
        return None

    def given_key(self) -> str:
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        return given or self.headers.get("x-api-key", "")

    def answer(self, body: dict[str, Any], key: bool) -> None:
        speaker = {"/v1/chat/completions": OpenAI, "/v1/messages": Anthropic}.get(self.path)
        if speaker is None:
            return self.send_json(404, {"error": {"message": f"no such path: {self.path}"}})
        if not key:
            return self.refuse(401, f"Incorrect API key provided: {self.given_key()}", "invalid_api_key")
        model = str(body.get("model"))
        try:
            behaviour, options = self.server.behaviour(model)
        except LookupError:
            behaviour, options = "wrong-model", {}
        time.sleep(float(options.get("latency", 0)))  # a model that is slow on request
        refused = options.get("refuses")
        roles = [message["role"] for message in body["messages"]]
        if refused == "system" and ("system" in roles or "system" in body):
            text = options.get("says", "System role not supported")
            if "detail" in options:
                return self.send_json(int(options["status"]), {"detail": text})
            return self.refuse(int(options.get("status", 400)), text, "BadRequestError")
        if refused == "consecutive" and any(map(str.__eq__, roles, roles[1:])):
            return self.refuse(
                400, "Conversation roles must alternate user/assistant/user/…", "BadRequestError"
            )
        if refused and refused in body and refused != "system":
            text = f"Unsupported parameter: '{refused}' is not supported with this model."
            if refused == "max_tokens":
                text += " Use 'max_completion_tokens' instead."
            return self.refuse(400, text, "unsupported_parameter", param=refused)
        if behaviour == "wrong-model":
            return self.refuse(404, f"The model `{model}` does not exist", "model_not_found")
        if behaviour.isdigit():
            text = f"status {behaviour} for the key {self.given_key()}"  # like proxies that echo a request
            text += f" and the gateway's {self.headers.get('X-Gateway-Key')}"
            if "echoes" in options:
                text = f"{'x' * 490} {self.given_key()[: int(options['echoes'])]}"
            return self.refuse(int(behaviour), text + options.get("says", ""), "error", headers={
                "Retry-After": options.get("retry-after"),
                "x-ratelimit-reset-requests": options.get("resets"),
                "x-ratelimit-remaining-requests": "0" if "resets" in options else None,
            })  # fmt: skip
        if behaviour.startswith("html"):
            return self.send_bytes(int(behaviour.partition("=")[2]), _PAGE, "text/html")
        if behaviour.startswith("to="):
            return self.send_bytes(307, b"", "text/plain", {"Location": behaviour.removeprefix("to=")})
        if behaviour == "deep":
            return self.send_bytes(200, b"[" * 100_000 + b"]" * 100_000, "application/json")
        if behaviour == "json":
            return self.send_json(200, {"detail": "Not Found"})
        if behaviour == "error":
            return self.send_json(200, {"error": {"message": "the provider is away"}})
        if behaviour == "bomb":
            return self.explode()
        if behaviour == "drop":
            self.connection.shutdown(socket.SHUT_RDWR)
            raise ConnectionAbortedError
        if behaviour.startswith("drip"):
            return self.drip(behaviour == "drip-head")
        return self.speak(speaker(body, behaviour, options))

    def speak(self, speaker: Speaker) -> None:
        mark = codecs.BOM_UTF8 if "bom" in speaker.options else b""
        if not speaker.stream or {"plain", "gzip"} & speaker.options.keys():
            if speaker.behaviour == "malformed":
                return self.send_bytes(200, b'{"choices": [{"mess', "application/json")
            content_type = speaker.options.get("type", "application/json")
            data = mark + json.dumps(speaker.whole()).encode()
            if speaker.behaviour == "cut":
                self.send_head(200, "application/json", {"Content-Length": str(len(data))})
                self.wfile.write(data[: len(data) // 2])
                raise ConnectionAbortedError
            if "gzip" in speaker.options:
                return self.send_bytes(
                    200, gzip.compress(data), "application/json", {"Content-Encoding": "gzip"}
                )
            return self.send_bytes(200, data, content_type)
        content_type = speaker.options.get("type", "text/event-stream")
        self.send_head(200, content_type, {"Transfer-Encoding": "chunked"})
        events = speaker.events()
        seconds = float(speaker.options.get("slow", 0)) / max(len(events), 1)
        if speaker.behaviour == "malformed":
            events = [
                *events[:3],
                f'{events[3].partition("data:")[0]}data: {{"choices": [{{"delta": {{"cont\n\n',
            ]
        elif speaker.behaviour == "cut":
            events = events[: max(3, len(events) // 2)]
        for event in events:
            data, mark = mark + event.encode(), b""
            size = 1 if "bytes" in speaker.options else len(data)
            for start in range(0, len(data), size):
                self.send_chunk(data[start : start + size])
            time.sleep(seconds)  # a stream that is slow on request
        if speaker.behaviour == "cut":
            raise ConnectionAbortedError
        self.wfile.write(b"0\r\n\r\n")
        return None

    def drip(self, head: bool) -> None:
        if head:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        else:
            self.send_head(200, "text/event-stream", {"Transfer-Encoding": "chunked"})
        while True:
            if head:
                self.wfile.write(b"X-Still: here\r\n")
            else:
                self.send_chunk(b": still here\n\n")
            time.sleep(0.05)  # shorter than any client's read timeout

    def explode(self) -> None:
        headers = {"Transfer-Encoding": "chunked", "Content-Encoding": "gzip"}
        self.send_head(200, "application/json", headers)
        compressor = zlib.compressobj(9, wbits=31)
        while True:
            self.send_chunk(compressor.compress(bytes(1 << 24)) or b"")

    def refuse(
        self,
        status: int,
        message: str,
        code: str,
        param: str | None = None,
        headers: dict[str, str | None] | None = None,
    ) -> None:
        error = {"message": message, "type": code, "code": code, "param": param}
        given = {name: value for name, value in (headers or {}).items() if value is not None}
        self.send_json(status, {"type": "error", "error": error}, given)

    def send_json(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        self.send_bytes(status, json.dumps(value).encode(), "application/json", headers)

    def send_bytes(
        self, status: int, data: bytes, content_type: str, headers: dict[str, str] | None = None
    ) -> None:
        self.send_head(status, content_type, {"Content-Length": str(len(data)), **(headers or {})})
        self.wfile.write(data)

    def send_head(self, status: int, content_type: str, headers: dict[str, str]) -> None:
        if hasattr(self, "request_entry"):
            self.request_entry["status"] = status
        self.send_response(status)
        for name, value in {"Content-Type": content_type, **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def send_chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))


def main() -> None:
    parser = argparse.ArgumentParser(description=next(islice((__doc__ or "").splitlines(), 1)))
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--key", default=KEY)
    arguments = parser.parse_args()
    server = Server(arguments.port, arguments.key)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()  # until the parent closes the pipe or exits


if __name__ == "__main__":
    main()
