"""``mosaic-lab workers new`` writes a working worker; its refusals name every problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from shim_kit.promise_checks import FROM_ONE, promises  # noqa: F401

import mosaic_lab as mosaic
from mosaic_lab.cli import main
from mosaic_lab.errors import WorkerEnvironmentError
from mosaic_lab.workers import templates

pytestmark = pytest.mark.usefixtures("own_home")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def make(kind: str, capfd: pytest.CaptureFixture[str]) -> str:
    """Write, install and check the worker "my_lib" as a user does; return the printed output."""
    assert main(["workers", "new", "my_lib", "--kind", kind]) == 0
    assert main(["workers", "install", "./my_lib_worker"]) == 0
    assert main(["workers", "check", "my_lib"]) == 0
    return capfd.readouterr().out


def test_a_new_operator_can_be_installed_passes_the_check_and_acts(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    printed = make("operator", capfd)
    assert "mosaic-lab workers install ./my_lib_worker && mosaic-lab workers check my_lib" in printed
    assert "my_lib: all checks passed, of the whole protocol" in printed


@pytest.mark.extended
@pytest.mark.usefixtures("promises")
def test_a_new_training_trains_and_its_checkpoints_act(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert "my_lib: all checks passed" in make("training", capfd)
    lab = mosaic.Lab()
    run = lab.train("my_lib", algorithm="random_search", env="CartPole-v1", seed=1, total_timesteps=20_000)
    assert run.wait().state == "completed"
    operators = {"learned": mosaic.operators.rl(run), "random": mosaic.operators.random()}
    evaluation = lab.evaluate(env="CartPole-v1", operators=operators, seeds=range(5))
    means = evaluation.wait().results().groupby("operator")["return"].mean()
    assert means["learned"] > 2 * means["random"]
    with pytest.raises(mosaic.ConfigurationError, match=r"(?s)cannot resume.*needs vectors"):
        lab.train(
            "my_lib", algorithm="random_search", env="FrozenLake-v1", total_timesteps=1, resume_from=run
        )

    own: dict[str, Any] = {
        "algorithm": "random_search",
        "total_timesteps": 100,
        "pass_env_vars": ["PYTHONPATH"],
    }
    with pytest.raises(mosaic.ConfigurationError, match=r"NoInfo-v0 returns only an observation"):
        lab.train("my_lib", env="promises:NoInfo-v0", **own)
    run = lab.train("my_lib", env=FROM_ONE, **own)
    assert run.wait().state == "completed"
    acting = {"learned": mosaic.operators.rl(run)}
    assert (
        lab.evaluate(env=FROM_ONE, operators=acting, seeds=[1], pass_env_vars=["PYTHONPATH"]).wait().state
        == "completed"
    )


@pytest.mark.extended
def test_a_new_environment_is_played_in(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert "my_lib: all checks passed" in make("environment", capfd)
    evaluation = mosaic.Lab().evaluate(
        env="MyLib/Corridor-v0",
        env_kwargs={"length": 5},
        operators={"random": mosaic.operators.random()},
        seeds=range(3),
    )
    assert evaluation.wait().results()["return"].between(-20, -1).all()


@pytest.mark.parametrize("kind", templates.KINDS)
def test_places_to_fill_in_are_marked_and_nothing_else_is_of_the_template(kind: str, folder: Path) -> None:
    worker = templates.new("my_lib", kind)

    assert worker == Path("my_lib_worker")
    files = [path for path in worker.rglob("*") if path.is_file()]
    texts = "".join(f"{path}\n{path.read_text()}" for path in files)
    assert "placeholder" not in texts.lower()
    assert 'my_lib = "my_lib_worker.cli:get_worker_metadata"' in texts
    marked = templates.places(worker)
    assert {"pyproject.toml", "README.md", "__init__.py"} < {place.file.name for place in marked}
    for place in marked:
        assert "FILL IN" in place.text and place.text in place.file.read_text().splitlines()[place.line - 1]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("My-Lib", r"'My-Lib' is not a valid name.*lower-case letters.*such as 'my_lib'"),
        ("3d", r"'3d' is not a valid name"),
        ("class", r"'class' is not a valid name"),
        ("a/b", r"'a/b' is not a valid name"),
        ("", r"'' is not a valid name"),
        ("json", r"'json' is the name of a module of Python's standard library: .*such as 'json_rl'"),
        ("hill_worker", r"'_worker' is added to the name: give 'hill'"),
        ("cleanrl", r"there is already a worker 'cleanrl' \(bundled, not installed\): give another name"),
    ],
)
def test_a_name_that_cannot_be_or_is_taken_is_refused(name: str, said: str, folder: Path) -> None:
    with pytest.raises(WorkerEnvironmentError, match=said):
        templates.new(name)
    assert list(folder.iterdir()) == []


def test_a_folder_that_exists_is_left_as_it_is_and_all_problems_are_named(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "random_worker").mkdir()
    assert main(["workers", "new", "random", "--kind", "training"]) == 1
    said = capfd.readouterr().err
    assert "there is already a worker 'random'" in said and "random_worker already exists" in said
    assert list((folder / "random_worker").iterdir()) == []
    with pytest.raises(WorkerEnvironmentError, match=r"'trainer' is not one of training.*no folder nowhere"):
        templates.new("hill", "trainer", "nowhere")
