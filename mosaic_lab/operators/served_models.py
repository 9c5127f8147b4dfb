"""The models that an endpoint of language models lists."""

from __future__ import annotations

import http.client
import json
import os
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from mosaic_contract.language.settings import ANTHROPIC

from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.operators.providers import Provider, providers, unknown
from mosaic_lab.sanitize import sanitize
from mosaic_lab.serving import Server
from mosaic_lab.validation import checked

_MAX_BYTES = 16 << 20
_LONGEST_ERROR = 200  # characters


@checked
def models(provider: str | Server, *, timeout: float = 10.0) -> list[str]:
    """Return the names of the models that a provider or a server lists, as `mosaic_lab.operators.llm` takes
    them.

    Args:
        provider: a provider's name, such as "openrouter", the address of a server with OpenAI's API, such as
            "http://localhost:8000/v1", or a server of `Lab.serve`. The key of a provider is sent if its
            variable is set.
        timeout: seconds for the whole answer.

    Raises:
        ConfigurationError: there is no such provider, or it refuses the key.
        MosaicError: the endpoint does not answer in time, or not with a list of models.
    """
    if isinstance(provider, Server):
        provider = provider.address
    if provider.startswith(("http://", "https://")):
        at = Provider(provider)
    elif (known := providers().get(provider)) is None:
        raise ConfigurationError(unknown(provider, [*providers()]))
    else:
        at = known
    answer = _answer(at, timeout)
    listed = answer.get("data") if isinstance(answer, Mapping) else None
    names = [entry.get("id") for entry in listed or () if isinstance(entry, Mapping)]
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in names):
        said = sanitize(json.dumps(answer))[:_LONGEST_ERROR]
        raise MosaicError(f"{at.base_url} did not answer with a list of models: {said}")
    return [sanitize(str(name).removeprefix("models/")) for name in names]  # Google's prefix


def _answer(provider: Provider, timeout: float) -> Any:
    """Return the JSON answer, requested in a thread: the client's own timeout applies between bytes."""
    result: list[Any] = []

    def request() -> None:
        try:
            result.append(_requested(provider, timeout))
        except Exception as error:
            result.append(error)

    thread = threading.Thread(target=request, name="mosaic-models", daemon=True)
    thread.start()
    thread.join(timeout)
    if not result:
        raise MosaicError(f"{provider.base_url} did not answer within {timeout:g} s (raise timeout=)")
    if isinstance(result[0], Exception):
        raise result[0]
    return result[0]


def _requested(provider: Provider, timeout: float) -> Any:
    key = os.environ.get(provider.key or "", "")
    if not key.isprintable():
        raise ConfigurationError(f"{provider.key} has a line break or control character: set it without")
    of_anthropic = provider.api == ANTHROPIC
    url = provider.base_url.rstrip("/") + ("/v1/models?limit=1000" if of_anthropic else "/models")
    headers = {"Accept": "application/json", "User-Agent": "mosaic-lab"}
    if of_anthropic:
        headers |= {"anthropic-version": "2023-06-01", "x-api-key": key}
    elif key:
        headers["Authorization"] = f"Bearer {key}"
    opener = urllib.request.build_opener(_NoRedirects)  # the target would be sent the key
    try:
        with opener.open(urllib.request.Request(url, headers=headers), timeout=timeout) as response:
            return json.loads(response.read(_MAX_BYTES))
    except urllib.error.HTTPError as error:
        reason = error.read(1000).decode("utf-8", "replace")
        reason = sanitize(reason.replace(key, "[key]") if key else reason)[:_LONGEST_ERROR]
        if error.code in (401, 403):
            step = f"set {provider.key} to a valid key" if provider.key else "it needs a key"
            refusal = f"{url} refuses the request (status {error.code}: {reason}): {step}"
            raise ConfigurationError(refusal) from None
        raise MosaicError(f"{url} answers with status {error.code}: {reason}") from None
    except ValueError as error:
        raise MosaicError(f"{url} did not answer with JSON: {error}") from None
    except (OSError, http.client.HTTPException) as error:
        raise MosaicError(f"{url} cannot be reached: {getattr(error, 'reason', error)}") from None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None
