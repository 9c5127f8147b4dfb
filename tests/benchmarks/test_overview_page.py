"""All runs in JupyterLab: the panel of 1,000 runs, the workspace of 200, and TensorBoard for comparison.

The time at which curves are drawn, ours and TensorBoard's, is read from the screenshots that Chromium sends
of each change of the page. Frame times are those between two animation frames; the baseline is the same page
at rest, which also misses frames on a busy machine.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import operator
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import psutil
import pytest
from benchmarks import peer_packages, tensorboard_server
from benchmarks.measuring import judged, print_table, size
from benchmarks.own_chromium import Chromium, Screencast, own_memory, screencast
from benchmarks.test_overview_speed import LINES, METRICS, make_runs, read_all
from browser.jupyter import JupyterLab, Notebook
from browser.server import serving
from many_runs import write_runs
from overview.run_folders import append, metrics
from playwright.sync_api import Browser, Page

from mosaic_lab.keeper.run_store import RunFolder, write_json
from mosaic_lab.keeper.states import RunStatus, State
from mosaic_lab.overview.column_pool import ColumnPool
from mosaic_lab.runs import Supervisor
from mosaic_lab.runs.exporting import export
from mosaic_lab.telemetry.column_cache import ColumnCache

RUNS, PLOTTED, LIVE = size((1000, 200, 10), (100, 6, 2))
RIVALS, UPDATES = size((50, 3), (4, 1))
ROUNDS, LIVE_SECONDS, IDLE_SECONDS = size((5, 15, 20), (1, 2, 2))
STEPS = itertools.accumulate(itertools.repeat(2), operator.mul, initial=20_000)
"""Steps that are each far to the right of all earlier points."""
TENSORBOARD_SECONDS = 60
SETTLE_MS = 3000

LAB = """import os
import mosaic_lab as mosaic
lab = mosaic.Lab()"""

SHOWN = """async () => {
    const began = performance.now();
    const seen = new Promise(resolve => {
        const look = () => document.querySelector('#mosaic-lab-runs .mosaic-runs-line')?.checkVisibility()
            ? requestAnimationFrame(() => resolve(performance.now() - began)) : requestAnimationFrame(look);
        look();
    });
    jupyterapp.commands.execute('mosaic-lab:show-runs');
    return seen;
}"""
FRAMES = """async ([seconds, scrolled]) => {
    const box = scrolled && document.querySelector(scrolled);
    const way = box ? box.scrollHeight - box.clientHeight : 0;
    const frames = [];
    const began = performance.now();
    let last = await new Promise(requestAnimationFrame);
    while (last - began < 1000 * seconds) {
        if (box) box.scrollTop = way * (last - began) / (1000 * seconds);
        const now = await new Promise(requestAnimationFrame);
        frames.push(now - last);
        last = now;
    }
    const late = frames.filter(ms => ms > 50).length;
    return {longest: Math.max(...frames), late, count: frames.length, way};
}"""
OPEN = """async args => {
    await jupyterapp.restored;
    await jupyterapp.commands.execute("mosaic-lab:open-workspace", args);
}"""


@pytest.fixture(scope="module")
def table() -> Iterator[list[list[str]]]:
    rows: list[list[str]] = []
    yield rows
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print_table(
        f"All runs in JupyterLab (load average of the last 1, 5, 15 minutes: {load}; {os.cpu_count()} cores)",
        ["", "ours", "baseline", "named", "target", "verdict"],
        rows,
    )


@pytest.fixture
def server(tmp_path: Path, browser: Browser) -> Iterator[JupyterLab]:
    home = tmp_path / "jupyter"
    home.mkdir()
    cache = {"MOSAIC_LAB_HOME": str(tmp_path / "home")}
    with serving(home, "--LabApp.expose_app_in_browser=True", environ=cache) as server:
        yield server


def processes_of(server: JupyterLab) -> dict[str, psutil.Process]:
    """Return the server's process and, if they exist, those of its reader and the kernel."""
    port = server.url.rpartition(":")[2]
    [process] = [one for one in psutil.Process().children() if f"--ServerApp.port={port}" in one.cmdline()]
    found = {"server": process}
    for child in process.children(recursive=True):
        command = " ".join(child.cmdline())
        for name, part in (("reader", "mosaic_lab.server.reader"), ("kernel", "ipykernel_launcher")):
            if part in command:
                found[name] = child
    return found


def alone(folders: Iterable[Path]) -> None:
    """Remove these runs from their groups, so that each has its own line."""
    for folder in folders:
        launch = json.loads((folder / "launch.json").read_text())
        write_json(folder / "launch.json", launch | {"group": None})


@contextmanager
def alive(folders: Iterable[Path]) -> Iterator[None]:
    """Mark these runs as alive, as their keepers would."""
    with ExitStack() as locks:
        for folder in folders:
            files = RunFolder(folder)
            lock = locks.enter_context(files.lock_path.open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
            write_json(files.state_path, RunStatus(State.RUNNING, "", time.time()).to_dict())
        yield


@contextmanager
def repeated(action: Callable[[int], object]) -> Iterator[None]:
    """Call ``action(count)`` once a second while the block runs."""
    done = threading.Event()

    def repeat() -> None:
        count = 0
        while not done.wait(1.0):
            count += 1
            action(count)

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def frame_row(name: str, moved: dict[str, float], still: dict[str, float]) -> list[str]:
    texts = [f"{one['longest']:.0f} ({one['late']} of {one['count']} over 50)" for one in (moved, still)]
    return [f"{name}: longest frame, ms", *texts, "same page at rest", *judged(moved["longest"], "<= 50 ms")]


def median_row(name: str, values: list[float], target: str) -> list[str]:
    text = f"{median(values):.3g} ({min(values):.3g} to {max(values):.3g})"
    return [name, text, "", "", *judged(median(values), target)]


def fresh(page: Page, server: JupyterLab, workspace: str) -> None:
    """Load a JupyterLab with nothing open, and wait until it is at rest."""
    page.goto(server.address(f"lab/workspaces/{workspace}"))
    page.wait_for_function("window.jupyterapp")
    page.evaluate("jupyterapp.restored")
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    page.wait_for_timeout(SETTLE_MS)


def test_panel_of_many_runs(chromium: Chromium, server: JupyterLab, table: list[list[str]]) -> None:
    alone(write_runs(server.root / "mosaic_runs", RUNS))
    server.write_notebook("work.ipynb", [LAB])
    grid = "#mosaic-lab-runs .mosaic-runs-grid"
    with chromium.page() as page:
        opened: list[float] = []
        restored: list[float] = []
        for number in range(ROUNDS):
            fresh(page, server, f"panel{number}")
            assert not page.locator(f"{grid} .mosaic-runs-line").first.is_visible()
            opened.append(page.evaluate(SHOWN) / 1000)
        page.wait_for_timeout(SETTLE_MS)  # until JupyterLab has saved its layout
        for _ in range(ROUNDS):
            began = time.time()
            page.reload(wait_until="commit")
            page.locator(f"{grid} .mosaic-runs-line").first.wait_for()
            restored.append(time.time() - began)
            page.wait_for_timeout(SETTLE_MS)
        still = page.evaluate(FRAMES, [8, ""])
        scrolls = [page.evaluate(FRAMES, [8, grid]) for _ in range(3)]
        assert scrolls[0]["way"] > 0
        scrolled = sorted(scrolls, key=lambda frames: frames["longest"])[1]
        Notebook(page, server, "work.ipynb")
        rest(page)
    without = idle(chromium, server)
    with chromium.page() as page:
        notebook = Notebook(page, server, "work.ipynb")
        notebook.run(0)
        page.evaluate("jupyterapp.commands.execute('mosaic-lab:show-runs')")
        page.locator(f"{grid} .mosaic-runs-line").first.wait_for()
        rest(page)
    title = f"panel of {RUNS:,} runs"
    table.append(median_row(f"{title}: command in a page at rest to rows, s", opened, "<= 1 s"))
    table.append(median_row("… page's address to rows, with JupyterLab's own loading, s", restored, ""))
    table.append(frame_row("… scrolled through in 8 s, middle of 3", scrolled, still))
    for name, busy in idle(chromium, server).items():
        baseline = [f"{without[name]:.2f}", "panel closed, no Lab"]
        cells = [f"{busy:.2f}", *baseline, *judged(busy, "<= 2 %")]
        table.append([f"… idle: CPU of the {name}, %", *cells])


def rest(page: Page) -> None:
    """Leave the page idle, without a cursor: JupyterLab's blinking cursor takes 4 % of a core."""
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(3 * SETTLE_MS)


def idle(chromium: Chromium, server: JupyterLab) -> dict[str, float]:
    """Return the percentage of a core that each process takes while the user does nothing."""
    known = {name: [process] for name, process in processes_of(server).items()}
    known["page"] = chromium.renderers()
    before = {name: cpu(processes) for name, processes in known.items()}
    time.sleep(IDLE_SECONDS)
    return {name: 100 * (cpu(processes) - before[name]) / IDLE_SECONDS for name, processes in known.items()}


def cpu(processes: list[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def boxes(page: Page, charts: str) -> list[dict[str, float]]:
    """Return the positions of the completely visible charts, without their borders."""
    height = page.evaluate("innerHeight")
    found = [one.bounding_box() for one in page.locator(charts).all()]
    return [{**box} for box in found if box and box["y"] >= 0 and box["y"] + box["height"] <= height]


def watched(page: Page, act: Callable[[], object], charts: str) -> tuple[Screencast, float]:
    """Record the page from ``act`` until its charts are complete; return the recording and its start time."""
    with screencast(page) as cast:
        began = time.time()
        act()
        page.locator(charts).first.wait_for()
        page.wait_for_timeout(2 * SETTLE_MS)
    return cast, began


OURS = ".mosaic-chart .u-over"


def test_workspace(chromium: Chromium, server: JupyterLab, table: list[list[str]], tmp_path: Path) -> None:
    folder = server.root / "mosaic_runs"
    folder.mkdir()
    runs = make_runs(folder, PLOTTED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOSAIC_LAB_HOME", str(tmp_path / "home"))  # the server's home
        read_all(runs, ColumnPool(ColumnCache()))
    ids = [run.id for run in runs]
    args = {"store": str(folder), "runs": ids}
    first, every = [], []
    with chromium.page() as page:
        for number in range(ROUNDS):
            fresh(page, server, f"workspace{number}")
            cast, began = watched(page, lambda: page.evaluate(OPEN, args), OURS)
            seen = boxes(page, OURS)
            first.append(cast.drawn(seen[:1], 0.2) - began)
            every.append(cast.drawn(seen, 0.98) - began)
        still = page.evaluate(FRAMES, [LIVE_SECONDS, ""])
        live = [run.path for run in runs[:LIVE]]
        for path in live:  # replaces hard links, to append to the files
            shutil.copy(path / "telemetry.jsonl", path / "own")
            (path / "own").replace(path / "telemetry.jsonl")

        def grow(count: int) -> None:
            for path in live:
                append(path, [metrics(4 * (LINES + 25 * count), **dict.fromkeys(METRICS, 0.5))])

        grown = {}
        with alive(live), repeated(grow):
            for name, shown in ((f"{PLOTTED} runs, {LIVE} live", ids), (f"{LIVE} live runs", ids[:LIVE])):
                fresh(page, server, f"live{len(shown)}")
                page.evaluate(OPEN, {"store": str(folder), "runs": shown})
                page.locator(OURS).first.wait_for()
                page.wait_for_timeout(3 * SETTLE_MS)
                grown[name] = page.evaluate(FRAMES, [LIVE_SECONDS, ""])
    title = f"workspace, {PLOTTED} runs of {LINES:,} points, {len(seen)} charts in sight"
    table.append(median_row(f"{title}: command to all drawn, s", every, "<= 2 s"))
    table.append(median_row("… to the first curves, s", first, ""))
    for name, frames in grown.items():
        table.append(frame_row(f"… {name}, a line each a second", frames, still))


def delays(page: Page, chart: str, write: Callable[[int], object], seconds: float) -> list[float]:
    """Return the times from writing points, far to the right of all others, until the page changes."""
    taken = []
    for number in range(UPDATES):
        [box, *_] = boxes(page, chart)
        with screencast(page) as cast:
            page.wait_for_timeout(1000 + 300 * number)
            began = time.time()
            write(next(STEPS))
            at = None
            while at is None and time.time() < began + seconds:
                page.wait_for_timeout(500)
                at = cast.changed(box, began)
        assert at is not None, f"no change in {seconds} s"
        taken.append(at - began)
        page.wait_for_timeout(SETTLE_MS)
    return taken


def test_beside_tensorboard(
    browser: Browser, chromium: Chromium, server: JupyterLab, table: list[list[str]], tmp_path: Path
) -> None:
    tensorboard = peer_packages.install(tmp_path / "tensorboard", "tensorboard")
    folder, events = server.root / "mosaic_runs", server.root.parent / "events"
    folders = write_runs(folder, RIVALS)
    ids = [path.name for path in folders]
    export(Supervisor(folder).runs(), "tensorboard", events)  # as mosaic-lab export --to tensorboard
    found: dict[str, dict[str, Any]] = {}
    with chromium.page() as page, alive(folders[:1]):

        def write(step: int) -> None:
            append(folders[0], [metrics(step, at=time.time() - 1_760_000_000, episode_return=400.0)])

        fresh(page, server, "rival")
        cast, began = watched(page, lambda: page.evaluate(OPEN, {"store": str(folder), "runs": ids}), OURS)
        command = cast.drawn(boxes(page, OURS)[:1], 0.2) - began
        opened = first_curves(page, lambda: page.reload(wait_until="commit"), OURS)
        found["ours"] = {
            "first": opened,
            "delay": delays(page, OURS, write, 30),
            "server": own_memory(list(processes_of(server).values())),
            "page": chromium.memory(page)["renderers"],
        }
        page.goto("about:blank")
        with tensorboard_server.serving(tensorboard, events, RIVALS) as (process, address):
            page.add_init_script(tensorboard_server.SETTINGS)
            page.goto(f"{address}/#timeseries", wait_until="commit")
            opened = first_curves(page, lambda: page.reload(wait_until="commit"), "line-chart")
            with tensorboard_server.writer(tensorboard, events / ids[0]) as write_event:
                delay = delays(page, "line-chart", write_event, TENSORBOARD_SECONDS)
            found["theirs"] = {
                "first": opened,
                "delay": delay,
                "server": own_memory([process, *process.children(recursive=True)]),
                "page": chromium.memory(page)["renderers"],
            }
    name = f"{RIVALS} runs"
    for what, key in (
        ("page's address to first curves, s", "first"),
        ("a point written to drawn, s", "delay"),
    ):
        ours, theirs = (median(found[who][key]) for who in ("ours", "theirs"))
        table.append(
            [
                f"{name}: {what}",
                f"{ours:.3g}",
                f"{theirs:.3g}",
                "TensorBoard",
                *judged(ours, f"<= {theirs:.3g}"),
            ]
        )
    table.append([f"{name}: command in an open page to first curves, s", f"{command:.3g}", "", "", "", ""])
    for what in ("server", "page"):
        ours, theirs = (found[who][what] / 2**20 for who in ("ours", "theirs"))
        cells = [f"{ours:.0f}", f"{theirs:.0f}", "TensorBoard", *judged(ours, f"<= {theirs:.0f}")]
        table.append([f"{name}: memory of the {what}, MiB", *cells])


def first_curves(page: Page, load: Callable[[], object], chart: str) -> list[float]:
    taken = []
    for _ in range(ROUNDS):
        cast, began = watched(page, load, chart)
        taken.append(cast.drawn(boxes(page, chart)[:1], 0.2) - began)
    return taken
