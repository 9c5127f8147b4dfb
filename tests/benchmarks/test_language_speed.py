"""Overhead of MOSAIC Lab in a call of a language model, and the speed of a replay."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest
from benchmarks.measuring import judged, print_table, size
from language.language_calls import KEY_VARIABLE, model, parse, recording_in
from language.language_fixtures import FakeServer
from mosaic_contract import AgentSetup
from mosaic_contract.language import LanguageModel, Turn

CALLS = size(300, 12)
EXCHANGES = size(10_000, 50)


@pytest.fixture(autouse=True)
def with_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, FakeServer.key)


def dialog(step: int) -> list[Turn]:
    """Return a prompt as long as MiniGrid's with a history: about 4,000 characters."""
    dialog = [
        Turn("user" if n % 2 else "assistant", f"Step {step - n}. You see a wall, a red ball. " * 6)
        for n in range(15)
    ]
    return [Turn("system", "You play a game. " * 10), *dialog]


def cost_of(action: Callable[..., object], *given: object) -> tuple[float, float]:
    """Return the wall-clock milliseconds of a call, and those of this thread's CPU time."""
    began, worked = time.perf_counter(), time.thread_time()
    action(*given)
    return 1e3 * (time.perf_counter() - began), 1e3 * (time.thread_time() - worked)


def test_our_side_of_a_call(language_server: FakeServer, tmp_path: Path) -> None:
    rows = []
    for provider in ("openai", "anthropic"):
        limits = recording_in(tmp_path / provider, budget={"tokens": 10**9})
        ours = model(language_server, "say=go forward", provider, recording=limits, max_tokens=100)
        bare = bare_call(language_server, provider, ours.settings.model)
        ask = recorded_call(ours)
        pairs = []
        for step in range(CALLS):
            turns = dialog(step)
            first, second = (bare, ask) if step % 2 else (ask, bare)
            took = {first: cost_of(first, turns), second: cost_of(second, turns)}
            pairs.append((took[ask], took[bare]))
        for index, what in enumerate(("clock", "CPU")):
            both = [(mine[index], theirs[index]) for mine, theirs in pairs[10:]]  # after the warm-up
            added = sorted(mine - theirs for mine, theirs in both)
            rows.append(
                [
                    f"{provider}, {what}",
                    f"{median(mine for mine, _ in both):.2f}",
                    f"{median(theirs for _, theirs in both):.2f}",
                    f"{median(added):.2f}",
                    f"{added[int(0.95 * len(added))]:.2f}",
                    *judged(median(added), "<= 5 ms"),
                ]
            )
    print_table(
        f"{CALLS} streaming calls, recorded and within a budget, against the SDK alone, same server (ms)",
        ["", "ours", "SDK alone", "ours adds", "95% of calls add", "target", "verdict"],
        rows,
    )


def recorded_call(one: LanguageModel) -> Callable[..., object]:
    """Return a function that queries the model, each time in a new step."""
    steps = itertools.count()

    def call(turns: list[Turn]) -> object:
        one.begin_step(next(steps))
        return one.ask(turns, parse)

    return call


def bare_call(server: FakeServer, provider: str, name: str) -> Callable[..., object]:
    """Return a function that makes the same call through the SDK alone, with one client for all calls."""
    if provider == "openai":
        import openai

        client = openai.OpenAI(base_url=server.openai_url, api_key=server.key, max_retries=0)

        def call(turns: list[Turn]) -> str:
            stream = client.chat.completions.create(
                model=name,
                messages=[{"role": turn.role, "content": turn.text} for turn in turns],  # type: ignore[misc]
                stream=True,
                stream_options={"include_usage": True},
                max_tokens=100,
                temperature=0,
            )
            return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)

        return call
    import anthropic

    messages = anthropic.Anthropic(base_url=server.url, api_key=server.key, max_retries=0).messages

    def call_anthropic(turns: list[Turn]) -> str:
        stream = messages.create(
            model=name,
            system=turns[0].text,
            messages=[{"role": turn.role, "content": turn.text} for turn in turns[1:]],  # type: ignore[misc]
            stream=True,
            max_tokens=100,
            extra_body={"temperature": 0},
        )
        return "".join(
            getattr(event.delta, "text", "") for event in stream if event.type == "content_block_delta"
        )

    return call_anthropic


def test_replay(language_server: FakeServer, tmp_path: Path) -> None:
    from mosaic_contract.language.exchange import Exchange, prompt_of
    from mosaic_contract.language.recording import CallKey, RecordingWriter

    writer = RecordingWriter(tmp_path / "old", "lane-op.jsonl")
    for step in range(EXCHANGES):
        exchange = Exchange(
            prompt_of(dialog(step)), "go forward", "go forward", (), "m", 1, "", 900, 3, 0.001, 500.0
        )
        writer.write(exchange, CallKey("lane", "agent_0", 1, 0, step, 0), "LLM", "openai")
    size = (tmp_path / "old" / "lane-op.jsonl").stat().st_size / 1e6

    def replay() -> None:
        recorded = recording_in(tmp_path / "new", replay=str(tmp_path / "old"))
        one = LanguageModel(AgentSetup("agent_0", settings={"model": "m", "recording": recorded}))
        one.begin_episode(1, 0)
        for step in range(EXCHANGES):
            one.begin_step(step)
            assert one.ask(dialog(step), parse).action == 1
        one.close()

    seconds = cost_of(replay)[0] / 1e3
    print_table(
        f"A replay of {EXCHANGES:,} exchanges, {size:.0f} MB, recorded again",
        ["seconds", "exchanges/s", "target", "verdict"],
        [[f"{seconds:.2f}", f"{EXCHANGES / seconds:,.0f}", *judged(seconds, "<= 10 s")]],
    )
