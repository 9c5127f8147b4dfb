"""The maps of the code are correct: every file and name on them exists."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAPS = ["mosaic_lab/README.md", "js/README.md"]
PARTS = ("mosaic_lab", "workers", "js", "tests", "example_notebooks")
CODE = {".py", ".ts", ".js", ".json", ".toml"}
MAX_LINES = 250
FILE = re.compile(r"[\w./-]*\w(\.(py|ts|js|css|md|json|toml)|/)|[\w-]+(/[\w-]+)+")
NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\(\))?")


@cache
def files() -> dict[str, Path]:
    """Return the project's files by their path in the repository, with a leading slash."""
    found = (path for part in PARTS for path in (ROOT / part).rglob("*") if "node_modules" not in path.parts)
    return {f"/{path.relative_to(ROOT).as_posix()}": path for path in found if path.is_file()}


@cache
def identifiers() -> set[str]:
    """Return every identifier in the project's code."""
    code = (path for path in files().values() if path.suffix in CODE)
    return {word for path in code for word in re.findall(r"[A-Za-z_]\w*", path.read_text(errors="replace"))}


def exists(quoted: str) -> bool:
    """Return whether a quoted name, file (by the end of its path) or folder exists."""
    if FILE.fullmatch(quoted):
        path = f"/{quoted}"
        return any(file.endswith(path) or f"{path.rstrip('/')}/" in file for file in files())
    if NAME.fullmatch(quoted):
        return set(quoted.removesuffix("()").split(".")) <= identifiers()
    return True  # a command, a line of code


@pytest.mark.parametrize("page", MAPS)
def test_every_file_and_name_on_the_map_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    quoted = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))
    assert len(quoted) > 50, "a map must name files"
    assert [one for one in dict.fromkeys(quoted) if not exists(one)] == []
    assert len(text.splitlines()) <= MAX_LINES, "a map must be short"
