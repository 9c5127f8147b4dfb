"""The common part of calls to the two SDKs: the client, its limits, and the meaning of its errors.

SDK errors become one of three: `EndpointRefused` (repeating the call cannot help), `EndpointFailed` (nor can
it, and no setting is wrong), `AttemptFailed` (it may). No text of theirs leaves with the key in it.
"""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import os
import threading
import time
from importlib import import_module
from typing import Any, Callable, Generator, Iterator, Sequence

from mosaic_contract.errors import ConfigError, EndpointFailed, EndpointRefused
from mosaic_contract.language.exchange import Reply, Turn
from mosaic_contract.language.retries import AttemptFailed, retry_after
from mosaic_contract.language.settings import ModelSettings

ANSWER_LIMIT = 64_000
"""The most characters of an answer, and of its thoughts, that are read."""

_MOST_BYTES = 16 << 20  # of one response, whatever is in it
_NO_KEY = "none"  # for servers that want no key; the SDKs insist on one
_FILTERED = ("content_filter", "content_policy", "responsibleai")
_LIBRARIES = ("openai", "anthropic", "httpx2", "httpcore2", "httpx", "httpcore")


class Endpoint:
    """A model behind one of the SDKs; the agents of a process share it. Thread-safe.

    Subclasses name the SDK's package and its class, and make one attempt in `_attempt`.
    """

    package = ""
    client_class = ""
    address_hint = ""
    """What to look at where the path is not found, rather than the model."""

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings
        self._key = _key_of(settings)
        self._left_out: set[str] = set()  # parameters that this model refuses
        self._lock = threading.Lock()
        self._client: Any = None

    def warm(self) -> None:
        """Import the SDK in another thread, so that the first call need not wait for it."""
        threading.Thread(target=self._warm, name="mosaic-sdk", daemon=True).start()

    def _warm(self) -> None:
        try:
            self._connected()
        except Exception:  # the first call meets the same error, and raises it
            logging.getLogger("mosaic_contract").debug("the SDK was not imported", exc_info=True)

    def complete(
        self, turns: Sequence[Turn], choices: Sequence[str] | None, seed: int, show: Callable[[str], None]
    ) -> Reply:
        """Make one attempt; `show` is given what has been written so far. Raises `EndpointRefused`,
        `EndpointFailed` and `AttemptFailed`."""
        client = self._connected()
        writing = Writing(self.settings.model, show)
        while True:
            request = self._request(turns, choices)
            try:
                with contextlib.closing(self._events(client, request)) as events:
                    for event in events:
                        self._take(event, writing)
                        if writing.too_long:
                            break
                if writing.finished or writing.too_long:
                    return writing.reply()
                raise AttemptFailed("the stream ended before the answer did", partial=writing.partial())
            except (EndpointRefused, EndpointFailed, AttemptFailed):
                raise
            except Exception as error:
                filtered = self._judge(error, writing, request)
            if filtered:
                return Reply("", self.settings.model, faults=("refused",))

    def _request(self, turns: Sequence[Turn], choices: Sequence[str] | None) -> dict[str, Any]:
        """The keywords of the SDK's call, without `_left_out`."""
        raise NotImplementedError

    def _message(self, turn: Turn) -> dict[str, Any]:
        """A turn with its images as PNG files in base64, in the API's form."""
        if not turn.images:
            return {"role": turn.role, "content": turn.text}
        images = [self._image(base64.b64encode(image).decode()) for image in turn.images]
        return {"role": turn.role, "content": [*images, {"type": "text", "text": turn.text}]}

    def _image(self, data: str) -> dict[str, Any]:
        raise NotImplementedError

    def _events(self, client: Any, request: dict[str, Any]) -> Generator[Any, None, None]:
        raise NotImplementedError

    def _take(self, event: Any, writing: Writing) -> None:
        raise NotImplementedError

    def _leave_out(self, text: str, request: dict[str, Any]) -> bool:
        """Take note of what the model refuses of a request, as this text of its error says; False where that
        is nothing that the call can do without."""
        raise NotImplementedError

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def _connect(self) -> Any:
        try:
            sdk = import_module(self.package)
        except ImportError as error:
            raise EndpointRefused(f"{self.package}'s SDK is not in this environment: {error}") from None
        for name in _LIBRARIES:  # what they log are prompts and addresses
            logging.getLogger(name).setLevel(logging.WARNING)
        given = {} if self._key is None else {"api_key": self._key}
        timeout = self.settings.timeout
        http = _bounded_client(sdk, timeout)
        try:
            return getattr(sdk, self.client_class)(
                base_url=self.settings.base_url, max_retries=0, timeout=timeout, http_client=http, **given
            )
        except Exception as error:
            raise EndpointRefused(self._scrubbed(f"no client for {self.settings.where}: {error}")) from None

    def _judge(self, error: Exception, writing: Writing, request: dict[str, Any]) -> bool:
        """Raise what an SDK's error means. Returns, where the call can go on: True for a request that a
        content filter has refused, False for one that is to be made again in other words."""
        status = getattr(error, "status_code", None)
        where, text = self.settings.where, self._scrubbed(_message_of(error))
        if status is None and "authentication" in text:  # raised by the SDK before anything is sent
            step = "name the variable that has the key, api_key_env="
            raise EndpointRefused(f"{where}: no credentials were found for a call ({text}): {step}") from None
        if status is None and not _may_pass(error):
            kind = type(error).__name__
            raise EndpointFailed(f"{where}: the SDK failed on the answer ({kind}: {text})") from error
        if status is None or status < 400 or status in (408, 409) or status >= 500:
            said = f"status {status}: {text}" if status and status >= 400 else text
            raise AttemptFailed(said, partial=writing.partial()) from None
        if status == 402 or (status == 429 and "insufficient_quota" in text):
            raise EndpointFailed(
                f"{where}: the account has no credit left ({text}): add credit, and start again"
            ) from None
        if status == 429:
            headers = getattr(getattr(error, "response", None), "headers", {})
            raise AttemptFailed(f"rate limited ({text})", retry_after(headers)) from None
        if status in (401, 403):
            variable = self.settings.api_key_env
            key, step = "a call without a key", "name the variable that has the key, api_key_env="
            if variable:
                key, step = f"the key in {variable}", f"set {variable} to a valid key, and start again"
            raise EndpointRefused(f"{where} refuses {key} (status {status}): {step}") from None
        if status == 404:
            address = self.settings.base_url and "model" not in text.lower()
            hint = self.address_hint if address else ": check model="
            raise EndpointRefused(f"{where} does not exist there (status 404: {text}){hint}") from None
        if any(word in text.lower() for word in _FILTERED):
            return True
        if status in (400, 422) and self._leave_out(text, request):
            return False
        raise EndpointRefused(f"{where} refuses the request (status {status}: {text})") from None

    def _cannot_restrict(self, text: str) -> str:
        return f"{self.settings.where} cannot restrict answers to the legal actions ({text}): leave that out"

    def _scrubbed(self, text: str) -> str:
        """The text without the key, whether it was given to the SDK or the SDK has found it."""
        found = (getattr(self._client, name, None) for name in ("api_key", "auth_token"))
        for key in {self._key, *found} - {None, "", _NO_KEY}:
            text = text.replace(str(key), "[key]")
        return text


class Writing:
    """An answer while it comes."""

    def __init__(self, model: str, show: Callable[[str], None]) -> None:
        self.model = model
        self.text = ""
        self.reasoning = ""
        self.faults: list[str] = []
        self.finished = False
        self.too_long = False
        self.usage: dict[str, Any] = {}  # fields of a `Reply`
        self._show = show

    def add(self, text: str | None, reasoning: str | None = None) -> None:
        if not text and not reasoning:
            return
        self.text += text or ""
        self.reasoning += reasoning or ""
        if len(self.text) > ANSWER_LIMIT or len(self.reasoning) > ANSWER_LIMIT:
            self.text, self.reasoning = self.text[:ANSWER_LIMIT], self.reasoning[:ANSWER_LIMIT]
            self.too_long = True
            self.fault("too_long")
        self._show(
            f"{self.reasoning}\n\n{self.text}"
            if self.reasoning and self.text
            else self.reasoning or self.text
        )

    def fault(self, name: str) -> None:
        if name not in self.faults:
            self.faults.append(name)

    def reply(self) -> Reply:
        """Return what has come."""
        text, thoughts = split_thoughts(self.text)
        reasoning = "\n".join(filter(None, (self.reasoning, thoughts)))
        return Reply(text, self.model, reasoning, tuple(self.faults), **self.usage)

    def partial(self) -> Reply | None:
        """Return what has come, None where nothing has."""
        return self.reply() if self.text or self.reasoning else None


def split_thoughts(text: str) -> tuple[str, str]:
    """Split an answer that begins with <think>…</think> into the answer and the thoughts."""
    stripped = text.lstrip()
    if not stripped.startswith("<think>"):
        return text, ""
    thoughts, _, answer = stripped[len("<think>") :].partition("</think>")
    return answer.lstrip(), thoughts.strip()


def schema_of(choices: Sequence[str]) -> dict[str, Any]:
    """Return a JSON schema that allows one of the choices, as {"answer": choice}."""
    return {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": list(choices)}},
        "required": ["answer"],
        "additionalProperties": False,
    }


def chosen(text: str) -> str:
    """Return the choice in an answer that followed `schema_of`, or the text itself where it did not."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    answer = value.get("answer") if isinstance(value, dict) else None
    return answer if isinstance(answer, str) else text


def _may_pass(error: Exception) -> bool:
    """Return whether an error without a status comes from the connection or a broken stream."""
    library = type(error).__module__.partition(".")[0]
    return library in _LIBRARIES or isinstance(error, (OSError, ValueError))


def _key_of(settings: ModelSettings) -> str | None:
    """The key from the environment; None leaves it to the SDK. Raises `ConfigError`."""
    if settings.api_key_env is None:
        return _NO_KEY if settings.base_url is not None or settings.provider == "openai" else None
    key = os.environ.get(settings.api_key_env)
    if not key:
        raise ConfigError(
            f"{settings.where} needs a key: set the environment variable {settings.api_key_env}"
        )
    return key


def _message_of(error: Exception) -> str:
    """An SDK's error in a line of at most 500 characters: what the endpoint says, where it says something."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    text = str(getattr(error, "message", "") or error)
    if isinstance(inner, dict) and inner.get("message"):
        text = str(inner["message"])
        code = inner.get("code") or inner.get("type")
        text = f"{text} [{code}]" if code and str(code) not in text else text
    elif error.__cause__ is not None:
        text = f"{text} {error.__cause__}"
    line = " ".join(text.split())[:500]
    return line or type(error).__name__


def _bounded_client(sdk: Any, timeout: float) -> Any:
    """The SDK's HTTP client, with an end to how long and how large a response may be: a server that sends a
    comment now and then would never run into the SDK's own timeout, which counts from byte to byte."""
    http = import_module("httpx2")

    class Bounded(http.SyncByteStream):  # type: ignore[misc, name-defined]
        def __init__(self, stream: Any, deadline: float) -> None:
            self._stream, self._deadline = stream, deadline

        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for piece in self._stream:
                size += len(piece)
                if time.monotonic() > self._deadline:
                    raise http.ReadTimeout(f"no whole answer within {timeout:g} s")
                if size > _MOST_BYTES:
                    raise http.ReadError(f"a response of more than {_MOST_BYTES >> 20} MiB")
                yield piece

        def close(self) -> None:
            self._stream.close()

    def stamp(request: Any) -> None:
        request.extensions["mosaic_deadline"] = time.monotonic() + timeout

    def bound(response: Any) -> None:
        response.stream = Bounded(response.stream, response.request.extensions["mosaic_deadline"])

    make = getattr(sdk, "DefaultHttpx2Client", None) or sdk.DefaultHttpxClient
    return make(timeout=timeout, event_hooks={"request": [stamp], "response": [bound]})
