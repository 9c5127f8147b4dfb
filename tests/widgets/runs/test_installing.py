"""Output of a cell that installs a worker: its progress folds once the installation is done."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from worker_fixtures import write_shim

from mosaic_lab import notebooks, workers

TRAIN = """import mosaic_lab as mosaic
lab = mosaic.Lab('runs')
run = lab.train('toy', algorithm='walk', env='Hill-v0', total_timesteps=5, seed={seed})
print(run.wait().state)"""


@pytest.mark.usefixtures("own_home")
def test_the_progress_of_an_installation_folds_when_it_is_done(tmp_path: Path) -> None:
    shim = write_shim(tmp_path / "shim")
    workers.install(shim)
    write_shim(shim, learning_rate=0.25)  # the shim has changed: the first cell updates the worker
    source, done = tmp_path / "source.ipynb", tmp_path / "done.ipynb"
    cells = [nbformat.v4.new_code_cell(TRAIN.format(seed=seed)) for seed in (1, 2)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), source)
    notebooks.execute(source, done)
    first, second = (cell.outputs for cell in nbformat.read(done, as_version=4).cells)
    shown = next(output for output in first if "data" in output).data  # after the line about the new store
    html = shown["text/html"]
    assert html.startswith("<details><summary>Installation: ") and " open" not in html
    assert "has changed since it was installed" in html and "worker 'toy' is up to date</summary>" in html
    assert "worker 'toy' is up to date" in shown["text/plain"]
    assert [output.text.strip() for output in (first[-1], second[-1])] == ["completed", "completed"]
