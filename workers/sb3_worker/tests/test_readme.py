"""The code of the worker's README runs from top to bottom."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.extended
def test_the_page_runs_from_top_to_bottom(worker: Any, tmp_path: Path) -> None:
    page = README.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert page.count("```") == 2 * len(blocks), "every code block is found"
    subprocess.run([sys.executable, "-c", "\n".join(blocks)], cwd=tmp_path, check=True, timeout=400)
    runs = {path.parent.name for path in (tmp_path / "mosaic_runs").glob("*/telemetry.jsonl")}
    assert len(runs) == 4
