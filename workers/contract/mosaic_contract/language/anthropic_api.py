"""Anthropic's messages."""

from __future__ import annotations

from typing import Any, Generator, Sequence

from mosaic_contract.errors import EndpointRefused
from mosaic_contract.language.endpoint import Endpoint, Writing, schema_of
from mosaic_contract.language.exchange import Turn

_ENDINGS = {
    "max_tokens": "truncated",
    "model_context_window_exceeded": "truncated",
    "refusal": "refused",
    "tool_use": "tool_call",
}


class AnthropicEndpoint(Endpoint):
    package = "anthropic"
    client_class = "Anthropic"
    address_hint = (
        '; base_url of a server with Anthropic\'s API has no /v1; provider="openai" is the other API'
    )

    def _events(self, client: Any, request: dict[str, Any]) -> Generator[Any, None, None]:
        with client.messages.create(**request) as stream:
            yield from stream

    def _request(self, turns: Sequence[Turn], choices: Sequence[str] | None) -> dict[str, Any]:
        system = "\n\n".join(turn.text for turn in turns if turn.role == "system")
        request: dict[str, Any] = {
            "model": self.settings.model,
            "messages": [self._message(turn) for turn in turns if turn.role != "system"],
            "max_tokens": self.settings.max_tokens,
            "stream": True,
        }
        if system:
            request["system"] = system
        if choices is not None:
            request["output_config"] = {"format": {"type": "json_schema", "schema": schema_of(choices)}}
        if self.settings.temperature is not None and "temperature" not in self._left_out:
            request["extra_body"] = {"temperature": self.settings.temperature}  # no argument in this SDK
        return request

    def _image(self, data: str) -> dict[str, Any]:
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}

    def _take(self, event: Any, writing: Writing) -> None:
        kind = event.type
        if kind == "message_start":
            writing.model = event.message.model or writing.model
            _count(event.message.usage, writing)
            writing.usage.pop("output_tokens", None)  # of an answer that has only begun
        elif kind == "content_block_start" and event.content_block.type == "tool_use":
            writing.fault("tool_call")
        elif kind == "content_block_delta":
            writing.add(getattr(event.delta, "text", None), getattr(event.delta, "thinking", None))
        elif kind == "message_delta":
            _count(event.usage, writing)
            reason = event.delta.stop_reason
            writing.finished = reason is not None
            if reason in _ENDINGS:
                writing.fault(_ENDINGS[reason])

    def _leave_out(self, text: str, request: dict[str, Any]) -> bool:
        if "output_config" in request and ("output_config" in text or "json_schema" in text):
            raise EndpointRefused(self._cannot_restrict(text))
        if self.settings.temperature_fixed or "extra_body" not in request or "temperature" not in text:
            return False
        self._left_out.add("temperature")
        return True


def _count(usage: Any, writing: Writing) -> None:
    """Take the numbers of a `Reply` that the endpoint reports; cached tokens count as input."""
    if usage is None:
        return
    if usage.input_tokens is not None:
        cached = usage.cache_read_input_tokens
        written = usage.cache_creation_input_tokens or 0
        writing.usage["input_tokens"] = usage.input_tokens + (cached or 0) + written
        writing.usage["cached_tokens"] = cached
    if usage.output_tokens is not None:
        writing.usage["output_tokens"] = usage.output_tokens
