"""Static form of runs and groups in notebooks executed without a browser: tables, pictures and progress."""

from __future__ import annotations

import base64
import html
import re
import sys
from pathlib import Path

import nbformat
import pytest
from support import PEERS, start_peer

from mosaic_lab import notebooks
from mosaic_lab.runs import RunGroup, Supervisor
from mosaic_lab.widgets.runs.run_panel import RunPanel

START = f"""import sys
import mosaic_lab as mosaic
lab = mosaic.Lab(max_running=4)
def start(seed, **settings):
    config = {{"algorithm": "ppo", "env_id": "CartPole-v1", "seed": seed, "total_timesteps": 100_000,
              "hyperparameters": {{"seconds": 1, "rows": 200, **settings}}}}
    return lab.supervisor.start([{sys.executable!r}, {str(PEERS / "learner.py")!r}], config, worker="learner",
                                label=f"learner ppo CartPole-v1 seed {{seed}}")
def go(name):
    open(lab.root.parent / name, "w").close()
"""
CELLS = {
    "run": "run = start(1, until=str(lab.root.parent / 'go'))\nrun",
    "its end": "go('go')\nrun.wait()",
    "chart": "group = mosaic.RunGroup([start(seed) for seed in (1, 2)])\ngroup.chart('episode_return')",
    "ended": "_ = group.wait()",
    "several": "mosaic.show([*group])",
    "one": "group[0]",
    "late": "until = str(lab.root.parent / 'on')\n"
    "late = mosaic.RunGroup([start(seed, until=until) for seed in (1, 2)])",
    "timed out": "try:\n    late.wait(2)\nexcept mosaic.RunTimeout:\n    go('on')",
    "late end": "_ = late.wait()",
    "first wait": "pair = mosaic.RunGroup([start(seed) for seed in (2, 3)])\npair.wait()",
    "second wait": "pair.wait()",
    "requested": "pair",
    "failed": "failed = start(1, fail_at=0.5)\nfailed",
    "its failure": "try:\n    failed.wait()\nexcept mosaic.RunFailed as error:\n    print(error)",
    "stopped": "stopped = start(1, seconds=600)\nstopped",
    "its stop": "_ = stopped.stop()",
}
PNG = b"\x89PNG\r\n\x1a\n"
Outputs = list[dict[str, str]]


def executed(folder: Path, *cells: str) -> list[Outputs]:
    """Run the cells as a notebook; return the MIME bundles of each cell's outputs."""
    source = folder / "source.ipynb"
    nbformat.write(
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in (START, *cells)]), source
    )
    notebooks.execute(source, folder / "work.ipynb")
    notebook = nbformat.read(folder / "work.ipynb", as_version=4)
    return [[output.data for output in cell.outputs if "data" in output] for cell in notebook.cells[1:]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("static")


@pytest.fixture(scope="module")
def left(folder: Path) -> dict[str, Outputs]:
    """Outputs of each of `CELLS`, executed in one notebook."""
    return dict(zip(CELLS, executed(folder, *CELLS.values()), strict=True))


def without_progress(outputs: Outputs) -> Outputs:
    """Drop the progress line of a wait, which short runs have only on a slow machine."""
    return [output for output in outputs if not re.match(r"run |\d of \d runs", output.get("text/plain", ""))]


def place(name: str) -> str:
    """Execution count of a cell, as in ``[3]``; the first cell starts the lab."""
    return f"[{list(CELLS).index(name) + 2}]"


def test_a_run_leaves_a_table_and_a_picture_where_it_was_displayed(
    left: dict[str, Outputs], folder: Path
) -> None:
    live, table, picture = left["run"]
    assert notebooks.WIDGET_VIEW not in live  # no browser displayed the widget
    for text in ("learner ppo CartPole-v1 seed 1", "completed", "100,000", ">200<", "peak memory"):
        assert text in table["text/html"]
    assert base64.b64decode(picture["image/png"]).startswith(PNG)

    notebooks.to_html(folder / "work.ipynb", folder / "work.html")
    page = (folder / "work.html").read_text()
    assert "completed" in page
    assert "data:image/png;base64," in page


def test_a_group_and_a_finished_run_leave_theirs(left: dict[str, Outputs]) -> None:
    for name in ("chart", "several", "one"):
        assert base64.b64decode(left[name][-1]["image/png"]).startswith(PNG)
    assert "seed 1" in left["chart"][1]["text/html"]
    assert "seed 2" in left["several"][1]["text/html"]


def test_a_group_that_is_waited_for_has_one_line_of_progress(left: dict[str, Outputs]) -> None:
    (line,) = [output["text/plain"] for output in left["timed out"]]
    assert line.startswith("0 of 2 runs have ended; run ")


def test_the_end_that_a_cell_waited_for_is_one_line_where_the_panel_is_shown_already(
    left: dict[str, Outputs],
) -> None:
    cells = ("its end", "first wait", "second wait", "requested")
    waited, first, again, requested = (without_progress(left[name]) for name in cells)
    ended = "learner ppo CartPole-v1 seed 1: completed; its panel is in the output of cell "
    assert [output["text/plain"] for output in waited] == [ended + place("run")]
    assert len(first) == len(requested) == 3, "no panel yet, although one is due or was requested"
    ended = "2 runs: 2 completed; its panel is in the output of cell "
    assert [output["text/plain"] for output in again] == [ended + place("first wait")]


def test_a_run_that_did_not_complete_leaves_its_state_and_reason(left: dict[str, Outputs]) -> None:
    table = left["failed"][1]["text/html"]
    assert "failed" in table and "the reward became negative infinity" in table
    assert "cancelled" in left["stopped"][1]["text/html"]


def test_a_run_that_goes_on_says_so_in_the_saved_notebook(tmp_path: Path) -> None:
    [still] = executed(tmp_path, "run = start(2, seconds=600)\nrun")
    runs = Supervisor(tmp_path / "mosaic_runs").runs()
    RunGroup(runs).stop(grace=0)
    assert f'lab.run("{runs[-1].id}") shows this run again' in html.unescape(still[1]["text/html"])


def test_what_a_return_of_several_agents_is_stands_below_the_table(supervisor: Supervisor) -> None:
    for behaviour, said in (("team", True), ("play", False)):
        panel = RunPanel([start_peer(supervisor, behaviour).wait(30)], alone=True)
        panel.start()
        assert panel.settle()
        assert ("returns are means over the agents of an episode" in panel.static_caption().tables) == said
        panel.close()


def test_a_misspelt_metric_is_reported_with_the_nearest(supervisor: Supervisor) -> None:
    panel = RunPanel([start_peer(supervisor, "train").wait(30)], alone=True, metric="vlaue")
    panel.start()
    assert panel.settle()
    said = "No vlaue in this run; did you mean 'value'?"
    assert panel.controls.waiting == said and html.escape(said) in panel.static_caption().tables
    panel.close()


def test_the_picture_has_the_typed_limits_of_the_panel(supervisor: Supervisor) -> None:
    panel = RunPanel([start_peer(supervisor, "train").wait(30)], alone=True)
    panel.start()
    assert panel.settle()
    whole = panel.static_picture()
    panel.controls.low, panel.controls.high = 0.25, 0.75
    assert panel.chart.full_window.y == (0.25, 0.75)
    limited = panel.static_picture()
    assert whole is not None and limited is not None and limited != whole
    panel.controls.low, panel.controls.high = None, None
    assert panel.static_picture() == whole
    panel.close()


def test_nothing_to_show_is_an_error() -> None:
    import mosaic_lab

    with pytest.raises(ValueError, match="no runs to show"):
        mosaic_lab.show([])
    for what in (5, [5]):
        with pytest.raises(ValueError, match=r"such as run, lab\.group\(name\) or lab\.runs, not 5"):
            mosaic_lab.show(what)  # type: ignore[arg-type]
