"""``browser.screenshots`` takes every scene in both themes and at both widths."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from browser.chromium import chromium_executable
from browser.screenshots import SCENES, THEMES, WIDTHS
from PIL import Image

TESTS = Path(__file__).parents[1]


@pytest.mark.extended
def test_every_scene_is_shot_in_both_themes_and_widths(cleanrl_environment: object, tmp_path: Path) -> None:
    chromium_executable()
    command = [sys.executable, "-m", "browser.screenshots", str(tmp_path)]
    done = subprocess.run(command, cwd=TESTS, text=True, capture_output=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    sizes = {path.name: Image.open(path).size for path in tmp_path.iterdir()}
    assert sizes.keys() == {
        f"{scene.__name__}-{theme}-{width}.png" for scene in SCENES for theme in THEMES for width in WIDTHS
    }
    assert all(size == (int(name.split("-")[-1][:-4]), 900) for name, size in sizes.items())
    light, dark = (
        Image.open(tmp_path / f"panel_3-{theme}-1000.png").convert("L") for theme in ("light", "dark")
    )
    assert light.resize((1, 1)).getpixel((0, 0)) > 2 * dark.resize((1, 1)).getpixel((0, 0))
