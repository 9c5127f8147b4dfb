"""A server on loopback that speaks OpenAI's `/v1/chat/completions` and Anthropic's `/v1/messages`, streaming
and not, and fails in every way that a real one does: `python language_server.py` prints its address.

The model's name says what it does: `fake:` and a comma-separated sequence, one item per request, the last one
for all further requests. An item is one behaviour, after any number of options, joined by `+`:

    fake:legal   fake:say=go forward   fake:latency=0.5+legal   fake:429,429,ok   fake:retry-after=1+429,ok

Behaviours: ok (says "ok"), say=TEXT, legal (the first action after "actions:" or "moves:" in the latest turn
that has one), chess (in a dialog of the chess worker: queries the legal moves, and makes the first), echo
(the latest user turn), a number (that HTTP status), cut (the connection breaks off in the middle), malformed
(damaged JSON), filter (content filter), tool (a tool call in place of text), empty, length (stopped by
max_tokens), long (2 MB), drip (a byte of comment now and then and never an answer), drop (the connection
closes without an answer), wrong-model (404).
Options: think=THOUGHTS (before the text), latency=SECONDS, retry-after=SECONDS, cost=USD (as OpenRouter
reports it), cached=TOKENS, no-usage, slow=SECONDS (that long over the whole stream), refuses=PARAMETER (400
where a request has this parameter).

`POST /script` {"model": ["item", …]} scripts a model with another name. `GET /requests` gives {"count",
"requests": the last 2,000, each {"model", "path", "stream", "body", "images": [format, width, height] of
each, "key", "status", "began", "ended"}}. An image that cannot be read as a PNG is answered with 400. A
request without the key that `--key` names is answered with 401.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import re
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from typing import Any

from PIL import Image

KEY = "sk-fake-0123456789abcdef"
"""The key that the server accepts unless it is started with another one."""

_KEPT = 2_000  # requests
_PIECE = 8  # characters in an event of a stream
_LONG = 2_000_000  # characters
_LEGAL = re.compile(r"(?i)\b(?:actions|moves)\b[^:\n]*:\s*(?:\n\s*)?(?:[-*]\s*)?[\"'`]?([^,;\n\"'`]+)")
_OPTIONS = ("latency", "retry-after", "cost", "cached", "no-usage", "slow", "refuses", "think")


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
        """A client that has gone is what some tests are about."""

    def behaviour(self, model: str) -> tuple[str, dict[str, str]]:
        """What the next request for a model gets, with its options. Raises `LookupError`."""
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
        with self.server.lock:
            found = {"count": self.server.count, "requests": list(self.server.requests)}
        self.send_json(200, found)

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
        except OSError:  # the client has gone
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
        time.sleep(float(options.get("latency", 0)))
        refused = options.get("refuses")
        if refused and refused in body:
            text = f"Unsupported parameter: '{refused}' is not supported with this model."
            if refused == "max_tokens":
                text += " Use 'max_completion_tokens' instead."
            return self.refuse(400, text, "unsupported_parameter", param=refused)
        if behaviour == "wrong-model":
            return self.refuse(404, f"The model `{model}` does not exist", "model_not_found")
        if behaviour.isdigit():
            text = f"status {behaviour} for the key {self.given_key()}"  # as proxies do that echo a request
            return self.refuse(int(behaviour), text, "error", options.get("retry-after"))
        if behaviour == "drop":
            self.connection.shutdown(socket.SHUT_RDWR)
            raise ConnectionAbortedError
        if behaviour == "drip":
            return self.drip()
        return self.speak(speaker(body, behaviour, options))

    def speak(self, speaker: Speaker) -> None:
        if not speaker.stream:
            if speaker.behaviour == "malformed":
                return self.send_bytes(200, b'{"choices": [{"mess', "application/json")
            data = json.dumps(speaker.whole()).encode()
            if speaker.behaviour == "cut":
                self.send_head(200, "application/json", {"Content-Length": str(len(data))})
                self.wfile.write(data[: len(data) // 2])
                raise ConnectionAbortedError
            return self.send_bytes(200, data, "application/json")
        self.send_head(200, "text/event-stream", {"Transfer-Encoding": "chunked"})
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
            self.send_chunk(event.encode())
            time.sleep(seconds)
        if speaker.behaviour == "cut":
            raise ConnectionAbortedError
        self.wfile.write(b"0\r\n\r\n")
        return None

    def drip(self) -> None:
        self.send_head(200, "text/event-stream", {"Transfer-Encoding": "chunked"})
        while True:
            self.send_chunk(b": still here\n\n")
            time.sleep(0.05)

    def refuse(
        self, status: int, message: str, code: str, retry_after: str | None = None, param: str | None = None
    ) -> None:
        error = {"message": message, "type": code, "code": code, "param": param}
        headers = {"Retry-After": retry_after} if retry_after else {}
        self.send_json(status, {"type": "error", "error": error}, headers)

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


class Speaker:
    """An answer to one request: what is said, and why it ended."""

    def __init__(self, body: dict[str, Any], behaviour: str, options: dict[str, str]) -> None:
        self.model = body["model"]
        self.stream = bool(body.get("stream"))
        self.behaviour, self.options = behaviour.split("=", 1)[0], options
        self.turns = [text_of(message["content"]) for message in body["messages"]]
        self.text = self.said(behaviour, body)
        self.thoughts = options.get("think", "")
        self.input_tokens = sum(map(len, self.turns)) // 4 + 1
        self.output_tokens = (len(self.text) + len(self.thoughts)) // 4 + 1

    def said(self, behaviour: str, body: dict[str, Any]) -> str:
        kind, _, text = behaviour.partition("=")
        if kind == "say":
            said = text
        elif kind == "legal":
            said = next(
                (found[1].strip() for turn in reversed(self.turns) if (found := _LEGAL.search(turn))), ""
            )
        elif kind == "chess":
            moves = re.fullmatch(r"([a-h][1-8][a-h][1-8][qrbn]?)(,.*)?", self.turns[-1])
            said = f"make_move {moves[1]}" if moves else "get_legal_moves"
        elif kind == "echo":
            said = self.turns[-1]
        elif kind == "long":
            said = "go forward " * (_LONG // 11)
        elif kind in ("empty", "tool"):
            said = ""
        elif kind in ("cut", "malformed"):
            said = "I would like to think about this for a long while"
        elif kind == "length":
            said = "Let me think"
        else:
            said = "ok"
        return self.in_schema(said, body)

    def in_schema(self, said: str, body: dict[str, Any]) -> str:
        """What is said in the form of the JSON schema that a request has, if any."""
        described = body.get("response_format", {}).get("json_schema", {}).get("schema")
        described = described or body.get("output_config", {}).get("format", {}).get("schema")
        if not described:
            return said
        name, values = next((name, value["enum"]) for name, value in described["properties"].items())
        return json.dumps({name: said if said in values else values[0]})

    def pieces(self) -> list[str]:
        size = max(_PIECE, len(self.text) // 200)
        return [self.text[at : at + size] for at in range(0, len(self.text), size)]

    def whole(self) -> dict[str, Any]:
        raise NotImplementedError

    def events(self) -> list[str]:
        raise NotImplementedError


def images_in(body: dict[str, Any]) -> Iterator[bytes]:
    """The files of the images in a request, of either API. Raises ValueError for one that is not a PNG."""
    for message in body["messages"]:
        for part in message["content"] if isinstance(message["content"], list) else ():
            if part["type"] == "image_url":
                head, _, data = part["image_url"]["url"].partition(",")
                kind = head.removeprefix("data:").removesuffix(";base64")
            elif part["type"] == "image":
                kind, data = part["source"]["media_type"], part["source"]["data"]
            else:
                continue
            if kind != "image/png":
                raise ValueError(f"{kind!r} is not a PNG's type")
            yield base64.b64decode(data, validate=True)


def image_facts(data: bytes) -> tuple[str, int, int]:
    """An image's format, width and height. Raises ValueError where it cannot be read whole."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            image.load()
            return str(image.format), image.width, image.height
    except OSError as error:
        raise ValueError(str(error)) from None


class OpenAI(Speaker):
    def reason(self) -> str:
        named = {"filter": "content_filter", "tool": "tool_calls", "length": "length"}
        return named.get(self.behaviour, "stop")

    def usage(self) -> dict[str, Any] | None:
        if "no-usage" in self.options:
            return None
        usage: dict[str, Any] = {
            "prompt_tokens": self.input_tokens,
            "completion_tokens": self.output_tokens,
            "total_tokens": self.input_tokens + self.output_tokens,
        }
        if "cached" in self.options:
            usage["prompt_tokens_details"] = {"cached_tokens": int(self.options["cached"])}
        if "cost" in self.options:
            usage["cost"] = float(self.options["cost"])
        return usage

    def message(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.text or None}
        if self.thoughts:
            message["reasoning_content"] = self.thoughts
        if self.behaviour == "tool":
            call = {"name": "move", "arguments": "{}"}
            message["tool_calls"] = [{"id": "call_1", "index": 0, "type": "function", "function": call}]
        return message

    def head(self, kind: str) -> dict[str, Any]:
        return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": self.model}

    def whole(self) -> dict[str, Any]:
        choice = {"index": 0, "message": self.message(), "finish_reason": self.reason()}
        return {**self.head("chat.completion"), "choices": [choice], "usage": self.usage()}

    def events(self) -> list[str]:
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{"reasoning_content": self.thoughts}] if self.thoughts else []
        deltas += [{"content": piece} for piece in self.pieces()]
        if self.behaviour == "tool":
            deltas.append({"tool_calls": self.message()["tool_calls"]})
        choices = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
        choices.append([{"index": 0, "delta": {}, "finish_reason": self.reason()}])
        chunks = [{**self.head("chat.completion.chunk"), "choices": choice} for choice in choices]
        chunks.append({**self.head("chat.completion.chunk"), "choices": [], "usage": self.usage()})
        return [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]


class Anthropic(Speaker):
    def reason(self) -> str:
        named = {"filter": "refusal", "tool": "tool_use", "length": "max_tokens"}
        return named.get(self.behaviour, "end_turn")

    def blocks(self) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        if self.thoughts:
            blocks.append({"type": "thinking", "thinking": self.thoughts, "signature": "0"})
        if self.text:
            blocks.append({"type": "text", "text": self.text})
        if self.behaviour == "tool":
            blocks.append({"type": "tool_use", "id": "toolu_1", "name": "move", "input": {}})
        return blocks

    def head(self, blocks: list[dict[str, Any]], reason: str | None, output: int) -> dict[str, Any]:
        usage: dict[str, Any] = {"input_tokens": self.input_tokens, "output_tokens": output}
        if "cached" in self.options:
            usage["cache_read_input_tokens"] = int(self.options["cached"])
        head = {"id": "msg_1", "type": "message", "role": "assistant", "model": self.model, "content": blocks}
        return {**head, "stop_reason": reason, "stop_sequence": None, "usage": usage}

    def whole(self) -> dict[str, Any]:
        return self.head(self.blocks(), self.reason(), self.output_tokens)

    def events(self) -> list[str]:
        found: list[dict[str, Any]] = [{"type": "message_start", "message": self.head([], None, 1)}]
        for index, block in enumerate(self.blocks()):
            kind, deltas = block["type"], []
            if kind == "text":
                block = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": piece} for piece in self.pieces()]
            elif kind == "thinking":
                deltas = [{"type": "thinking_delta", "thinking": block["thinking"]}]
                block = {"type": "thinking", "thinking": "", "signature": "0"}
            found.append({"type": "content_block_start", "index": index, "content_block": block})
            found += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
            found.append({"type": "content_block_stop", "index": index})
        stop = {"stop_reason": self.reason(), "stop_sequence": None}
        usage = {"output_tokens": self.output_tokens}
        found.append({"type": "message_delta", "delta": stop, "usage": usage})
        found.append({"type": "message_stop"})
        return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in found]


def text_of(content: Any) -> str:
    """The text of a message, without its images."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if part.get("type") == "text")


def main() -> None:
    parser = argparse.ArgumentParser(description=next(islice((__doc__ or "").splitlines(), 1)))
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--key", default=KEY)
    arguments = parser.parse_args()
    server = Server(arguments.port, arguments.key)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()  # until whoever started it closes the pipe, or is gone


if __name__ == "__main__":
    main()
