"""Run sources of a real page: it follows a store through a kernel or the server and misses no change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from browser.jupyter import BUSY, KERNEL_MS, MAKE_LAB, JupyterLab, opened
from many_runs import write_runs
from playwright.sync_api import Page
from support import start_endless, wait_until

from mosaic_lab.runs import Run, Supervisor

HANGS = """import ctypes, os, pathlib
os.mkfifo('gate')
pathlib.Path('hangs').touch()
ctypes.PyDLL(None).open(b'gate', os.O_RDONLY)  # not one of Python's threads runs until it is opened"""
KILLED = "import os\nos.kill(os.getpid(), 9)"

FOLLOW = """async store => {
  const app = window.jupyterapp;
  const services = [...app.pluginRegistry._services.keys()];
  const sources = await app.resolveRequiredService(
    services.find(token => token.name === 'mosaic-lab:IRunSources')
  );
  const source = sources.source(store);
  const rows = new Map();
  window.mosaic = { sources, source, rows };
  source.subscribe(changes => {
    for (const id of changes.removed) rows.delete(id);
    for (const row of changes.rows) rows.set(row.id, row);
  });
}"""


class Follower:
    """A page that follows a store as the runs panel does."""

    def __init__(self, page: Page, root: Path) -> None:
        self.page = page
        page.evaluate(FOLLOW, str(root))

    def wait(self, condition: str, argument: Any = None, timeout: int = 20_000) -> None:
        """Wait until a condition on ``source``, ``rows`` and ``sources`` is true in the page."""
        function = f"id => {{ const {{ source, rows, sources }} = window.mosaic; return {condition}; }}"
        self.page.wait_for_function(function, arg=argument, timeout=timeout)

    def sees(self, run: Run, state: str = "running") -> None:
        self.wait("rows.get(id[0])?.state === id[1]", [run.id, state])

    def call(self, method: str, **params: Any) -> Any:
        """Result of a call, or the error message shown to the user."""
        call = "([method, params]) => window.mosaic.source.call(method, params)"
        return self.page.evaluate(
            f"async call => {{ try {{ return (await ({call})(call)).result; }}"
            " catch (error) { return error.message; } }",
            [method, params],
        )


def test_a_store_is_read_without_a_kernel_acted_on_with_one_and_a_lost_one_leaves_no_gap(
    page: Page, jupyterlab: JupyterLab, folder: Path, supervisor: Supervisor
) -> None:
    write_runs(supervisor.store.root, 3)
    notebook = opened(page, jupyterlab, folder, MAKE_LAB, BUSY, HANGS, KILLED)
    follower = Follower(page, supervisor.store.root)
    follower.wait("rows.size === 3 && !source.canAct")
    run = start_endless(supervisor)
    follower.sees(run)
    assert "Run mosaic_lab.Lab(…) on this store in a notebook" in follower.call("stop", runs=[run.id])

    notebook.run(0)
    notebook.start(1)
    notebook.status("Busy")
    follower.wait("source.canAct")
    assert follower.call("panel", runs=[run.id])["model_id"]
    assert follower.call("stop", runs=[run.id]) == {}
    follower.sees(run, "cancelled")
    wait_until(lambda: not run.folder.alive())
    assert follower.call("remove", runs=[run.id]) == {}
    follower.wait("!rows.has(id)", run.id)
    (folder / "go").touch()
    notebook.wait_idle()

    notebook.start(2)
    wait_until((folder / "hangs").exists)
    assert follower.call("log", run=next(iter(supervisor.store.folders())).run_id, lines=1)["text"]
    follower.sees(start_endless(supervisor))
    (folder / "gate").open("w").close()

    notebook.restart_kernel()
    follower.wait("!source.canAct")
    follower.sees(start_endless(supervisor))
    notebook.run(0)
    follower.wait("source.canAct", timeout=KERNEL_MS)
    follower.sees(start_endless(supervisor))

    notebook.start(3)
    follower.wait("!source.canAct")
    follower.sees(start_endless(supervisor))
