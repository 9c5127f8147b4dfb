"""Shims as source folders: a worker's ``pyproject.toml`` and the environment that it describes.

This module neither imports nor executes shims. ``workers/README.md`` describes the convention::

    [project.entry-points."mosaic.workers"]
    cleanrl = "cleanrl_worker.cli:get_worker_metadata"
    [tool.mosaic-lab]
    python = "3.11"                 # the Python of its environment
    kernel = true                   # it runs in mosaic-lab's own environment
    trains = false                  # it cannot train: the training form does not offer it
    gpu = true                      # it needs a GPU: `workers install --all` leaves it out
    environments = ["MyGrid-*"]     # the ids of environments that it provides, as globs (see `families`)
    sources = ["git", "registry"]   # sources of upstream, in order of preference
    [tool.mosaic-lab.source.git]
    upstream = "cleanrl @ git+https://…@<commit>"   # installed without its own dependencies,
    extra = "git"                   # which this extra of the shim pins instead (default: the source's name)
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from mosaic_lab.errors import WorkerEnvironmentError

ENTRY_POINT_GROUP = "mosaic.workers"
ADAPTER = "mosaic-platform-adapter"
PLATFORM = "mosaic-"
"""Prefix of the names of MOSAIC platform workers."""
_CONTRACT, _REGISTRY = "mosaic-contract", "registry"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_CODE = {".py", ".toml", ".json", ".yaml", ".yml", ".cfg"}
_NOT_WORKERS = {"contract", "mosaic_platform"}  # bundled folders that are installed with workers
_NOT_CODE = {"__pycache__", "build", "dist", "node_modules", "tests", "venv"}
_NOT_COPIED = {"__pycache__", "node_modules"}
_BUILT = {"build", "dist"}
_DEEPEST, _MAX_NAMED = 4, 6  # limits of the search below a folder for the intended one


@dataclass(frozen=True)
class UpstreamSource:
    """A source of upstream: a requirement (None for a checkout's path) and the extra with its pins."""

    name: str
    upstream: str | None
    extra: str | None


@dataclass(frozen=True)
class Shim:
    """A worker's shim as described by its folder."""

    name: str
    distribution: str
    folder: Path
    description: str
    python: str | None
    sources: tuple[UpstreamSource, ...]
    path_source: UpstreamSource | None
    dependencies: tuple[str, ...]
    extras: dict[str, tuple[str, ...]]
    environments: tuple[str, ...] = ()
    in_kernel: bool = False
    trains: bool = True
    needs_gpu: bool = False
    adapter: Path | None = None
    """The package that adapts a MOSAIC platform worker and is installed with it; None for other workers."""

    def requirement(self, extra: str | None) -> str:
        brackets = f"[{extra}]" if extra else ""
        return f"{self.distribution}{brackets} @ {self.folder.as_uri()}"

    def pins(self, extra: str | None) -> list[str]:
        """Return every requirement of the shim with ``extra``; a change requires rebuilding environments."""
        return sorted({*self.dependencies, *self.extras.get(extra or "", ())})

    @property
    def registry_requirements(self) -> list[str]:
        """Requirements from the package registry, including upstream if it comes from there."""
        registry = [source for source in self.sources if source.name == _REGISTRY]
        pins = self.pins(registry[0].extra if registry else None)
        return [*(pin for pin in pins if pin != _CONTRACT), *(str(source.upstream) for source in registry)]

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the code of the shim and the contract."""
        roots = filter(None, (self.folder, contract_folder(), self.adapter))
        files = [(root, file, file.stat()) for root in roots for file in sorted(_code_files(root))]
        return _digest(tuple((root, file, stat.st_mtime_ns, stat.st_size) for root, file, stat in files))


def bundled_folder() -> Path:
    """Return the folder of the bundled shims: in the installed package, else in the checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_workers"
    return installed if installed.is_dir() else package.parent / "workers"


def contract_folder() -> Path:
    return bundled_folder() / "contract"


def bundled_shims() -> dict[str, Shim]:
    """Return the bundled shims by worker name."""
    shims = (
        read_shim(file.parent)
        for file in sorted(bundled_folder().glob("*/pyproject.toml"))
        if file.parent.name not in _NOT_WORKERS
    )
    return {shim.name: shim for shim in shims}


def read_shim(folder: Path) -> Shim:
    """Read a shim's ``pyproject.toml``. Raises WorkerEnvironmentError, naming what is missing, if the folder
    is not that of a shim.
    """
    folder = folder.expanduser().resolve()
    file = folder / "pyproject.toml"
    if not file.is_file():
        below = [str(path) for path in islice(_shims_below(folder), _MAX_NAMED)]
        advice = f"Workers are in {', '.join(below)}." if below else "workers/README.md shows what one needs."
        raise WorkerEnvironmentError(f"{folder} is not a worker's folder: it has no pyproject.toml. {advice}")
    try:
        document = _document(file, file.stat().st_mtime_ns)
        return _shim(folder, document["project"], document.get("tool", {}).get("mosaic-lab", {}))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WorkerEnvironmentError(f"{file} cannot be read: {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise WorkerEnvironmentError(
            f"{file} does not describe a worker ({type(error).__name__}: {error}). It needs "
            f'[project] with a name and [project.entry-points."{ENTRY_POINT_GROUP}"]; workers/README.md '
            "shows one."
        ) from error


@lru_cache(maxsize=128)
def _document(file: Path, modified_ns: int) -> dict[str, Any]:
    """Return a parsed TOML file. It is parsed once per modification, because starting a run reads all
    shims."""
    return tomllib.loads(file.read_text(encoding="utf-8"))


def _shims_below(folder: Path) -> Iterator[Path]:
    """Yield the shims' folders below a folder, to a depth of `_DEEPEST`."""
    for project_file in sorted(
        file for depth in range(1, _DEEPEST + 1) for file in folder.glob("*/" * depth + "pyproject.toml")
    ):
        with suppress(OSError, UnicodeDecodeError):
            if f'"{ENTRY_POINT_GROUP}"' in project_file.read_text(encoding="utf-8"):
                yield project_file.parent


def read_platform_worker(folder: Path) -> Shim:
    """Read the folder of a MOSAIC platform worker. Its name gets the prefix "mosaic-" because the platform
    has workers with the names of bundled ones. Raises WorkerEnvironmentError like `read_shim`."""
    shim = read_shim(folder)
    if not shim.name.startswith(PLATFORM):
        shim = replace(shim, name=f"{PLATFORM}{shim.name}")
    return replace(shim, adapter=bundled_folder() / "mosaic_platform")


def copied_adapter(shim: Shim, folder: Path) -> str:
    """Copy the shim's adapter, with the worker's name, to ``folder``; return its requirement."""
    assert shim.adapter is not None
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(shim.adapter, folder, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    file = folder / "pyproject.toml"
    declared = file.read_text(encoding="utf-8").replace("\nmosaic-platform = ", f"\n{shim.name} = ")
    file.write_text(declared, encoding="utf-8")
    return f"{ADAPTER} @ {folder.as_uri()}"


def copied(shim: Shim, folder: Path) -> Shim:
    """Return the shim in a fresh copy of its folder at ``folder``. A build writes files next to the sources
    (``build``, ``*.egg-info``); the copy receives them and has none from earlier builds.

    Raises WorkerEnvironmentError if a file cannot be read or written.
    """

    def left_out(path: str, names: list[str]) -> list[str]:
        parent = Path(path)
        names_out = _NOT_COPIED | (_BUILT if parent == shim.folder else set())
        return [name for name in names if name in names_out or _is_left_out(parent / name)]

    shutil.rmtree(folder, ignore_errors=True)
    try:
        shutil.copytree(shim.folder, folder, symlinks=True, ignore=left_out)
    except shutil.Error as error:
        path, _, reason = error.args[0][0]
        raise WorkerEnvironmentError(f"{path} cannot be copied for the build: {reason}") from error
    except OSError as error:
        raise WorkerEnvironmentError(f"{shim.folder} cannot be copied for the build: {error}") from error
    return replace(shim, folder=folder)


def check_name(name: str) -> str:
    """Return ``name`` if it is a valid worker name, which is also the name of a folder.

    Raises WorkerEnvironmentError if not.
    """
    if not _NAME.fullmatch(name):
        raise WorkerEnvironmentError(
            f"{name!r} is not a valid name of a worker: use letters, digits, '_', '-' and '.', at "
            "most 64. A folder is given as ./folder."
        )
    return name


def _shim(folder: Path, project: dict[str, Any], settings: dict[str, Any]) -> Shim:
    entry_points = project["entry-points"][ENTRY_POINT_GROUP]
    if len(entry_points) != 1:
        raise WorkerEnvironmentError(
            f"{folder} declares {len(entry_points)} workers ({', '.join(entry_points) or 'none'}) "
            f'in [project.entry-points."{ENTRY_POINT_GROUP}"]: a shim\'s folder must declare one.'
        )
    declared = {
        name: UpstreamSource(name, table.get("upstream"), table.get("extra", name))
        for name, table in settings.get("source", {}).items()
    }
    return Shim(
        name=check_name(next(iter(entry_points))),
        distribution=project["name"],
        folder=folder,
        description=project.get("description", ""),
        python=settings.get("python"),
        sources=tuple(declared[name] for name in settings.get("sources", ())),
        path_source=declared.get("path"),
        dependencies=tuple(project.get("dependencies", ())),
        extras={name: tuple(pins) for name, pins in project.get("optional-dependencies", {}).items()},
        environments=tuple(map(str, settings.get("environments", ()))),
        in_kernel=settings.get("kernel", False) is True,
        trains=settings.get("trains", True) is True,
        needs_gpu=settings.get("gpu") is True,
    )


def _is_left_out(path: Path) -> bool:
    """Return whether a build does not need a path: old metadata, a virtual environment, a pipe or a
    socket."""
    if path.suffix == ".egg-info" or (path / "pyvenv.cfg").exists():
        return True
    return not (path.is_symlink() or path.is_file() or path.is_dir())


@lru_cache(maxsize=128)
def _digest(files: tuple[tuple[Path, Path, int, int], ...]) -> str:
    """Return the hash of files, given with root, modification time and size so that unchanged ones are read
    once."""
    digest = hashlib.sha256()
    for root, file, _, _ in files:
        digest.update(f"{file.relative_to(root)}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _code_files(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        parent = Path(folder)
        folders[:] = [
            name
            for name in folders
            if name not in _NOT_CODE
            and not name.startswith(".")
            and not (parent / name / "pyvenv.cfg").exists()
        ]
        yield from (parent / name for name in files if Path(name).suffix in _CODE)
