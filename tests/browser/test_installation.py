"""Notices in a page where the package or the extension is missing or their versions differ."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from browser.jupyter import MAKE_LAB, JupyterLab, Notebook, opened
from browser.server import serving
from many_runs import write_runs
from playwright.sync_api import Page, expect

import mosaic_lab
from mosaic_lab import __version__

NOT_INSTALLED = "raise ModuleNotFoundError(\"No module named 'mosaic_lab'\", name='mosaic_lab')\n"
OTHER = "99.0"
LINE = ".mosaic-page-notice"


def test_the_extension_without_the_package_says_what_to_install(page: Page, tmp_path: Path) -> None:
    package = tmp_path / "packages" / "mosaic_lab"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(NOT_INSTALLED)
    with serving(tmp_path, environ={"PYTHONPATH": str(package.parent)}) as server:
        server.write_notebook("work.ipynb", [MAKE_LAB])
        notebook = Notebook(page, server, "work.ipynb")
        page.locator(".jp-SideBar [data-id='mosaic-lab-runs']").click()
        panel = page.locator("#mosaic-lab-runs")
        expect(panel.get_by_role("note")).to_contain_text(
            "install it in the server’s environment (pip install mosaic-lab) and restart the server"
        )
        expect(panel).to_contain_text("%pip install mosaic-lab")
        notebook.run(0)
        expect(notebook.output(0)).to_contain_text("No module named 'mosaic_lab'")
        panel.get_by_role("button", name="New training").click()
        expect(page.locator(".mosaic-form:visible")).to_contain_text(
            "Run mosaic_lab.Lab() in a notebook, or install it in the server’s environment"
        )


@pytest.mark.extended
def test_the_package_without_the_extension_says_so_once_in_a_page_that_could_have_it(
    page: Page, tmp_path: Path
) -> None:
    with serving(tmp_path, without=["mosaic-lab"]) as server:
        write_runs(server.root / "mosaic_runs", 2)
        cells = [MAKE_LAB, "lab.runs", "mosaic.workspace(lab.runs[:])", "mosaic.show(lab.runs[0])"]
        server.write_notebook("work.ipynb", cells)
        notebook = Notebook(page, server, "work.ipynb")
        for cell in range(len(cells)):
            notebook.run(cell)
        expect(notebook.cell(2).locator(".mosaic-workspace-cell canvas").first).to_be_visible()
        expect(notebook.cell(3).locator(".mosaic-header")).to_be_visible()
        assert page.locator(LINE).all_inner_texts() == [
            f"This page lacks the mosaic-lab extension (the kernel has mosaic-lab {__version__}), so there "
            "is no panel of runs, and panels are not restored after a restart. Install the same version in "
            f"the environment that runs Jupyter (pip install mosaic-lab=={__version__}) and reload the page."
        ]
        expect(notebook.cell(1).locator(LINE)).to_be_visible()

        # A front end that cannot have the extension (VS Code, Colab) shows no advice to install it.
        page.evaluate("document.querySelector('.mosaic-page-notice').remove()")
        page.evaluate("document.querySelector('.jp-LabShell').classList.remove('jp-LabShell')")
        notebook.run(1)
        expect(notebook.cell(1).locator(".jp-InputPrompt")).to_have_text("[5]:")
        expect(notebook.cell(1).get_by_role("treegrid")).to_contain_text("completed")
        expect(page.locator(LINE)).to_have_count(0)


def other_version(folder: Path) -> Path:
    """Copy our package into a folder, as another version."""
    package = folder / "mosaic_lab"
    source = Path(mosaic_lab.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__", "labextension"))
    for file in (package / "_version.py", *(package / "widgets" / "static").glob("*.js")):
        file.write_text(file.read_text().replace(f'"{__version__}"', f'"{OTHER}"'))
    return folder


@pytest.mark.extended
def test_a_kernel_with_another_version_than_the_page_is_reported(
    page: Page, jupyterlab: JupyterLab, folder: Path, tmp_path: Path
) -> None:
    other = other_version(tmp_path / "packages")
    use_other = f"import sys\nsys.path.insert(0, {str(other)!r})"
    write_runs(folder / "mosaic_runs", 2)
    notebook = opened(page, jupyterlab, folder, use_other, MAKE_LAB, "lab.runs", MAKE_LAB, "lab.runs")
    for cell in range(3):
        notebook.run(cell)
    said = f"This page has mosaic-lab {__version__}, the kernel {OTHER}. Reload the page; if this line stays"
    expect(notebook.cell(2).locator(LINE)).to_contain_text(said)
    page.locator(".jp-SideBar [data-id='mosaic-lab-runs']").click()
    note = page.locator("#mosaic-lab-runs").get_by_role("note").filter(has_text=OTHER)
    expect(note).to_contain_text(said)
    # The other version works nevertheless; the notices disappear once both versions are equal.
    expect(page.locator("#mosaic-lab-runs .mosaic-runs-line")).not_to_have_count(0)
    notebook.restart_kernel()
    for cell in (3, 4):
        notebook.run(cell)
    expect(notebook.cell(4).get_by_role("treegrid")).to_contain_text(re.compile("completed|failed"))
    expect(notebook.cell(4).locator(LINE)).to_have_count(0)
    expect(note).to_have_count(0)
