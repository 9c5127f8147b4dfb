"""Providers of language models known by name, and the makers of models recognized by theirs.

``providers.toml`` beside this module lists the providers; a file of the same name in the user's data folder
takes precedence. Keys stay in environment variables and the SDK's files: only their names are handled here,
never values. A vendor's key is not sent to the user's own server unless the user names it.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from mosaic_contract.language.settings import ANTHROPIC, KEY_VARIABLES, OPENAI

from mosaic_lab.documents import read_document
from mosaic_lab.operators.spec import OperatorSpec
from mosaic_lab.validation import Problems
from mosaic_lab.workers.home import home

_TOKEN = "ANTHROPIC_AUTH_TOKEN"
_KEY = re.compile(r"(sk|gsk|pk|hf|xai|r8|nvapi|pplx|key)[-_](?=[\w-]*\d)[\w-]{12,}|AIza[\w-]{20,}", re.A)
_SECRET_HEADER = re.compile(r"authorization|cookie|key$|token$|secret|password", re.I)
_SDK_LOCATIONS = ("ANTHROPIC_CONFIG_DIR", "ANTHROPIC_PROFILE")  # where Anthropic's SDK looks for its files
FILE = "providers.toml"


class Provider(NamedTuple):
    """A provider: its address, its API ("openai" or "anthropic"), and the variable with its key.

    ``maker`` is the only maker whose models it serves, empty for any. ``parameters`` maps request parameters
    to their names there, empty for unsupported ones.
    """

    base_url: str
    key: str | None = None
    api: str = OPENAI
    maker: str = ""
    parameters: Mapping[str, str] = {}

    @property
    def of_sdk(self) -> bool:
        """Whether this is the endpoint that the API's SDK calls by default."""
        return self == _BUNDLED.get(self.api)


def _read(tables: Mapping[str, Any], problems: Problems) -> dict[str, Provider]:
    """Return the providers in the tables of a file. Raises ConfigurationError."""
    by_name: dict[str, Provider] = {}
    for name, table in tables.items():
        try:
            by_name[name] = Provider(**table)
        except TypeError:
            fields = ", ".join(Provider._fields)
            problems.add(name, f"[{name}]: must be a table with base_url, and no keys other than {fields}")
            continue
        if problem := _problem(by_name[name]):
            problems.add(name, f"[{name}] {problem}")
    problems.check()
    return by_name


def _problem(provider: Provider) -> str:
    """Return why a provider in a file is not valid; empty if it is."""
    url, key = provider.base_url, provider.key
    if not isinstance(url, str) or not re.match(r"https?://[^/]", url):
        return f"base_url={url!r:.200}: must be an address"
    if key is not None and not (isinstance(key, str) and key.isidentifier()):
        return "key: must be the name of an environment variable, never the key itself"
    if provider.api not in (OPENAI, ANTHROPIC):
        return f"api={provider.api!r:.100}: must be {OPENAI!r} or {ANTHROPIC!r}"
    parameters = provider.parameters
    texts = [provider.maker, *(parameters.values() if isinstance(parameters, Mapping) else [None])]
    return "" if all(isinstance(text, str) for text in texts) else "maker and all parameters must be strings"


_BUNDLED = _read(tomllib.loads((Path(__file__).parent / FILE).read_text(encoding="utf-8")), Problems(FILE))


def providers() -> dict[str, Provider]:
    """Return all providers by name. Raises ConfigurationError if the user's own file is not valid."""
    path = home() / FILE
    if not path.is_file():
        return _BUNDLED
    tables, lines = read_document(path)
    return _BUNDLED | _read(tables, Problems(str(path), lines))


def unknown(name: object, names: Sequence[str]) -> str:
    """Return the error message for an unknown provider, with the nearest name and all names."""
    near = get_close_matches(str(name).lower(), names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"provider={name!r:.100}{hint}: must be one of {', '.join(names)}, or a table in {home() / FILE}"


_MAKERS = {  # by a pattern that matches the start of a model's name; the first match counts
    "gpt-oss": "",  # open weights, served by many
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


def misdirected(model: str, name: str, operator: str) -> str:
    """Return what to type for a model that the provider ``name`` does not serve at its own address; empty if
    it serves the model, or the maker is unknown. ``operator`` is the name of the factory in
    `mosaic_lab.operators`."""
    by_name = providers()
    serves = by_name[name].maker if name in by_name else ""
    makers = (maker for begins, maker in _MAKERS.items() if re.match(begins, model, re.I))
    maker = "" if "/" in model else next(makers, serves)
    if not serves or maker == serves:
        return ""
    line = f'mosaic.operators.{operator}("{model}", provider='
    its_own = next((name for name, provider in by_name.items() if maker and provider.maker == maker), None)
    step = f'type {line}"{its_own}")'
    if its_own is None:
        address = by_name["vllm"].base_url
        step = f'type {line}"openrouter"), {line}"vllm") for a server at {address}, or give base_url='
    fact = f"is a model of {maker}" if maker else "is the name of a model on other servers"
    return f'model="{model}" {fact}, and provider="{name}" serves models of {serves} only: {step}'


def key_variable(provider: str, base_url: str | None, named: str | None) -> str | None:
    """Return the name of the variable with the key; None if no key is sent, or if the SDK finds it."""
    if named is not None or base_url is not None:
        return named
    if provider == "anthropic" and "ANTHROPIC_API_KEY" not in os.environ and _sdk_has_credentials():
        return None
    return KEY_VARIABLES.get(provider)


def variables(provider: str, base_url: str | None, key: str | None) -> Sequence[str]:
    """Return the names of the variables from which the worker reads the key."""
    if key is not None:
        return (key,)
    if provider != "anthropic" or base_url is not None:
        return ()
    return tuple(name for name in (_TOKEN, *_SDK_LOCATIONS) if name in os.environ)


def missing_key(spec: OperatorSpec, name: str) -> str:
    """Return what to do about the unset variable ``name``; empty if requests work without it."""
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
    in_path = any(map(_looks_like_key, parts.path.split("/")))
    return "@" in parts.netloc or bool(parts.query) or in_path


def secret_headers(headers: Any) -> Sequence[str]:
    """Return the names of headers whose value appears to be a key, by its name or value, not a variable."""
    named_headers = headers if isinstance(headers, Mapping) else {}
    return [
        name
        for name, value in named_headers.items()
        if isinstance(value, str)
        and "${" not in value
        and (_SECRET_HEADER.search(name) or any(map(_looks_like_key, value.split())))
    ]


def _looks_like_key(text: str) -> bool:
    """Return whether a string starts like the keys of known endpoints, or is as long and mixed as a key."""
    mixed = re.search(r"\d", text) and re.search(r"[A-Za-z]", text)
    return bool(_KEY.match(text) or (mixed and re.fullmatch(r"[A-Za-z0-9_]{32,}", text)))


def _sdk_has_credentials() -> bool:
    """Return whether Anthropic's SDK has a token, or a profile in its files, and so needs no key."""
    if os.environ.get(_TOKEN):
        return True
    folder = Path(os.environ.get(_SDK_LOCATIONS[0]) or Path.home() / ".config" / "anthropic")
    return any((folder / "configs").glob("*.json"))
