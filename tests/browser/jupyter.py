"""Helpers for browser tests in JupyterLab: write a notebook, open it, run its cells, read their outputs."""

from __future__ import annotations

import json
import re
import secrets
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.request import Request, urlopen

import nbformat
from playwright.sync_api import Locator, Page, expect
from support import start_learner

from mosaic_lab.runs import Run, Supervisor

KERNEL_MS = 60_000
REQUEST_SECONDS = 30.0
MAKE_LAB = "import mosaic_lab as mosaic\nlab = mosaic.Lab()"
BUSY = """\
import pathlib, time
pathlib.Path('busy').touch()
while not pathlib.Path('go').exists():
    time.sleep(0.05)"""
COMPUTING = BUSY.replace("time.sleep(0.05)", "sum(range(1000))")
"""Code of cells that run until the test ends or creates the file ``go``."""
ACTIVE = re.compile("jp-mod-active")
RAN = re.compile(r"\[\d+\]")


@dataclass
class JupyterLab:
    """A running server that serves the folder ``root``."""

    url: str
    token: str
    root: Path

    def address(self, path: str = "lab") -> str:
        """URL of `path`, including the login token."""
        return f"{self.url}/{path}?token={self.token}"

    def clear(self) -> None:
        """Shut down all kernels and delete all files in ``root``."""
        paths = [
            f"api/sessions/{session['id']}" for session in json.loads(self._request("GET", "api/sessions"))
        ]
        with ThreadPoolExecutor() as pool:  # a busy kernel takes seconds to end
            list(pool.map(partial(self._request, "DELETE"), paths))
        for entry in self.root.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()

    def _request(self, method: str, path: str) -> bytes:
        with urlopen(Request(self.address(path), method=method), timeout=REQUEST_SECONDS) as answer:
            return bytes(answer.read())

    def write_notebook(self, name: str, cells: list[str]) -> None:
        """Write a notebook of code cells; `name` is relative to ``root``."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
        notebook.metadata["kernelspec"] = {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        }
        nbformat.write(notebook, path)


class Notebook:
    """A notebook open in a page, in a JupyterLab workspace of its own."""

    def __init__(self, page: Page, server: JupyterLab, name: str) -> None:
        self.page = page
        page.goto(server.address(f"lab/workspaces/{secrets.token_hex(4)}/tree/{name}"))
        self.wait_idle()

    def cell(self, index: int) -> Locator:
        return self.page.locator(".jp-Notebook .jp-CodeCell").nth(index)

    def output(self, index: int) -> Locator:
        return self.cell(index).locator(".jp-OutputArea-output")

    def start(self, index: int) -> None:
        """Run a cell without waiting for it to finish."""
        self.cell(index).locator(".jp-InputArea-editor").click()
        expect(self.cell(index)).to_have_class(ACTIVE)
        self._toolbar("notebook:run-cell-and-select-next").click()

    def run(self, index: int) -> None:
        """Run a cell and wait until it finishes."""
        self.start(index)
        expect(self.cell(index).locator(".jp-InputPrompt")).to_have_text(RAN, timeout=KERNEL_MS)

    def reload(self) -> None:
        self.page.reload()
        self.wait_idle()

    def restart_kernel(self) -> None:
        """Restart the kernel as a user does: press the toolbar's button and confirm."""
        self._toolbar("notebook:restart-kernel").click()
        self.page.get_by_role("button", name="Confirm Kernel Restart").click()
        self.wait_idle()

    def wait_idle(self) -> None:
        """Wait until the page is loaded and the kernel is idle."""
        self.page.locator("#jupyterlab-splash").wait_for(state="detached")
        self.status("Idle")

    def status(self, status: str) -> None:
        """Wait until the notebook's kernel is connected and has this `status` ("Idle", "Busy")."""
        bar = self.page.locator("#jp-main-statusbar")
        expect(bar).to_contain_text(f"| {status}", timeout=KERNEL_MS)

    def _toolbar(self, command: str) -> Locator:
        return self.page.locator(f".jp-NotebookPanel-toolbar [data-command='{command}']")


def opened(page: Page, server: JupyterLab, folder: Path, *cells: str) -> Notebook:
    """Write ``work.ipynb`` into a test's folder and open it."""
    name = f"{folder.name}/work.ipynb"
    server.write_notebook(name, list(cells))
    return Notebook(page, server, name)


def start_long(folder: Path, **settings: object) -> Run:
    """Start a worker that learns along a curve, in the run store of a test's folder. Without
    ``seconds`` it runs longer than any test."""
    supervisor = Supervisor(folder / "mosaic_runs", max_running=9)
    return start_learner(supervisor, **{"seconds": 900, "rows": 30_000, **settings})


def choose_in_palette(page: Page, command: str) -> None:
    page.keyboard.press("Control+Shift+C")
    page.locator(".lm-CommandPalette-input").fill(f"MOSAIC Lab {command}")
    page.locator(".lm-CommandPalette-item", has_text=command).first.click()
