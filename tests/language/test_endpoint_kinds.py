"""Endpoints in practice: responses of servers and proxies that deviate from the SDKs' own format."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from language.language_calls import PROMPT, PROVIDERS, model, parse, recording_in
from language.language_fixtures import FakeServer
from mosaic_contract.errors import EndpointFailed, EndpointRefused
from mosaic_contract.language import Parsed, Turn, retries

pytestmark = pytest.mark.usefixtures("server_key")


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds between attempts, recorded without waiting."""
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found


@pytest.mark.parametrize(
    "kind",
    ["parts+think=hm+", "plain+think=hm+", "plain+parts+think=hm+", "gzip+think=hm+", "no-finish+think=hm+",
     "null-choices+think=hm+", "refuses=stream+think=hm+", "refuses=system+think=hm+", "halves+think=hm+",
     "plain+type=text/event-stream+think=hm+", "plain+type=text/plain+think=hm+", "bom+think=hm+",
     "plain+bom+think=hm+", "type=application/json+think=hm+", "strings+think=hm+",
     "bytes+think=hm+"],
)  # fmt: skip
@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_answer_in_another_form_is_an_answer(server: FakeServer, provider: str, kind: str) -> None:
    one = model(server, f"{kind}say=go forward", provider)
    for _ in range(2):
        exchange = one.ask(PROMPT, parse)
        assert (exchange.action, exchange.reasoning, exchange.faults, exchange.retries) == (1, "hm", (), 0)
    requests = server.requests(one.settings.model)
    assert len(requests) == 2 + kind.startswith("refuses"), "a refused feature is not sent again"
    streams = not any(word in kind for word in ("plain", "gzip", "stream"))
    assert requests[-1]["stream"] is streams, "streaming is not requested again either"
    if "system" in kind:
        assert requests[-1]["body"]["messages"] == [
            {"role": "user", "content": "You play.\n\nActions: go forward, turn left"}
        ]


@pytest.mark.parametrize(
    "refusal",
    [
        "says=Only user and assistant roles are supported!+status=500",
        "says=messages.0.role: Input should be 'user' or 'assistant'+status=422+detail",
        "says=Developer instruction is not enabled for this model",
        "says=Conversation roles must alternate user/assistant/user/…",
    ],
)
def test_a_model_without_a_system_role_gets_its_text_before_the_first_turn(
    server: FakeServer, refusal: str
) -> None:
    one = model(server, f"refuses=system+{refusal}+say=go forward")
    assert [one.ask(PROMPT, parse).action for _ in range(2)] == [1, 1]
    assert [turn["role"] for turn in server.requests(one.settings.model)[-1]["body"]["messages"]] == ["user"]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_json_that_is_no_answer_is_a_failure_with_its_text(server: FakeServer, provider: str) -> None:
    with pytest.raises(
        EndpointFailed, match=r'an answer without (choices|content): \{"detail": "Not Found"\}'
    ):
        model(server, "json", provider, retries=0).ask(PROMPT, parse)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_json_in_thousands_of_levels_is_no_answer(server: FakeServer, provider: str) -> None:
    with pytest.raises(EndpointFailed, match=r"an answer that is not JSON: \[\[\["):
        model(server, "deep", provider, retries=0).ask(PROMPT, parse)


def test_parameters_have_the_endpoints_names(server: FakeServer) -> None:
    names = {"max_tokens": "max_completion_tokens", "stream_options": "", "temperature": "heat"}
    one = model(server, "say=go forward", parameters=names)
    assert one.ask(PROMPT, parse).action == 1
    body = server.requests(one.settings.model)[-1]["body"]
    assert (body["max_completion_tokens"], body["heat"]) == (one.settings.max_tokens, 0)
    assert not {"max_tokens", "stream_options", "temperature"} & set(body)


def test_turns_of_one_role_are_joined_where_roles_must_alternate(server: FakeServer) -> None:
    one = model(server, "refuses=consecutive+say=go forward")
    assert one.ask([*PROMPT, Turn("user", "Now.")], parse).action == 1
    roles = [turn["role"] for turn in server.requests(one.settings.model)[-1]["body"]["messages"]]
    assert roles == ["system", "user"]


@pytest.mark.parametrize(
    ("said", "thoughts"),
    [
        ("turn left? no\n</think>\ngo forward", "turn left? no"),
        ("<thinking>turn left</thinking>go forward", "turn left"),
        ("Well. <think>turn left</think> go forward", "Well. turn left"),
        ("[THINK]turn left[/THINK]go forward", "turn left"),
        ("◁think▷turn left◁/think▷go forward", "turn left"),
        (
            "<|channel|>analysis<|message|>turn left<|end|>"
            "<|start|>assistant<|channel|>final<|message|>go forward",
            "turn left",
        ),
        ("<unused94>thought\nturn left<unused95>go forward", "turn left"),
        ("go forward<think>turn left", "turn left"),
    ],
)
def test_thoughts_in_tags_are_no_part_of_the_answer(server: FakeServer, said: str, thoughts: str) -> None:
    exchange = model(server, f"say={said}").ask(PROMPT, parse)
    assert (exchange.action, exchange.answer, exchange.reasoning) == (1, "go forward", thoughts)


def test_halves_of_a_surrogate_pair_in_two_events_are_one_character(server: FakeServer) -> None:
    assert model(server, "halves+say=fun 😀").ask(PROMPT, parse).answer == "fun 😀"
    alone = model(server, "say=fun \ud83d")
    assert alone.ask(PROMPT, parse).answer == "fun \ufffd"
    assert alone.ask([*PROMPT, Turn("user", "half \ude00")], parse).answer == "fun \ufffd"


@pytest.mark.parametrize("tokens", ["lots", "-5", "1e300"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_impossible_usage_counts_as_unknown(server: FakeServer, provider: str, tokens: str) -> None:
    prices = {"input": 1.0, "output": 1.0}
    exchange = model(server, f"tokens={tokens}+say=go forward", provider, prices=prices).ask(PROMPT, parse)
    assert exchange.action == 1
    assert (exchange.input_tokens, exchange.output_tokens, exchange.cost_usd) == (None, None, None)


@pytest.mark.parametrize(
    ("limit", "least"),
    [("says=Please retry in 1m2.5s.+429", 62.5), ("resets=20s+429", 20), ("retry-after=7+503", 7)],
)
def test_a_rate_limit_is_waited_for_as_long_as_it_says(
    server: FakeServer, waits: list[float], limit: str, least: float
) -> None:
    assert model(server, f"{limit},legal", retries=1).ask(PROMPT, parse).retries == 1
    assert [least <= wait <= least + 1 for wait in waits] == [True]


def test_a_rate_limit_that_names_no_time_is_waited_for_two_minutes_and_more(
    server: FakeServer, waits: list[float]
) -> None:
    assert model(server, ",".join(["429"] * 9 + ["legal"]), retries=2).ask(PROMPT, parse).retries == 9
    waits.clear()
    with pytest.raises(
        EndpointFailed, match=r"rate limited .* attempts in 1\d\d s were refused: start again"
    ):
        model(server, "429", retries=2).ask(PROMPT, parse)
    assert 120 <= sum(waits) <= retries.PATIENCE


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_web_page_is_called_one(server: FakeServer, provider: str, waits: list[float]) -> None:
    page = r'the address answers with a web page \("Sign in"\)'
    with pytest.raises(EndpointRefused, match=f"{page}; .*/v1"):
        model(server, "html=200", provider).ask(PROMPT, parse)
    with pytest.raises(
        EndpointFailed, match=rf"failed 2 times; the last time: status 502: {page}; start again once"
    ):
        model(server, "html=502", provider, retries=1).ask(PROMPT, parse)
    with pytest.raises(EndpointFailed, match="failed once; the last time: the provider is away"):
        model(server, "error", provider, retries=0).ask(PROMPT, parse)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_response_is_bounded_in_time_from_its_first_byte_and_in_size_after_decompression(
    server: FakeServer, provider: str
) -> None:
    for drips in ("drip", "drip-head"):
        with pytest.raises(EndpointFailed, match=r"no whole answer within 0\.3 s \(raise timeout=\)"):
            model(server, drips, provider, timeout=0.3, retries=0).ask(PROMPT, parse)
    with pytest.raises(EndpointFailed, match="a response of more than 16 MiB"):
        model(server, "bomb", provider, retries=0).ask(PROMPT, parse)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_part_of_the_key_in_an_error_is_not_repeated(server: FakeServer, provider: str) -> None:
    for part in (len(server.key), len(server.key) - 1, 12):
        with pytest.raises(EndpointRefused) as caught:
            model(server, f"echoes={part}+400", provider).ask(PROMPT, parse)
        assert "[key" in str(caught.value) and server.key[:8] not in str(caught.value)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_key_in_an_answer_is_in_no_exchange(
    server: FakeServer, provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY_KEY", "gw-secret-of-the-gateway")
    monkeypatch.setenv("TEAM", "forward")
    headers = {"X-Gateway-Key": "${GATEWAY_KEY}", "X-Team": "${TEAM}"}
    recorded = recording_in(tmp_path)
    for kind in ("halves+", "plain+"):
        said = (
            f"{kind}think={server.key} hm+say=go forward with {server.key[:-1]} or gw-secret-of-the-gateway"
        )
        one = model(server, said, provider, headers=headers, recording=recorded)
        exchange = one.ask(PROMPT, lambda text: Parsed(1, text))
        assert exchange.answer == exchange.parsed == "go forward with [key] or [key]", "short values stay"
        assert exchange.reasoning == "[key] hm"
        one.close()
    (file,) = tmp_path.glob("*.jsonl")
    assert not any(secret in file.read_text() for secret in (server.key[:8], "gw-secret"))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_key_follows_a_redirect_to_another_address(
    server: FakeServer, language_server: FakeServer, provider: str
) -> None:
    path = "/v1/chat/completions" if provider == "openai" else "/v1/messages"
    with pytest.raises(
        EndpointRefused, match=rf"^{server.url}/ redirects to {language_server.url}/, .*: give base_url="
    ):
        model(server, f"to={language_server.url}{path}?key={server.key}", provider).ask(PROMPT, parse)
    assert language_server.count == 0
    assert model(server, f"to={path},say=go forward", provider).ask(PROMPT, parse).action == 1


@pytest.mark.parametrize("provider", PROVIDERS)
def test_user_defined_headers_and_body_are_sent(
    server: FakeServer, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway_key = f"gw-{FakeServer.key[-12:]}-9"  # contains a part of the server's key
    monkeypatch.setenv("GATEWAY_KEY", gateway_key)
    own: dict[str, Any] = {
        "headers": {"X-Title": "Lake", "X-Gateway-Key": "${GATEWAY_KEY}"},
        "body": {"top_k": 5, "chat_template_kwargs": {"enable_thinking": False}},
    }
    one = model(server, "say=go forward", provider, **own)
    assert one.ask(PROMPT, parse).action == 1
    (request,) = server.requests(one.settings.model)
    assert (request["headers"]["x-title"], request["headers"]["x-gateway-key"]) == ("Lake", gateway_key)
    assert {name: request["body"][name] for name in own["body"]} == own["body"]
    assert gateway_key not in repr(one.settings)
    with pytest.raises(EndpointRefused, match=r"status 400: .*\[key\] and the gateway's \[key\](?!-)"):
        model(server, "400", provider, **own).ask(PROMPT, parse)
