"""Budgets: all operator processes of an evaluation share one; concurrent calls are bounded."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path
from typing import Any

import pytest
from language.language_calls import PNG, PROMPT, Asker, model, parse, recording_in, settings_for
from language.language_fixtures import FakeServer
from mosaic_contract import ConfigError
from mosaic_contract.errors import BudgetSpent
from mosaic_contract.language import Turn, budget
from mosaic_contract.language.prices import price_of
from support import wait_until

pytestmark = pytest.mark.usefixtures("server_key")

PRICES = {"input": 0.0, "output": 100.0}  # USD per million tokens: an answer of 100 tokens costs a cent


def spending(server: FakeServer, folder: Path, behaviour: str, limits: dict[str, Any], **more: Any) -> Any:
    more = {"max_tokens": 100, "prices": PRICES} | more
    return settings_for(server, behaviour, recording=recording_in(folder, budget=limits), **more)


def call_until_spent(asker: Asker) -> tuple[int, str]:
    for calls in itertools.count():
        answer = asker.answer()
        if "spent" in answer:
            return calls, answer["spent"]
        asker.play()
    raise AssertionError


def test_a_budget_ends_the_calls(server: FakeServer, tmp_path: Path) -> None:
    settings = spending(server, tmp_path, "cost=0.01+say=ok", {"usd": 0.035})
    with Asker(settings, steps=9) as asker:
        assert call_until_spent(asker) == (3, "the budget of $0.035 is spent: $0.03 in 3 calls")
    assert len(server.requests(settings["model"])) == 3, "no call that could exceed the budget"
    more = settings | {"recording": recording_in(tmp_path, file="b.jsonl", budget={"usd": 0.06})}
    with Asker(more, steps=9) as asker:
        assert call_until_spent(asker)[0] == 3, "earlier spending counts"
    assert budget.spent(tmp_path) == {"usd": pytest.approx(0.06), "tokens": 6 * 13, "calls": 6}
    in_tokens = settings | {"recording": recording_in(tmp_path, file="c.jsonl", budget={"tokens": 215})}
    with Asker(in_tokens, steps=9) as asker:
        calls, message = call_until_spent(asker)
        assert calls == 1 and message.startswith("the budget of 215 tokens is spent: ")


def test_unknown_numbers_count_as_estimates(server: FakeServer, tmp_path: Path) -> None:
    one = model(
        server,
        "no-usage+say=ok",
        max_tokens=100,
        prices=PRICES,
        recording=recording_in(tmp_path, budget={"tokens": 150}),
    )
    assert one.ask(PROMPT, parse).input_tokens is None
    with pytest.raises(BudgetSpent, match="is spent: "):
        one.ask(PROMPT, parse)
    assert budget.spent(tmp_path)["tokens"] > 20


def test_an_image_counts_by_its_size(server: FakeServer, tmp_path: Path) -> None:
    sees = model(server, "no-usage+say=ok", max_tokens=10, recording=recording_in(tmp_path))
    sees.ask([Turn("user", "Now?", (PNG, PNG))], parse)
    sees.close()
    assert 600 < budget.spent(tmp_path)["tokens"] < 650
    wide = PNG[:16] + (1024).to_bytes(4, "big") * 2
    _, reserved = budget.estimate([Turn("user", "Now?", (wide,))], 10, None)
    assert 2_900 < reserved < 3_000, "at least 2.46 tokens per 32-pixel patch"
    (tmp_path / "images").rename(tmp_path / "gone")
    assert budget.spent(tmp_path)["tokens"] > 8_000, "the maximum per image of unknown size"


def test_a_budget_in_money_needs_a_price(server: FakeServer, tmp_path: Path) -> None:
    limits = recording_in(tmp_path, budget={"usd": 1})
    with pytest.raises(ConfigError, match=r"needs the price of .*prices=.* or a budget in tokens"):
        model(server, "ok", recording=limits)
    for wrong in ({"usd": -1}, {"usd": "much"}, {"eur": 1}, 3):
        with pytest.raises(ConfigError, match="budget"):
            model(server, "ok", prices=PRICES, recording=recording_in(tmp_path, budget=wrong))
    assert price_of("openai", "gpt-5-mini-2025-08-07") == price_of("openai", "gpt-5-mini") is not None
    assert price_of("openai", "gpt-5-mini", base_url="http://elsewhere/v1") is None
    assert price_of("openai", "unknown") is None


def test_processes_share_a_budget_and_the_dead_hold_nothing(server: FakeServer, tmp_path: Path) -> None:
    settings = spending(server, tmp_path, "latency=600+ok", {"usd": 0.025})
    with Asker(settings) as stuck:
        wait_until(lambda: server.requests(settings["model"]))
        ledger = (tmp_path / budget.LEDGER).read_text()
        assert '"reserved": {"' in ledger, "a cent is reserved while the call is under way"
        stuck.kill()
    quick = spending(server, tmp_path, "cost=0.005+say=ok", {"usd": 0.025})
    askers = [
        Asker(
            quick | {"recording": recording_in(tmp_path, file=f"{n}.jsonl", budget={"usd": 0.025})}, steps=99
        )
        for n in range(3)
    ]
    try:
        threads_calls: list[int] = []
        threads = [
            threading.Thread(target=lambda asker=asker: threads_calls.append(call_until_spent(asker)[0]))
            for asker in askers
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        for asker in askers:
            asker.kill()
    assert sum(threads_calls) == 4, "a fourth call fits (0.015 + 0.01), a fifth may not (0.02 + 0.01)"
    assert budget.spent(tmp_path)["calls"] == 4


def test_calls_at_once_are_bounded_over_processes(server: FakeServer, tmp_path: Path) -> None:
    settings = settings_for(server, "latency=0.2+say=ok", concurrency=2)
    askers = [
        Asker(settings | {"recording": recording_in(tmp_path, file=f"{n}.jsonl")}, steps=2) for n in range(4)
    ]
    try:
        for asker in askers:
            asker.answer()
            asker.play()
        for asker in askers:
            asker.answer()
    finally:
        for asker in askers:
            asker.kill()
    requests = server.requests(settings["model"])
    assert len(requests) == 8
    moments = sorted((request["began"], request["ended"]) for request in requests)
    most = max(sum(began <= at < ended for began, ended in moments) for at, _ in moments)
    assert most <= 2
