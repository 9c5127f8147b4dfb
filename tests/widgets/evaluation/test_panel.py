"""Evaluations in notebooks executed without a browser, in their panel and in the list of runs."""

from __future__ import annotations

import base64
import threading
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from evaluation.evaluation_fixtures import Evaluate, odd
from support import wait_until

from mosaic_lab import notebooks, operators
from mosaic_lab.evaluation import Evaluation, wilson
from mosaic_lab.evaluation.reports.estimate_table import estimates_table
from mosaic_lab.evaluation.reports.plots import interval_plot
from mosaic_lab.evaluation.reports.summary_table import summary_table
from mosaic_lab.evaluation.statistics.resampling import Estimate
from mosaic_lab.run_list import RunList
from mosaic_lab.widgets import show
from mosaic_lab.widgets.evaluation.evaluation_panel import EvaluationPanel
from mosaic_lab.widgets.evaluation.snapshot_reader import budget_text, operators_table
from mosaic_lab.widgets.page import panel_outputs, saved_form

SETUP = """import mosaic_lab as mosaic
from mosaic_lab import operators
lab = mosaic.Lab()
two = {'random': operators.random(), 'still': operators.passive()}
"""
PNG = b"\x89PNG\r\n\x1a\n"


def test_a_notebook_keeps_the_table_the_intervals_and_the_charts(tmp_path: Path) -> None:
    cells = [
        f"{SETUP}ev = lab.evaluate(env='CartPole-v1', operators=two, seeds=range(10))\nev",
        "_ = ev.wait()",
        "ev.paired_plot('random', 'still')",
    ]
    source = tmp_path / "source.ipynb"
    nbformat.write(
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells]), source
    )
    notebooks.execute(source, tmp_path / "work.ipynb")
    notebook = nbformat.read(tmp_path / "work.ipynb", as_version=4)
    shown, _, paired = (
        [output.data for output in cell.outputs if "data" in output] for cell in notebook.cells
    )
    _, table, picture = shown[-3:]  # after the output of an installation
    for text in ("Evaluation · CartPole-v1", "20 of 20 episodes, completed", "10 of 10", "IQM", "random"):
        assert text in table["text/html"]
    assert base64.b64decode(picture["image/png"]).startswith(PNG)
    _, note, picture = paired
    assert "random wins on" in note["text/plain"] and "rng" not in note["text/html"]
    assert base64.b64decode(picture["image/png"]).startswith(PNG)


def test_showing_an_evaluation_that_has_ended_does_not_wait_for_its_resampling(
    odd_home: Path, start_evaluation: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation = start_evaluation(**odd(operators={"one": operators.worker("odd")}, seeds=range(3))).wait(60)
    resample, may_resample = Evaluation.summary, threading.Event()
    threads = []
    outputs: dict[str, dict[str, Any]] = {}

    def summary(self: Evaluation) -> pd.DataFrame:
        threads.append(threading.current_thread())
        assert may_resample.wait(60)
        return resample(self)

    def publish(bundle: dict[str, Any], output: str, about: object = None, *, update: bool) -> None:
        assert update is (output in outputs)
        outputs[output] = bundle

    monkeypatch.setattr(Evaluation, "summary", summary)
    monkeypatch.setattr(panel_outputs, "MOMENT_SECONDS", 0.0)
    monkeypatch.setattr(saved_form, "publish", publish)
    show(evaluation)
    live, caption, picture = outputs
    assert "still being read when this notebook was saved" in outputs[caption]["text/html"]
    may_resample.set()
    wait_until(lambda: "3 of 3 episodes, completed" in outputs[caption]["text/html"])
    wait_until(lambda: "image/png" in outputs[picture])
    assert threads and threading.main_thread() not in threads
    assert "application/vnd.jupyter.widget-view+json" in outputs[live], "the live widget is gone"


def operator_texts(summary: pd.DataFrame, total: int) -> list[dict[str, str]]:
    """Texts of the operators' table: one dictionary per row, by column title."""
    table = operators_table(summary, dict.fromkeys(summary.index, total))
    titles = [column["title"] for column in table["columns"]]
    return [dict(zip(titles, (cell["text"] for cell in row), strict=True)) for row in table["rows"]]


def test_averages_have_one_order_and_one_text_in_the_summary_the_panel_and_the_plot() -> None:
    averages = {name: Estimate(-12_345.6, -12_400.0, 0.5) for name in ("mean", "median", "iqm")}
    row = {"operator": "one", "episodes": 3, "failed": 0, **averages, "length": 20_000.4}
    summary = estimates_table([row], "operator", over="", rng=0)
    (shown,) = operator_texts(summary, 3)
    assert list(shown)[2:] == ["Mean return", "Median", "IQM", "Mean length"]
    assert list(shown.values())[2:] == summary.compact().iloc[0, 2:].to_list()
    assert [facet.title for facet in interval_plot(summary, "", "").facets] == ["Mean", "Median", "IQM"]


def test_failures_are_counted_and_shown(odd_home: Path, start_evaluation: Evaluate) -> None:
    walkers = {"well": operators.worker("odd"), "ill": operators.worker("odd", behaviour="die", episode=1)}
    evaluation = start_evaluation(**odd(operators=walkers, seeds=range(3), on_failure="skip")).wait(120)
    assert [list(row.items())[:4] for row in operator_texts(evaluation.summary(), 3)] == [
        [("Operator", name), ("Episodes", "3 of 3"), ("Failed", failed), ("Mean return", "210 [210, 210]")]
        for name, failed in (("well", "0"), ("ill", "1"))
    ]
    panel = EvaluationPanel(evaluation.folder)
    assert panel.settle()
    html, picture = panel.static_caption().tables, panel.static_picture()
    panel.close()
    assert "<td>ill</td><td>3 of 3</td><td>1</td>" in html
    assert "1 episode failed: ill: ill was killed by signal 9 (SIGKILL)" in html
    assert "goodbye, cruel world" in html
    assert "95% stratified bootstrap intervals" in html
    assert picture is not None
    assert picture.startswith(PNG)


def test_the_failure_that_ends_an_evaluation_is_given_once(
    odd_home: Path, start_evaluation: Evaluate
) -> None:
    ill = operators.worker("odd", behaviour="die", episode=1)
    evaluation = start_evaluation(**odd(operators={"ill": ill}, seeds=range(3)))
    wait_until(lambda: evaluation.finished)
    panel = EvaluationPanel(evaluation.folder)
    assert panel.settle()
    assert panel.static_caption().tables.count("ill was killed by signal 9 (SIGKILL)") == 1
    panel.close()


def test_success_and_tokens_are_in_the_summary_where_there_are_any(
    odd_home: Path, start_evaluation: Evaluate
) -> None:
    both = {"quiet": operators.worker("odd"), "talks": operators.worker("odd", behaviour="explain")}
    evaluation = start_evaluation(
        **odd(operators=both, seeds=range(4), env_kwargs={"trouble": "success"})
    ).wait(120)
    summary = evaluation.summary()
    expected = wilson(4, 4)
    assert list(summary["success"]) == [1.0, 1.0]
    assert (summary["success_low"]["quiet"], summary["success_high"]["quiet"]) == (expected.low, 1.0)
    assert summary["output_tokens"]["talks"] == evaluation.results()["output_tokens"].sum() > 0
    quiet, _ = operator_texts(summary, 4)
    assert list(quiet.items())[-3:] == [
        ("Success", "100% [51%, 100%]"),
        ("Tokens in", "–"),
        ("Tokens out", "–"),
    ]
    silent = start_evaluation(**odd(operators={"quiet": both["quiet"]}, seeds=[1])).wait(120).summary()
    assert not {"success", "input_tokens", "output_tokens"} & set(silent)


def test_the_list_of_runs_counts_episodes(odd_home: Path, start_evaluation: Evaluate) -> None:
    evaluation = start_evaluation(
        **odd(operators={"one": operators.worker("odd")}, seeds=range(40), step_delay=0.002)
    )
    wait_until(lambda: evaluation.done)
    assert " of 40 episodes" in evaluation.progress_text
    evaluation.wait(120)
    assert evaluation.progress_text == "40 of 40 episodes"
    assert "40 of 40 episodes" in repr(RunList([evaluation]))


def test_what_language_models_cost_is_in_the_panel_and_in_the_saved_table(
    odd_home: Path, start_evaluation: Evaluate
) -> None:
    talks = {"behaviour": "converse", "category": "llm"}
    players = {
        "paid": operators.worker("odd", cost=0.002, **talks),
        "cheap": operators.worker("odd", cost=0.001, **talks),
        "unknown": operators.worker("odd", **talks),
        "plain": operators.worker("odd"),
    }
    evaluation = start_evaluation(**odd(operators=players, seeds=range(3))).wait(120)
    summary = evaluation.summary()
    paid, _, unknown, plain = operator_texts(summary, 3)
    assert list(paid)[-5:] == ["Calls", "Cost", "Latency p50", "Latency p95", "Parse failures"]
    assert (paid["Calls"], paid["Cost"], paid["Parse failures"]) == ("120", "$0.24", "60")
    assert (paid["Latency p50"], paid["Latency p95"]) == ("1.3s", "1.3s")
    assert unknown["Cost"] == "unknown"
    assert (plain["Calls"], plain["Cost"], plain["Latency p50"], plain["Parse failures"]) == (
        "0",
        "–",
        "–",
        "0",
    )
    assert summary.loc[["unknown", "plain"], ["cost_usd", "episode_usd"]].isna().all(axis=None)
    assert evaluation.cost_plot().note.endswith("; cost unknown: unknown; no model called: plain")
    assert summary._repr_html_().startswith('<div style="overflow-x:auto"><table')
    panel = EvaluationPanel(evaluation.folder)
    assert panel.settle()
    html, picture = panel.static_caption().tables, panel.static_picture()
    titles = [box.children[0].title for box in panel.plots.box.children]
    panel.close()
    assert titles == ["Returns", "Returns and costs"]
    assert "<td>unknown</td>" in html
    assert picture is not None and picture.startswith(PNG)


def test_the_columns_of_language_models_are_there_from_the_start_and_equal_costs_are_not_drawn(
    odd_home: Path, start_evaluation: Evaluate
) -> None:
    talks = {"behaviour": "converse", "category": "llm", "cost": 0.0}
    free = {name: operators.worker("odd", **talks) for name in ("a", "b")}
    evaluation = start_evaluation(**odd(operators=free, seeds=range(2)))
    first = operator_texts(summary_table(evaluation.plan, [], None, 0), 2)
    assert {"Tokens in", "Tokens out", "Calls", "Cost"} <= set(first[0])
    assert [row["Cost"] for row in first] == ["–", "–"]
    evaluation.wait(120)
    assert "every operator costs $0.00 per episode" in evaluation.cost_plot().note
    panel = EvaluationPanel(evaluation.folder)
    assert panel.settle()
    assert [box.children[0].title for box in panel.plots.box.children] == ["Returns"]
    panel.close()


def test_what_is_spent_of_a_budget_is_in_words() -> None:
    spent = {"usd": 0.41, "tokens": 12_345, "calls": 9}
    assert budget_text(None, spent) == ""
    assert budget_text({"usd": 2.0, "tokens": None}, spent) == "$0.41 of $2.00"
    assert budget_text({"tokens": 50_000}, spent) == "12.3k of 50k tokens"
    assert budget_text({"usd": 2.0}, spent | {"usd": None}) == "unknown of $2.00"
