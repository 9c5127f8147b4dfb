"""The README's code runs, and the lines that it prints are telemetry."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import mosaic_lab as mosaic
from mosaic_lab.runs import Run

README = Path(__file__).parents[1] / "README.md"
USE, LINES = (
    re.sub(r"^  ", "", block, flags=re.MULTILINE)
    for block in re.findall(r"^ *```python\n(.*?)^ *```", README.read_text(), re.MULTILINE | re.DOTALL)
)


def test_the_first_example(lab: mosaic.Lab, capsys: pytest.CaptureFixture[str]) -> None:
    exec(USE, {})
    assert capsys.readouterr().out.splitlines()[-1] == "3"


def test_the_lines_are_telemetry(lab: mosaic.Lab, tmp_path: Path) -> None:
    (tmp_path / "lines.py").write_text(LINES)
    run = lab.train("script", command=[sys.executable, "lines.py"])
    assert isinstance(run, Run)
    names = set(run.wait(60).metrics()["name"])
    assert {name for name in names if not name.startswith("system/")} == {"episode_return", "loss"}
    assert len(run.episodes()) == 1
    assert "is.pt" in (run.path / "telemetry.jsonl").read_text()
    assert "payload" not in run.log(100)
