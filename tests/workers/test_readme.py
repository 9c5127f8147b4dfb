"""workers/README.md is correct: the worker on the page is built, installed, checked and trained."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

README = Path(__file__).parents[2] / "workers" / "README.md"


class Block(NamedTuple):
    """A code block: its language, the file named in the line above (or None), its text."""

    language: str
    file: str | None
    text: str


def blocks() -> list[Block]:
    found = re.findall(
        r"(?:^`([^`\n]+)`\n)?^```(\w+)\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL
    )
    return [Block(language, file or None, text) for file, language, text in found]


def tree(text: str) -> set[str]:
    """Return the files in a drawing of a folder tree."""
    files: set[str] = set()
    folders: list[str] = []
    for line in text.splitlines():
        indent, name = re.fullmatch(r"([│├└─ ]*)(\S+)", line).groups()  # type: ignore[union-attr]
        folders[len(indent) // 4 :] = [name]
        if not name.endswith("/"):
            files.add("".join(folders))
    return files


def run_block(block: Block, folder: Path, environ: Mapping[str, str]) -> str:
    """Run a block of commands and return its output."""
    command = {"sh": ["sh", "-e", "-c", block.text], "python": [sys.executable, "-c", block.text]}[
        block.language
    ]
    done = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, f"{block.text}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.timeout(1200)
def test_the_worker_of_the_page_is_built_checked_and_trained(tmp_path: Path) -> None:
    page = blocks()
    assert README.read_text().count("```") == 2 * len(page), "not every code block was found"
    drawing, *rest = page
    files = {block.file: block.text for block in rest if block.file}
    assert tree(drawing.text) == set(files), "the page must show exactly the files in its drawing"
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    scripts = Path(sys.executable).parent
    environ = {
        **os.environ,
        "MOSAIC_LAB_HOME": str(tmp_path / "home"),
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
    }
    printed = [run_block(block, tmp_path, environ) for block in rest if not block.file]
    assert [block.language for block in rest if not block.file] == ["sh", "python"]
    assert "hill: all checks passed" in printed[0]
    best = float(re.search(r"best return: ([\d.]+)", printed[1])[1])  # type: ignore[index]
    assert best > 50, "hill climbing must learn something on CartPole"
    assert (tmp_path / "now.png").read_bytes().startswith(b"\x89PNG"), "the second run's frame must be a PNG"
