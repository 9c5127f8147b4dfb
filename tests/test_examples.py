"""The example notebooks run from top to bottom, on real trainings, and keep what they showed."""

from __future__ import annotations

import base64
import io
import re

import nbformat
import pytest
from nbformat import NotebookNode
from PIL import Image

from mosaic_lab import notebooks
from mosaic_lab.cli.demo import examples_folder

WATCH = "02_watch_the_agent.ipynb"
COMPARE = "03_compare_operators.ipynb"


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory, cleanrl_environment: object) -> NotebookNode:
    """The executed notebook of frames."""
    target = tmp_path_factory.mktemp("examples") / WATCH
    notebooks.execute(examples_folder() / WATCH, target)
    return nbformat.read(target, as_version=4)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory, cleanrl_environment: object) -> NotebookNode:
    """The executed notebook of comparisons."""
    target = tmp_path_factory.mktemp("examples") / COMPARE
    notebooks.execute(examples_folder() / COMPARE, target)
    return nbformat.read(target, as_version=4)


def pictures(notebook: NotebookNode, kind: str) -> list[Image.Image]:
    """All pictures of one MIME type in a notebook's outputs."""
    bundles = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
    return [Image.open(io.BytesIO(base64.b64decode(data[kind]))) for data in bundles if kind in data]


def test_each_view_of_frames_keeps_its_last_frame(watched: NotebookNode) -> None:
    snapshot, *kept = sorted(pictures(watched, "image/png"), key=lambda picture: picture.size != (600, 400))
    assert snapshot.size == (600, 400), "CartPole as it was drawn"
    assert len(kept) == 3, "one of each view"
    for picture in (snapshot, *kept):
        assert len(picture.convert("RGB").getcolors(1 << 24)) > 3, "something is to be seen"


def test_the_film_moves(watched: NotebookNode) -> None:
    (film,) = pictures(watched, "image/gif")
    assert film.n_frames > 5


def texts(notebook: NotebookNode) -> str:
    """All outputs of a notebook as plain text."""
    bundles = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
    return "\n".join(data.get("text/plain", "") for data in bundles)


def test_each_comparison_keeps_its_last_frames_returns_and_episodes(compared: NotebookNode) -> None:
    kept = pictures(compared, "image/png")
    assert len(kept) == 4, "one of each comparison"
    for picture in kept:
        assert len(picture.convert("RGB").getcolors(1 << 24)) > 20, "something is to be seen"
    bundles = [output.get("data", {}) for cell in compared.cells for output in cell.get("outputs", [])]
    tables = [data["text/html"] for data in bundles if "mosaic-still" in data.get("text/html", "")]
    assert [table.count("<tr>") for table in tables] == [1 + 4 * 3, 0, 1 + 3, 1 + 3 * 2]
    assert ["closed" in table for table in tables] == [True, False, False, True], "the games stay open"


def test_the_trained_policy_is_the_best_of_the_lanes(compared: NotebookNode) -> None:
    means = dict(re.findall(r"^(PPO|random|passive|lean) +([\d.]+)$", texts(compared), re.MULTILINE))
    ppo, *others = (float(means[lane]) for lane in ("PPO", "random", "passive", "lean"))
    assert ppo > 100 > max(others)
