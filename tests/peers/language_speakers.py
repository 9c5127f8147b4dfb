"""Answers of the test language server in OpenAI's and Anthropic's formats, streamed and complete."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Iterator
from typing import Any

from PIL import Image

_PIECE = 8  # characters per event of a stream
_LONG = 2_000_000  # characters
_LEGAL = re.compile(r"(?i)\b(?:actions|moves)\b[^:\n]*:\s*(?:\n\s*)?(?:[-*]\s*)?[\"'`]?([^,;\n\"'`]+)")


class Speaker:
    """The answer to one request: its text, and the reason why it ends."""

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
        """Return the answer as JSON that fits the request's schema, if it has one."""
        described = body.get("response_format", {}).get("json_schema", {}).get("schema")
        described = described or body.get("output_config", {}).get("format", {}).get("schema")
        if not described:
            return said
        name, values = next((name, value["enum"]) for name, value in described["properties"].items())
        return json.dumps({name: said if said in values else values[0]})

    def pieces(self) -> list[str]:
        if "halves" in self.options:
            units = self.text.encode("utf-16-le", "surrogatepass")
            return [units[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(units), 2)]
        size = max(_PIECE, len(self.text) // 200)
        return [self.text[at : at + size] for at in range(0, len(self.text), size)]

    def reported(self, count: int) -> Any:
        """Return a token count for the usage: ``count``, or the option ``tokens`` (a number or a string)."""
        value = self.options.get("tokens")
        if value is None:
            return count
        return float(value) if value.lstrip("-").replace("e", "").isdigit() else value

    def whole(self) -> dict[str, Any]:
        raise NotImplementedError

    def events(self) -> list[str]:
        raise NotImplementedError


def images_in(body: dict[str, Any]) -> Iterator[bytes]:
    """Yield the image files in a request to either API. Raises ValueError for one that is not a PNG."""
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
    """Return an image's format, width and height. Raises ValueError if it cannot be fully decoded."""
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
            "prompt_tokens": self.reported(self.input_tokens),
            "completion_tokens": self.reported(self.output_tokens),
            "total_tokens": self.input_tokens + self.output_tokens,
        }
        if "cached" in self.options:
            usage["prompt_tokens_details"] = {"cached_tokens": int(self.options["cached"])}
        if "cost" in self.options:
            usage["cost"] = float(self.options["cost"])
        return usage

    def message(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.content(self.text) or None}
        if self.thoughts and "parts" in self.options:
            message["content"] = [*self.thinking(), *message["content"]]
        elif self.thoughts:
            message["reasoning_content"] = self.thoughts
        if self.behaviour == "tool":
            call = {"name": "move", "arguments": "{}"}
            message["tool_calls"] = [{"id": "call_1", "index": 0, "type": "function", "function": call}]
        return message

    def content(self, text: str) -> Any:
        if "strings" in self.options:
            return [text]
        return [{"type": "text", "text": text}] if "parts" in self.options else text

    def thinking(self) -> list[dict[str, Any]]:
        return [{"type": "thinking", "thinking": [{"type": "text", "text": self.thoughts}]}]

    def head(self, kind: str) -> dict[str, Any]:
        return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": self.model}

    def whole(self) -> dict[str, Any]:
        choice = {"index": 0, "message": self.message(), "finish_reason": self.reason()}
        return {**self.head("chat.completion"), "choices": [choice], "usage": self.usage()}

    def events(self) -> list[str]:
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        if self.thoughts:
            parts = "parts" in self.options
            deltas.append({"content": self.thinking()} if parts else {"reasoning_content": self.thoughts})
        deltas += [{"content": self.content(piece)} for piece in self.pieces()]
        if self.behaviour == "tool":
            deltas.append({"tool_calls": self.message()["tool_calls"]})
        choices: list[Any] = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
        if "no-finish" not in self.options:
            choices.append([{"index": 0, "delta": {}, "finish_reason": self.reason()}])
        chunks = [{**self.head("chat.completion.chunk"), "choices": choice} for choice in choices]
        last = None if "null-choices" in self.options else []
        chunks.append({**self.head("chat.completion.chunk"), "choices": last, "usage": self.usage()})
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
        usage: dict[str, Any] = {
            "input_tokens": self.reported(self.input_tokens),
            "output_tokens": self.reported(output),
        }
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
        usage = {"output_tokens": self.reported(self.output_tokens)}
        if "no-finish" not in self.options:
            found.append({"type": "message_delta", "delta": stop, "usage": usage})
        found.append({"type": "message_stop"})
        return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in found]


def text_of(content: Any) -> str:
    """Return the text of a message, without its images."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if part.get("type") == "text")
