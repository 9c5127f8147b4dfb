"""The front page and the guide are correct: every code block runs, in the order of the pages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = FRONT_PAGE, GUIDE = [ROOT / "README.md", ROOT / "example_notebooks" / "README.md"]
PAPER = ROOT / "example_notebooks" / "paper_table.md"


def blocks(language: str, *pages: Path) -> list[str]:
    """Return the code blocks in a language on these pages."""
    text = "".join(page.read_text("utf-8") for page in pages)
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


INSTALLS = [code for code in blocks("bash", *PAGES) if code.startswith("pip install")]
LINKS = [
    (page, link)
    for page in (*PAGES, PAPER)
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8"))
]


@pytest.mark.parametrize(
    ("pages", "store", "runs"),
    [
        pytest.param([FRONT_PAGE], "mosaic_runs", 2, id="front page"),
        # the guide continues the front page
        pytest.param(PAGES, "mosaic_runs", 31, id="guide", marks=pytest.mark.extended),
        pytest.param([PAPER], "paper_runs", 14, id="paper", marks=pytest.mark.extended),
    ],
)
def test_the_python_blocks_run_from_top_to_bottom(
    pages: list[Path], store: str, runs: int, tmp_path: Path, cleanrl_environment: object
) -> None:
    program = "\n".join(blocks("python", *pages))
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, timeout=400)
    assert len(list((tmp_path / store).glob("*/telemetry.jsonl"))) == runs


def test_the_shell_blocks_run(tmp_path: Path, cleanrl_environment: object) -> None:
    tools = Path(sys.executable).parent
    for code in set(blocks("bash", *PAGES)) - set(INSTALLS):
        done = subprocess.run(
            ["bash", "-euc", f'PATH="{tools}:$PATH"\n{code}'],
            cwd=tmp_path,
            text=True,
            capture_output=True,
            timeout=400,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_two_install_commands_are_what_ci_runs() -> None:
    assert INSTALLS == ["pip install . && mosaic-lab demo\n", 'pip install ".[test]" && pytest -n 4\n']
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(r'\bpip install --quiet "\.\[test\]"\n.*^pytest -n 4', script, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("page", "link"), LINKS, ids=[f"{page.parent.name}-{link}" for page, link in LINKS])
def test_every_link_leads_somewhere(page: Path, link: str) -> None:
    assert (page.parent / link).exists()
