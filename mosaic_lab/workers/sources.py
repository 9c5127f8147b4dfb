"""Choose the source of a worker's upstream and its torch build on this machine, with the reason."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mosaic_lab.errors import WorkerEnvironmentError
from mosaic_lab.workers.pip_settings import without_credentials
from mosaic_lab.workers.shims import Shim, UpstreamSource
from mosaic_lab.workers.uv import Uv

REACH_SECONDS = 10.0
_TORCH_FAMILY = re.compile(r"(torch|torchvision|torchaudio)\b(?!-)")


@dataclass(frozen=True)
class ChosenSource:
    """The chosen source: its name (or a checkout's path), upstream's requirement, extra and reason."""

    source: str | None
    upstream: str | None
    extra: str | None
    reason: str


def choose_source(shim: Shim, requested: str | None) -> ChosenSource:
    """Return the requested source, or the first reachable source of the shim. Raises WorkerEnvironmentError
    if the source does not exist or cannot be reached."""
    if requested is not None:
        return _requested_source(shim, requested)
    if not shim.sources:
        return ChosenSource(None, None, None, "upstream is a dependency of the shim")
    refused: list[str] = []
    for source in shim.sources:
        problem = unreachable(source.upstream or "")
        if problem is None:
            reason = "; ".join([*refused, f"taking {_location(source)}"])
            return ChosenSource(source.name, source.upstream, source.extra, reason)
        refused.append(f"{_location(source)} cannot be reached from here ({problem})")
    raise WorkerEnvironmentError(
        f"Worker '{shim.name}' cannot be built: {'; '.join(refused)}. Check the network and the "
        "proxy" + (", or pass --source PATH with a checkout of upstream." if shim.path_source else ".")
    )


def _location(source: UpstreamSource) -> str:
    """Return a description of upstream's location."""
    requirement = without_credentials(source.upstream or source.name)
    name, _, url = (part.strip() for part in requirement.partition(" @ "))
    if url.startswith("git+"):
        return f"{name}'s git repository {_repository(url)}"
    return f"{name} at {url}" if url else f"the release {name} on the package registry"


def unreachable(upstream: str) -> str | None:
    """Return why ``upstream`` (a requirement) cannot be reached within ten seconds. None if it can be, or if
    it comes from an index, which uv itself queries."""
    _, _, url = upstream.partition(" @ ")
    url = url.strip()
    if url.startswith("git+"):
        return _git_problem(url)
    if url.startswith(("http://", "https://")):
        return _http_problem(url)
    return None


def torch_arguments(
    uv: Uv, python: Path, pins: Sequence[str], packages: Sequence[str], requested: str
) -> list[str]:
    """Return uv's arguments that select the requested torch build ("auto", "cpu", "cu128", …) for installing
    ``packages``, whose direct requirements are ``pins``. Empty if torch is not required.

    Wheels offered by pip's find-links take precedence, because an administrator put them there. Otherwise uv
    chooses from PyTorch's index by the graphics driver. If that index cannot be reached, "auto" uses the
    configured index.
    """
    torch_pins = _torch_among(pins) or _torch_required(uv, python, packages)
    if not torch_pins:
        return []
    backend = torch_backend(requested)
    command = ["pip", "install", "--python", str(python), "--dry-run", "--no-deps"]
    if uv.environ.get("UV_FIND_LINKS"):
        builds = torch_pins if backend == "auto" else [_build_of(pin, backend) for pin in torch_pins]
        resolved = uv.probe(*command, "--no-index", *builds).text
        offered = re.findall(r"^ \+ (\S+==\S+)$", resolved, re.MULTILINE)
        if offered and (backend == "auto" or all(wheel.endswith(f"+{backend}") for wheel in offered)):
            uv.say(f"{', '.join(offered)}: the wheel offered by pip's find-links")
            return offered
    answer = uv.probe(*command, f"--torch-backend={backend}", *torch_pins)
    if answer.returncode == 0:
        return [f"--torch-backend={backend}"]
    if backend != "auto":
        raise WorkerEnvironmentError(
            f"The torch build '{backend}' of {', '.join(torch_pins)} is not available from PyTorch's index: "
            f"{'; '.join(line.strip() for line in answer.lines[1:2] + answer.lines[-1:])}. "
            "--torch auto takes one that is available."
        )
    uv.say("PyTorch's own index cannot be reached or lacks it: taking the torch of the configured index")
    return []


def _build_of(pin: str, backend: str) -> str:
    """Return an exact version with its build, such as ``torch==2.13.0+cpu``, because an index may have
    several builds."""
    return f"{pin}+{backend}" if re.fullmatch(r"[^=\s]+==[^+*\s]+", pin) else pin


def _torch_among(requirements: Iterable[str]) -> list[str]:
    return [requirement for requirement in requirements if _TORCH_FAMILY.match(requirement)]


def _torch_required(uv: Uv, python: Path, packages: Sequence[str]) -> list[str]:
    """Return the torch packages among the indirect dependencies of ``packages``: exact versions without the
    build (``+cu128``). Only metadata is downloaded."""
    install = ["pip", "install", "--python", str(python), "--dry-run"]
    answer = uv.do("looking for torch among the dependencies", *install, *packages)
    return _torch_among(re.findall(r"^ \+ ([^\s=]+==[^\s+]+)", answer.text, re.MULTILINE))


def torch_backend(requested: str) -> str:
    """Return uv's name of a torch build. Raises WorkerEnvironmentError for an invalid one."""
    backend = (
        re.sub(r"^cuda(?=\d)", "cu", requested.lower()).replace("cu12.", "cu12").replace("cu13.", "cu13")
    )
    if not re.fullmatch(r"auto|cpu|cu\d+|rocm[\d.]+|xpu", backend):
        raise WorkerEnvironmentError(
            f"--torch {requested}: no such torch build. Use auto (suits this machine's driver), cpu, or a "
            "CUDA version such as cu128."
        )
    return backend


def _requested_source(shim: Shim, requested: str) -> ChosenSource:
    by_name = {source.name: source for source in shim.sources}
    if source := by_name.get(requested):
        if problem := unreachable(source.upstream or ""):
            raise WorkerEnvironmentError(
                f"The source '{requested}' of worker '{shim.name}' cannot be reached: {problem}. Leave "
                "--source out to take the first one that can be."
            )
        return ChosenSource(requested, source.upstream, source.extra, "requested with --source")
    checkout = str(Path(requested).expanduser().resolve())
    if shim.path_source and Path(checkout).is_dir():
        reason = "requested with --source: a copy is installed"
        return ChosenSource(checkout, checkout, shim.path_source.extra, reason)
    choices = [*by_name, *(["the path of a checkout"] if shim.path_source else [])]
    raise WorkerEnvironmentError(
        f"--source {requested}: worker '{shim.name}' has no such source, and no folder of that name is here. "
        + (f"It has: {', '.join(choices)}." if choices else "It has none to choose from: leave --source out.")
    )


def _git_problem(url: str) -> str | None:
    if shutil.which("git") is None:
        return "git is not installed"
    repository = _repository(url)
    quiet = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_SSH_COMMAND": "ssh -oBatchMode=yes"}
    try:
        answer = subprocess.run(
            ["git", "ls-remote", repository, "HEAD"],
            env=quiet,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=REACH_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {REACH_SECONDS:.0f} s"
    if answer.returncode == 0:
        return None
    last = (answer.stderr.strip().splitlines() or [f"git ended with {answer.returncode}"])[-1]
    return without_credentials(re.sub(r"^(fatal: )?(unable to access '[^']*': )?", "", last))


def _repository(url: str) -> str:
    """Return the repository of a requirement's ``git+…`` URL, without the commit."""
    return re.sub(r"@[^/@]*$", "", url.removeprefix("git+").partition("#")[0])


def _http_problem(url: str) -> str | None:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=REACH_SECONDS):
            return None
    except (urllib.error.URLError, OSError) as error:
        return without_credentials(str(getattr(error, "reason", error)))
