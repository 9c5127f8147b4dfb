"""The `telemetry.jsonl` of a long run, larger than a gigabyte, opened in the file browser."""

from __future__ import annotations

import json
from pathlib import Path

import psutil
import pytest
from browser.jupyter import JupyterLab
from many_runs import write_runs
from playwright.sync_api import Page, expect
from support import wait_until

LINES = 4_600_000
MOST_BYTES = 600e6
"""Memory of the process that reads; the file has twice as much."""


@pytest.mark.extended
@pytest.mark.timeout(1200)
def test_it_is_drawn_to_its_end_in_little_memory(page: Page, jupyterlab: JupyterLab, folder: Path) -> None:
    run = write_runs(folder / "mosaic_runs", 1)[0]
    assert lengthen(run / "telemetry.jsonl") > 1e9
    page.goto(jupyterlab.address(f"lab/workspaces/large/tree/{run.relative_to(jupyterlab.root)}"))
    page.locator(".jp-DirListing-item", has_text="telemetry.jsonl").dblclick()
    chart = page.locator(".jp-Document .mosaic-chart[data-metric=episode_return]")
    expect(chart.locator("canvas").first).to_be_visible(timeout=60_000)
    expect(chart.get_by_text("% read")).to_be_visible()
    server = next(one for one in psutil.Process().children() if str(jupyterlab.root) in str(one.cmdline()))
    reader = next(one for one in server.children() if "mosaic_lab.server.reader" in one.cmdline())
    most = 0

    def all_read() -> bool:
        nonlocal most
        memory = reader.memory_info()
        most = max(most, memory.rss - memory.shared)  # what is mapped of files can be dropped
        return chart.get_by_text("% read").count() == 0

    wait_until(all_read, timeout=900)
    assert most < MOST_BYTES
    chart.locator(".u-over").hover()
    place = chart.locator(".mosaic-values-place")
    expect(place).to_be_visible()
    middle = int("".join(filter(str.isdigit, place.inner_text())))
    assert middle == pytest.approx(LINES / 2, rel=0.1), "the curve has all steps"


def lengthen(path: Path) -> int:
    """Append `LINES` lines of metrics to a run's telemetry, and return its size in bytes."""
    last = json.loads(path.read_text().splitlines()[-1])
    run, start = last["run_id"], last["timestamp"]
    with path.open("a") as file:
        file.writelines(
            f'{{"event":"metrics","run_id":"{run}","timestamp":{start + step / 1000:.3f},"payload":'
            f'{{"step":{step},"values":{{"episode_return":{step % 977},"losses/value_loss":{step % 89}.25,'
            f'"losses/policy_loss":-0.{step % 997:03},"losses/entropy":0.{step % 499:03},'
            f'"charts/SPS":{step % 4001},"charts/learning_rate":0.0003}}}}}}\n'
            for step in range(1, LINES)
        )
    return path.stat().st_size
