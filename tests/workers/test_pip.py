"""pip's configuration reaches uv: indexes, find-links, the torch build. No password is written to a file."""

from __future__ import annotations

import base64
import functools
import hashlib
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from worker_fixtures import write_shim

from mosaic_lab import workers
from mosaic_lab.errors import WorkerEnvironmentError
from mosaic_lab.workers import pip_settings
from mosaic_lab.workers.pip_settings import (
    as_uv_variables,
    parse_pip_config,
    uv_environment,
    without_credentials,
)
from mosaic_lab.workers.sources import torch_backend
from mosaic_lab.workers.uv import step_of

SECRET = "hunter2hunter2"


def write_wheel(folder: Path, name: str, version: str, requires: str = "") -> Path:
    """Write a wheel with one empty module; ``requires`` is its dependency."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + (f"Requires-Dist: {requires}\n" if requires else ""),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        record = "".join(f"{path},sha256={_digest(text)},{len(text)}\n" for path, text in files.items())
        archive.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")
    return wheel


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    """A local package index with one package; yields its address without the scheme."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *arguments: object) -> None:
            pass

    write_wheel(tmp_path / "index" / "simple" / "onlyhere", "onlyhere", "3.2.1")
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(tmp_path / "index"))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}/simple"
    server.shutdown()
    server.server_close()


def test_pips_settings_are_read_with_pips_own_precedence() -> None:
    text = (
        ""
        ":env:.find-links='/environment'\nglobal.find-links='/file'\ninstall.index-url='https://install/simple'\n"
        ""
        "global.index-url='https://global/simple'\nglobal.extra-index-url='https://a/x\\nhttps://b/y'\nnonsense\n"
    )
    assert parse_pip_config(text) == {
        "find-links": "/environment",
        "index-url": "https://install/simple",
        "extra-index-url": "https://a/x\nhttps://b/y",
    }


def test_pips_settings_are_read_where_only_the_base_interpreter_has_pip(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    program = "import runpy, sys; print(runpy.run_path(sys.argv[1])['read_pip_settings']()['find-links'])"
    answer = subprocess.run(
        [tmp_path / "venv/bin/python", "-c", program, pip_settings.__file__],
        env={**os.environ, "PIP_FIND_LINKS": "/wheels"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert answer.stdout == "/wheels\n"


def test_pips_settings_become_uvs() -> None:
    pip = {
        "index-url": "https://one/simple",
        "extra-index-url": "https://two/simple\nfile:///three/simple",
        "find-links": "/wheels https://links/",
        "trusted-host": "one two",
        "cert": "/etc/cert.pem",
        "proxy": "http://proxy:3128",
        "no-index": "true",
    }
    assert as_uv_variables(pip) == {
        "UV_DEFAULT_INDEX": "https://one/simple",
        "UV_INDEX": "https://two/simple file:///three/simple",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_FIND_LINKS": "/wheels,https://links/",
        "UV_INSECURE_HOST": "one two",
        "SSL_CERT_FILE": "/etc/cert.pem",
        "ALL_PROXY": "http://proxy:3128",
        "UV_NO_INDEX": "1",
    }
    assert as_uv_variables({}) == {}


def test_what_the_user_set_for_uv_itself_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://pips/simple")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    assert uv_environment()["UV_DEFAULT_INDEX"] == "https://pips/simple"
    assert "PYTHONPATH" not in uv_environment()
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://mine/simple")
    assert uv_environment()["UV_DEFAULT_INDEX"] == "https://mine/simple"


def test_a_package_of_pips_extra_index_is_found_and_its_password_written_nowhere(
    tmp_path: Path, own_home: Path, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same holds for torch if PyTorch's own index lacks the version."""
    write_wheel(tmp_path / "index" / "simple" / "torch", "torch", "97.2.0")
    configured = uv_environment().get("UV_INDEX", "")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{configured} http://user:{SECRET}@{index}")
    lines: list[str] = []

    shim = write_shim(tmp_path / "shim", dependencies=["onlyhere==3.2.1", "torch==97.2.0"])
    environment = workers.install(shim, progress=lines.append)

    assert {"onlyhere==3.2.1", "torch==97.2.0"} <= set(environment.freeze)
    assert any("configured index" in line for line in lines)
    ours = [file for file in own_home.rglob("*") if file.is_file() and "site-packages" not in file.parts]
    assert {"environment.json", "freeze.txt"} <= {file.name for file in ours}
    assert not [file for file in ours if SECRET.encode() in file.read_bytes()]
    assert SECRET not in "".join(lines)


def test_a_failure_does_not_show_the_password(
    tmp_path: Path, own_home: Path, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", f"http://user:{SECRET}@{index.replace('/simple', '/nothing')}")
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    with pytest.raises(WorkerEnvironmentError, match="uv failed") as caught:
        workers.install(write_shim(tmp_path / "shim", dependencies=["nosuchpackage==1"]))
    assert SECRET not in str(caught.value)
    assert without_credentials(f"x http://u:{SECRET}@h/p y") == "x http://***@h/p y"


def test_a_torch_wheel_among_pips_find_links_is_taken_as_it_is(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_wheel(tmp_path / "wheels", "torch", "97.1.0+cpu")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    shim = write_shim(tmp_path / "shim", dependencies=["torch==97.1.0"])
    lines: list[str] = []

    environment = workers.install(shim, progress=lines.append)

    assert "torch==97.1.0+cpu" in environment.freeze
    assert any("offered by pip's find-links" in line for line in lines)
    assert workers.install(shim, torch="cpu").torch == "torch==97.1.0+cpu"
    with pytest.raises(WorkerEnvironmentError, match=r"'cu128' .* is not available.*--torch auto"):
        workers.install(shim, torch="cu128")


def test_the_torch_build_holds_for_a_dependency_of_a_dependency(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels = tmp_path / "wheels"
    write_wheel(wheels, "torch", "97.3.0+cu128")  # uv's default choice: it sorts after +cpu
    write_wheel(wheels, "torch", "97.3.0+cpu")
    write_wheel(wheels, "learns", "1.0", requires="torch>=97")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    shim = write_shim(tmp_path / "shim", dependencies=["learns==1.0"])

    with pytest.raises(WorkerEnvironmentError, match=r"'cu126' of torch==97\.3\.0 is not available"):
        workers.install(shim, torch="cu126")
    environment = workers.install(shim, torch="cpu")

    assert "torch==97.3.0+cpu" in environment.freeze
    assert environment.torch == "torch==97.3.0+cpu"


@pytest.mark.parametrize(
    ("requested", "backend"),
    [("auto", "auto"), ("CPU", "cpu"), ("cu128", "cu128"), ("cuda12.8", "cu128"), ("cuda130", "cu130")],
)
def test_torch_builds_go_by_uvs_names(requested: str, backend: str) -> None:
    assert torch_backend(requested) == backend


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("Using CPython 3.11.7 interpreter at: /usr/bin/python3.11", "Python 3.11.7"),
        ("Resolved 45 packages in 1.2s", "resolved 45 packages"),
        ("Downloading torch (190.3MiB)", "downloading torch (190.3MiB)"),
        ("   Building gym @ file:///somewhere/gym", "building gym"),
        ("Prepared 25 packages in 540ms", "prepared 25 packages"),
        ("Installed 45 packages in 0.06ms", "installed 45 packages"),
        (" + torch==2.13.0", None),
        ("warning: Failed to hardlink files", None),
    ],
)
def test_uvs_lines_become_steps(line: str, step: str | None) -> None:
    assert step_of(line) == step
