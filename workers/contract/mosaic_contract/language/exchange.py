"""A request to a language model with its answer, as sent, returned and recorded."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence, Union

REPLY_FAULTS = ("truncated", "refused", "tool_call", "cut", "too_long")
"""Faults of the answer itself; others are faults of its parsing."""

PARSE_FAULTS = ("unparsed", "illegal", "ambiguous")
"""Faults of an answer without an action. A replay keeps them, whatever forms its parser accepts."""


@dataclass(frozen=True)
class Turn:
    """One turn of a dialog: the role ("system", "user" or "assistant"), the text, and images as the bytes of
    PNG files."""

    role: str
    text: str
    images: Sequence[bytes] = ()


@dataclass(frozen=True)
class TextForm:
    """The form of an answer with free text: a line `ACTION: text`, where the text has `min_length` to
    `max_length` of the `characters`, and its first and last character are among `end_characters`."""

    min_length: int
    max_length: int
    characters: str
    end_characters: str


_RECORDED = (
    *("prompt", "answer", "reasoning", "parsed", "faults", "input_tokens", "output_tokens", "cost_usd"),
    *("latency_ms", "model", "recorded"),
)
"""Fields of an `Exchange` in messages and recordings, in the order of recordings."""

Choices = Union[Sequence[str], TextForm]
"""The restriction of an answer."""


@dataclass(frozen=True)
class Parsed:
    """The action in an answer: the action, None if there is none; its text in the answer; and the names of
    faults ("unparsed", "illegal", "ambiguous", …)."""

    action: Any | None
    text: str | None
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reply:
    """A model's answer. Numbers that it does not report are None; `cost_usd` is reported by the endpoint.
    `reasoning` is the thinking text of models that send it separately from the answer."""

    text: str
    model: str
    reasoning: str = ""
    faults: tuple[str, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True)
class Exchange:
    """A request with its answer and the parsed action.

    `prompt` is a list of {"role", "text", "images": [SHA-256]}. `faults` are the faults of the answer and of
    its parsing. Unknown numbers are None, never 0. `recorded`: replayed from a recording, at no cost now.
    `retries`: failed attempts before this answer.
    """

    prompt: Sequence[Mapping[str, Any]]
    answer: str
    parsed: str | None
    faults: tuple[str, ...]
    model: str
    action: Any | None = None
    reasoning: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    latency_ms: float | None = None
    recorded: bool = False
    retries: int = 0
    started: float = field(default=0.0, compare=False)
    """Unix seconds."""

    def to_dict(self) -> dict[str, Any]:
        """Return the exchange in the form of messages and recordings."""
        values = {name: getattr(self, name) for name in _RECORDED}
        return {**values, "prompt": [dict(turn) for turn in self.prompt], "faults": list(self.faults)}


def merge_turns(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns, merging consecutive turns of the same role."""
    merged: list[Turn] = []
    for turn in turns:
        if merged and merged[-1].role == turn.role:
            last = merged.pop()
            turn = Turn(turn.role, f"{last.text}\n\n{turn.text}", (*last.images, *turn.images))
        merged.append(turn)
    return merged


def prompt_of(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """Return turns in their recorded form: images by the SHA-256 of their bytes."""
    return [
        {"role": turn.role, "text": turn.text, "images": [image_name(image) for image in turn.images]}
        for turn in turns
    ]


def image_name(image: bytes) -> str:
    """Return the name of an image in recordings, the SHA-256 of its bytes."""
    return hashlib.sha256(image).hexdigest()


def hash_of(prompt: Sequence[Mapping[str, Any]]) -> str:
    """Return the SHA-256 of a prompt in its recorded form."""
    text = json.dumps(prompt, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
