"""CSV export of a panel's chart: no metric name can run as a spreadsheet formula."""

from __future__ import annotations

import io
from pathlib import Path

import pandas as pd
from overview.run_folders import metrics, run_in

from mosaic_lab.widgets.runs.run_panel import complete_csv
from mosaic_lab.widgets.runs.run_view import RunView


def test_a_metric_named_like_a_formula_is_text_and_a_negative_value_a_number(tmp_path: Path) -> None:
    run = run_in(tmp_path / "run", [metrics(1, **{"=SUM(A1)": -1.5, "+1": 2.0})])
    views, names = [RunView(run, "", "")], ["=SUM(A1)", "+1"]
    sent = complete_csv(views, names)
    assert isinstance(sent, str)
    (written,) = complete_csv(views, names, limit=0)
    for file in (io.StringIO(sent), written):
        table = pd.read_csv(file, dtype={"name": str})
        assert table[["name", "value"]].to_numpy().tolist() == [["'=SUM(A1)", -1.5], ["+1", 2.0]]
