"""The kernel's run stores for the JupyterLab page, and the page's reports about panels.

The kernel has one comm with the page, target ``mosaic_lab.status``. For each new `Lab` the kernel sends
``{"store": str, "stores": [str], "version": str}``: ``store`` is the store of the latest `Lab`, ``stores``
are the stores of all, ``version`` is the version of this package. Any message of the page is answered with
the same. The page also reports two kinds of panel outputs: those read from a file, which may have missed
updates, and those gone because their cell was executed again, cleared or deleted. Panels of a former kernel
are shown again in their outputs.

The comm's id is its target's name, and the kernel never opens it: a page knows the comm by that id, and front
ends without our extension, such as nbconvert, would warn the user of a comm that they cannot handle.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from comm import create_comm, get_comm_manager

from mosaic_lab._version import __version__
from mosaic_lab.keeper.run_store import RunStore
from mosaic_lab.runs import Run
from mosaic_lab.widgets import frames, runs
from mosaic_lab.widgets.overview import STORES, serve
from mosaic_lab.widgets.page.background import in_background
from mosaic_lab.widgets.page.kernel import (
    keep_busy_while_a_cell_runs,
    notebook_shell,
    on_message,
    stay_on_subshell,
)
from mosaic_lab.widgets.page.saved_form import PanelOutput, SavedForm, described_runs, form_of

TARGET = "mosaic_lab.status"
MAX_REPORTED = 256
"""Maximum number of panels in one report."""

logger = logging.getLogger(__name__)

_SHOW_AGAIN: Mapping[object, Callable[[list[Run], Mapping[str, Any], PanelOutput], None]] = {
    "runs": runs.reattach,
    "evaluation": runs.reattach_own_panel,
    "frames": frames.reattach,
    "sweep": runs.reattach_own_panel,
}
"""Functions that show a panel of each kind again: for these runs, with the saved settings, in this output."""


class StatusChannel:
    """The comm with the page, until either side closes it. ``root`` is the store of the latest `Lab`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.closed = False
        self._comm = create_comm(target_name=TARGET, comm_id=TARGET, primary=False)
        get_comm_manager().register_comm(self._comm)
        on_message(self._comm, self._answer)
        self._comm.on_close(self._on_close)
        stay_on_subshell(self._comm)
        self._send()

    def close(self) -> None:
        self.closed = True
        self._comm.close()

    def _on_close(self, _: object) -> None:
        self.closed = True

    def _answer(self, msg: dict[str, Any]) -> None:
        self._send()
        in_background(partial(take_report, msg["content"]["data"]))

    def _send(self) -> None:
        self._comm.send({"store": str(self.root), "stores": list(STORES), "version": __version__})


_channel: StatusChannel | None = None


def announce(root: Path | str) -> None:
    """In a Jupyter kernel, send the page ``root`` as the store of the latest `Lab`. Never blocks."""
    global _channel
    shell = notebook_shell()
    if shell is None:
        return
    keep_busy_while_a_cell_runs(shell)
    root = RunStore(root).root
    serve(root)
    if _channel is not None and not _channel.closed:
        if _channel.root == root:
            return
        _channel.close()
    _channel = StatusChannel(root)


def take_report(report: Mapping[str, Any]) -> None:
    """Process a report of the page; may be slow.

    ``report["gone"]``: the captions of outputs removed from the page. ``report["panels"]``: the metadata of
    captions that the page has read, or still shows after a restart of the kernel; those unknown to this
    kernel are shown again.
    """
    for caption in _texts(report.get("gone")):
        if (form := form_of(caption)) is not None:
            form.remove(caption)
    published: set[SavedForm] = set()
    panels = report.get("panels")
    for panel in panels[:MAX_REPORTED] if isinstance(panels, list) else []:
        ids = _texts(panel.get("panel")) if isinstance(panel, Mapping) else []
        if len(ids) != 3:
            continue
        output = PanelOutput(*ids)
        form = form_of(output.caption)
        if form is None:
            _reattach(panel, output)
        elif form not in published:
            published.add(form)
            form.publish_again()


def _texts(values: object) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def _reattach(panel: Mapping[str, Any], output: PanelOutput) -> None:
    """Show the panel described by a saved caption in its output; do nothing if its runs are gone."""
    shows = panel.get("shows")
    if not isinstance(shows, Mapping) or not (show := _SHOW_AGAIN.get(shows.get("kind"))):
        return
    if not (runs := described_runs(shows.get("runs"))):
        return
    try:
        show(runs, shows, output)
    except Exception:  # saved descriptions may contain anything; the other panels must still return
        logger.exception("A panel could not be shown again.")
