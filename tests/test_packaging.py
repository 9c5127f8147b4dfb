"""The wheel and the sdist are complete, and are built without the user's Node.js."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from mosaic_lab import __version__
from mosaic_lab.workers.pip_settings import uv_environment
from mosaic_lab.workers.shims import bundled_shims
from mosaic_lab.workers.uv import uv_binary

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTENSION = "share/jupyter/labextensions/mosaic-lab"
LEFTOVERS = re.compile(r"__pycache__|\.pyc$|\.egg-info|\.pytest_cache|\.ruff_cache|\.mypy_cache|node_modules")
PAGE_CODE = ("header.js", "header.css", "comparison.js", "frame_wall.js")
EXTRAS = {name: name for name in ("cleanrl", "jumanji", "sb3", "tianshou")} | {"ray-rllib": "rllib"}
"""Extras, and the worker that each installs into the kernel's environment."""
WHERE = "from mosaic_lab.workers import shims; print(shims.bundled_shims()['cleanrl'].folder)"


def run(
    *command: str | Path, folder: Path, path: str | None = None, settings: Mapping[str, str] = os.environ
) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**settings, **({"PATH": path} if path else {})},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=400,
    )
    assert done.returncode == 0, f"{command} exited with {done.returncode}:\n{done.stdout[-6000:]}"
    return re.sub(r"\x1b\[\d+m", "", done.stdout)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel built from it.

    They are built from a checkout without built files, without Node.js on the PATH.
    """
    folder = tmp_path_factory.mktemp("built")
    checkout, tools = folder / "checkout", folder / "bin"
    built_here = shutil.ignore_patterns(".git", "labextension", "static", "node_modules")
    shutil.copytree(ROOT, checkout, ignore=built_here)
    tools.mkdir()
    (tools / "sh").symlink_to("/bin/sh")
    command = [sys.executable, "-m", "build", "--installer", "uv", "--outdir", folder, checkout]
    run(*command, folder=folder, path=str(tools), settings=uv_environment())
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return next(built.glob("*.whl"))


@pytest.fixture(scope="module")
def wheel_names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def sdist_names(built: Path) -> set[str]:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


class Environment:
    """A new virtual environment with the tested package; dependencies come from the tests' environment."""

    def __init__(self, folder: Path, *requirement: str | Path) -> None:
        venv.create(folder, symlinks=True)
        self.bin = folder / "bin"
        install = [uv_binary(), "pip", "install", "--python", self.bin / "python", "--no-deps"]
        run(*install, *requirement, folder=folder, settings=uv_environment())
        site = sysconfig.get_path("purelib", vars={"base": str(folder)})
        Path(site, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def python(self, code: str, folder: Path) -> str:
        return run(self.bin / "python", "-c", code, folder=folder).strip()


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("installed") / "venv", wheel)


def test_wheel_carries_the_extension(wheel: Path, wheel_names: set[str]) -> None:
    folder = f"mosaic_lab-{__version__}.data/data/{EXTENSION}"
    with zipfile.ZipFile(wheel) as archive:
        manifest = json.loads(archive.read(f"{folder}/package.json"))
    assert manifest["version"] == __version__
    entry = manifest["jupyterlab"]["_build"]["load"]
    schema = f"{folder}/schemas/mosaic-lab/settings.json"
    assert {f"{folder}/install.json", f"{folder}/{entry}", schema} <= wheel_names
    assert "static/remoteEntry" in entry


def test_wheel_carries_the_example_notebooks(wheel_names: set[str]) -> None:
    notebooks = {path.name for path in (ROOT / "example_notebooks").glob("*.ipynb")}
    assert {f"mosaic_lab/_example_notebooks/{name}" for name in notebooks} <= wheel_names


def test_wheel_carries_the_workers_sources(wheel_names: set[str]) -> None:
    shims = {path.parent.name for path in (ROOT / "workers").glob("*/pyproject.toml")}
    assert {f"mosaic_lab/_workers/{shim}/pyproject.toml" for shim in shims} <= wheel_names
    assert "mosaic_lab/_workers/cleanrl_worker/cleanrl_worker/conformance.json" in wheel_names


def test_wheel_carries_what_the_kernel_may_import(wheel_names: set[str]) -> None:
    packages = [Path(one).name for one in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]]
    assert {"mosaic_lab", "mosaic_contract", "policy_worker"} <= set(packages)
    assert {f"{package}/__init__.py" for package in packages} <= wheel_names


def test_wheel_carries_the_pages_code_of_the_widgets(wheel_names: set[str]) -> None:
    assert {f"mosaic_lab/widgets/static/{name}" for name in PAGE_CODE} <= wheel_names


def test_archives_hold_no_leftovers(wheel_names: set[str], sdist_names: set[str]) -> None:
    assert [name for name in wheel_names | sdist_names if LEFTOVERS.search(name)] == []
    assert [name for name in wheel_names if name.startswith("mosaic_lab/labextension")] == []


def test_sdist_carries_the_built_extension_and_every_source(sdist_names: set[str]) -> None:
    assert "mosaic_lab/labextension/package.json" in sdist_names
    assert {f"mosaic_lab/widgets/static/{name}" for name in PAGE_CODE} <= sdist_names
    sources = {"js/src/extension/index.ts", "js/hatch_build.py", "workers/contract/pyproject.toml"}
    assert sources <= sdist_names
    assert {"tests/test_packaging.py", "README.md", "LICENSE"} <= sdist_names


def test_jupyterlab_lists_the_installed_extension_as_ok(installed: Environment, tmp_path: Path) -> None:
    listed = run(installed.bin / "python", "-m", "jupyterlab.labextensions", "list", folder=tmp_path)
    assert re.search(rf"mosaic-lab v{re.escape(__version__)} enabled\s+OK", listed), listed


def test_jupyters_server_loads_the_installed_server_extension(installed: Environment, tmp_path: Path) -> None:
    module = "jupyter_server.extension.serverextension"
    listed = run(installed.bin / "python", "-m", module, "list", folder=tmp_path)
    assert re.search(r"mosaic_lab\.server enabled", listed), listed
    assert re.search(r"mosaic_lab\.server\s+OK", listed), listed


def test_command_line_of_the_installed_wheel(installed: Environment, tmp_path: Path) -> None:
    said = run(installed.bin / "mosaic-lab", "--version", folder=tmp_path)
    assert said.strip() == f"mosaic-lab {__version__}"


def test_installed_wheel_finds_its_own_shims(installed: Environment, tmp_path: Path) -> None:
    folder = Path(installed.python(WHERE, tmp_path))
    assert folder.is_relative_to(installed.bin.parent)
    assert (folder / "cleanrl_worker" / "__init__.py").is_file()


@pytest.mark.extended
@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_the_wheel_works_on_newer_pythons(
    version: str, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOSAIC_LAB_HOME", str(tmp_path / "home"))
    python = tmp_path / "venv" / "bin" / "python"
    try:
        run(uv_binary(), "venv", "--no-project", "--python", interpreter(version), "venv", folder=tmp_path)
    except AssertionError as error:
        pytest.skip(f"there is no CPython {version} here, and uv cannot download one: {error}")
    run(uv_binary(), "pip", "install", "--python", python, wheel, folder=tmp_path, settings=uv_environment())
    names = "import sys, mosaic_lab; [getattr(mosaic_lab, name) for name in mosaic_lab.__all__]"
    said = run(python, "-c", f"{names}; print(sys.version)", folder=tmp_path)
    assert said.startswith(version + ".")
    assert "cleanrl" in run(python.parent / "mosaic-lab", "workers", "list", folder=tmp_path)
    trained = run(python.parent / "mosaic-lab", "train", "script", 'command=["true"]', folder=tmp_path)
    assert "completed, ran to the end" in trained


@pytest.mark.extended
@pytest.mark.parametrize("extra", ["ray-rllib", "sb3"])
def test_an_extra_puts_its_worker_into_the_kernels_environment(
    extra: str, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOSAIC_LAB_HOME", str(tmp_path / "home"))
    python, worker = tmp_path / "venv" / "bin" / "python", EXTRAS[extra]
    run(uv_binary(), "venv", "--no-project", "--python", interpreter("3.11"), "venv", folder=tmp_path)
    wanted = f"mosaic-lab[{extra}] @ {wheel.as_uri()}"
    run(uv_binary(), "pip", "install", "--python", python, wanted, folder=tmp_path, settings=uv_environment())
    listed = run(python.parent / "mosaic-lab", "workers", "list", folder=tmp_path)
    assert re.search(rf"^{worker} +installed .* kernel environment$", listed, re.MULTILINE), listed
    cart_pole = ("--algorithm", "ppo", "--env", "CartPole-v1", "--total-timesteps", "4000")
    assert "completed, " in run(python.parent / "mosaic-lab", "train", worker, *cart_pole, folder=tmp_path)
    assert not (tmp_path / "home" / "workers").exists()


def interpreter(version: str) -> str:
    """Return a CPython for uv: pyenv's interpreter itself, not its shim on the PATH; else the version, which
    uv finds or downloads."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))
    return str(found[-1]) if found else version


def test_editable_install_has_the_extension_and_uses_the_checkouts_shims(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv", "--editable", ROOT)
    assert Path(environment.python(WHERE, tmp_path)) == ROOT / "workers" / "cleanrl_worker"
    assert (tmp_path / "venv" / EXTENSION / "package.json").is_file()
    code = "import mosaic_contract, cleanrl_worker; print(mosaic_contract.__file__)"
    assert Path(environment.python(code, tmp_path)).is_relative_to(ROOT)


def test_extras_are_what_the_workers_require_from_the_package_registry() -> None:
    extras, shims = PROJECT["project"]["optional-dependencies"], bundled_shims()
    assert set(extras) == {"parquet", "test", *EXTRAS}
    for extra, worker in EXTRAS.items():
        assert sorted(extras[extra]) == sorted(shims[worker].registry_requirements)


def test_the_package_declares_its_workers_as_their_shims_do() -> None:
    declared = {}
    for file in ROOT.glob("workers/*_worker/pyproject.toml"):
        declared |= tomllib.loads(file.read_text())["project"]["entry-points"]["mosaic.workers"]
    entries = PROJECT["project"]["entry-points"]["mosaic.workers"]
    assert entries.items() <= declared.items()
    assert {*EXTRAS.values(), "passive", "policy", "random"} == set(entries)
    shipped = {
        Path(package).name for package in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    }
    assert {entry.partition(".")[0] for entry in entries.values()} <= shipped
