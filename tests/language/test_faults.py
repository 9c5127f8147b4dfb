"""Faults of a call and how they are handled, through the real SDKs against the fake server."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import Any

import pytest
from language.language_calls import KEY_VARIABLE, PNG, PROMPT, PROVIDERS, model, parse, recording_in, scripted
from language.language_fixtures import FakeServer
from mosaic_contract import AgentSetup, ConfigError
from mosaic_contract.errors import EndpointFailed, EndpointRefused
from mosaic_contract.language import LanguageModel, Turn, retries
from mosaic_contract.language.openai_api import OpenAIEndpoint


@pytest.fixture(autouse=True)
def quick_retries(server_key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "_MIN_BACKOFF_SECONDS", 0.01)
    monkeypatch.setattr(retries, "PATIENCE", 1.0)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_answers(server: FakeServer, provider: str) -> None:
    shown: list[str] = []
    settings = model(server, "think=hm+cached=3+slow=0.01+legal", provider).settings
    given = {"model": settings.model, "provider": provider, "base_url": settings.base_url}
    setup = AgentSetup("a", settings=given | {"api_key_env": KEY_VARIABLE}, send_partial=shown.append)
    exchange = LanguageModel(setup).ask(PROMPT, parse)
    assert (exchange.action, exchange.parsed, exchange.answer) == (1, "go forward", "go forward")
    assert exchange.reasoning == "hm"
    assert exchange.faults == ()
    assert shown[0] == "hm" and shown[-1] == "hm\n\ngo forward" and len(shown) > 2, "the answer is streamed"
    assert exchange.input_tokens and exchange.output_tokens
    assert exchange.cost_usd is None, "this model's price is unknown"
    assert exchange.to_dict()["model"] == settings.model
    assert exchange.latency_ms is not None and exchange.latency_ms > 0


@pytest.mark.parametrize("provider", PROVIDERS)
def test_unusable_answers_are_reported_as_faults(server: FakeServer, provider: str) -> None:
    expected: dict[str, tuple[str, ...]] = {
        "filter": ("refused",),
        "tool": ("tool_call", "empty"),
        "empty": ("empty",),
        "length": ("truncated", "unparsed"),
        "long": ("too_long", "unparsed"),
        "say=jump": ("unparsed",),
    }
    found = {name: model(server, name, provider).ask(PROMPT, parse) for name in expected}
    assert {name: exchange.faults for name, exchange in found.items()} == expected
    assert len(found["long"].answer) == 64_000
    assert found["long"].output_tokens is None, "the count at the end was not read: unknown, not 0"
    repaired = model(server, "say=jump", provider).ask(PROMPT, parse, repair=True, last=True)
    assert repaired.faults == ("unparsed", "repair", "default")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_transient_errors_are_retried(server: FakeServer, provider: str) -> None:
    for fault in ("429", "408", "500", "529", "drop", "cut", "malformed"):
        exchange = model(server, f"{fault},{fault},legal", provider).ask(PROMPT, parse)
        assert (exchange.action, exchange.faults, exchange.retries) == (1, (), 2), fault
    waiting = model(server, "retry-after=0.3+429,legal", provider)
    assert waiting.ask(PROMPT, parse).retries == 1
    first, second = server.requests(waiting.settings.model)
    assert second["began"] - first["ended"] >= 0.3, "Retry-After is honoured"
    for fault in ("drop", "503"):
        with pytest.raises(EndpointFailed, match=r"failed 3 times; the last time: ") as caught:
            model(server, fault, provider, retries=2).ask(PROMPT, parse)
        assert FakeServer.key not in str(caught.value)
    with pytest.raises(EndpointFailed, match="it requires a wait of 7200 s before the next call"):
        model(server, "retry-after=7200+429", provider).ask(PROMPT, parse)
    cut = model(server, "cut", provider, retries=1).ask(PROMPT, parse)
    assert cut.faults == ("cut", "unparsed") and cut.answer.startswith("I would")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_errors_that_retries_cannot_fix_are_raised_at_once(
    server: FakeServer, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = model(server, "wrong-model", provider)
    with pytest.raises(EndpointRefused, match=f"{wrong.settings.model} at http.* does not exist there"):
        wrong.ask(PROMPT, parse)
    addresses = {"openai": (server.url, "ends in /v1"), "anthropic": (server.openai_url, "has no /v1")}
    address, hint = addresses[provider]
    with pytest.raises(EndpointRefused, match=f"status 404: no such path: .*{hint}"):
        model(server, "ok", provider, base_url=address).ask(PROMPT, parse)
    with pytest.raises(EndpointRefused, match=r"status 400"):
        model(server, "400", provider).ask(PROMPT, parse)
    monkeypatch.setenv(KEY_VARIABLE, "sk-not-the-key")
    refused = model(server, "ok", provider)
    with pytest.raises(
        EndpointRefused, match=f"refuses the key in {KEY_VARIABLE} .*: set {KEY_VARIABLE} to"
    ) as caught:
        refused.ask(PROMPT, parse)
    assert "sk-not-the-key" not in str(caught.value)
    assert len(server.requests(refused.settings.model)) == 1
    monkeypatch.delenv(KEY_VARIABLE)
    with pytest.raises(ConfigError, match=f"needs a key: set the environment variable {KEY_VARIABLE}"):
        model(server, "ok", provider)


def test_an_error_in_reading_an_answer_is_not_retried(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise TypeError("no such field")

    monkeypatch.setattr(OpenAIEndpoint, "_read_event", fail)
    broken = model(server, "ok")
    with pytest.raises(EndpointFailed, match=r"the SDK failed on the answer \(TypeError: no such field\)"):
        broken.ask(PROMPT, parse)
    assert len(server.requests(broken.settings.model)) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_attempt_times_out(server: FakeServer, provider: str) -> None:
    for behaviour in ("latency=60+ok", "drip"):
        began = time.monotonic()
        with pytest.raises(EndpointFailed, match="failed 2 times"):
            model(server, behaviour, provider, timeout=0.2, retries=1).ask(PROMPT, parse)
        assert time.monotonic() - began < 20


@pytest.mark.parametrize("provider", PROVIDERS)
def test_parameters_that_a_model_refuses(server: FakeServer, provider: str) -> None:
    plain = model(server, "refuses=temperature+legal", provider)
    assert plain.ask(PROMPT, parse).retries == 0
    assert plain.ask(PROMPT, parse).action == 1
    sent = ["temperature" in request["body"] for request in server.requests(plain.settings.model)]
    assert sent == [True, False, False], "not sent again after the refusal"
    with pytest.raises(EndpointRefused, match="temperature"):
        model(server, "refuses=temperature+legal", provider, temperature=0.5).ask(PROMPT, parse)
    silent = model(server, "legal", provider, temperature=None)
    silent.ask(PROMPT, parse)
    assert "temperature" not in server.requests(silent.settings.model)[0]["body"]


def test_how_tokens_are_drawn_and_where_an_answer_ends(server: FakeServer) -> None:
    steered: dict[str, Any] = {"top_p": 0.9, "stop": ["\n\n"], "reasoning_effort": "low"}
    for provider, more, sent in (
        ("openai", {"seed": 7}, {**steered, "seed": 7}),
        ("anthropic", {}, {"top_p": 0.9, "stop_sequences": ["\n\n"], "output_config": {"effort": "low"}}),
    ):
        one = model(server, "say=go forward", provider, **steered, **more)
        assert one.ask(PROMPT, parse).action == 1
        (request,) = server.requests(one.settings.model)
        assert {name: request["body"].get(name) for name in sent} == sent


def test_names_that_differ_between_servers(server: FakeServer) -> None:
    for refused in ("max_tokens", "stream_options"):
        one = model(server, f"refuses={refused}+legal", max_tokens=77)
        assert one.ask(PROMPT, parse).action == 1
        bodies = [request["body"] for request in server.requests(one.settings.model)]
        assert [refused in body for body in bodies] == [True, False]
    assert bodies[-1]["max_tokens"] == 77


@pytest.mark.parametrize("provider", PROVIDERS)
def test_images_and_restricted_answers(server: FakeServer, provider: str) -> None:
    seeing = model(server, "say=go forward", provider)
    turns = [*PROMPT[:1], Turn("user", "What now?", (PNG, PNG))]
    exchange = seeing.ask(turns, parse, choices=["turn left", "go forward"])
    assert exchange.action == 1 and exchange.answer == '{"answer": "go forward"}'
    content = server.requests(seeing.settings.model)[0]["body"]["messages"][-1]["content"]
    assert [part["type"] for part in content][-1] == "text" and len(content) == 3
    assert [len(name) for name in exchange.prompt[-1]["images"]] == [64, 64]
    name = "response_format" if provider == "openai" else "output_config"
    with pytest.raises(EndpointRefused, match="cannot restrict answers to the legal actions"):
        model(server, f"refuses={name}+ok", provider).ask(PROMPT, parse, choices=["ok"])


def test_what_an_answer_costs(server: FakeServer) -> None:
    prices = {"input": 1.0, "output": 10.0, "cached": 0.5}
    priced = model(server, "cached=3+say=go forward", prices=prices).ask(PROMPT, parse)
    assert priced.input_tokens is not None and priced.output_tokens is not None
    expected = (priced.input_tokens - 3) * 1e-6 + 3 * 0.5e-6 + priced.output_tokens * 1e-5
    assert priced.cost_usd == pytest.approx(expected)
    reported = model(server, "cost=0.25+say=go forward", prices=prices).ask(PROMPT, parse)
    assert reported.cost_usd == 0.25, "the endpoint's own cost takes precedence"
    silent = model(server, "no-usage+say=go forward", prices=prices).ask(PROMPT, parse)
    assert (silent.cost_usd, silent.input_tokens, silent.output_tokens) == (None, None, None)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_key_is_never_written(
    server: FakeServer, provider: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    reported = []
    for behaviour in ("ok", "500,ok", "cut", "401", "403", "400", "429", "503"):
        one = model(server, behaviour, provider, recording=recording_in(tmp_path), retries=1)
        try:
            reported.append(repr(one.ask(PROMPT, parse)))
        except (ConfigError, EndpointFailed) as error:
            reported.append(f"{error!r} {error.__cause__!r}")
        reported.append(repr(one.settings))
        one.close()
    reported += [record.getMessage() for record in caplog.records]
    reported += [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert any("[key]" in text for text in reported), "the server echoed the key"
    assert not any(FakeServer.key in text for text in reported)
    assert not any("You play" in record.getMessage() for record in caplog.records), "no prompt in a log"


def test_invalid_settings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: dict[str, Any] = {
        "model": "",
        "base_url": "localhost:8000",
        "api_key_env": "sk-123",
        "temperature": 3,
        "top_p": 1.1,
        "seed": -1,
        "stop": ["", "a"],
        "reasoning_effort": "huge",
        "body": {"top_p": 0.5},
        "max_tokens": 0,
        "timeout": "long",
        "retries": True,
        "concurrency": 0,
        "prices": {"input": 1},
    }
    with pytest.raises(ConfigError) as caught:
        LanguageModel(AgentSetup("a", settings=wrong))
    assert len(caught.value.problems) == len(wrong)
    assert not any("sk-123" in problem for problem in caught.value.problems)
    for given, said in (
        ({"provider": "anthropic", "seed": 1}, "Anthropic's API has no seed"),
        (
            {"provider": "anthropic", "reasoning_effort": "none"},
            "must be one of low, medium, high, xhigh, max",
        ),
        ({"provider": "local", "model": "local", "reasoning_effort": "low"}, "is for a server"),
        ({"stop": ["a", "b", "c", "d", "e"]}, "must be at most 4 strings, not 5"),
    ):
        with pytest.raises(ConfigError, match=said):
            LanguageModel(AgentSetup("a", settings={"model": "x", **given}))
    with pytest.raises(ConfigError, match="must be one of openai, anthropic, local"):
        LanguageModel(AgentSetup("a", settings={"model": "x", "provider": "google"}))


def test_a_server_that_wants_no_key(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another")
    settings = {"model": scripted(server, "ok"), "base_url": server.openai_url}
    with pytest.raises(EndpointRefused, match=r"refuses a call without a key .*: .*api_key_env="):
        LanguageModel(AgentSetup("a", settings=settings)).ask(PROMPT, parse)
    assert server.requests(str(settings["model"]))[0]["key"] is False, "OpenAI's key is sent to OpenAI only"


def test_credentials_that_the_sdk_finds_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("ANTHROPIC_")]:
        monkeypatch.delenv(name)
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    settings = {"model": "claude-sonnet-5", "provider": "anthropic", "api_key_env": None}
    with pytest.raises(EndpointRefused, match="no credentials were found for a call"):
        LanguageModel(AgentSetup("a", settings=settings)).ask(PROMPT, parse)
