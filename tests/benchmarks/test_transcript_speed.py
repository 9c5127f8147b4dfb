"""Time to open, page through and search a transcript, through the methods that a page calls.

The recording is written by the same recorder as in operator processes.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measuring import figure_row, print_table, size
from mosaic_contract.language.exchange import Exchange, Turn, prompt_of
from mosaic_contract.language.recording import CallKey, RecordingWriter

from mosaic_lab.keeper.run_store import COMPARISONS, write_json
from mosaic_lab.overview.service import Service

EXCHANGES, STEPS, LANES = size(50_000, 400), 100, 2
WORDS = ("red", "ball", "door", "wall", "forward", "left", "key")
NEEDLE = "zebra"


def record(folder: Path) -> None:
    generator = random.Random(0)

    def text(words: int) -> str:
        return " ".join(generator.choices(WORDS, k=words))

    for lane in range(LANES):
        writer = RecordingWriter(folder, f"{lane}.jsonl")
        for number in range(EXCHANGES // LANES):
            episode, step = divmod(number, STEPS)
            answer = text(20) + (f" {NEEDLE}" if number % 100 == 7 else "")
            prompt = prompt_of([Turn("system", text(150)), Turn("user", text(300))])
            numbers = (500, 20, 0.001, 300.0)
            exchange = Exchange(prompt, answer, "go", (), "m", 1, "", *numbers, started=1e9 + number)
            key = CallKey(f"lane {lane}", "agent_0", 1, episode, step, 0)
            writer.write(exchange, key, "LLM", "openai")
        writer.close()


def test_a_transcript_of_many_exchanges_is_fluid(tmp_path: Path) -> None:
    comparison = tmp_path / COMPARISONS / "cmp"
    record(comparison / "exchanges")
    write_json(
        comparison / "comparison.json", {"env_id": "E-v0", "lanes": [f"lane {lane}" for lane in range(LANES)]}
    )
    service = Service(tmp_path)
    calls: list[float] = []

    def page(first: int = 0, **selection: Any) -> dict[str, Any]:
        began = time.perf_counter()
        answer, _ = service.answer(
            "transcript", {"run": "cmp", "selection": selection, "first": first, "rows": 160}
        )
        calls.append(1000 * (time.perf_counter() - began))
        return answer

    def complete(call: Callable[[], dict[str, Any]]) -> tuple[float, dict[str, Any]]:
        began = time.perf_counter()
        while (answer := call())["indexed"] < 1 or answer["searched"] < 1:
            pass
        return time.perf_counter() - began, answer

    opened, whole = complete(page)
    first_rows = calls[0]
    calls.clear()
    for first in range(0, EXCHANGES, EXCHANGES // 20):
        page(first)
    slowest = max(calls)
    searched, found = complete(lambda: page(text=NEEDLE))
    assert (whole["total"], found["found"]) == (EXCHANGES, EXCHANGES // 100)
    rows = [
        figure_row("first rows", first_rows, "<= 1000", "{:.0f} ms"),
        figure_row("whole index", opened, "<= 1", "{:.2f} s"),
        figure_row("page of rows, slowest", slowest, "<= 50", "{:.1f} ms"),
        figure_row("search", searched, "<= 2", "{:.2f} s"),
    ]
    print_table(f"A transcript of {EXCHANGES:,} exchanges", ["", "time", "target", ""], rows)
