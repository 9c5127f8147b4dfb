"""What users install: a wheel and an sdist that carry everything, and a build that needs no Node.js of theirs."""

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
from pathlib import Path

import pytest

from mosaic_lab import __version__

ROOT = Path(__file__).parents[1]
EXTENSION = "share/jupyter/labextensions/mosaic-lab"
LEFTOVERS = re.compile(r"__pycache__|\.pyc$|\.egg-info|\.pytest_cache|\.ruff_cache|\.mypy_cache|node_modules")
NO_TOOLS = ["sh", "ls", "uname", "ldconfig", "dirname", "basename"]


def run(*command: str | Path, folder: Path, path: str | None = None) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=os.environ | ({"PATH": path} if path else {}),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=400,
    )
    assert done.returncode == 0, f"{command} exited with {done.returncode}:\n{done.stdout[-6000:]}"
    return re.sub(r"\x1b\[\d+m", "", done.stdout)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, folder=folder)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return next(built.glob("*.whl"))


class Environment:
    """A fresh virtual environment that sees the dependencies installed here, and installs only what is tested."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=True, symlinks=True)
        self.bin = folder / "bin"
        site = sysconfig.get_path("purelib", vars={"base": str(folder)})
        Path(site, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def install(self, *what: str | Path, folder: Path) -> None:
        run(self.bin / "python", "-m", "pip", "install", "--no-deps", *what, folder=folder)

    def python(self, code: str, folder: Path) -> str:
        return run(self.bin / "python", "-c", code, folder=folder).strip()


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("installed")
    environment = Environment(folder / "venv")
    environment.install(wheel, folder=folder)
    return environment


def test_wheel_carries_the_extension(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        prefix = next(name for name in names if name.endswith(f"{EXTENSION}/package.json")).removesuffix(
            "package.json"
        )
        manifest = json.loads(archive.read(f"{prefix}package.json"))
    assert manifest["version"] == __version__
    assert {f"{prefix}install.json", prefix + manifest["jupyterlab"]["_build"]["load"]} <= set(names)


def test_wheel_carries_the_workers_sources_and_the_packages_the_kernel_may_import(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    shims = {path.parent.name for path in (ROOT / "workers").glob("*/pyproject.toml")}
    assert {f"mosaic_lab/_workers/{shim}/pyproject.toml" for shim in shims} <= names
    assert {"mosaic_contract/__init__.py", "cleanrl_worker/__init__.py", "mosaic_lab/py.typed"} <= names
    conformance = {
        f"{place}cleanrl_worker/conformance.json" for place in ("", "mosaic_lab/_workers/cleanrl_worker/")
    }
    assert conformance <= names


def test_archives_hold_no_leftovers(built: Path, wheel: Path) -> None:
    sdist = next(built.glob("*.tar.gz"))
    names = zipfile.ZipFile(wheel).namelist() + tarfile.open(sdist).getnames()
    assert [name for name in names if LEFTOVERS.search(name)] == []
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if "mosaic_lab/labextension" in name]


def test_sdist_carries_the_built_extension_and_every_source(built: Path) -> None:
    sdist = next(built.glob("*.tar.gz"))
    names = {name.partition("/")[2] for name in tarfile.open(sdist).getnames()}
    assert {"mosaic_lab/labextension/package.json", "js/src/index.ts", "js/hatch_build.py"} <= names
    assert {"workers/contract/pyproject.toml", "tests/test_packaging.py", "README.md", "LICENSE"} <= names


def test_jupyterlab_lists_the_installed_extension_as_ok(installed: Environment, tmp_path: Path) -> None:
    listed = run(installed.bin / "python", "-m", "jupyter", "labextension", "list", folder=tmp_path)
    assert re.search(rf"mosaic-lab v{re.escape(__version__)} enabled\s+OK", listed), listed


def test_command_line_of_the_installed_wheel(installed: Environment, tmp_path: Path) -> None:
    assert (
        run(installed.bin / "mosaic-lab", "--version", folder=tmp_path).strip() == f"mosaic-lab {__version__}"
    )


WHERE = "from mosaic_lab.environments import shims; print(shims.bundled_shims()['cleanrl'].folder)"


def test_installed_wheel_finds_its_own_shims_outside_the_checkout(
    installed: Environment, tmp_path: Path
) -> None:
    folder = Path(installed.python(WHERE, tmp_path))
    assert folder.is_relative_to(installed.bin.parent)
    assert (folder / "cleanrl_worker" / "__init__.py").is_file()


def test_editable_install_has_the_extension_and_uses_the_checkouts_shims(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv")
    environment.install("--editable", ROOT, folder=tmp_path)
    assert Path(environment.python(WHERE, tmp_path)) == ROOT / "workers" / "cleanrl_worker"
    assert (tmp_path / "venv" / EXTENSION / "package.json").is_file()
    code = "import mosaic_contract, cleanrl_worker; print(mosaic_contract.__file__)"
    assert Path(environment.python(code, tmp_path)).is_relative_to(ROOT)


def test_build_from_a_checkout_needs_no_node_on_the_path(tmp_path: Path) -> None:
    checkout, tools = tmp_path / "checkout", tmp_path / "bin"
    ignored = shutil.ignore_patterns(".git", "labextension", "node_modules", ".*_cache", "__pycache__")
    shutil.copytree(ROOT, checkout, ignore=ignored)
    tools.mkdir()
    for tool in NO_TOOLS:
        if found := shutil.which(tool):
            (tools / tool).symlink_to(found)
    assert shutil.which("node", path=str(tools)) is None
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", tmp_path, checkout]
    run(*command, folder=tmp_path, path=str(tools))
    names = zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()
    assert any(f"{EXTENSION}/static/remoteEntry" in name for name in names)


def test_cleanrl_extra_is_what_the_worker_pins_for_its_registry_source() -> None:
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    shim = tomllib.loads((ROOT / "workers/cleanrl_worker/pyproject.toml").read_text())
    pins = shim["project"]["optional-dependencies"]["registry"]
    upstream = shim["tool"]["mosaic-lab"]["source"]["registry"]["upstream"]
    assert sorted(ours["optional-dependencies"]["cleanrl"]) == sorted([*pins, upstream])
    group = "mosaic.workers"
    assert ours["entry-points"][group] == shim["project"]["entry-points"][group]
