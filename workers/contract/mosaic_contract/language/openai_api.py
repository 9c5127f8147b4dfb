"""OpenAI's chat completions, and what speaks the same: vLLM, Ollama, OpenRouter, llama.cpp …"""

from __future__ import annotations

import base64
from typing import Any, Generator, Sequence

from ..errors import ConfigError
from .endpoint import Endpoint, Writing, schema_of
from .exchange import Turn

_ENDINGS = {
    "length": "truncated",
    "content_filter": "refused",
    "tool_calls": "tool_call",
    "function_call": "tool_call",
}


class OpenAIEndpoint(Endpoint):
    package = "openai"
    client_class = "OpenAI"

    def _events(
        self, client: Any, turns: Sequence[Turn], choices: Sequence[str] | None
    ) -> Generator[Any, None, None]:
        with client.chat.completions.create(**self._request(turns, choices)) as stream:
            yield from stream

    def _request(self, turns: Sequence[Turn], choices: Sequence[str] | None) -> dict[str, Any]:
        settings = self.settings
        limit = "max_completion_tokens" if settings.base_url is None else "max_tokens"
        if limit in self._left_out:  # OpenAI's reasoning models know one name, most other servers the other
            limit = "max_tokens" if limit == "max_completion_tokens" else "max_completion_tokens"
        request: dict[str, Any] = {
            "model": settings.model,
            "messages": [self._message(turn) for turn in turns],
            limit: settings.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": settings.temperature,
            "seed": settings.seed,
        }
        if choices is not None:
            schema = {"name": "answer", "strict": True, "schema": schema_of(choices)}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        return {
            name: value for name, value in request.items() if value is not None and name not in self._left_out
        }

    def _message(self, turn: Turn) -> dict[str, Any]:
        if not turn.images:
            return {"role": turn.role, "content": turn.text}
        urls = [f"data:image/png;base64,{base64.b64encode(image).decode()}" for image in turn.images]
        detail = self.settings.detail
        parts: list[dict[str, Any]] = [
            {"type": "image_url", "image_url": {"url": url, "detail": detail}} for url in urls
        ]
        return {"role": turn.role, "content": [*parts, {"type": "text", "text": turn.text}]}

    def _take(self, event: Any, writing: Writing) -> None:
        writing.model = event.model or writing.model
        if event.usage is not None:
            writing.usage = _usage(event.usage)
        for choice in event.choices[:1]:
            delta = choice.delta
            extra = (delta.model_extra or {}) if delta is not None else {}
            thoughts = extra.get("reasoning_content") or extra.get("reasoning")
            if delta is not None:
                writing.add(delta.content or delta.refusal, thoughts if isinstance(thoughts, str) else None)
                if delta.refusal:
                    writing.fault("refused")
                if delta.tool_calls:
                    writing.fault("tool_call")
            if choice.finish_reason:
                writing.finished = True
                if choice.finish_reason in _ENDINGS:
                    writing.fault(_ENDINGS[choice.finish_reason])

    def _leave_out(self, text: str) -> bool:
        if "response_format" in text or "json_schema" in text:
            raise ConfigError(
                f"{self.settings.where} cannot restrict answers to the legal actions ({text}): leave that out"
            )
        if "temperature" in text and self.settings.temperature_fixed:
            return False
        known = ("max_completion_tokens", "max_tokens", "stream_options", "temperature")
        refused = [name for name in known if f"'{name}'" in text or f"`{name}`" in text or f"{name}:" in text]
        refused = refused or [name for name in known if name in text]
        for name in refused:
            if name not in self._left_out and not {"max_tokens", "max_completion_tokens"} <= {
                *self._left_out,
                name,
            }:
                self._left_out.add(name)
                return True
        return False


def _usage(usage: Any) -> dict[str, Any]:
    """The numbers of a `Reply` in what the endpoint reports."""
    details = usage.prompt_tokens_details
    cost = (usage.model_extra or {}).get("cost")  # OpenRouter's, in USD
    return {
        "input_tokens": usage.prompt_tokens,
        "output_tokens": usage.completion_tokens,
        "cached_tokens": details.cached_tokens if details is not None else None,
        "cost_usd": float(cost) if isinstance(cost, (int, float)) and cost >= 0 else None,
    }
