"""OpenAI's Chat Completions API, and compatible servers such as vLLM, Ollama, OpenRouter and llama.cpp."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Callable, Sequence

from mosaic_contract.errors import EndpointRefused
from mosaic_contract.language.endpoint import Endpoint, schema_of
from mosaic_contract.language.exchange import Turn
from mosaic_contract.language.streamed_reply import StreamedReply

_ENDINGS = {
    "length": "truncated",
    "content_filter": "refused",
    "tool_calls": "tool_call",
    "function_call": "tool_call",
}

_TEXT_KEYS = "text", "thinking", "reasoning", "value"
"""Keys for the text of a part of a message's content; the first that is present counts."""


class OpenAIEndpoint(Endpoint):
    package = "openai"
    client_class = "OpenAI"
    response_class = "openai.types.chat", "ChatCompletion"
    response_key = "choices"
    address_hint = "; base_url of a server with OpenAI's API ends in /v1 as a rule"

    def _create(self, client: Any) -> Callable[..., Any]:
        return client.chat.completions.create

    def _request(self, turns: Sequence[Turn], choices: Sequence[str] | None) -> dict[str, Any]:
        settings = self.settings
        limit, alternative = self._limits
        limit = alternative if limit in self._rejected else limit
        request: dict[str, Any] = {
            "model": settings.model,
            "messages": [self._message(turn) for turn in turns],
            limit: settings.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "seed": settings.seed,
            "stop": list(settings.stop) or None,
            "reasoning_effort": settings.reasoning_effort,
            "extra_body": self._body,
        }
        if choices is not None:
            schema = {"name": "answer", "strict": True, "schema": schema_of(choices)}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        omitted = self._rejected | ({"stream_options"} if "stream" in self._rejected else set())
        return {name: value for name, value in request.items() if value is not None and name not in omitted}

    @property
    def _limits(self) -> tuple[str, str]:
        """Return the parameter name that this server probably uses for the length limit of an answer, and the
        other name: OpenAI's reasoning models accept only one, many other servers only the other."""
        names = "max_tokens", "max_completion_tokens"
        return names if self.settings.base_url is not None else (names[1], names[0])

    def _image(self, data: str) -> dict[str, Any]:
        url = f"data:image/png;base64,{data}"
        return {"type": "image_url", "image_url": {"url": url, "detail": self.settings.detail}}

    def _read_event(self, event: Any, streamed: StreamedReply) -> None:
        """Read a chunk of a stream, or a whole answer. The SDK does not check the types of its contents."""
        model, usage, choices = (getattr(event, name, None) for name in ("model", "usage", "choices"))
        streamed.model = model if isinstance(model, str) and model else streamed.model
        if usage is not None:
            _count(usage, streamed)
        for choice in choices[:1] if isinstance(choices, list) else ():
            message = getattr(choice, "delta", None) or getattr(choice, "message", None)
            if isinstance(message, dict):  # a whole message in a stream
                message = import_module("openai.types.chat").ChatCompletionMessage.construct(**message)
            text, thoughts = parts_of(getattr(message, "content", None))
            refusal = getattr(message, "refusal", None)
            extra = getattr(message, "model_extra", None) or {}
            reasoning = extra.get("reasoning_content") or extra.get("reasoning")
            streamed.add(text or parts_of(refusal)[0], thoughts + "".join(parts_of(reasoning)))
            if refusal:
                streamed.fault("refused")
            if getattr(message, "tool_calls", None):
                streamed.fault("tool_call")
            reason = getattr(choice, "finish_reason", None)
            streamed.finished = streamed.finished or bool(reason)
            if reason in _ENDINGS:
                streamed.fault(_ENDINGS[reason])

    def _reject(self, text: str, request: dict[str, Any]) -> bool:
        if "response_format" in request and ("response_format" in text or "json_schema" in text):
            raise EndpointRefused(self._cannot_restrict(text))
        names = [self._limits[0], "stream_options"]
        if not self.settings.temperature_fixed:
            names.append("temperature")
        for name in names:
            if name in request and name in text:
                self._rejected.add(name)
                return True
        return super()._reject(text, request)


def parts_of(content: Any) -> tuple[str, str]:
    """Return the text and the thoughts of a message's content: a string, a part, or a list of them."""
    if isinstance(content, str):
        return content, ""
    if isinstance(content, list):
        parts = [parts_of(part) for part in content]
        return "".join(text for text, _ in parts), "".join(thoughts for _, thoughts in parts)
    if not isinstance(content, dict):
        return "", ""
    text, thoughts = parts_of(next((content[name] for name in _TEXT_KEYS if content.get(name)), None))
    return ("", text + thoughts) if content.get("type") in ("thinking", "reasoning") else (text, thoughts)


def _count(usage: Any, streamed: StreamedReply) -> None:
    details = getattr(usage, "prompt_tokens_details", None)
    extra = getattr(usage, "model_extra", None) or {}
    streamed.count(
        getattr(usage, "prompt_tokens", None),
        getattr(usage, "completion_tokens", None),
        getattr(details, "cached_tokens", None),
        extra.get("cost"),  # sent by OpenRouter, in USD
    )
