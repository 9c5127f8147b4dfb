"""The script that makes the README's picture works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from browser.chromium import chromium_executable
from PIL import Image

TESTS = Path(__file__).parents[1]


def shots(out: Path, *scenes: str) -> dict[str, tuple[int, int]]:
    """The names and sizes of what the script makes."""
    chromium_executable()
    command = [sys.executable, "-m", "browser.screenshots", str(out), *scenes]
    done = subprocess.run(command, cwd=TESTS, text=True, capture_output=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return {path.name: Image.open(path).size for path in out.iterdir()}


@pytest.mark.extended
def test_a_scene_is_shot_in_both_themes_and_widths(tmp_path: Path) -> None:
    sizes = shots(tmp_path, "panel_3")
    assert sizes == {
        f"panel_3-{theme}-{width}.png": (width, 900) for theme in ("light", "dark") for width in (1600, 1000)
    }
    light, dark = (
        Image.open(tmp_path / f"panel_3-{theme}-1000.png").convert("L") for theme in ("light", "dark")
    )
    assert light.resize((1, 1)).getpixel((0, 0)) > 2 * dark.resize((1, 1)).getpixel((0, 0))


@pytest.mark.extended
def test_every_scene_is_shot(cleanrl_environment: object, tmp_path: Path) -> None:
    assert "readme-light-1600.png" in shots(tmp_path)
