"""Exchanges with language models for a page: bounded texts and thumbnails.

Texts of models and endpoints are untrusted: they are always inserted as text. Images of prompts are read only
from the folder of the recording, which names them by their SHA-256.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from mosaic_contract.arena.exchanges import faults_of, number_of

from mosaic_lab.fastlane.pictures import image_png
from mosaic_lab.keeper.files import open_file
from mosaic_lab.number_format import UNKNOWN, milliseconds, money, number

PROMPT_LENGTH, ANSWER_LENGTH = 24_000, 12_000
"""Maximum number of characters shown of a prompt and an answer; longer texts are shortened in the middle."""
MAX_TURNS, MAX_CALLS, MAX_MESSAGES, MAX_IMAGES = 24, 4, 16, 4
"""Maximum numbers of displayed items. The first turn is kept, and the newest of everything else."""

FAULTS = {
    "unparsed": ("no action found", "no action was found in this answer"),
    "illegal": ("not legal", "the answer names an action that is not legal now"),
    "ambiguous": ("ambiguous", "the answer names several actions, and not which one it means"),
    "empty": ("empty", "the model answered nothing"),
    "truncated": ("cut at the limit", "the answer reached the limit of tokens before it named an action"),
    "refused": ("refused", "the endpoint's content filter refused to answer"),
    "tool_call": ("tool call", "the model called a tool instead of answering"),
    "cut": ("broken off", "the connection broke off in the middle of the answer"),
    "too_long": ("too long", "the answer was longer than is read, and was cut"),
    "repair": ("repair", "a second request, after an answer that could not be used"),
    "default": ("default action", "no answer could be used: the default action was played"),
}
"""The words for each fault of an exchange, and their meaning."""

Picture = Callable[[Any], Mapping[str, str]]
"""Converts an image of a prompt to {"src": data URL or "", "text"}."""
MAX_PIXELS = 240
"""Maximum length of a thumbnail's longer side."""
NO_PICTURE = {"src": "", "text": "image"}
"""Stands in for an image that is not available, and for every image where none are shown."""
_MAX_THUMBNAILS = 64
_SHA256 = re.compile(r"[0-9a-f]{64}")


def speaking_agents(moves: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the agents that called a language model or sent a message in this step."""
    return [move["agent"] for move in moves if move.get("exchanges") or move.get("messages")]


def fault_texts(move: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the faults of the language model's answers in a step: [(words, meaning)].

    A second request is not a fault in addition to the answer that caused it.
    """
    names = [name for call in move.get("exchanges") or () for name in faults_of(call) if name != "repair"]
    return [_fault(name) for name in dict.fromkeys(names)]


def shown_exchanges(lane: Mapping[str, Any], agent: str, picture: Picture) -> dict[str, Any]:
    """Return the exchanges of the agent's last step or, without any, of the first agent that has some.

    The result is {"agent", "agents": all agents with exchanges, "step", "calls": […], "earlier": number of
    omitted calls, "messages": [[from, to, text]] of all agents}.
    """
    moves = lane["moves"]
    agents = speaking_agents(moves)
    chosen = agent if agent in agents else agents[0] if agents else ""
    move: Mapping[str, Any] = next((move for move in moves if move["agent"] == chosen), {})
    calls = list(move.get("exchanges") or ())
    messages = [
        [move["agent"], str(message.get("to"))[:200], without_middle(str(message.get("text")), 500)]
        for move in moves
        for message in move.get("messages") or ()
    ]
    return {
        "agent": chosen,
        "agents": agents,
        "step": f"{number(lane['step'])}" if calls else "",
        "calls": _calls(calls, picture),
        "earlier": max(0, len(calls) - MAX_CALLS),
        "messages": messages[-MAX_MESSAGES:],
    }


def shown_call(call: Mapping[str, Any], picture: Picture) -> dict[str, Any]:
    """Return one exchange with its whole prompt."""
    return _call(call, [*_prompt(call)], 0, picture)


def total_facts(spending: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
    """Return a lane's totals as facts, (value, name, hint) each; empty if no model was called."""
    if spending is None:
        return []
    repairs, defaults = number(spending["repairs"]), number(spending["defaults"])
    return [
        (money(spending["cost_usd"]), "cost", "of all calls of this lane; unknown without a known price"),
        (_tokens(spending), "tokens", "read → written, of all calls of this lane"),
        (number(spending["exchanges"]), "calls", "requests to language models"),
        (milliseconds(spending["exchange_ms"]), "p50", "median latency of a call"),
        (
            number(spending["parse_faults"]),
            "parse failures",
            f"answers without a legal action; {repairs} second requests, {defaults} default actions",
        ),
    ]


def without_middle(text: str, max_length: int) -> str:
    """Return the text, shortened to about ``max_length`` characters if it is longer: the number of omitted
    characters replaces the middle."""
    if len(text) <= max_length:
        return text
    half = max_length // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters are left out here …\n{text[-half:]}"


def _calls(calls: Sequence[Mapping[str, Any]], picture: Picture) -> list[dict[str, Any]]:
    """Return the newest calls of a step, without the parts of a prompt that repeat the previous one."""
    views: list[dict[str, Any]] = []
    previous_prompt: list[Any] = []
    for call in calls[-MAX_CALLS:]:
        prompt = _prompt(call)
        repeats = (
            len(previous_prompt)
            if previous_prompt and prompt[: len(previous_prompt)] == previous_prompt
            else 0
        )
        views.append(_call(call, prompt[repeats:], repeats, picture))
        previous_prompt = prompt
    return views


def _call(
    call: Mapping[str, Any], turns: list[Mapping[str, Any]], repeats: int, picture: Picture
) -> dict[str, Any]:
    note = f"{repeats} turns as above" if repeats else ""
    if (too_many := len(turns) - MAX_TURNS) > 0:
        note = f"{too_many} turns after the first one are left out"
        turns = [turns[0], *turns[1 + too_many :]]
    length = PROMPT_LENGTH // max(1, len(turns))
    return {
        "note": note,
        "turns": [_turn(turn, length, picture) for turn in turns],
        "reasoning": without_middle(str(call.get("reasoning") or ""), ANSWER_LENGTH),
        "answer": _answer(call),
        "facts": _facts(call),
        "faults": [_fault(name) for name in faults_of(call)],
    }


def _fault(name: str) -> tuple[str, str]:
    return FAULTS.get(name, (name[:40], ""))


def _prompt(call: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the turns of a prompt; any other value sent by a third-party worker counts as one turn."""
    prompt = call.get("prompt") or []
    if isinstance(prompt, list) and all(isinstance(turn, Mapping) for turn in prompt):
        return prompt
    return [{"role": "prompt", "text": prompt}]


def _turn(turn: Mapping[str, Any], length: int, picture: Picture) -> dict[str, Any]:
    images = turn.get("images")
    return {
        "role": str(turn.get("role", ""))[:40],
        "text": without_middle(str(turn.get("text") or ""), length),
        "images": [dict(picture(image)) for image in images[:MAX_IMAGES]] if isinstance(images, list) else [],
    }


def _answer(call: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the parts of an answer before, in and after the last occurrence of the parsed action."""
    text, words = str(call.get("answer") or ""), str(call.get("parsed") or "")
    start = text.rfind(words) if words else -1
    if start < 0:
        return without_middle(text, ANSWER_LENGTH), "", ""
    end, half = start + len(words), ANSWER_LENGTH // 2
    return (
        without_middle(text[:start], half),
        without_middle(text[start:end], half),
        without_middle(text[end:], half),
    )


def _facts(call: Mapping[str, Any]) -> list[tuple[str, str]]:
    facts = [
        (str(call.get("model") or "")[:200], "model"),
        (f"{_tokens(call)} tokens", "tokens: read → written"),
        (
            f"cost {money(number_of(call, 'cost_usd'))}",
            "by the endpoint's own account, else by the table of prices",
        ),
        (milliseconds(number_of(call, "latency_ms")), "latency: how long the answer took"),
        ("recorded" if call.get("recorded") else "", "taken from a recording: the model was not called"),
    ]
    return [(value, hint) for value, hint in facts if value]


def _tokens(usage: Mapping[str, Any]) -> str:
    input_tokens, output_tokens = number_of(usage, "input_tokens"), number_of(usage, "output_tokens")
    if input_tokens is None and output_tokens is None:
        return UNKNOWN
    return " → ".join(
        UNKNOWN if tokens is None else number(tokens) for tokens in (input_tokens, output_tokens)
    )


def thumbnail(folder: Path, image: Any) -> Mapping[str, str]:
    """Return an image of a prompt as {"src": data URL, "text": its size in words}.

    ``folder`` contains the images of the recording.
    """
    if not isinstance(image, str) or not _SHA256.fullmatch(image):
        return NO_PICTURE
    return _thumbnail(folder / f"{image}.png")


@lru_cache(_MAX_THUMBNAILS)
def _thumbnail(path: Path) -> Mapping[str, str]:
    from PIL import Image

    try:
        with open_file(path) as file, Image.open(file, formats=["PNG"]) as image:
            text = f"image {image.width} × {image.height}"
            image.thumbnail((MAX_PIXELS, MAX_PIXELS))
            small = image_png(image)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return NO_PICTURE
    return {"src": f"data:image/png;base64,{b64encode(small).decode()}", "text": text}
