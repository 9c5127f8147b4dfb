"""Memory of a kernel: runs, evaluations and comparisons that were shown, ended and removed leave nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from support import PEERS

SETUP = f"""import gc, sys, time
import ipywidgets, psutil
from comm import get_comm_manager
from IPython.display import display
import mosaic_lab as mosaic

lab = mosaic.Lab()
random = mosaic.operators.random

def end(one):
    display(one)
    one.wait()
    display(one)
    one.remove()

def run():
    config = {{"algorithm": "ppo", "env_id": "CartPole-v1", "total_timesteps": 100,
              "hyperparameters": {{"seconds": 0.1, "rows": 100}}}}
    end(lab.supervisor.start([sys.executable, {str(PEERS / "learner.py")!r}], config, worker="learner"))

def evaluation():
    end(lab.evaluate(env="CartPole-v1", operators={{"a": random(), "b": random()}}, seeds=range(2)))

def comparison():
    one = lab.compare("CartPole-v1", {{"a": random(), "b": random()}}, seeds=[1])
    display(one)
    one.step()
    one.stop()

def kept():
    gc.collect()
    return len(ipywidgets.widgets.widget._instances), len(get_comm_manager().comms)

def memory_mb():
    gc.collect()
    return psutil.Process().memory_info().rss / 1e6

def shown(times):
    for _ in range(times):
        for show in (run, evaluation, comparison):
            show()
    deadline = time.monotonic() + 60
    while kept() != before and time.monotonic() < deadline:  # comparisons are noticed to be gone
        time.sleep(0.1)
"""


def executed(folder: Path, *cells: str) -> list[str]:
    """Execute the cells in a kernel without a browser; return the last line that each printed."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, kernel_name="python3", timeout=1500).execute(cwd=str(folder))
    printed = ([o.text for o in cell.outputs if o.output_type == "stream"] for cell in notebook.cells)
    return [texts[-1].splitlines()[-1] if texts else "" for texts in printed]


@pytest.mark.extended
def test_nothing_is_kept_of_what_was_shown_ended_and_removed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    again = "shown(2)\nprint(before, kept())"
    *_, counts = executed(tmp_path, SETUP, "lab.runs", "before = kept()\nshown(1)\nbefore = kept()", again)
    before, after = eval(counts.replace(") (", "), ("))
    assert before == after
    assert "No handler found" not in caplog.text, "nbclient could not handle a comm"


@pytest.mark.extended
@pytest.mark.timeout(1800)
def test_memory_stays_the_same_through_a_hundred_runs_evaluations_and_comparisons(tmp_path: Path) -> None:
    first = "before = kept()\nshown(10)\nbefore = kept()\nmemory = memory_mb()"
    *_, grown = executed(tmp_path, SETUP, first, "shown(90)\nprint(memory_mb() - memory)")
    print(f"{float(grown):.1f} MB more after 90 further cycles", file=sys.stderr)
    assert float(grown) < 20
