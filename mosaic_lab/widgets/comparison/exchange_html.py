"""The exchanges of a comparison as HTML for the saved notebook, every text escaped.

Each lane has a row of sums, and each agent its last step, collapsed.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from mosaic_lab.widgets.comparison.exchange_view import (
    shortened,
    shown_exchanges,
    speaking_agents,
    total_facts,
)
from mosaic_lab.widgets.comparison.thumbnails import NO_PICTURE
from mosaic_lab.widgets.page.html_table import html_table

MOST_LENGTH = 4000
"""Characters of a prompt, and of an answer."""
MOST_COLLAPSED = 16
_PRE = '<pre style="white-space:pre-wrap;max-height:24em;overflow:auto;margin:2px 0 6px">'


def exchanges_html(view: Mapping[str, Any]) -> str:
    """Return what the lanes' language models cost, as a table, and each agent's last step."""
    lanes = [lane for lane in view["lanes"] if lane["spending"] is not None]
    if not lanes:
        return ""
    collapsed = [_collapsed(lane, agent) for lane in lanes for agent in speaking_agents(lane["moves"])]
    return _totals_table(lanes) + "".join(collapsed[:MOST_COLLAPSED])


def _totals_table(lanes: list[Mapping[str, Any]]) -> str:
    facts = {lane["label"]: total_facts(lane["spending"]) for lane in lanes}
    names = [name for _, name, _ in next(iter(facts.values()))]
    rows = ([label, *(value for value, *_ in row)] for label, row in facts.items())
    return html_table(("language models", *names), rows)


def _collapsed(lane: Mapping[str, Any], agent: str) -> str:
    shown = shown_exchanges(lane, agent, lambda _: NO_PICTURE)
    who = lane["label"] if len(lane["agents"]) < 2 else f"{lane['label']}, {agent}"
    title = f"Prompt and answer of {who} at step {shown['step'] or lane['step']}"
    sent = [f"{one} → {other}: {text}" for one, other, text in shown["messages"] if agent in (one, other)]
    messages = f"<div>{'<br>'.join(map(escape, sent))}</div>" if sent else ""
    calls = "".join(map(_call, shown["calls"]))
    return f"<details><summary>{escape(title)}</summary>{calls}{messages}</details>"


def _call(call: Mapping[str, Any]) -> str:
    facts = " · ".join([value for value, _ in call["facts"]] + [words for words, _ in call["faults"]])
    length = MOST_LENGTH // max(1, len(call["turns"]))
    turns = "".join(
        f"<b>{escape(turn['role'])}</b>"
        + "".join(f" [{escape(image['text'])}]" for image in turn["images"])
        + f"{_PRE}{escape(shortened(turn['text'], length))}</pre>"
        for turn in call["turns"]
    )
    before, marked, after = (escape(shortened(part, MOST_LENGTH // 3)) for part in call["answer"])
    parts = {"reasoning": escape(shortened(call["reasoning"], MOST_LENGTH))} if call["reasoning"] else {}
    parts["answer"] = before + (f"<b>{marked}</b>" if marked else "") + after
    written = "".join(f"<b>{name}</b>{_PRE}{part}</pre>" for name, part in parts.items())
    note = f"<i>{escape(call['note'])}</i><br>" if call["note"] else ""
    return f"<div>{escape(facts)}</div>{note}{turns}{written}"
