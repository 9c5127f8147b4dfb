"""Forms generate the code of trainings and evaluations and insert it as a cell for the user to execute."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.jupyter import JupyterLab, Notebook, choose_in_palette, opened
from browser.server import serving
from playwright.sync_api import BrowserContext, Locator, Page, expect
from support import wait_until


@pytest.fixture(scope="module")
def jupyterlab(
    toy: Path, tmp_path_factory: pytest.TempPathFactory, context: BrowserContext
) -> Iterator[JupyterLab]:
    """A server for this module that finds the worker "toy"."""
    with serving(tmp_path_factory.mktemp("jupyter")) as server:
        yield server


@pytest.fixture
def notebook(page: Page, jupyterlab: JupyterLab, folder: Path) -> Notebook:
    return opened(page, jupyterlab, folder, "import mosaic_lab\nmine = mosaic_lab.Lab()")


def open_form(page: Page, label: str) -> Locator:
    choose_in_palette(page, label)
    return page.locator(".mosaic-form:visible")


def test_a_trainings_form_inserts_its_code_into_the_notebook(
    notebook: Notebook, jupyterlab: JupyterLab
) -> None:
    form = open_form(notebook.page, "New training")
    form.get_by_label("Worker").select_option("toy")
    insert = form.get_by_role("button", name="Insert cell")
    expect(insert).to_be_disabled()  # without an environment
    form.get_by_label("Environment").fill("CartPole-v1")
    form.get_by_label("Steps", exact=True).fill("20000")
    form.get_by_label("Seeds", exact=True).fill("0-2")
    code = form.get_by_label("The code of the cell")
    shown = (r"group = mine\.train\(", '"toy"', 'env="CartPole-v1"', "20_000", r"seed=range\(3\)", "group$")
    expect(code).to_have_value(re.compile(r"[\s\S]*".join(shown)))
    form.get_by_label("Seeds", exact=True).fill("some")
    expect(insert).to_be_disabled()
    expect(form).to_contain_text("Correct the marked values first.")
    form.get_by_label("Seeds", exact=True).fill("7")
    expect(insert).to_be_enabled()
    form.get_by_text("1 hyperparameter").click()
    rate = form.get_by_label("learning_rate")
    rate.fill("20")
    expect(insert).to_be_disabled()
    expect(form).to_contain_text("Correct first: learning_rate: 20 is more than 10.")
    form.get_by_label("Find a hyperparameter").fill("gamma")  # a hidden value still blocks
    expect(form).to_contain_text("Correct first: learning_rate: 20 is more than 10.")
    form.get_by_label("Find a hyperparameter").fill("")
    rate.fill("0.25")
    expect(insert).to_be_enabled()
    insert.click()
    cell = notebook.cell(1)
    expect(cell.locator(".cm-content")).to_contain_text("mine.train(")
    expect(cell.locator(".cm-content")).to_contain_text("seed=7")
    expect(cell.locator(".cm-content")).to_contain_text("learning_rate=0.25")
    expect(cell.locator(".jp-InputPrompt")).to_have_text("[ ]:")  # not executed

    # The form's values are restored after a reload.
    saved = jupyterlab.root.parent / "workspaces"
    wait_until(lambda: any('"learning_rate":0.25' in file.read_text() for file in saved.iterdir()))
    notebook.page.reload()
    expect(form.get_by_label("Seeds", exact=True)).to_have_value("7")
    expect(form.get_by_label("Worker")).to_have_value("toy")
    expect(code).to_have_value(re.compile(r"20_000[\s\S]*seed=7[\s\S]*learning_rate=0.25"))


@pytest.mark.extended
def test_an_evaluations_form_lists_its_operators(notebook: Notebook) -> None:
    form = open_form(notebook.page, "New evaluation")
    form.get_by_label("Environment").fill("CartPole-v1")
    code = form.get_by_label("The code of the cell")
    expect(code).to_have_value(
        "import mosaic_lab as mosaic\n\n"
        "ev = mine.evaluate(\n"
        '    env="CartPole-v1",\n'
        '    operators={"random": mosaic.operators.random()},\n'
        "    seeds=range(100),\n"
        ")\nev"
    )
    form.get_by_label("Kind").select_option(label="trained policy")
    expect(form.get_by_label("Name")).to_have_value("rl")
    expect(form).to_contain_text("Fill in: Run.")
    expect(form).not_to_contain_text("schema")
    expect(form.get_by_text("Operator", exact=True)).to_be_visible()
    form.get_by_label("Run", exact=True).fill("k3f9")
    expect(code).to_have_value(re.compile(r'mosaic\.operators\.rl\(mine\.run\("k3f9"\)\)'))
