"""OpenAI's chat completions, and what speaks the same: vLLM, Ollama, OpenRouter, llama.cpp …"""

from __future__ import annotations

from typing import Any, Generator, Sequence

from mosaic_contract.errors import EndpointRefused
from mosaic_contract.language.endpoint import Endpoint, Writing, schema_of
from mosaic_contract.language.exchange import Turn

_ENDINGS = {
    "length": "truncated",
    "content_filter": "refused",
    "tool_calls": "tool_call",
    "function_call": "tool_call",
}


class OpenAIEndpoint(Endpoint):
    package = "openai"
    client_class = "OpenAI"
    address_hint = "; base_url of a server with OpenAI's API ends in /v1 as a rule"

    def _events(self, client: Any, request: dict[str, Any]) -> Generator[Any, None, None]:
        with client.chat.completions.create(**request) as stream:
            yield from stream

    def _request(self, turns: Sequence[Turn], choices: Sequence[str] | None) -> dict[str, Any]:
        settings = self.settings
        limit, other = self._limits
        limit = other if limit in self._left_out else limit
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

    @property
    def _limits(self) -> tuple[str, str]:
        """The name that this server probably has for the limit of an answer, and the other one: OpenAI's
        reasoning models know the one only, many other servers the other."""
        names = "max_tokens", "max_completion_tokens"
        return names if self.settings.base_url is not None else (names[1], names[0])

    def _image(self, data: str) -> dict[str, Any]:
        url = f"data:image/png;base64,{data}"
        return {"type": "image_url", "image_url": {"url": url, "detail": self.settings.detail}}

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

    def _leave_out(self, text: str, request: dict[str, Any]) -> bool:
        if "response_format" in request and ("response_format" in text or "json_schema" in text):
            raise EndpointRefused(self._cannot_restrict(text))
        names = [self._limits[0], "stream_options"]
        if not self.settings.temperature_fixed:
            names.append("temperature")
        for name in names:
            if name in request and name in text:
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
