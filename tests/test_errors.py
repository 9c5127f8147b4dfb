"""Errors as users see them: a notebook shows the message alone, plain Python the usual traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

TYPO = """\
import mosaic_lab as mosaic
mosaic.Lab("runs").train("toy", algorithm="walk", env="Hill-v0", total_timesteps=1.5)
"""
MESSAGE = "ConfigurationError: total_timesteps=1.5: must be an integer ≥ 1"


def test_a_notebook_shows_the_message_without_internals(tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(TYPO)])
    NotebookClient(notebook, kernel_name="python3", allow_errors=True).execute(cwd=str(tmp_path))
    (output,) = [one for one in notebook.cells[0].outputs if one.output_type == "error"]
    assert output.traceback == [MESSAGE]
    assert (output.ename, output.evalue) == tuple(MESSAGE.split(": ", 1))


def test_plain_python_shows_the_traceback(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", TYPO], cwd=tmp_path, capture_output=True, text=True)
    assert "Traceback (most recent call last)" in done.stderr
    assert MESSAGE in done.stderr


def test_windows_is_refused_with_what_to_do() -> None:
    code = "import sys; sys.platform = 'win32'; import mosaic_lab"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "ImportError: MOSAIC Lab does not run on native Windows" in done.stderr and "WSL" in done.stderr
