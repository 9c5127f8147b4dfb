"""Search for run stores below a folder, in bounded time and without following links."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from many_runs import write_runs

from mosaic_lab.overview import stores
from mosaic_lab.overview.stores import find_stores


def found(root: Path) -> list[str]:
    return [str(Path(one.path).relative_to(root)) for one in find_stores(root).stores]


def test_stores_are_found_where_people_keep_them(tmp_path: Path) -> None:
    for name in ("mosaic_runs", "study/mosaic_runs", "study/deep/er/store"):
        write_runs(tmp_path / name, 2)
    (tmp_path / "empty" / ".slots").mkdir(parents=True)
    assert sorted(found(tmp_path)) == ["empty", "mosaic_runs", "study/deep/er/store", "study/mosaic_runs"]
    assert {one.runs for one in find_stores(tmp_path).stores} == {0, 2}
    assert found(tmp_path / "mosaic_runs") == ["."]


def test_a_store_copied_without_its_hidden_files_is_found_and_exported_runs_are_not(tmp_path: Path) -> None:
    (run,) = write_runs(tmp_path / "copied", 1)
    shutil.rmtree(tmp_path / "copied" / ".slots", ignore_errors=True)
    exported = tmp_path / "logs" / run.name
    exported.mkdir(parents=True)
    (exported / "events.out.tfevents.1").touch()
    assert found(tmp_path) == ["copied"]


def test_folders_of_packages_hidden_ones_and_links_are_passed_over(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    for name in (".hidden/store", "node_modules/store", "venv/store"):
        write_runs(root / name, 1)
    (root / "venv" / "pyvenv.cfg").touch()
    write_runs(elsewhere, 1)
    (root / "link").symlink_to(elsewhere)
    (root / "unreadable").mkdir(mode=0)
    assert find_stores(root) == stores.FoundStores([], "")


def test_a_search_that_is_cut_short_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        (tmp_path / f"{number}" / ".slots").mkdir(parents=True)
    assert "the search ended after 0 s" in find_stores(tmp_path, seconds=0).cut_short
    monkeypatch.setattr(stores, "MAX_STORES", 2)
    search = find_stores(tmp_path)
    assert len(search.stores) == 2 and search.cut_short == "the first 2 run stores are listed"
