"""A real JupyterLab server for the tests of what users see there.

Fixtures: ``jupyterlab`` (one server a module), ``folder`` (in its root, one a test). ``page`` is in
``browser.chromium``. What tests do with them (write a notebook, open it, run its cells) is in
``browser.jupyter``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.jupyter import JupyterLab
from browser.server import serving
from playwright.sync_api import BrowserContext

from mosaic_lab.runs import RunGroup, Supervisor


@pytest.fixture(scope="module")
def jupyterlab(tmp_path_factory: pytest.TempPathFactory, context: BrowserContext) -> Iterator[JupyterLab]:
    with serving(tmp_path_factory.mktemp("jupyter")) as server:
        yield server


@pytest.fixture
def folder(jupyterlab: JupyterLab, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder of this test's own in the server's root; its busy cells and its runs end with the test."""
    folder = jupyterlab.root / request.node.name
    folder.mkdir()
    yield folder
    (folder / "go").touch()
    RunGroup(Supervisor(folder / "mosaic_runs").runs()).stop(grace=0)
