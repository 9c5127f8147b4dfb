"""Providers of language models that are known by name, and the makers of models whose names are."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Provider = Literal["openai", "anthropic", "google", "openrouter", "vllm", "local"]


class Server(NamedTuple):
    """A server with OpenAI's API: its address, and the variable that has its key."""

    base_url: str
    key: str | None


SERVERS = {
    "google": Server("https://generativelanguage.googleapis.com/v1beta/openai/", "GEMINI_API_KEY"),
    "openrouter": Server("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "vllm": Server("http://localhost:8000/v1", None),
}

_SERVED = {"openai": "OpenAI", "anthropic": "Anthropic", "google": "Google"}  # models of one maker only
_MAKERS = {  # by how names begin; the first that matches
    "gpt-oss": "",  # of open weights
    "gpt|chatgpt|o[134](-|$)|codex|ft:": "OpenAI",
    "claude": "Anthropic",
    "gemini|gemma|learnlm": "Google",
    "llama|meta-llama": "Meta",
    "qwen|qwq|qvq": "Alibaba",
    "mistral|ministral|magistral|codestral|devstral|mixtral|pixtral": "Mistral",
    "deepseek": "DeepSeek",
    "grok": "xAI",
    "kimi|moonshot": "Moonshot",
    "glm": "Zhipu",
    "phi-": "Microsoft",
    "command": "Cohere",
    "smollm": "Hugging Face",
    "nemotron": "NVIDIA",
    "minimax": "MiniMax",
}


def misdirected(model: str, provider: str, operator: str) -> str:
    """Return what to type for a model that this provider does not serve at its own address; empty for one
    that it serves, or whose maker is not known. ``operator`` is the name of the maker in
    `mosaic_lab.operators`."""
    serves = _SERVED.get(provider)
    makers = (maker for begins, maker in _MAKERS.items() if re.match(begins, model, re.I))
    maker = "" if "/" in model else next(makers, serves)
    if serves is None or maker == serves:
        return ""
    line = f'mosaic.operators.{operator}("{model}", provider='
    home = next((name for name, served in _SERVED.items() if served == maker), None)
    step = f'type {line}"{home}")'
    if home is None:
        address = SERVERS["vllm"].base_url
        step = f'type {line}"openrouter"), {line}"vllm") for a server at {address}, or give base_url='
    fact = f"is a model of {maker}" if maker else "is the name of a model on other servers"
    return f'model="{model}" {fact}, and provider="{provider}" serves models of {serves} only: {step}'
