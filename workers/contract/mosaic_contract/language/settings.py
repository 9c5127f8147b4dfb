"""The settings of a language model in an operator's `init_agent`, validated."""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Mapping

from mosaic_contract.errors import ConfigError

OPENAI, ANTHROPIC, LOCAL = "openai", "anthropic", "local"
PROVIDERS = (OPENAI, ANTHROPIC, LOCAL)
BUNDLED = "local"
"""The name of the model bundled with the environments of language models."""

KEY_VARIABLES = {OPENAI: "OPENAI_API_KEY", ANTHROPIC: "ANTHROPIC_API_KEY"}
"""The environment variable of each provider's key."""

_DEFAULT_MAX_TOKENS = {OPENAI: 2_048, ANTHROPIC: 2_048, LOCAL: 256}
_BUNDLED_MAX_TOKENS = 48  # for the bundled model, which does not stop by itself
_DETAILS = ("auto", "low", "high")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""The values of `reasoning_effort`."""
_EFFORTS_OF_ANTHROPIC = EFFORTS[2:]
_MAX_STOPS, _MAX_STOP_CHARS = 4, 200  # strings, characters
_MAX_TOKENS = 1_000_000
_MAX_RETRIES = 20
_MAX_CALLS = 1_000  # concurrent calls
_DAY_SECONDS = 86_400.0
_MAX_HEADERS = 50
_MAX_TEXT = 20_000  # characters of headers and body
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_OWN_SETTINGS = {  # request keys that have their own setting
    "model": "model",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "temperature": "temperature",
    "response_format": "structured",
    "output_config": "structured",
}
_OR_IN_BODY = {  # request keys that are either a setting or part of the body
    **{name: name for name in ("top_p", "seed", "stop", "reasoning_effort")},
    "stop_sequences": "stop",
}
_IN_PROCESS = 'provider="local" runs the model in its own process'
_PROMPT = ("messages", "system", "stream", "stream_options")


@dataclass(frozen=True)
class ModelSettings:
    """The model and the options of its calls.

    model: its name at the endpoint; for the provider "local", "local" or the path of a GGUF file.
    provider: "openai" (and all compatible APIs), "anthropic" or "local".
    base_url: the address of a server other than the provider's; for OpenAI's API it ends in /v1.
    api_key_env: the environment variable with the key; None sends a placeholder to a `base_url`, and lets
        Anthropic's SDK find credentials itself.
    temperature: None is not sent. `temperature_fixed`: set by the user, so a model that rejects it is an
        error; otherwise 0, and omitted for a model that rejects it.
    top_p: share of the probability mass that tokens are drawn from; None is not sent.
    max_tokens: maximum length of an answer, including thoughts.
    stop: strings at which an answer ends.
    reasoning_effort: one of `EFFORTS`; None is not sent.
    timeout: seconds for one attempt, from the request to the last byte.
    retries: attempts after the first.
    concurrency: concurrent calls, over all operators of an evaluation.
    seed: sent with requests if the endpoint accepts one; None: not sent (the local model uses its episode's).
    detail: of images, "auto", "low" or "high" (OpenAI only).
    prices: USD per million tokens, {"input", "output", "cached"}; overrides the table.
    headers: additional headers of each request. `${NAME}` in a value, as in `base_url`, is replaced by an
        environment variable of the process.
    body: additional keys of each request, as a JSON object.
    parameters: request parameters with another name at this endpoint; empty for those that it does not
        support.
    """

    model: str
    provider: str = OPENAI
    base_url: str | None = None
    api_key_env: str | None = None
    temperature: float | None = 0.0
    temperature_fixed: bool = False
    top_p: float | None = None
    max_tokens: int = 2_048
    stop: tuple[str, ...] = ()
    reasoning_effort: str | None = None
    timeout: float = 60.0
    retries: int = 4
    concurrency: int = 64
    seed: int | None = None
    detail: str = "auto"
    prices: tuple[tuple[str, float], ...] | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: str = "{}"
    parameters: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, settings: Mapping[str, Any]) -> ModelSettings:
        """Read an operator's settings; unrelated keys are ignored. Raises `ConfigError` with all problems."""
        problems: list[str] = []
        names = {field.name for field in fields(cls)} - {"temperature_fixed"}
        values = {name: settings[name] for name in names & settings.keys()}
        for name in names - {"temperature", "api_key_env", "base_url", "seed", "prices"}:
            if values.get(name) is None:
                values.pop(name, None)
        provider = values.setdefault("provider", OPENAI)
        if provider not in PROVIDERS:
            problems.append(f"provider={provider!r:.100}: must be one of {', '.join(PROVIDERS)}")
            provider = OPENAI
        values.setdefault("max_tokens", default_max_tokens(provider, values.get("model")))
        if "base_url" not in values or values["base_url"] is None:
            values.setdefault("api_key_env", KEY_VARIABLES.get(provider))
        values["temperature_fixed"] = values.get("temperature") is not None
        _check_texts(values, problems)
        _check_numbers(values, problems)
        _check_api(values, problems)
        values["stop"] = _stop(values.get("stop", ()), problems)
        values["prices"] = _prices(values.get("prices"), problems)
        values["headers"] = _headers(values.get("headers", {}), problems)
        values["body"] = _body(values, problems)
        values["parameters"] = _parameters(values.get("parameters", {}), problems)
        if provider == LOCAL and (values["headers"] or values["body"] != "{}" or values["parameters"]):
            problems.append(f"headers=, body= and parameters= are for a server; {_IN_PROCESS}")
        if problems:
            raise ConfigError(problems)
        return cls(**values)

    @property
    def variables(self) -> list[str]:
        """The names of the environment variables in `base_url` and `headers`."""
        return _VARIABLE.findall(" ".join((self.base_url or "", *(value for _, value in self.headers))))

    @property
    def label(self) -> str:
        """The endpoint's name, for messages."""
        if self.provider == LOCAL:
            return f"the local model {Path(self.model).name}"
        return f"{self.model} at {self.base_url}" if self.base_url else f"{self.provider}'s {self.model}"


def expand_variables(text: str) -> str:
    """Return a string with its variables, `${NAME}`, replaced by their values. Raises `ConfigError` for a
    variable that is not set."""

    def value(match: re.Match[str]) -> str:
        if not os.environ.get(match[1]):
            raise ConfigError(f"{match[0]} in base_url= or headers=: set the environment variable {match[1]}")
        return os.environ[match[1]]

    return _VARIABLE.sub(value, text)


def default_max_tokens(provider: str, model: Any) -> int:
    """Return the default maximum number of tokens in an answer of a model."""
    return _BUNDLED_MAX_TOKENS if provider == LOCAL and model == BUNDLED else _DEFAULT_MAX_TOKENS[provider]


def _check_texts(values: Mapping[str, Any], problems: list[str]) -> None:
    if not isinstance(values.get("model"), str) or not values["model"]:
        problems.append(f"model={values.get('model')!r:.100}: must be the model's name")
    url = values.get("base_url")
    if url is not None and not (isinstance(url, str) and url.startswith(("http://", "https://"))):
        problems.append(f"base_url={url!r:.200}: must be an address that begins with http:// or https://")
    if url is not None and values["provider"] == LOCAL:
        problems.append(f"base_url= is for a server; {_IN_PROCESS}")
    variable = values.get("api_key_env")
    if variable is not None and not (isinstance(variable, str) and variable.isidentifier()):
        problems.append("api_key_env is the name of an environment variable, never the key itself")
    if values.get("detail", "auto") not in _DETAILS:
        problems.append(f"detail={values['detail']!r:.100}: must be one of {', '.join(_DETAILS)}")


def _check_numbers(values: Mapping[str, Any], problems: list[str]) -> None:
    limits: dict[str, tuple[float, float, bool]] = {  # minimum, maximum, whether an integer
        "temperature": (0, 2, False),
        "top_p": (0, 1, False),
        "max_tokens": (1, _MAX_TOKENS, True),
        "timeout": (0.001, _DAY_SECONDS, False),
        "retries": (0, _MAX_RETRIES, True),
        "concurrency": (1, _MAX_CALLS, True),
        "seed": (0, 2**63 - 1, True),
    }
    for name, (low, high, is_integer) in limits.items():
        value, type_text = values.get(name), "an integer" if is_integer else "a number"
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int if is_integer else (int, float)):
            problems.append(f"{name}={value!r:.100}: must be {type_text}")
        elif not low <= value <= high:
            problems.append(f"{name}={value!r:.100}: must be {type_text} from {low:g} to {high:g}")


def _check_api(values: Mapping[str, Any], problems: list[str]) -> None:
    """Check the settings that not every API has."""
    provider, effort = values["provider"], values.get("reasoning_effort")
    if effort is not None and provider == LOCAL:
        problems.append(f"reasoning_effort= is for a server; {_IN_PROCESS}")
    elif effort is not None:
        efforts = _EFFORTS_OF_ANTHROPIC if provider == ANTHROPIC else EFFORTS
        if effort not in efforts:
            problems.append(f"reasoning_effort={effort!r:.100}: must be one of {', '.join(efforts)}")
    if values.get("seed") is not None and provider == ANTHROPIC:
        problems.append(f"seed={values['seed']!r:.100}: Anthropic's API has no seed: leave it out")


def _stop(stop: Any, problems: list[str]) -> tuple[str, ...]:
    """Return the strings at which an answer ends, given as one or as several."""
    texts = [stop] if isinstance(stop, str) else stop
    if not isinstance(texts, (list, tuple)) or not all(
        isinstance(text, str) and 0 < len(text) <= _MAX_STOP_CHARS for text in texts
    ):
        problems.append(f"stop={stop!r:.100}: must be strings of 1 to {_MAX_STOP_CHARS} characters")
        return ()
    if len(texts) > _MAX_STOPS:
        problems.append(f"stop: must be at most {_MAX_STOPS} strings, not {len(texts)}")
    return tuple(texts)


def _prices(prices: Any, problems: list[str]) -> tuple[tuple[str, float], ...] | None:
    """Return the user's prices in a comparable form; None if there are none."""
    if prices is None:
        return None
    required = 'prices={"input": USD per million tokens, "output": …}'
    if not isinstance(prices, Mapping) or not {"input", "output"} <= prices.keys() <= {
        "input",
        "output",
        "cached",
    }:
        problems.append(f'prices={prices!r:.200}: give {required}, "cached" as well if it differs')
        return None
    for name, value in prices.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
            problems.append(f"prices[{name!r}]={value!r:.100}: must be a number ≥ 0, USD per million tokens")
            return None
    return tuple(sorted((name, float(value)) for name, value in prices.items()))


def _headers(headers: Any, problems: list[str]) -> tuple[tuple[str, str], ...]:
    if not isinstance(headers, Mapping) or len(headers) > _MAX_HEADERS:
        problems.append(f'headers={headers!r:.100}: must be at most {_MAX_HEADERS}, {{"name": "value"}}')
        return ()
    for name, value in headers.items():
        if not isinstance(name, str) or not _HEADER.fullmatch(name):
            problems.append(f"headers: {name!r:.100} is not the name of a header")
        elif not isinstance(value, str) or not value.isprintable() or not value.isascii():
            problems.append(f"headers[{name!r}]: must be a string of printable ASCII characters")
        elif len(value) > _MAX_TEXT:
            problems.append(f"headers[{name!r}]: must have at most {_MAX_TEXT:,} characters")
    return tuple(headers.items())


def _body(values: Mapping[str, Any], problems: list[str]) -> str:
    body = values.get("body", {})
    try:
        text = json.dumps(body, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        problems.append(f"body: it cannot be written as JSON ({error})")
        return "{}"
    if not isinstance(body, Mapping) or len(text) > _MAX_TEXT:
        problems.append(
            f'body={text:.100}: must be {{"name": value}}, of at most {_MAX_TEXT:,} characters as JSON'
        )
        return "{}"
    for name in sorted(body.keys() & _OWN_SETTINGS.keys()):
        problems.append(f"body[{name!r}]: give {_OWN_SETTINGS[name]}= itself")
    for name in sorted(body.keys() & _OR_IN_BODY.keys()):
        if values.get(_OR_IN_BODY[name]) not in (None, ()):
            problems.append(f"body[{name!r}] and {_OR_IN_BODY[name]}=: give one of the two")
    for name in sorted(body.keys() & set(_PROMPT)):
        problems.append(f"body[{name!r}] is set by the operator itself: leave it out")
    return text


def _parameters(parameters: Any, problems: list[str]) -> tuple[tuple[str, str], ...]:
    if not isinstance(parameters, Mapping) or not all(
        isinstance(name, str) and isinstance(new_name, str) for name, new_name in parameters.items()
    ):
        problems.append(f'parameters={parameters!r:.200}: must be {{"name": "other name, or empty"}}')
        return ()
    return tuple(parameters.items())
