"""Anthropic's Messages API."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from mosaic_contract.errors import EndpointRefused
from mosaic_contract.language.endpoint import Endpoint, schema_of
from mosaic_contract.language.exchange import Turn
from mosaic_contract.language.streamed_reply import StreamedReply, tokens

_ENDINGS = {
    "max_tokens": "truncated",
    "model_context_window_exceeded": "truncated",
    "refusal": "refused",
    "tool_use": "tool_call",
}


class AnthropicEndpoint(Endpoint):
    package = "anthropic"
    client_class = "Anthropic"
    response_class = "anthropic.types", "Message"
    response_key = "content"
    address_hint = (
        '; base_url of a server with Anthropic\'s API has no /v1; provider="openai" is the other API'
    )

    def _create(self, client: Any) -> Callable[..., Any]:
        return client.messages.create

    def _request(self, turns: Sequence[Turn], choices: Sequence[str] | None) -> dict[str, Any]:
        system = "\n\n".join(turn.text for turn in turns if turn.role == "system")
        request: dict[str, Any] = {
            "model": self.settings.model,
            "messages": [self._message(turn) for turn in turns if turn.role != "system"],
            "max_tokens": self.settings.max_tokens,
            "extra_body": dict(self._body),
        }
        if self.settings.stop:
            request["stop_sequences"] = list(self.settings.stop)
        output: dict[str, Any] = {}
        if self.settings.reasoning_effort is not None:
            output["effort"] = self.settings.reasoning_effort
        if "stream" not in self._rejected:
            request["stream"] = True
        if system:
            request["system"] = system
        if choices is not None:
            output["format"] = {"type": "json_schema", "schema": schema_of(choices)}
        if output:
            request["output_config"] = output
        if self.settings.top_p is not None:
            request["extra_body"]["top_p"] = self.settings.top_p  # not an argument in this SDK
        if self.settings.temperature is not None and "temperature" not in self._rejected:
            request["extra_body"]["temperature"] = self.settings.temperature
        return request

    def _image(self, data: str) -> dict[str, Any]:
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}

    def _read_event(self, event: Any, streamed: StreamedReply) -> None:
        """Read an event of a stream, or a whole answer. The SDK does not check the types of its contents."""
        event_type = getattr(event, "type", None)
        if event_type == "message_start":
            self._begin(getattr(event, "message", None), streamed)
            streamed.usage.pop("output_tokens", None)  # of an answer that has only started
        elif event_type == "message":
            self._begin(event, streamed)
            for block in event.content if isinstance(event.content, list) else ():
                self._add(block, getattr(block, "type", None), streamed)
            self._end(event, streamed)
        elif event_type == "content_block_start":
            self._add(None, getattr(getattr(event, "content_block", None), "type", None), streamed)
        elif event_type == "content_block_delta":
            self._add(getattr(event, "delta", None), None, streamed)
        elif event_type == "message_delta":
            _count(getattr(event, "usage", None), streamed)
            self._end(getattr(event, "delta", None), streamed)
        elif event_type == "message_stop":
            streamed.finished = True

    def _begin(self, message: Any, streamed: StreamedReply) -> None:
        model = getattr(message, "model", None)
        streamed.model = model if isinstance(model, str) and model else streamed.model
        _count(getattr(message, "usage", None), streamed)

    def _add(self, part: Any, part_type: Any, streamed: StreamedReply) -> None:
        if part_type == "tool_use":
            streamed.fault("tool_call")
        texts = (getattr(part, name, None) for name in ("text", "thinking"))
        streamed.add(*(text if isinstance(text, str) else None for text in texts))

    def _end(self, message: Any, streamed: StreamedReply) -> None:
        reason = getattr(message, "stop_reason", None)
        streamed.finished = streamed.finished or reason is not None
        if reason in _ENDINGS:
            streamed.fault(_ENDINGS[reason])

    def _reject(self, text: str, request: dict[str, Any]) -> bool:
        if "format" in request.get("output_config", {}) and (
            "output_config" in text or "json_schema" in text
        ):
            raise EndpointRefused(self._cannot_restrict(text))
        is_fixed = self.settings.temperature_fixed or "temperature" not in request["extra_body"]
        if is_fixed or "temperature" not in text:
            return super()._reject(text, request)
        self._rejected.add("temperature")
        return True


def _count(usage: Any, streamed: StreamedReply) -> None:
    """Record the token counts of a `Reply` reported by the endpoint; cached tokens count as input."""
    read = tokens(getattr(usage, "input_tokens", None))
    cached = tokens(getattr(usage, "cache_read_input_tokens", None))
    if read is not None:
        read += (cached or 0) + (tokens(getattr(usage, "cache_creation_input_tokens", None)) or 0)
    streamed.count(read, getattr(usage, "output_tokens", None), cached)
