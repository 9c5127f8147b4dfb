"""Excerpt of a transcript in a saved notebook: bounded in size, its texts escaped."""

from __future__ import annotations

from pathlib import Path

from mosaic_contract.language.exchange import Exchange, Turn, prompt_of
from mosaic_contract.language.recording import CallKey, RecordingWriter

from mosaic_lab.arenas.exchange_index import ExchangeIndex
from mosaic_lab.arenas.transcript import Transcript
from mosaic_lab.widgets.overview.transcript import SAVED_CALLS, SAVED_ROWS, excerpt

EVIL = "</pre><script>alert(1)</script>"


def test_a_saved_notebook_keeps_the_first_rows_and_a_few_texts(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path, "lane.jsonl")
    prompt = prompt_of([Turn("user", EVIL + "a long prompt " * 5_000)])
    for step in range(60):
        exchange = Exchange(prompt, f"{EVIL} go", "go", (), "m")
        writer.write(exchange, CallKey("LLM", "agent_0", 1, 0, step, 0), "LLM", "openai")
    writer.close()
    index = ExchangeIndex(tmp_path, ["LLM"], lambda lane, episode: 7)
    text, html = excerpt(Transcript(tmp_path, "run", "E-v0", index, alive=lambda: False))
    assert text == "60 of 60 exchanges"
    assert html.count("<tr>") == SAVED_ROWS + 1 and html.count("<details>") == SAVED_CALLS
    assert "<script>" not in html and "the first 40 of them" in html and "<b>go</b>" in html
    assert len(html) < 60_000
