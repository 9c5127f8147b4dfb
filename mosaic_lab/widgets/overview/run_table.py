"""The runs of a store in a cell: the live table of the runs panel, with its own static form."""

from __future__ import annotations

from pathlib import Path

import anywidget
import traitlets as t

from mosaic_lab.run_list import RunList
from mosaic_lab.widgets.overview import serve
from mosaic_lab.widgets.page.page_code import page_code
from mosaic_lab.widgets.page.saved_form import Caption, SavedForm
from mosaic_lab.widgets.page.widget_tree import widgets_stay_on_subshell


class RunTableView(anywidget.AnyWidget):
    """The table on the page, which reads the store through this kernel."""

    _esm = page_code("run_table.js")
    _css = page_code("run_table.css")

    store = t.Unicode().tag(sync=True)
    saved: SavedForm  # kept as long as the view: it closes the view when the page has removed the output


def show_run_table(root: Path, runs: RunList) -> None:
    """Show the live table of the store at ``root`` below the running cell.

    The notebook keeps ``runs`` as a static table.
    """
    serve(root)
    view = RunTableView(store=str(root))
    widgets_stay_on_subshell(view)
    count = "1 run" if len(runs) == 1 else f"{len(runs):,} runs"
    view.saved = SavedForm(
        "Runs", lambda: Caption(count, runs._repr_html_()), lambda: None, on_removed=view.close
    )
    view.saved.show(view, view.saved.add(), update=False)
