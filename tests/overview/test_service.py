"""Service of a run store to pages: answers from the store alone, reasons for refusals, pushed changes."""

from __future__ import annotations

import queue
import shutil
from pathlib import Path
from typing import Any

import pytest
from many_runs import write_runs
from support import wait_until

from mosaic_lab.errors import ConfigurationError, MosaicError, UnknownRun
from mosaic_lab.overview import forms
from mosaic_lab.overview.service import METHODS, Service
from mosaic_lab.overview.watching import ChangeWatcher

CURVES = {"metric": "episode_return", "points": 50}


def answer(service: Service, method: str, **params: Any) -> dict[str, Any]:
    return service.answer(method, params)[0]


def settled(service: Service) -> int:
    """Wait until all runs of the store are read; return the version."""

    def version() -> int:
        now = answer(service, "changes", version=0)["version"]
        return now if answer(service, "changes", version=now)["version"] == now else 0

    return int(wait_until(version))


def test_a_version_of_another_service_is_answered_with_everything(tmp_path: Path) -> None:
    write_runs(tmp_path, 3)
    former = Service(tmp_path)
    version = settled(former)
    assert answer(former, "changes", version=version)["whole"] is False
    changes = answer(Service(tmp_path), "changes", version=version)
    assert changes["whole"] is True and len(changes["rows"]) == 3


def test_the_newest_runs_of_a_large_store_are_answered_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [folder.name for folder in write_runs(tmp_path, 5)]
    monkeypatch.setattr("mosaic_lab.overview.service.MAX_FIRST_ROWS", 2)
    service = Service(tmp_path)
    first = answer(service, "changes", version=0)
    assert [row["id"] for row in first["rows"]] == ids[-2:]
    assert not first["whole"], "a partial answer makes a page drop rows"
    shutil.rmtree(tmp_path / ids[0])
    second = answer(service, "changes", version=first["version"])
    assert second["whole"] and [row["id"] for row in second["rows"]] == ids[1:], "not oldest first"


def test_a_run_that_was_removed_is_left_out_of_a_chart(tmp_path: Path) -> None:
    gone, kept = write_runs(tmp_path, 2)
    service = Service(tmp_path)
    shutil.rmtree(gone)
    lines = answer(service, "curves", runs=[gone.name, kept.name], **CURVES)["lines"]
    assert [line["runs"] for line in lines] == [[kept.name]]
    with pytest.raises(UnknownRun, match=r"is not in .* \(any more\)"):
        answer(service, "curves", runs=[gone.name], **CURVES)


def test_only_folders_of_runs_are_read(tmp_path: Path) -> None:
    write_runs(tmp_path, 1)
    service = Service(tmp_path)
    for other in (".slots", ".groups", "comparisons", "notes", "..", "."):
        (tmp_path / other).mkdir(exist_ok=True)
        (tmp_path / other / "worker.log").write_text("private")
        with pytest.raises(UnknownRun, match=r"is not in .* \(any more\)"):
            answer(service, "log", run=other)


def test_a_form_of_an_unknown_kind_is_refused_before_a_worker_describes_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forms, "worker_description", lambda worker: pytest.fail(f"{worker} was started"))
    for method, params in (("forms", {}), ("code", {"values": {}})):
        with pytest.raises(ConfigurationError, match="there is no form 'league'; the forms are training"):
            answer(Service(tmp_path), method, kind="league", **params)


def test_without_a_store_only_what_needs_none_is_answered() -> None:
    service = Service(None)
    assert answer(service, "workers")["rows"]
    for method, params in (("changes", {}), ("log", {"run": "a"})):
        with pytest.raises(ConfigurationError, match="the request names none"):
            answer(service, method, **params)


@pytest.mark.parametrize("method", METHODS)
def test_what_a_method_does_not_take_is_refused(tmp_path: Path, method: str) -> None:
    for params in ({"nonsense": 1}, [], None, "text"):
        with pytest.raises(MosaicError, match="is not valid"):
            Service(tmp_path).answer(method, params)


def test_subscribers_hear_of_each_change_once_and_the_thread_ends_with_the_last(tmp_path: Path) -> None:
    write_runs(tmp_path, 2)
    watcher = ChangeWatcher(Service(tmp_path))
    heard: queue.Queue[dict[str, Any]] = queue.Queue()
    wanted = True
    end = watcher.subscribe(0, heard.put, lambda: wanted)
    assert heard.get(timeout=30)["whole"]
    (new,) = write_runs(tmp_path, 1, seed=1)
    while new.name not in [row["id"] for row in heard.get(timeout=30)["rows"]]:
        pass
    shutil.rmtree(new)
    while new.name not in heard.get(timeout=30)["removed"]:
        pass
    wanted = False
    wait_until(lambda: not watcher.watching)
    end()  # ending it again is harmless


def test_a_subscriber_that_fails_ends_its_subscription_alone(tmp_path: Path) -> None:
    def fail(changes: dict[str, Any]) -> None:
        raise OSError("the page has gone")

    watcher = ChangeWatcher(Service(tmp_path))
    heard: queue.Queue[dict[str, Any]] = queue.Queue()
    watcher.subscribe(0, fail, lambda: True)
    watcher.subscribe(0, heard.put, lambda: True)
    assert heard.get(timeout=30)
    write_runs(tmp_path, 1)
    assert heard.get(timeout=30)["rows"]
