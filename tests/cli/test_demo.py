"""``mosaic-lab demo``: a real training, an executed notebook and a self-contained page."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import nbformat
from playwright.sync_api import Page
from support import wait_until

from mosaic_lab.runs import Supervisor

MOSAIC_LAB = [str(Path(sys.executable).with_name("mosaic-lab"))]


def test_it_prints_the_return_it_reached_and_where_the_files_are(demo: tuple[Path, str]) -> None:
    folder, printed = demo
    reached = re.search(r"mean return of the last 20: ([\d.]+) \(of the first 20: ([\d.]+)\)", printed)
    assert reached, printed
    last, first = map(float, reached.groups())
    assert last > 3 * first, "PPO did not visibly learn"
    for name in ("01_train_and_watch.executed.ipynb", "01_train_and_watch.executed.html", "mosaic_runs"):
        assert str(folder / name) in printed
        assert (folder / name).exists()


def test_the_executed_notebook_keeps_a_picture_and_a_table_of_each_result(demo: tuple[Path, str]) -> None:
    notebook = nbformat.read(demo[0] / "01_train_and_watch.executed.ipynb", as_version=4)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.output_type == "error"]
    shown = [output.data for output in outputs if "data" in output]
    assert len([data for data in shown if "image/png" in data]) == 2, "not one of the run, one of the group"
    assert len([data for data in shown if "completed" in data.get("text/html", "")]) == 2


def test_the_page_shows_its_charts_without_kernel_or_network(demo: tuple[Path, str], page: Page) -> None:
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    address = (demo[0] / "01_train_and_watch.executed.html").as_uri()
    page.goto(address)
    pictures = page.locator("img")
    assert pictures.count() >= 2
    assert all(pictures.nth(index).evaluate("image => image.naturalWidth") > 300 for index in range(2))
    assert [url for url in requested if not url.startswith("data:")] == [address]


def test_ctrl_c_ends_the_notebook_and_its_trainings(tmp_path: Path, cleanrl_environment: object) -> None:
    store = Supervisor(tmp_path / "out" / "mosaic_runs")
    demo = subprocess.Popen(
        [*MOSAIC_LAB, "demo", "--dir", "out"],
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # background jobs of a shell ignore SIGINT
    )
    wait_until(lambda: [run for run in store.runs() if run.state == "running"], 120)
    os.killpg(demo.pid, signal.SIGINT)
    printed, _ = demo.communicate(timeout=60)
    assert demo.returncode == 130, printed
    assert "Ctrl-C: stopping the demo's trainings" in printed
    assert "Traceback" not in printed
    assert [run.state for run in store.runs()] == ["cancelled"]


def test_open_starts_jupyterlab_on_the_notebook_beside_the_other_examples(
    tmp_path: Path, cleanrl_environment: object
) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    opened = subprocess.Popen(
        [*MOSAIC_LAB, "demo", "--open", "--dir", "out"],
        cwd=tmp_path,
        env={**os.environ, "BROWSER": f"{browser} %s"},
        start_new_session=True,
    )
    try:
        wait_until(lambda: (tmp_path / "opened").exists(), 60)
        for example in ("01_train_and_watch", "02_watch_the_agent", "04_evaluate_and_share"):
            assert (tmp_path / "out" / f"{example}.ipynb").exists()
    finally:
        os.killpg(opened.pid, signal.SIGKILL)
        opened.wait(timeout=10)
