"""Run stores read through Jupyter's server: answers, refusals, access control and the reader process."""

from __future__ import annotations

import io
import json
import os
import signal
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from browser.jupyter import JupyterLab
from browser.server import serving
from many_runs import write_runs
from server.pages import Page
from support import wait_until

from mosaic_lab import Lab
from mosaic_lab.server.reader import Reader
from mosaic_lab.server.wire import HEADER

RUNS = 12


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterLab]:
    with serving(tmp_path_factory.mktemp("served")) as server:
        write_runs(server.root / "mosaic_runs", RUNS)
        yield server


@pytest.fixture
def page(server: JupyterLab) -> Page:
    return Page(server)


@pytest.fixture
def store(server: JupyterLab) -> Path:
    return server.root / "mosaic_runs"


def readers(root: Path) -> list[psutil.Process]:
    """Return the reader processes, among this test's descendants, of the server that serves ``root``."""
    below = psutil.Process().children(recursive=True)
    reading = [one for one in below if one.is_running() and "mosaic_lab.server.reader" in one.cmdline()]
    return [one for one in reading if one.cmdline()[-1] == str(root)]


def test_a_page_finds_the_stores_and_reads_their_runs(page: Page, store: Path) -> None:
    found = page.send("mosaic-lab/api/stores")
    assert [(one["path"], one["runs"]) for one in found.json["result"]["stores"]] == [(str(store), RUNS)]
    assert found.headers["X-Mosaic-Lab-Version"]

    everything = page.result(store, "changes", version=0)
    ids = [row["id"] for row in everything["rows"]]
    assert len(ids) == RUNS and everything["removed"] == []
    assert page.result(store, "metrics", runs=ids)["names"][0] == "episode_return"
    assert page.result(store, "log", run=ids[0], lines=5)["text"]


def test_curves_come_as_binary_parts(page: Page, store: Path) -> None:
    ids = [row["id"] for row in page.result(store, "changes", version=0)["rows"]][:2]
    answered = page.call(store, "curves", runs=ids, metric="episode_return", points=100)
    assert answered.headers["Content-Type"] == "application/octet-stream"
    (length,) = struct.unpack_from("<I", answered.content)
    head = json.loads(answered.content[4 : 4 + length])
    sizes = [4 + length, *head["buffers"]]
    assert sum(sizes) == len(answered.content)
    described = [line[axis] for line in head["result"]["lines"] for axis in ("x", "y")]
    assert [8 * x["length"] if x["dtype"] == "float64" else 4 * x["length"] for x in described] == sizes[1:]


def test_changes_of_several_stores_are_waited_for_by_one_request(page: Page, store: Path) -> None:
    other, gone = store.parent / "other", store.parent / "gone"
    write_runs(other, 2)
    versions = {str(store): 0, str(other): 0, str(gone): 0}
    rows: dict[str, set[str]] = {str(store): set(), str(other): set()}

    def follow(condition: Callable[[], bool]) -> None:
        while not condition():
            answer = page.result(None, "follow", wait=25, stores=versions)
            for path, changes in answer["stores"].items():
                rows[path] |= {row["id"] for row in changes["rows"]}
                versions[path] = changes["version"]
            assert "there is no folder" in answer["refused"][str(gone)]

    follow(lambda: len(rows[str(store)]) == RUNS and len(rows[str(other)]) == 2)
    later = threading.Timer(0.5, write_runs, (store, 1), {"seed": 1})
    later.start()
    follow(lambda: len(rows[str(store)]) == RUNS + 1)
    later.join()
    assert page.result(None, "follow", stores={str(gone): 0})["stores"] == {}


@pytest.mark.parametrize(
    "request_",
    [
        b"",
        b"\xff",
        b"[]",
        b'{"store": 1}',
        b'{"method": "changes", "params": []}',
        b"[" * 100_000,
        *(b'{"method": "changes", "params": {"version": %s}}' % (b"[" * n + b"]" * n) for n in (400, 990)),
        b'{"method": "changes", "params": {"version": %s}}' % (b"1" * 5000),
        b'{"method": "changes", "params": {}, "wait": %s}' % (b"1" * 400),
        b'{"method": "changes", "params": {}, "wait": 1e400}',
        b'{"method": "changes", "params": {}, "wait": NaN}',
        b'{"method": "\\ud800", "params": {}}',
        b'{"method": "changes", "store": "/\\ud800", "params": {}}',
        b'{"method": "code", "params": {"kind": "training", "values": {"worker": "\\ud800"}}}',
        b'{"method": "log", "params": {"run": "a", "lines": "\\ud800"}}',
        b'{"method": "export", "params": {"charts": [{"runs": ["a"], "metric": "m", "low": Infinity}]}}',
    ],
)
def test_what_is_not_a_request_is_refused(page: Page, request_: bytes) -> None:
    answered = page.send("mosaic-lab/api/call", request_)
    assert answered.status == 400 and answered.json["message"]


def test_parameters_are_checked(page: Page, store: Path) -> None:
    for method, params, expected in (
        ("changes", {"version": "1"}, "Expected `int`, got `str` - at `$.version`"),
        ("changes", {"versoin": 1}, "unknown field `versoin`"),
        ("log", {"run": "a", "lines": 10**9}, "<= 100000"),
        ("log", {"run": ""}, "length >= 1"),
        ("metrics", {"runs": ["a"] * 10_001}, "length <= 10000"),
        ("curves", {"runs": ["a"], "metric": "m", "points": 10**9}, "points must be 16 to 10,000"),
        ("curves", {"runs": ["a"], "metric": "m"}, "'a' is not in"),
        ("nonsense", {}, "is not a query of a run store"),
    ):
        status, message = page.refusal(store, method, **params)
        assert status == 400 and expected in message, message


def test_what_acts_on_runs_needs_a_kernel(page: Page, store: Path) -> None:
    for method in ("stop", "resume", "remove", "annotate", "panel", "compare", "install"):
        status, message = page.refusal(store, method, runs=["a"])
        assert status == 400 and "need a kernel: run mosaic_lab.Lab() in a notebook" in message


def test_a_large_request_is_refused(page: Page) -> None:
    answered = page.send("mosaic-lab/api/call", b" " * (5 << 20))
    assert answered.status == 413 and answered.json["message"] == "a request may have at most 4 MiB"


def test_without_a_login_nothing_is_answered(server: JupyterLab, store: Path) -> None:
    stranger = Page(server, {"Authorization": "token wrong"})
    assert stranger.call(store, "changes").status == 403
    assert stranger.send("mosaic-lab/api/stores").status == 403


def test_a_page_that_logged_in_by_cookie_needs_its_xsrf_token(server: JupyterLab, store: Path) -> None:
    login = Page(server).send("lab")
    cookies = [line.partition(";")[0] for line in login.headers.get_all("Set-Cookie") or []]
    headers = {"Cookie": "; ".join(cookies), "Referer": f"{server.url}/lab"}
    (xsrf,) = (one.partition("=")[2] for one in cookies if one.startswith("_xsrf="))
    assert Page(server, headers).call(store, "changes").status == 403
    assert Page(server, headers | {"X-XSRFToken": "wrong"}).call(store, "changes").status == 403
    assert Page(server, headers | {"X-XSRFToken": xsrf}).call(store, "changes").status == 200


def test_nothing_outside_the_servers_folder_is_read(page: Page, store: Path, tmp_path: Path) -> None:
    (run,) = write_runs(tmp_path / "elsewhere", 1, seed=2)
    (store.parent / "link").symlink_to(tmp_path / "elsewhere")
    (store / run.name).symlink_to(run)
    for outside in (tmp_path / "elsewhere", store.parent / "link", f"{store}/../../..", "mosaic_runs", "\0"):
        status, message = page.refusal(outside, "changes")
        assert status == 400 and "is not below the folder that this Jupyter server serves" in message
    for run_id in (run.name, "..", "../mosaic_runs", str(run), ".", "", "\0", "é" * 255):
        for method in ("log", "details", "films", "metrics"):
            one = {"run": run_id} if method in ("log", "films") else {"runs": [run_id]}
            status, message = page.refusal(store, method, **one)
            assert status == 400 and ("is not in" in message or "length >= 1" in message), message
    found = {one["path"] for one in page.send("mosaic-lab/api/stores").json["result"]["stores"]}
    assert found <= {str(store), str(store.parent / "other")}


def test_files_of_a_run_that_are_links_to_elsewhere_are_not_shown(
    page: Page, store: Path, tmp_path: Path
) -> None:
    run, linked = (write_runs(folder, 1, seed=3)[0] for folder in (tmp_path, store.parent / "links"))
    (run / "annotations.json").write_text('{"name": "a secret"}')
    (tmp_path / "a secret" / "lane").mkdir(parents=True)
    (linked.parent / "comparisons").symlink_to(tmp_path)
    names = ("config", "launch", "state", "provenance", "annotations")
    for name in (*(f"{name}.json" for name in names), "telemetry.jsonl", "worker.log"):
        (linked / name).unlink(missing_ok=True)
        (linked / name).symlink_to(run / name)
    assert len(Lab(linked.parent).runs.table()) == 1, "a kernel follows links, and caches what it reads"
    (row,) = page.result(linked.parent, "changes", version=0)["rows"]
    assert "its config.json is a link to outside of" in row["reason"]
    assert (row["worker"], row["env"], row["step"], row["name"]) == ("unknown", None, None, linked.name)
    assert page.result(linked.parent, "metrics", runs=[linked.name])["names"] == []
    status, message = page.refusal(linked.parent, "log", run=linked.name)
    assert status == 400 and "worker.log is a link" in message
    details = page.result(linked.parent, "details", runs=[linked.name])["runs"][linked.name]
    assert details == {"results": {}, "code": ""}


def test_one_process_reads_and_is_started_again_when_it_dies(page: Page, store: Path) -> None:
    page.result(store, "changes", version=0)
    (reader,) = readers(store.parent)
    assert reader.nice() >= 10
    reader.kill()
    assert page.result(store, "changes", version=0)["rows"]
    assert [one.pid for one in readers(store.parent)] != [reader.pid]


def test_a_wait_that_its_page_has_left_costs_nothing(tmp_path: Path) -> None:
    def watching() -> int:
        return sum(thread.name == "mosaic-changes" for thread in threading.enumerate())

    store, answers = tmp_path / "mosaic_runs", io.BytesIO()
    store.mkdir()
    reader = Reader(tmp_path, answers)
    reader.submit({"id": 1, "method": "changes", "store": str(store), "params": {}})
    version = json.loads(wait_until(answers.getvalue)[HEADER.size :])["result"]["version"]
    reader.submit({"id": 2, "method": "follow", "params": {"stores": {str(store): version}}, "wait": 600})
    wait_until(watching)
    reader.submit({"cancel": 2})
    wait_until(lambda: not watching())


def test_the_reader_ends_with_its_server_even_a_killed_one(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        store = server.root / "mosaic_runs"
        write_runs(store, 1)
        Page(server).result(store, "changes", version=0)
        (reader,) = readers(server.root)
        os.kill(reader.ppid(), signal.SIGKILL)
        wait_until(lambda: not reader.is_running())
