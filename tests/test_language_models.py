"""Language models as shims ask them, through the real SDKs, against the tests' loopback server."""

from __future__ import annotations

from typing import Any

import pytest
from language_fixtures import FakeServer
from mosaic_contract import AgentSetup
from mosaic_contract.language import LanguageModel, Parsed, Turn

ACTIONS = ["turn left", "go forward", "ok"]
PROVIDERS = ["openai", "anthropic"]
PROMPT = [Turn("system", "You play."), Turn("user", "Actions: go forward, turn left")]


def parse(text: str) -> Parsed:
    if text.strip() in ACTIONS:
        return Parsed(ACTIONS.index(text.strip()), text.strip())
    return Parsed(None, None, ("unparsed",))


def model(server: FakeServer, behaviour: str, provider: str = "openai", **settings: Any) -> LanguageModel:
    url = server.openai_url if provider == "openai" else server.url
    name = behaviour if behaviour.startswith("named:") else f"fake:{behaviour}"
    given = {"model": name, "provider": provider, "base_url": url, "api_key_env": "THE_KEY", "timeout": 30.0}
    return LanguageModel(AgentSetup("agent_0", seed=1, settings=given | settings))


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", FakeServer.key)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_answer(language_server: FakeServer, provider: str) -> None:
    exchange = model(language_server, "think=hm+legal", provider).ask(PROMPT, parse)
    assert (exchange.action, exchange.parsed, exchange.answer) == (1, "go forward", "go forward")
    assert exchange.reasoning == "hm"
    assert exchange.faults == ()
    assert exchange.input_tokens and exchange.output_tokens
    assert exchange.cost_usd is None, "nobody knows the price of this model"
