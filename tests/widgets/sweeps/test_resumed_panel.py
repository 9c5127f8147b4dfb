"""Panels of a resumed sweep: a panel shown after the resume is live until the sweep ends."""

from __future__ import annotations

import threading

import pytest
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.widgets import show
from mosaic_lab.widgets.page import panel_outputs, saved_form
from mosaic_lab.widgets.sweeps import sweep_panel

pytestmark = pytest.mark.usefixtures("hiker")


@pytest.fixture
def panels(monkeypatch: pytest.MonkeyPatch) -> list[sweep_panel.SweepPanel]:
    """Panels in order of creation, each visible in a page."""
    made: list[sweep_panel.SweepPanel] = []

    class SeenPanel(sweep_panel.SweepPanel):
        def __init__(self, folder: RunFolder) -> None:
            super().__init__(folder)
            self.on_presence([["page", 0, True]])
            made.append(self)

    monkeypatch.setattr(sweep_panel, "SweepPanel", SeenPanel)
    monkeypatch.setattr(saved_form, "publish", lambda *_, **__: None)
    monkeypatch.setattr(panel_outputs, "MOMENT_SECONDS", 0.0)
    return made


def says(panel: sweep_panel.SweepPanel, state: str, progress: list[str]) -> bool:
    summary = panel.header.summary
    return bool(summary["state"] == state and progress in summary["facts"])


def test_what_shows_a_sweep_after_its_resume_is_live(
    lab: mosaic.Lab, panels: list[sweep_panel.SweepPanel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even while the earlier panel is still reading the rest after the stop, and if the sweep was not shown
    between two resumes."""
    read, may_read = sweep_panel.SweepReader.read, threading.Event()

    def slowly(reader: sweep_panel.SweepReader, *, plots: bool = True) -> sweep_panel.SweepSnapshot:
        assert may_read.wait(60)
        return read(reader, plots=plots)

    monkeypatch.setattr(sweep_panel.SweepReader, "read", slowly)
    sweep = lab.sweep(
        "hiker", algorithm="climb", env="Hill-v0", metric="skill", search={"rate": [0.1, 0.2, 0.3]},
        sampler="grid", pruner="none", trials=2, parallel=2,
        total_timesteps=600, env_vars={"SLOW_ARE": "low"},
    )  # fmt: skip
    show(sweep)
    wait_until(lambda: sum((run.step or 0) > 10 for run in lab.runs if run.id != sweep.id) == 2)
    sweep.stop()
    wait_until(lambda: panels[0].finished)
    show(sweep.resume(env_vars={"SLOW_ARE": ""}))
    may_read.set()
    wait_until(lambda: says(panels[-1], "completed", ["2 of 2", "trials"]))
    show(sweep)
    assert len(panels) == 2, "a second panel for an unchanged sweep"
    sweep.resume(trials=1, env_vars={"SLOW_ARE": ""}).wait(60)
    show(sweep)
    wait_until(lambda: says(panels[-1], "completed", ["3 of 3", "trials"]))
