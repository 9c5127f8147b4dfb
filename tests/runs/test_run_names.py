"""Every function that takes a run accepts each name under which the run is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from overview.run_folders import metrics, run_in

import mosaic_lab as mosaic
from mosaic_lab.cli import main
from mosaic_lab.errors import ConfigurationError, MosaicError, UnknownRun
from mosaic_lab.evaluation.league import expanded
from mosaic_lab.evaluation.reports.plots import learning_curve_plot
from mosaic_lab.keeper.run_store import write_json
from mosaic_lab.runs import Run
from mosaic_lab.runs.run_labels import distinct_names
from mosaic_lab.widgets.frames.wall import FrameWall

LABEL = "toy walk Line-v0"


def walk(lab: mosaic.Lab, end: str, label: str = LABEL, group: str | None = None, **settings: Any) -> Run:
    """Write a finished run whose id ends with `end`."""
    events = [metrics(step, loss=1.0, episode_return=float(step)) for step in range(1, 60)]
    config = {"env_id": "Line-v0", "total_timesteps": 60, "hyperparameters": settings}
    run = run_in(lab.root / f"20261126-12000{len(lab.runs)}-toy-{end}", events, label=label, config=config)
    launch = {"worker": "toy", "label": label, "group": group, "hyperparameters": settings}
    write_json(run.folder.launch_path, launch)
    return Run(run.path)


def test_the_displayed_name_is_found_before_parts_of_ids_and_replaced_labels(lab: mosaic.Lab) -> None:
    first, second, third = walk(lab, "aaaa", "one"), walk(lab, "bbbb", "two"), walk(lab, "cccc", "three")
    third.name = "bbbb"
    second.name, first.name = "one", "20261126"
    assert lab.run("bbbb") == third and lab.run("one") == second and lab.run("20261126") == first
    assert lab.run("two") == second, "its label, which names no other run"
    assert lab.run(second.id) == second and lab.run("aaaa") == first


def test_labels_of_lists_and_charts_find_their_runs(lab: mosaic.Lab) -> None:
    runs = [walk(lab, "aaaa", lr=0.1), walk(lab, "bbbb", lr=0.2), walk(lab, "cccc", lr=0.2)]
    for shown in (runs, runs[1:]):
        for run, name in zip(shown, distinct_names(shown), strict=True):
            assert lab.run(name) == run
    for title, run in {f"{LABEL} bbbb": runs[1], f"{LABEL} lr=0.1": runs[0]}.items():
        assert lab.run(title) == run
    with pytest.raises(UnknownRun, match=r"is the name of 2 runs .*bbbb.*cccc.*: give an id"):
        lab.run(f"{LABEL} lr=0.2")
    seeds = [walk(lab, f"s{seed}aa", f"{LABEL} seed {seed}", group="three") for seed in range(3)]
    assert [lab.run(name) for name in distinct_names(seeds)] == seeds, "the labels in their group's chart"


def test_the_label_in_the_chart_of_a_selection_is_refused_where_several_runs_have_it(lab: mosaic.Lab) -> None:
    selection = [walk(lab, "aaaa", lr=0.1), walk(lab, "bbbb", lr=0.2)]
    assert [lab.run(name) for name in distinct_names(selection)] == selection
    walk(lab, "cccc", lr=0.1, gamma=0.9)
    with pytest.raises(UnknownRun, match=r"'lr=0.1' is the name of 2 runs .*aaaa.*cccc\): give an id"):
        lab.run("lr=0.1")


def test_a_default_is_part_of_a_name_only_if_another_run_sets_the_value(lab: mosaic.Lab) -> None:
    run = walk(lab, "aaaa")
    with pytest.raises(UnknownRun, match="no run 'gamma=default'"):
        lab.run("gamma=default")
    walk(lab, "bbbb", gamma=0.9)
    assert lab.run("gamma=default") == run


def test_only_a_whole_id_or_displayed_name_stops_and_removes_a_run(
    lab: mosaic.Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    run, _, _ = walk(lab, "aaaa"), walk(lab, "bbbb", "two"), walk(lab, "cccc", "two")
    store = ["--store", str(lab.root)]
    for verb in ("stop", "remove"):
        for part in ("aaaa", "Line-v0", run.id[:-1]):
            assert main(["runs", verb, part, *store]) == 1
            said = capsys.readouterr().err
            assert f"no run has the whole id or name {part!r}: give {run.id} if you mean it" in said
        assert main(["runs", verb, "two", *store]) == 1
        assert "'two' is the name of 2 runs" in (said := capsys.readouterr().err) and "bbbb" in said
    assert main(["runs", "remove", LABEL, *store]) == 0
    assert [run.label for run in lab.runs] == ["two", "two"]


def test_a_group_is_found_by_its_title(lab: mosaic.Lab) -> None:
    for group, settings in (("g-aaaa", {"lr": 0.1}), ("g-bbbb", {"lr": 0.2})):
        for seed in range(2):
            walk(lab, f"{group[2]}{seed}xx", f"{LABEL} seed {seed}", group=group, **settings)
        if group == "g-aaaa":
            assert lab.group(LABEL).name == group
    for title, group in ((f"{LABEL} lr=0.2", "g-bbbb"), (f"{LABEL} bbbb", "g-bbbb"), ("g-aaaa", "g-aaaa")):
        assert lab.group(title).name == group
    with pytest.raises(UnknownRun, match=r"is the title of 2 groups .*: give a name \(g-aaaa, g-bbbb\)"):
        lab.group(LABEL)
    with pytest.raises(UnknownRun, match=r"no group 'other' in .*g-aaaa"):
        lab.group("other")
    walk(lab, "cccc", group="20261126-120000-toy-walk-cccc")
    assert lab.group("toy-walk-cccc").name == "20261126-120000-toy-walk-cccc", "its name in charts by group"


@pytest.mark.parametrize("broken", ["config.json", "launch.json"])
def test_a_damaged_run_hides_no_name_of_another(lab: mosaic.Lab, broken: str) -> None:
    run = walk(lab, "aaaa", "one")
    (walk(lab, "bbbb").path / broken).write_text("[{")
    assert lab.run("one") == run == lab.run("one aaaa")


def learned(lab: mosaic.Lab, name: Any) -> Any:
    return learning_curve_plot({"curve": [name]}, metric="loss")


DOORS: dict[str, Callable[[mosaic.Lab, Any], Any]] = {
    "run": lambda lab, name: lab.run(name),
    "workspace": lambda lab, name: mosaic.workspace([name]),
    "workspace of one": lambda lab, name: mosaic.workspace(name),
    "show": lambda lab, name: mosaic.show(name),
    "show of several": lambda lab, name: mosaic.show([name]),
    "frame wall": lambda lab, name: FrameWall([name]),
    "learning curves": learned,
}
WITH_CHECKPOINTS: dict[str, Callable[[mosaic.Lab, Any], Any]] = {
    "films": lambda lab, name: lab.make_films(name),
    "resume_from": lambda lab, name: lab.train("toy", algorithm="walk", resume_from=name),
    "policy": lambda lab, name: mosaic.operators.rl(name),
    "league": lambda lab, name: expanded({"self-play": name}, 5, None, lab.root),
    "replay": lambda lab, name: lab.evaluate(env="CartPole-v1", operators={}, replay=name),
    "demonstrations": lambda lab, name: mosaic.operators.balrog("few_shot", demonstrations=name),
}


@pytest.mark.parametrize("door", [*DOORS, *WITH_CHECKPOINTS])
def test_every_function_suggests_the_nearest_of_an_unknown_name(lab: mosaic.Lab, door: str) -> None:
    walk(lab, "aaaa").name = "Baseline"
    with pytest.raises(
        (UnknownRun, ConfigurationError), match=r"no run 'baselin' .*did you mean 'Baseline'\?"
    ):
        (DOORS | WITH_CHECKPOINTS)[door](lab, "baselin")


@pytest.mark.parametrize("door", DOORS)
def test_every_function_takes_a_name_for_a_run(lab: mosaic.Lab, door: str) -> None:
    walk(lab, "aaaa").name = "Baseline"
    DOORS[door](lab, "Baseline")


@pytest.mark.parametrize("door", WITH_CHECKPOINTS)
def test_functions_of_checkpoints_find_the_run_of_a_name(lab: mosaic.Lab, door: str) -> None:
    run = walk(lab, "aaaa")
    run.name = "Baseline"
    with pytest.raises(MosaicError, match=f"{run.id}|{lab.root}|worker 'toy'") as refused:
        WITH_CHECKPOINTS[door](lab, "Baseline")
    assert "no run" not in str(refused.value)
