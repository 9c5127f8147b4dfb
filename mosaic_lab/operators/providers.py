"""Providers of language models that are known by name, and the makers of models whose names are.

Keys are in environment variables and SDK files, of which only names are handled, never values. A vendor's
key is not sent to the user's own server unless the user names it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from mosaic_lab.operators.spec import OperatorSpec

Provider = Literal["openai", "anthropic", "google", "openrouter", "vllm", "local"]
_OWN = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
_TOKEN = "ANTHROPIC_AUTH_TOKEN"
_KEY = re.compile(r"(sk|gsk|pk|hf|xai|r8|nvapi|pplx|key)[-_](?=[\w-]*\d)[\w-]{12,}|AIza[\w-]{20,}", re.A)
_SECRET_HEADER = re.compile(r"authorization|cookie|key$|token$|secret|password", re.I)
_PLACES = ("ANTHROPIC_CONFIG_DIR", "ANTHROPIC_PROFILE")  # where Anthropic's SDK looks for its files


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


def key_variable(provider: str, base_url: str | None, named: str | None) -> str | None:
    """Return the name of the variable with the key; None if no key is sent, or if the SDK finds it."""
    if named is not None or base_url is not None:
        return named
    if provider == "anthropic" and "ANTHROPIC_API_KEY" not in os.environ and _sdk_finds_one():
        return None
    return _OWN.get(provider)


def variables(provider: str, base_url: str | None, key: str | None) -> Sequence[str]:
    """Return the names of the variables that the worker needs for the key."""
    if key is not None:
        return (key,)
    if provider != "anthropic" or base_url is not None:
        return ()
    return tuple(name for name in (_TOKEN, *_PLACES) if name in os.environ)


def missing_key(spec: OperatorSpec, name: str) -> str:
    """Return what to do about a missing variable; empty if requests work without it."""
    if spec.settings.get("api_key_env") != name:
        texts = (spec.settings.get("base_url"), *(spec.settings.get("headers") or {}).values())
        if not any(f"${{{name}}}" in str(text) for text in texts):
            return ""
        return f"{spec.name} has ${{{name}}} in base_url= or headers=, which is not set in this process"
    return (
        f"{spec.name} needs the key of its endpoint in the variable {name}, which is not set in this "
        f"process. Set it before the notebook starts, or in a cell: import getpass, os; "
        f'os.environ["{name}"] = getpass.getpass(). mosaic.operators.llm("local") needs no key'
    )


def may_be_key(name: str) -> bool:
    """Return whether a variable name looks like a key: long, alphanumeric, without words, and not a set
    variable."""
    return len(name) >= 16 and "_" not in name and any(map(str.isdigit, name)) and name not in os.environ


def may_have_secret(url: str) -> bool:
    """Return whether a URL may contain a key: in its user name, password, query or path."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return True
    in_path = any(_looks_like_one(part) for part in parts.path.split("/"))
    return "@" in parts.netloc or bool(parts.query) or in_path


def secret_headers(headers: Any) -> Sequence[str]:
    """Return the names of headers whose value is a key, judged by name or value, and not a variable."""
    named_headers = headers if isinstance(headers, Mapping) else {}
    return [
        name
        for name, value in named_headers.items()
        if isinstance(value, str)
        and "${" not in value
        and (_SECRET_HEADER.search(name) or any(map(_looks_like_one, value.split())))
    ]


def _looks_like_one(text: str) -> bool:
    """Whether a string begins as keys of known endpoints do, or is as long and as mixed as one."""
    mixed = re.search(r"\d", text) and re.search(r"[A-Za-z]", text)
    return bool(_KEY.match(text) or (mixed and re.fullmatch(r"[A-Za-z0-9_]{32,}", text)))


def _sdk_finds_one() -> bool:
    """Whether Anthropic's SDK has a token, or a profile in its files, without a key."""
    if os.environ.get(_TOKEN):
        return True
    folder = Path(os.environ.get(_PLACES[0]) or Path.home() / ".config" / "anthropic")
    return any((folder / "configs").glob("*.json"))
