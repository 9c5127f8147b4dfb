"""The example notebooks run from top to bottom, with real trainings, and reproduce their stored outputs.

nbval compares the outputs. Cells whose output depends on a training or the clock are tagged in the notebook
(``nbval-ignore-output``); all other outputs are the same on every machine. To store outputs again, execute
the notebook in an empty folder (`mosaic_lab.notebooks.execute`) and copy it back.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator

import nbformat
import pytest
from example_fixtures import Executed
from nbformat import NotebookNode
from nbval.plugin import IPyNbCell, IPyNbFile, coalesce_streams
from PIL import Image

from mosaic_lab.cli.demo import examples_folder

TRAIN = "01_train_and_watch.ipynb"
WATCH = "02_watch_the_agent.ipynb"
COMPARE = "03_compare_operators.ipynb"
MANY = "08_many_runs.ipynb"
EXAMPLES = sorted(path.name for path in examples_folder().glob("*.ipynb"))
PUBLISHED = "12_published.ipynb"  # trains for half an hour; tests do not execute it
AGAIN = [
    name if name == TRAIN else pytest.param(name, marks=pytest.mark.extended)
    for name in EXAMPLES
    if name != PUBLISHED
]

PASSING = re.compile(
    r"run \S+: \w+, |\S+ does not exist: the first run creates|"
    r"worker '\S+' (is not|has changed since it was) installed| +\d+ s  "  # an installation and its progress
)

LARGEST = 1_500_000  # bytes of a notebook


@pytest.fixture
def watched(executed: Executed) -> NotebookNode:
    """The executed notebook on frames."""
    return nbformat.read(executed(WATCH), as_version=4)


@pytest.fixture
def compared(executed: Executed) -> NotebookNode:
    """The executed notebook on comparisons."""
    return nbformat.read(executed(COMPARE), as_version=4)


def stored(name: str, session: pytest.Session) -> list[IPyNbCell]:
    """Return the code cells of a notebook as nbval collects them."""
    return list(IPyNbFile.from_parent(session, path=examples_folder() / name).collect())


def lasting(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Return the outputs without messages on new stores, installations and the progress of runs."""
    texts = [str(one.get("text") or one.get("data", {}).get("text/plain", "")) for one in outputs]
    return [one for one, text in zip(outputs, texts, strict=True) if not PASSING.match(text)]


def differences(cells: list[IPyNbCell], ran: NotebookNode) -> Iterator[str]:
    """Yield nbval's report on each cell whose output differs from the stored one."""
    again = [cell for cell in ran.cells if cell.cell_type == "code"]
    for known, now in zip(cells, again, strict=True):
        assert known.cell.source == now.source
        shown, before = (coalesce_streams(lasting(one)) for one in (now.outputs, known.cell.outputs))
        if known.options["check"] and not known.compare_outputs(shown, before):
            yield "\n".join([known.cell.source, *known.comparison_traceback])


@pytest.mark.parametrize("name", AGAIN)
def test_what_is_stored_is_shown_again(name: str, executed: Executed, request: pytest.FixtureRequest) -> None:
    cells = stored(name, request.session)
    found = list(differences(cells, nbformat.read(executed(name), as_version=4)))
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("name", EXAMPLES)
def test_stored_outputs_are_real_small_and_not_all_ignored(name: str, request: pytest.FixtureRequest) -> None:
    cells = stored(name, request.session)
    assert [cell.cell.execution_count for cell in cells] == list(range(1, len(cells) + 1)), "run in one pass"
    compared = [cell for cell in cells if cell.options["check"] and cell.cell.outputs]
    assert len(compared) >= 2
    assert (examples_folder() / name).stat().st_size < LARGEST


def test_another_output_is_noticed(executed: Executed, request: pytest.FixtureRequest) -> None:
    ran = nbformat.read(executed(TRAIN), as_version=4)
    cell = next(cell for cell in ran.cells if "PPO has learned" in cell.source)
    cell.outputs[0].text = "PPO has learned: False\n"
    (found,) = differences(stored(TRAIN, request.session), ran)
    assert "PPO has learned: False" in found


def pictures(notebook: NotebookNode, kind: str) -> list[Image.Image]:
    """Return all images of one MIME type in a notebook's outputs."""
    bundles = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
    return [Image.open(io.BytesIO(base64.b64decode(data[kind]))) for data in bundles if kind in data]


@pytest.mark.extended
def test_each_view_of_frames_keeps_its_last_frame(watched: NotebookNode) -> None:
    snapshot, *kept = sorted(pictures(watched, "image/png"), key=lambda picture: picture.size != (600, 400))
    assert snapshot.size == (600, 400), "the snapshot has CartPole's frame size"
    assert len(kept) == 3, "one image per view"
    for picture in (snapshot, *kept):
        assert len(picture.convert("RGB").getcolors(1 << 24)) > 3, "the image is not blank"


@pytest.mark.extended
def test_the_film_moves(watched: NotebookNode) -> None:
    (film,) = pictures(watched, "image/gif")
    assert film.n_frames > 5


def texts(notebook: NotebookNode) -> str:
    """Return all plain-text outputs of a notebook."""
    bundles = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
    return "\n".join(data.get("text/plain", "") for data in bundles)


@pytest.mark.extended
def test_each_comparison_keeps_its_last_frames_returns_and_episodes(compared: NotebookNode) -> None:
    kept = pictures(compared, "image/png")
    assert len(kept) == 4, "one image per comparison"
    for picture in kept:
        assert len(picture.convert("RGB").getcolors(1 << 24)) > 20, "the image is not blank"
    bundles = [output.get("data", {}) for cell in compared.cells for output in cell.get("outputs", [])]
    tables = [data["text/html"] for data in bundles if "mosaic-saved" in data.get("text/html", "")]
    assert [table.count("<tr>") for table in tables] == [1 + 4 * 3, 0, 1 + 3, 1 + 3 * 2]
    assert ["closed" in table for table in tables] == [True, False, False, True], "game comparisons stay open"


@pytest.mark.extended
def test_the_trained_policy_is_the_best_of_the_lanes(compared: NotebookNode) -> None:
    means = dict(re.findall(r"^(PPO|random|passive|lean) +([\d.]+)$", texts(compared), re.MULTILINE))
    ppo, *others = (float(means[lane]) for lane in ("PPO", "random", "passive", "lean"))
    assert ppo > 100 > max(others)


@pytest.mark.extended
def test_many_runs_keep_their_table_their_charts_and_a_film(executed: Executed) -> None:
    ran = nbformat.read(executed(MANY), as_version=4)
    workspace, panel = pictures(ran, "image/png")
    assert workspace.height > panel.height, "the workspace has four charts, the panel one"
    assert len(workspace.convert("RGB").getcolors(1 << 24)) > 20, "the image is not blank"
    html = [
        output.get("data", {}).get("text/html", "")
        for cell in ran.cells
        for output in cell.get("outputs", [])
    ]
    assert any("<b>Runs</b>" in text and "cleanrl-ppo" in text for text in html), (
        "the initial table of runs is kept"
    )
    assert sum("<video" in text for text in html) == 1
