"""A page's channel to a run store through a real kernel: reads and actions while a cell runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client.blocking import BlockingKernelClient
from many_runs import write_runs
from support import start_peer, store, wait_until
from widgets.kernels import PageChannel, busy, kernel_with_lab

from mosaic_lab.runs import Supervisor

RUNS = 16


@pytest.fixture(scope="module")
def supervisor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    with store(tmp_path_factory.mktemp("store") / "mosaic_runs") as supervisor:
        write_runs(supervisor.store.root, RUNS)
        yield supervisor


@pytest.fixture
def root(supervisor: Supervisor) -> Path:
    return supervisor.store.root


@pytest.fixture(scope="module")
def kernel(supervisor: Supervisor) -> Iterator[BlockingKernelClient]:
    with kernel_with_lab(supervisor.store.root) as client, busy(client):
        yield client


@pytest.fixture
def page(kernel: BlockingKernelClient, root: Path) -> PageChannel:
    return PageChannel(kernel, root)


def ids(page: PageChannel) -> list[str]:
    return [row["id"] for row in page.result("changes", version=0)["rows"]]


def test_reads_while_a_cell_runs(page: PageChannel) -> None:
    runs = ids(page)
    assert len(runs) == RUNS
    assert "'a' is not in" in page.error("log", run="a")
    assert "Expected `int`, got `str`" in page.error("changes", version="1")
    number = page.send("curves", runs=runs[:2], metric="episode_return", points=100)
    lines = page.answer(number)["result"]["lines"]
    assert len(page.buffers[number]) == 2 * len(lines) == 4
    assert "knows no 'dance'" in page.error("dance")


def test_pages_hear_of_changes_and_act_on_runs(
    kernel: BlockingKernelClient, supervisor: Supervisor, page: PageChannel, root: Path
) -> None:
    other = PageChannel(kernel, root)
    for one in (page, other):
        one.send("subscribe", version=0)
        assert len(one.changes()["rows"]) >= RUNS
    run = start_peer(supervisor, "train", total_timesteps=10**9, pause=0.2)
    for one in (page, other):
        one.wait_for_row(run.id, lambda row: row["alive"])

    assert "nothing was removed: these runs are alive, stop them first" in page.error("remove", runs=[run.id])
    page.result("stop", runs=[run.id])
    page.wait_for_row(run.id, lambda row: row["state"] == "cancelled")
    wait_until(lambda: not run.folder.alive())
    page.result("remove", runs=[run.id])
    wait_until(lambda: run.id in other.changes()["removed"])
    assert "has completed: lab.train(..., resume_from=run)" in page.error("resume", runs=ids(page)[:1])

    other.send("unsubscribe")
    other.close()


def test_a_panel_for_a_tab_is_made_and_closed(page: PageChannel) -> None:
    opened = page.result("panel", runs=ids(page)[:2])["model_id"]
    assert opened in page.models
    page.result("close", model_id=opened)
    wait_until(lambda: page.result("log", run=ids(page)[0], lines=1) and opened not in page.models)


def test_what_cannot_be_compared_is_said(page: PageChannel) -> None:
    rows = page.result("changes", version=0)["rows"]
    one = rows[0]
    elsewhere = next(row for row in rows if row["env"] != one["env"])
    assert "only trainings in the same environment can be compared" in page.error(
        "compare", runs=[one["id"], elsewhere["id"]]
    )
    assert "checkpoint" in page.error("compare", runs=[one["id"]])


def test_a_store_without_a_lab_in_this_kernel_is_not_served(
    kernel: BlockingKernelClient, tmp_path: Path
) -> None:
    PageChannel(kernel, tmp_path).wait_closed()
