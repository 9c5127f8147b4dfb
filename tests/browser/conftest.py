"""A real JupyterLab server for tests of the user interface.

Fixtures: ``jupyterlab`` (one server per session, emptied after each module), ``folder`` (one per test, in its
root). ``page`` is in ``browser.chromium``; ``browser.jupyter`` writes notebooks, opens them and runs cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.jupyter import JupyterLab
from browser.server import serving
from playwright.sync_api import BrowserContext
from support import store

from mosaic_lab.runs import RunGroup, Supervisor


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterLab]:
    with serving(tmp_path_factory.mktemp("jupyter"), "--LabApp.expose_app_in_browser=True") as server:
        yield server


@pytest.fixture(scope="module")
def jupyterlab(shared_server: JupyterLab, context: BrowserContext) -> Iterator[JupyterLab]:
    """The session's server; its kernels and files are removed after the module."""
    yield shared_server
    for page in context.pages[1:]:
        page.close()
    shared_server.clear()


@pytest.fixture
def folder(jupyterlab: JupyterLab, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder for this test in the server's root; its busy cells and its runs end with the test."""
    folder = jupyterlab.root / request.node.name
    folder.mkdir()
    yield folder
    (folder / "go").touch()
    RunGroup(Supervisor(folder / "mosaic_runs").runs()).stop(grace=0)


@pytest.fixture
def supervisor(folder: Path) -> Iterator[Supervisor]:
    """Supervisor of the run store in the test's folder."""
    with store(folder / "mosaic_runs") as supervisor:
        yield supervisor
