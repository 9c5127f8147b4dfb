"""``mosaic-lab export``: a saved notebook as one self-contained page, opened in a browser without network."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image
from playwright.sync_api import Page

from mosaic_lab.cli import main


def png(color: str) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (40, 30), color).save(file, "PNG")
    return file.getvalue()


def save(path: Path, *cells: nbformat.NotebookNode) -> Path:
    nbformat.write(new_notebook(cells=list(cells)), path)
    return path


def test_a_page_requests_nothing_and_shows_everything(
    tmp_path: Path, page: Page, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "beside.png").write_bytes(png("red"))
    chart = {"image/png": base64.b64encode(png("blue")).decode(), "text/plain": "a chart"}
    live = {
        "application/vnd.jupyter.widget-view+json": {"model_id": "0", "version_major": 2, "version_minor": 0}
    }
    table = {"text/html": "<table><tr><td>completed</td></tr></table>", "text/plain": "a table"}
    script = {"text/html": "<p id='requests'></p><script>fetch('https://nowhere.example/')</script>"}
    outputs = [new_output("display_data", data=data) for data in (live, chart, table, script)]
    outputs.append(new_output("display_data", data={"text/latex": r"$\frac{1}{2}$"}))
    notebook = save(
        tmp_path / "shown.ipynb",
        new_markdown_cell(r"# Shown" "\n\n" r"$\bar{x} \pm s$ and ![beside](pictures/beside.png)"),
        new_code_cell("run", outputs=outputs),
    )
    assert main(["export", str(notebook)]) == 0
    address = tmp_path / "shown.html"
    assert str(address) in capsys.readouterr().out
    notebook.unlink()
    (tmp_path / "pictures" / "beside.png").unlink()
    page.context.set_offline(True)
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.goto(address.as_uri())
    assert [url for url in requested if not url.startswith("data:")] == [address.as_uri()]
    widths = page.locator("img").evaluate_all("all => all.map(image => image.naturalWidth)")
    assert widths == [40, 40]
    assert page.locator("math").count() == 2
    assert all(page.locator("math").nth(n).bounding_box()["height"] > 8 for n in range(2))
    assert page.get_by_text("completed").is_visible()
    assert page.locator("mfrac").is_visible()


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        (new_markdown_cell("![far](https://nowhere.example/far.png)"), "https://nowhere.example/far.png"),
        (new_markdown_cell("![gone](gone.png)"), "gone.png"),
        (new_markdown_cell("<img src='../outside.png'>"), "../outside.png"),
        (
            new_code_cell(
                "",
                outputs=[
                    new_output(
                        "display_data", data={"text/html": "<script src='https://a.example/b.js'></script>"}
                    )
                ],
            ),
            "https://a.example/b.js",
        ),
    ],
)
def test_what_is_elsewhere_is_refused_by_its_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cell: nbformat.NotebookNode, says: str
) -> None:
    (tmp_path / "outside.png").write_bytes(png("red"))
    (tmp_path / "folder").mkdir()
    notebook = save(tmp_path / "folder" / "shown.ipynb", cell)
    assert main(["export", str(notebook), "-o", str(tmp_path / "page.html")]) == 1
    assert (
        f"shown.ipynb refers to content that cannot be embedded in a page: {says}" in capsys.readouterr().err
    )
    assert not (tmp_path / "page.html").exists()


def test_a_run_without_a_tool_to_export_to_gets_the_option_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["export", "quick 0"])
    assert "quick 0 is not a notebook; a RUN needs --to tensorboard or --to wandb" in capsys.readouterr().err


def test_what_is_no_notebook(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wrong.ipynb").write_text("{}")
    assert main(["export", str(tmp_path / "wrong.ipynb")]) == 1
    assert main(["export", str(tmp_path / "nowhere.ipynb")]) == 1
    assert capsys.readouterr().err.count("is not a notebook that can be read") == 2
