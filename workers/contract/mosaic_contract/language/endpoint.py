"""Common code of calls to the two SDKs: the client, its limits, and the translation of its errors.

SDK errors become one of three: `EndpointRefused` (the settings are wrong, so repeating the call cannot help),
`EndpointFailed` (repeating cannot help, but no setting is wrong), `AttemptFailed` (repeating may help). Keys
are redacted here, in errors and in answers.
"""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import os
import re
import threading
from dataclasses import replace
from importlib import import_module
from typing import Any, Callable, Generator, Sequence

from mosaic_contract.errors import ConfigError, EndpointFailed, EndpointRefused
from mosaic_contract.language.exchange import Choices, Reply, TextForm, Turn, merge_turns
from mosaic_contract.language.http_bounds import bounded_client
from mosaic_contract.language.retries import AttemptFailed, required_wait
from mosaic_contract.language.settings import ModelSettings, expand_variables
from mosaic_contract.language.streamed_reply import StreamedReply, join_surrogates

_MAX_ERROR_CHARS = 500  # of an endpoint's text in an error
_MAX_SEARCHED_CHARS = 10_000  # of it that are examined
_MIN_PART_CHARS = 8  # of a key's prefix or suffix that are redacted
_NO_KEY = "none"  # for servers that need no key; the SDKs require one
_FILTERED = ("content_filter", "content_policy", "responsibleai")
_ADAPTABLE = (400, 405, 415, 422, 500, 501)  # status codes of servers for requests in an unknown form
_NO_SYSTEM = re.compile(
    r"\bsystem\b.{0,40}\b(role|message|prompt|instruction)|\brole\b.{0,40}\bsystem\b|developer instruction"
    r"|\b(only|should be|must be|expected)\b.{0,20}\buser\b.{0,20}\bassistant\b",
    re.I | re.S,
)
_NO_STREAM = re.compile(
    r"\bstream(ing)?\b.{0,60}(\bnot\b|n't|unsupported)|unsupported.{0,60}\bstream", re.I | re.S
)
_LIBRARIES = ("openai", "anthropic", "httpx2", "httpcore2", "httpx", "httpcore")


class Endpoint:
    """A model behind one of the SDKs, shared by the agents of a process. Thread-safe. Subclasses name the
    SDK's package and class, make a request, and read the events of its answer."""

    package = ""
    client_class = ""
    response_class = "", ""
    """The module and name of the SDK's type of an unstreamed answer."""
    response_key = ""
    """The key that every unstreamed answer has."""
    address_hint = ""
    """The hint in an error caused by the address rather than the model."""

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings
        self._key = _key_of(settings)
        self._base_url = None if settings.base_url is None else expand_variables(settings.base_url)
        self._headers = {name: expand_variables(value) for name, value in settings.headers}
        self._body = json.loads(settings.body)
        self._rejected: set[str] = set()  # request parameters that this model rejects
        self._lock = threading.Lock()
        self._client: Any = None
        threading.Thread(target=self._prepare, name="mosaic-sdk", daemon=True).start()

    def _prepare(self) -> None:
        """Import the SDK, so that the first call does not wait for it."""
        try:
            self._get_client()
        except Exception:  # the first call raises the same error
            logging.getLogger("mosaic_contract").debug("the SDK was not imported", exc_info=True)

    def complete(
        self, turns: Sequence[Turn], choices: Choices | None, seed: int, show: Callable[[str], None]
    ) -> Reply:
        """Make one attempt; free text is not restricted. `show` receives the text written so far. Raises
        `EndpointRefused`, `EndpointFailed` and `AttemptFailed`."""
        listed_choices = None if isinstance(choices, TextForm) else choices
        client = self._get_client()
        streamed = StreamedReply(self.settings.model, show, self._redact)
        while True:
            request = self._rename_parameters(self._request(self._adapt_roles(turns), listed_choices))
            try:
                with contextlib.closing(self._events(client, request, streamed)) as events:
                    for event in events:
                        self._read_event(event, streamed)
                        if streamed.too_long:
                            break
                if streamed.finished or streamed.too_long:
                    return streamed.reply()
                raise AttemptFailed("the stream ended before the answer did", partial=streamed.partial())
            except (EndpointRefused, EndpointFailed, AttemptFailed):
                raise
            except Exception as error:
                filtered = self._translate(error, streamed, request)
            if filtered:
                return Reply("", self.settings.model, faults=("refused",))

    def _events(
        self, client: Any, request: dict[str, Any], streamed: StreamedReply
    ) -> Generator[Any, None, None]:
        """Yield the events of a streamed answer, or the single answer of an endpoint that does not stream."""
        answer = self._create(client)(**request)
        if not request.get("stream"):
            yield self._response(answer) if isinstance(answer, str) else answer
            streamed.finished = True
            return
        with answer as stream:
            if stream.response.headers["Content-Type"] != "text/event-stream":
                yield self._response(stream.response.read().decode())
                streamed.finished = True
                self._rejected.add("stream")
                return
            yield from stream
            if stream.response.stream.tail.rstrip().endswith(b"[DONE]"):
                streamed.finished = True

    def _create(self, client: Any) -> Callable[..., Any]:
        """Return the SDK's method that makes a request."""
        raise NotImplementedError

    def _response(self, text: str) -> Any:
        """Return an unstreamed answer as an object of the SDK's type."""
        if is_web_page(text):
            page = self._error_text(_web_page_text(text))
            raise EndpointRefused(f"{self.settings.label}: {page}{self.address_hint}")
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            raise ValueError(f"an answer that is not JSON: {text}" if text.strip() else "no answer") from None
        if not isinstance(answer, dict):
            raise ValueError(f"an answer that is not a JSON object: {text}")
        if answer.get("error"):
            raise AttemptFailed(self._error_text(_reported_message(answer) or "an error without a message"))
        if self.response_key not in answer:
            raise ValueError(f"an answer without {self.response_key}: {text}")
        module, name = self.response_class
        return getattr(import_module(module), name).construct(**answer)

    def _adapt_roles(self, turns: Sequence[Turn]) -> Sequence[Turn]:
        """Return the turns in the roles accepted by this model."""
        if "system" in self._rejected:
            turns = [replace(turn, role="user") if turn.role == "system" else turn for turn in turns]
        return merge_turns(turns) if self._rejected & {"system", "consecutive turns"} else turns

    def _request(self, turns: Sequence[Turn], choices: Sequence[str] | None) -> dict[str, Any]:
        """Return the keywords of the SDK's call, without the parameters in `_rejected`."""
        raise NotImplementedError

    def _rename_parameters(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the request with parameters under the endpoint's names, without unsupported ones."""
        for name, new_name in self.settings.parameters:
            if name in request:
                value = request.pop(name)
                request["extra_body"] = {**request["extra_body"], **({new_name: value} if new_name else {})}
        return request

    def _message(self, turn: Turn) -> dict[str, Any]:
        """Return a turn in the API's form, with its images as PNG files in base64."""
        text = join_surrogates(turn.text)
        if not turn.images:
            return {"role": turn.role, "content": text}
        images = [self._image(base64.b64encode(image).decode()) for image in turn.images]
        return {"role": turn.role, "content": [*images, {"type": "text", "text": text}]}

    def _image(self, data: str) -> dict[str, Any]:
        raise NotImplementedError

    def _read_event(self, event: Any, streamed: StreamedReply) -> None:
        raise NotImplementedError

    def _reject(self, text: str, request: dict[str, Any]) -> bool:
        """Record which part of a request the model rejects, according to the text of its error. Return False
        if it is not an optional part."""
        has_system = "system" in request or any(
            message["role"] == "system" for message in request["messages"]
        )
        alternate = re.search(r"\balternat", text, re.I)
        alternating = "consecutive turns" in self._rejected  # then only the system's turn is left to reject
        refused = {
            "system": has_system and (_NO_SYSTEM.search(text) or (alternate and alternating)),
            "consecutive turns": alternate,
            "stream": "stream" in request and _NO_STREAM.search(text),
        }
        newly_refused = {name for name, rejects in refused.items() if rejects} - self._rejected
        self._rejected |= newly_refused
        return bool(newly_refused)

    def _get_client(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._make_client()
            return self._client

    def _make_client(self) -> Any:
        try:
            sdk = import_module(self.package)
        except ImportError as error:
            raise EndpointRefused(f"{self.package}'s SDK is not in this environment: {error}") from None
        for name in _LIBRARIES:  # their logs contain prompts and addresses
            logging.getLogger(name).setLevel(logging.WARNING)
        credentials = {} if self._key is None else {"api_key": self._key}
        timeout = self.settings.timeout
        try:
            return getattr(sdk, self.client_class)(
                base_url=self._base_url,
                max_retries=0,
                timeout=timeout,
                http_client=bounded_client(sdk, timeout),
                default_headers=self._headers,
                **credentials,
            )
        except Exception as error:
            raise EndpointRefused(self._error_text(f"no client for {self.settings.label}: {error}")) from None

    def _translate(self, error: Exception, streamed: StreamedReply, request: dict[str, Any]) -> bool:
        """Translate an SDK's error: raise the matching exception, unless the call can continue.

        Returns True for a request refused by a content filter, False for one to send again after a parameter
        that the model rejects was removed from `request`.
        """
        if isinstance(error.__cause__, EndpointRefused):  # from the HTTP client; Anthropic's SDK wraps it
            raise error.__cause__
        status = getattr(error, "status_code", None)
        label, text = self.settings.label, self._error_text(_message_of(error))
        filtered = status is not None and any(word in text.lower() for word in _FILTERED)
        if status in _ADAPTABLE and not filtered and self._reject(text, request):
            return False
        if status is None and "authentication" in text:  # raised by the SDK before it sends anything
            step = "name the variable that has the key, api_key_env="
            raise EndpointRefused(f"{label}: no credentials were found for a call ({text}): {step}") from None
        if status is None and not _is_transient(error):
            error_type = type(error).__name__
            raise EndpointFailed(f"{label}: the SDK failed on the answer ({error_type}: {text})") from error
        headers = getattr(getattr(error, "response", None), "headers", {})
        if status is None or status < 400 or status in (408, 409) or status >= 500:
            reason = f"status {status}: {text}" if status and status >= 400 else text
            raise AttemptFailed(reason, required_wait(headers, ""), streamed.partial()) from None
        if status == 402 or (status == 429 and "insufficient_quota" in text):
            raise EndpointFailed(
                f"{label}: the account has no credit left ({text}): add credit, and start again"
            ) from None
        if status == 429:
            raise AttemptFailed(
                f"rate limited ({text})", required_wait(headers, text), limited=True
            ) from None
        if status in (401, 403):
            variable = self.settings.api_key_env
            key, step = "a call without a key", "name the variable that has the key, api_key_env="
            if variable:
                key, step = f"the key in {variable}", f"set {variable} to a valid key, and start again"
            raise EndpointRefused(f"{label} refuses {key} (status {status}: {text}): {step}") from None
        if status == 404:
            address = self.settings.base_url and "model" not in text.lower()
            hint = self.address_hint if address else ": check model="
            raise EndpointRefused(f"{label} does not exist there (status 404: {text}){hint}") from None
        if filtered:
            return True
        raise EndpointRefused(f"{label} refuses the request (status {status}: {text})") from None

    def _cannot_restrict(self, text: str) -> str:
        return f"{self.settings.label} cannot restrict answers to the legal actions ({text}): leave that out"

    def _error_text(self, text: str) -> str:
        """Return an error's text for display: redacted, including short keys, then truncated."""
        return self._redact(text, shortest=1)[:_MAX_ERROR_CHARS]

    def _redact(self, text: str, shortest: int = _MIN_PART_CHARS) -> str:
        """Redact the key and the values of variables, whether given to the SDK or found by it, and any
        prefixes and suffixes of them repeated by an endpoint. Values shorter than `shortest` characters are
        kept: in an answer they may be a word of the game."""
        secrets = {self._key, *(getattr(self._client, name, None) for name in ("api_key", "auth_token"))}
        secrets |= {os.environ.get(name) for name in self.settings.variables}
        parts = {
            part
            for secret in (str(value) for value in secrets - {None, "", _NO_KEY})
            if len(secret) >= shortest
            and (secret[:_MIN_PART_CHARS] in text or secret[-_MIN_PART_CHARS:] in text)
            for length in range(min(len(secret), _MIN_PART_CHARS), len(secret) + 1)
            for part in (secret[:length], secret[-length:])
        }
        for part in sorted(parts, key=len, reverse=True):
            text = text.replace(part, "[key]")
        return text


def schema_of(choices: Sequence[str]) -> dict[str, Any]:
    """Return a JSON schema that allows exactly the choices, as {"answer": choice}."""
    return {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": list(choices)}},
        "required": ["answer"],
        "additionalProperties": False,
    }


def choice_in(text: str) -> str:
    """Return the choice in an answer that follows `schema_of`; the text itself for any other answer."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    answer = value.get("answer") if isinstance(value, dict) else None
    return answer if isinstance(answer, str) else text


def _is_transient(error: Exception) -> bool:
    """Return whether an error without a status was caused by the connection or a broken stream."""
    library = type(error).__module__.partition(".")[0]
    return library in _LIBRARIES or isinstance(error, (OSError, ValueError, RecursionError))


def _key_of(settings: ModelSettings) -> str | None:
    """Return the key from the environment; None leaves it to the SDK. Raises `ConfigError`."""
    if settings.api_key_env is None:
        return _NO_KEY if settings.base_url is not None or settings.provider == "openai" else None
    key = os.environ.get(settings.api_key_env)
    if not key:
        raise ConfigError(
            f"{settings.label} needs a key: set the environment variable {settings.api_key_env}"
        )
    return key


def _message_of(error: Exception) -> str:
    """Return an SDK's error in one line: the endpoint's message, if any."""
    message = _reported_message(getattr(error, "body", None))
    text = message or str(getattr(error, "message", "") or error)
    if is_web_page(text):
        return _web_page_text(text)
    if not message and error.__cause__ is not None:
        text = f"{text} {error.__cause__}"
    return " ".join(text[:_MAX_SEARCHED_CHARS].split()) or type(error).__name__


def _reported_message(body: Any) -> str:
    """Return the message in the body of an error, with its code; empty if there is none."""
    inner = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(inner, dict):
        return inner if isinstance(inner, str) else ""
    message = inner.get("message") or inner.get("detail") or inner.get("msg") or ""
    text = message if isinstance(message, str) else json.dumps(message)
    code = inner.get("code") or inner.get("type")
    return f"{text} [{code}]" if text and code and str(code) not in text else text


def is_web_page(text: str) -> bool:
    return re.match(r"\s*<(!doctype|html|head|\?xml|!--)", text, re.I) is not None


def _web_page_text(text: str) -> str:
    title = re.search(r"<title[^>]*>\s*(.{1,200}?)\s*</title>", text[:_MAX_SEARCHED_CHARS], re.I | re.S)
    return "the address answers with a web page" + (f' ("{" ".join(title[1].split())}")' if title else "")
