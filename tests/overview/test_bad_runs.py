"""Runs with damaged files: each is one row with the reason, in every list, and breaks no other run."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
from many_runs import write_runs
from overview.run_folders import run_in
from support import MAIN, wait_until
from sweeps import stored

from mosaic_lab.errors import MosaicError
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.evaluation.plan import EvaluationPlan
from mosaic_lab.overview.index import RunIndex
from mosaic_lab.overview.rows import RunRow
from mosaic_lab.overview.service import Service
from mosaic_lab.run_list import RunList
from mosaic_lab.runs import Supervisor
from mosaic_lab.runs.kinds import as_kind, of_class
from mosaic_lab.sweeps import Sweep
from mosaic_lab.sweeps.trials import TrialWriter

LONE = '"\\ud800"'
HUGE = "1" * 400


def edit(file: str, before: str, after: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / file).read_text()
        assert before in text
        (folder / file).write_text(text.replace(before, after, 1))

    return change


def replace(file: str, content: str | bytes) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())

    return change


def unplanned(worker: str, config: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        replace("launch.json", f'{{"worker": "{worker}"}}')(folder)
        replace("config.json", config)(folder)

    return change


def loop(file: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / file).unlink()
        (folder / file).symlink_to(folder / file)

    return change


BAD: dict[str, tuple[Callable[[Path], None], str]] = {
    "half a character in the label": (edit("launch.json", '"label": "', '"label": "\\ud800'), ""),
    "half a character in the configuration": (edit("config.json", "{", f'{{"env_id": {LONE},'), ""),
    "half a character in a metric's name": (edit("telemetry.jsonl", "episode_return", "\\ud800"), ""),
    "a number of 400 digits": (edit("config.json", "{", f'{{"hyperparameters": {{"n": {HUGE}}},'), ""),
    "steps without end": (replace("config.json", f'{{"total_timesteps": {HUGE}, "seed": 1{"0" * 30}}}'), ""),
    "a time without end": (edit("state.json", '"since": ', '"since": 1e999, "_": '), "cannot be read"),
    "text that is not UTF-8": (replace("state.json", b'{"reason": "\xff"}'), "cannot be read"),
    "deep JSON": (replace("config.json", '{"a":' * 100_000), "its config.json is damaged (it is nested too"),
    "half a configuration": (replace("config.json", '{"env_id":'), "its config.json is damaged (Expecting"),
    "a launch without a table": (replace("launch.json", "[1]"), "launch.json is damaged (it is not a JSON"),
    "a launch that is not UTF-8": (replace("launch.json", b'{"label": "\xff"}'), "launch.json is damaged"),
    "JSON that is just deep enough": (
        replace("launch.json", '{"hyperparameters": ' + '{"a":' * 400 + "1" + "}" * 401),
        "",
    ),
    "a link to itself": (loop("config.json"), "its config.json is a link that leads to itself"),
    "an evaluation of an unreadable plan": (unplanned("evaluation", '{"total_episodes": "many"}'), ""),
    "a sweep without a plan": (unplanned("sweep", '{"total_trials": 3}'), "KeyError"),
    "text that runs backwards": (edit("launch.json", '"label": "', '"label": "\\u202e'), ""),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("bad") / "mosaic_runs"
    _, *bad = write_runs(root, len(BAD) + 1, points=5)
    for folder, (change, _) in zip(bad, BAD.values(), strict=True):
        change(folder)
    (root / os.fsdecode(b"20300101-000000-\xff-s1-abcd")).mkdir()
    return root


@pytest.fixture(scope="module")
def rows(store: Path) -> list[RunRow]:
    index = RunIndex(store)
    settled = wait_until(lambda: (now := index.changes(0)) and not any(index.changes(now[0])[1:]) and now)
    return list(settled[1])


def test_every_run_is_a_row_that_a_page_can_read(store: Path, rows: list[RunRow]) -> None:
    assert len(rows) == len(BAD) + 2 and rows[0].state == "completed" and rows[0].sparkline
    changes, _ = Service(store).answer("changes", {"version": 0})
    text = json.dumps(changes, allow_nan=False, ensure_ascii=False).encode()
    assert "\u202e" not in text.decode() and HUGE.encode() not in text
    assert rows[-1].id.endswith("\\udcff-s1-abcd")


def test_details_and_differences_of_every_run_are_answered(store: Path, rows: list[RunRow]) -> None:
    service, ids = Service(store), [row.id for row in rows]
    details, _ = service.answer("details", {"runs": ids})
    assert list(details["runs"]) == ids
    for run in ids[1:]:
        found, _ = service.answer("difference", {"runs": (ids[0], run)})
        log, _ = service.answer("log", {"run": run})
        drawn, _ = service.answer("curves", {"runs": [run], "metric": "episode_return"})
        json.dumps([details, found, log, drawn], allow_nan=False, ensure_ascii=False).encode()


@pytest.mark.parametrize("bad", BAD)
def test_the_row_says_what_cannot_be_read(rows: list[RunRow], bad: str) -> None:
    row = rows[1 + list(BAD).index(bad)]
    assert BAD[bad][1] in row.reason
    if "backwards" in bad:
        assert row.label.startswith("\\u202e")


def test_lists_for_people_have_each_run_too(store: Path) -> None:
    runs = RunList(Supervisor(store).runs())
    assert all(run.id in repr(as_kind(run)) for run in runs)
    for shown in (repr(runs), runs._repr_html_(), runs.table().to_csv()):
        assert len(shown.encode().splitlines()) >= 1
        assert all(run.id in shown for run in runs)
    command = [sys.executable, "-c", MAIN, "runs", "list", "--json", "--store", str(store)]
    listed = subprocess.run(command, capture_output=True, check=True, timeout=120)
    assert [one["id"] for one in json.loads(listed.stdout)] == [run.id for run in runs]


def test_a_flipped_bit_costs_a_sweep_one_trial_and_no_other_run_anything(tmp_path: Path) -> None:
    (good,) = write_runs(tmp_path, 1)
    sweep = run_in(tmp_path / "20300101-000000-sweep-s1-abcd", [], config=stored.plan(4).to_config())
    (sweep.path / "launch.json").write_text('{"worker": "sweep", "label": "sweep"}')
    log, generator = TrialWriter(sweep.path), random.Random(0)
    for _ in range(4):
        stored.record(log, generator)
    first, rest = (sweep.path / "trials.jsonl").read_bytes().split(b"\n", 1)
    (sweep.path / "trials.jsonl").write_bytes(bytes([first[0] ^ 4]) + first[1:] + b"\n" + rest)
    supervisor = Supervisor(tmp_path)
    found = of_class(supervisor.run(sweep.id), Sweep)
    assert list(found.trials().index) == [1, 2, 3] and "3 of 4 trials" in repr(found)
    assert "left out as unreadable: 11 lines of its trials.jsonl" in found.explained(found.status)
    assert "3 of 4 trials" in repr(RunList(supervisor.runs()))
    rows = {row.id: row for row in RunIndex(tmp_path).changes(0)[1]}
    assert rows[good.name].state == "completed" and rows[sweep.id].kind == "sweep"
    with pytest.raises(MosaicError, match=r"lacks trial 0: the sweep cannot continue"):
        found.resume()


def test_a_plan_without_end_is_refused_instead_of_listed(tmp_path: Path) -> None:
    empty = dict.fromkeys(field.name for field in fields(EvaluationPlan))
    config = {**empty, "seeds": [1], "lanes": {"a": {}}, "episodes": 10**30, "total_episodes": 10**30}
    run = run_in(tmp_path / "20300101-000000-evaluation-s1-abcd", [], config=config)
    with pytest.raises(MosaicError, match=r"it plans 1(,000){10} episodes; the maximum is 1,000,000"):
        Evaluation(run.folder).results()
    assert [row.id for row in RunIndex(tmp_path).changes(0)[1]] == [run.id]
