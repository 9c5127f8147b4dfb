"""Environments not built by MOSAIC Lab: interpreters given by path, and the kernel's own environment."""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
from pathlib import Path

import pytest
from support import MAIN
from worker_fixtures import write_shim, write_upstream

from mosaic_lab import workers
from mosaic_lab.cli import main
from mosaic_lab.errors import WorkerEnvironmentError
from mosaic_lab.workers.pip_settings import uv_environment
from mosaic_lab.workers.shims import contract_folder
from mosaic_lab.workers.uv import uv_binary

pytestmark = pytest.mark.usefixtures("own_home")


def make_venv(folder: Path, *packages: str) -> Path:
    """Create a user's virtual environment with ``packages``; return its interpreter."""
    subprocess.run(
        [uv_binary(), "venv", "-q", "--no-project", "--python", sys.executable, str(folder)], check=True
    )
    python = folder / "bin" / "python"
    install = [uv_binary(), "pip", "install", "-q", "--python", str(python), "--no-deps"]
    if packages:
        subprocess.run([*install, *packages], check=True, timeout=120)
    return python


def test_an_environment_that_has_the_worker_is_registered_as_it_is(tmp_path: Path) -> None:
    """Each registration reads the worker's metadata; removal leaves the environment in place."""
    python = make_venv(tmp_path / "venv", str(contract_folder()), str(write_shim(tmp_path / "shim")))
    before = sorted(python.parent.parent.rglob("*.dist-info"))

    environment = workers.install("toy", python=python)

    assert environment.python == python and environment.root == tmp_path / "venv"
    assert any(line.startswith("somebody-toy-worker") for line in environment.freeze)
    assert workers.describe(environment)["metadata"]["name"] == "toy"
    assert sorted(python.parent.parent.rglob("*.dist-info")) == before
    listed = {info.name: info for info in workers.catalog()}["toy"]
    assert (listed.state, listed.origin) == ("installed", "third party")

    about = next((tmp_path / "venv").rglob("toy_worker/__init__.py"))
    about.write_text(about.read_text().replace('["walk"]', '["walk", "run"]'))
    lines: list[str] = []
    again = workers.install("toy", python=python, progress=lines.append)
    assert (environment.capabilities.algorithms, again.capabilities.algorithms) == (["walk"], ["walk", "run"])
    assert workers.find("toy") == again
    assert not any("replace" in line for line in lines)

    workers.remove("toy", progress=lines.append)
    assert python.exists() and workers.find("toy") is None
    assert "is not managed by MOSAIC Lab and stays" in lines[-1]

    workers.install("toy", python=python)
    python.unlink()
    with pytest.raises(WorkerEnvironmentError, match="no such file"):
        workers.ensure("toy")


def test_a_worker_that_is_called_as_one_of_ours_replaces_it_only_where_that_is_wanted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shim = write_shim(tmp_path / "shim", "random")
    package = shim / "other_random"  # a module of its own
    (shim / "random_worker").rename(package)
    for file in (shim / "pyproject.toml", package / "cli.py"):
        file.write_text(file.read_text().replace("random_worker", "other_random"))
    python = make_venv(tmp_path / "venv", str(contract_folder()), str(shim), str(toylib(tmp_path)))

    refused = rf"^The worker in {tmp_path}/\w+ is called 'random', like one that comes with .* --replace"
    for name, given in (("random", {"python": python}), (shim, {})):
        with pytest.raises(WorkerEnvironmentError, match=refused):
            workers.install(name, **given)  # type: ignore[arg-type]
    assert in_kernel_environment(python, "random")[0] is None  # nor is it replaced from beside mosaic_lab
    assert {info.name: info for info in workers.catalog()}["random"].origin == "bundled"
    capsys.readouterr()

    assert main(["workers", "install", "random", "--python", str(python), "--replace"]) == 0
    in_force = (
        f"'random' is the worker in {tmp_path / 'venv'}, in place of the one that comes with MOSAIC Lab"
    )
    assert in_force in capsys.readouterr().out
    assert main(["workers", "list"]) == 0 and in_force in capsys.readouterr().out
    assert main(["workers", "list", "random"]) == 0 and in_force in capsys.readouterr().out
    workers.install("random", python=python)  # no longer needs --replace
    workers.remove("random")
    assert {info.name: info for info in workers.catalog()}["random"].origin == "bundled"


def toylib(folder: Path) -> Path:
    return write_upstream(folder / "upstream")


def test_an_interpreter_without_the_worker_is_the_base_of_a_new_environment(tmp_path: Path) -> None:
    python = make_venv(tmp_path / "venv")
    shim = write_shim(tmp_path / "shim")

    environment = workers.install(shim, python=python)

    assert environment.root != tmp_path / "venv"
    assert workers.describe(environment)["metadata"]["name"] == "toy"
    assert not list((tmp_path / "venv").rglob("toy_worker"))


def test_an_interpreter_without_an_unknown_worker_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkerEnvironmentError, match=r"no shim to build worker 'toy'.*does not have it"):
        workers.install("toy", python=make_venv(tmp_path / "venv"))
    with pytest.raises(WorkerEnvironmentError, match=r"cannot be started|not a Python interpreter"):
        workers.install("toy", python=tmp_path / "venv" / "pyvenv.cfg")


def test_an_interpreter_that_prints_without_end_is_ended_before_it_fills_the_disk(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nyes | cat\n")
    python.chmod(0o755)
    with pytest.raises(WorkerEnvironmentError, match=r"printed [\d,]+ MB and was ended before it filled"):
        workers.install("toy", python=python)


FIND = """
import json
import sys
from mosaic_lab import workers
found = workers.find(sys.argv[1])
listed = {info.name: info for info in workers.catalog()}.get(sys.argv[1])
print(json.dumps([found and [found.origin, str(found.python), found.command(), len(found.freeze)],
                  listed and [listed.state, listed.origin]]))
"""


def in_kernel_environment(python: Path, name: str = "toy") -> list[object]:
    """Look up the worker in a ``python`` process that imports mosaic_lab from the tests' environment."""
    packages = python.parent.parent / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    roots = [*site.getsitepackages(), str(Path(workers.__file__).parents[2])]
    lines = "".join(f"import site; site.addsitedir({root!r})\n" for root in roots)
    (packages / "ours.pth").write_text(lines)
    output = subprocess.check_output([python, "-c", FIND, name], text=True, timeout=60, env=os.environ)
    return json.loads(output)  # type: ignore[no-any-return]


def test_a_worker_in_the_kernels_environment_is_used_where_its_upstream_is_there(tmp_path: Path) -> None:
    shim = write_shim(tmp_path / "shim")
    upstream = write_upstream(tmp_path / "upstream")
    python = make_venv(tmp_path / "venv", str(contract_folder()), str(shim))
    assert in_kernel_environment(python) == [None, None]

    install = [uv_binary(), "pip", "install", "-q", "--no-deps", "--python", str(python), str(upstream)]
    subprocess.run(install, check=True, timeout=60)
    found, described = in_kernel_environment(python)

    assert isinstance(found, list) and found[:3] == [
        "kernel environment",
        str(python),
        [str(python), "-m", "toy_worker.cli"],
    ]
    assert found[3] > 3
    assert described == ["installed", "kernel environment"]

    environment = workers.install(shim)
    found, described = in_kernel_environment(python)
    assert isinstance(found, list) and found[1] == str(environment.python), "installed ones take precedence"
    assert described == ["installed", "third party"]


def test_a_worker_from_a_package_registry_is_found_beside_mosaic_lab_and_usable(tmp_path: Path) -> None:
    """The wheel requires no package that only this repository provides; it is installed beside mosaic_lab."""
    shim = workers.new("my_lib", "operator", tmp_path)
    uv = [uv_binary(), "--quiet", "--no-progress"]
    subprocess.run(
        [*uv, "build", "--wheel", str(shim), "-o", str(tmp_path)], check=True, env=uv_environment()
    )
    python = make_venv(tmp_path / "venv")
    wheel = str(next(tmp_path.glob("*.whl")))
    subprocess.run([*uv, "pip", "install", "--no-index", "--python", str(python), wheel], check=True)

    found, described = in_kernel_environment(python, "my_lib")

    assert isinstance(found, list) and found[:2] == ["kernel environment", str(python)]
    assert described == ["installed", "kernel environment"]
    checked = subprocess.run(
        [python, "-c", MAIN, "workers", "check", "my_lib"], capture_output=True, text=True, timeout=120
    )
    assert "my_lib: all checks passed" in checked.stdout, checked.stdout + checked.stderr
    chosen = "from mosaic_lab.workers.families import family_of; print(family_of('Any-v0', 'my_lib'))"
    assert subprocess.check_output([python, "-c", chosen], text=True, timeout=60) == "my_lib\n"
