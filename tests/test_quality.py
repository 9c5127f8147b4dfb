"""The repository is linted, formatted and typed, and imports only point to lower floors."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from npm_fixtures import JS, NODE

ROOT = Path(__file__).parents[1]

FLOORS = {
    "mosaic_contract": 0,
    "mosaic_lab._version": 1,
    "mosaic_lab.errors": 1,
    "mosaic_lab.chart_style": 1,
    "mosaic_lab.documents": 1,
    "mosaic_lab.sanitize": 1,
    "mosaic_lab.number_format": 1,
    "mosaic_lab.table_files": 1,
    "mosaic_lab.text_table": 1,
    "mosaic_lab.validation": 1,
    "mosaic_lab.fastlane": 1,
    "mosaic_lab.engines": 1,
    "mosaic_lab.keeper": 1,
    "mosaic_lab.kernel_policy": 1,
    "mosaic_lab.runs": 1,
    "mosaic_lab.serving": 1,
    "mosaic_lab.telemetry": 1,
    "mosaic_lab.workers": 1,
    "mosaic_lab.arenas": 2,
    "mosaic_lab.operators": 2,
    "mosaic_lab.policies": 2,
    "mosaic_lab.evaluation": 3,
    "mosaic_lab.evaluator": 3,
    "mosaic_lab.overview": 3,
    "mosaic_lab.checkpoint_evaluation": 3,
    "mosaic_lab.filming": 3,
    "mosaic_lab.search": 3,
    "mosaic_lab.sweeps": 3,
    "mosaic_lab.curricula": 3,
    "mosaic_lab.lab": 4,
    "mosaic_lab.notebooks": 4,
    "mosaic_lab.run_list": 4,
    "mosaic_lab.server": 4,
    "mosaic_lab.widgets": 4,
    "mosaic_lab.cli": 4,
    "mosaic_lab": 5,  # the public names, each imported on first use
}
NOTEBOOK_LIBRARIES = {*("IPython", "anywidget", "bqplot", "comm", "ipycanvas", "ipykernel", "ipywidgets")}


def run(*command: str | Path, folder: Path = ROOT) -> None:
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, text=True, capture_output=True, timeout=300
    )
    assert done.returncode == 0, f"{done.stdout[-8000:]}{done.stderr[-2000:]}"


def test_ruff_finds_nothing() -> None:
    run(sys.executable, "-m", "ruff", "check", ".")


def test_everything_is_formatted() -> None:
    run(sys.executable, "-m", "ruff", "format", "--check", ".")


def test_types_of_python() -> None:
    run(sys.executable, "-m", "mypy")


def test_types_of_typescript(npm_packages: Path) -> None:
    run(NODE, npm_packages / "typescript" / "bin" / "tsc", "--noEmit", folder=JS)


def test_biome_finds_nothing_in_the_pages_code(npm_packages: Path) -> None:
    run(
        NODE, npm_packages / "@biomejs" / "biome" / "bin" / "biome", "check", "--error-on-warnings", folder=JS
    )


def test_unit_tests_of_the_pages_code() -> None:
    run(NODE, "--test", "--test-isolation=none", "tests/*.test.ts", folder=JS)


def modules() -> Iterator[tuple[str, Path]]:
    """Yield the importable name and the file of every module of the project."""
    roots = [ROOT, *(path for path in (ROOT / "workers").iterdir() if path.is_dir())]
    for root in roots:
        for package in root.iterdir():
            if not (package / "__init__.py").is_file():
                continue
            for file in package.rglob("*.py"):
                parts = file.relative_to(root).with_suffix("").parts
                yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), file


@cache
def imports(name: str, file: Path) -> set[str]:
    """Return all modules that a module imports, at any level; `from a import b` counts as a and as a.b."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
            base = ".".join([*package[: len(package) - node.level + 1], node.module or ""]).strip(".")
            source = base if node.level else node.module or ""
            found |= {source, *(f"{source}.{alias.name}" for alias in node.names)}
    return found


def floor_of(module: str) -> int | None:
    """Return the floor of a module of the project, None for any other module."""
    if module.split(".")[0] not in {"mosaic_lab", "mosaic_contract"}:
        return None
    parts = module.split(".")
    return next(FLOORS[key] for n in range(len(parts), 0, -1) if (key := ".".join(parts[:n])) in FLOORS)


OURS = [(name, file) for name, file in modules() if name.startswith(("mosaic_lab", "mosaic_contract"))]
SHIMS = [(name, file) for name, file in modules() if not name.startswith(("mosaic_lab", "mosaic_contract"))]


def test_every_part_of_mosaic_lab_has_a_floor() -> None:
    parts = {name for name, _ in OURS if name.count(".") == 1 and name.startswith("mosaic_lab.")}
    assert parts <= set(FLOORS), "add each new part of mosaic_lab to FLOORS"


def test_imports_only_go_down() -> None:
    upward = []
    for name, file in OURS:
        floor = floor_of(name)
        assert floor is not None
        for imported in imports(name, file) - {"mosaic_lab", "mosaic_lab.__version__"}:
            imported_floor = floor_of(imported)
            if imported_floor is not None and imported_floor > floor:
                upward.append(f"{name} (floor {floor}) imports {imported} (floor {imported_floor})")
    assert upward == []


def test_no_part_imports_another_in_a_circle() -> None:
    """Checked within each package, between its modules and subpackages; a subpackage counts as one part."""
    names = {name for name, _ in OURS}
    circles = []
    for package in sorted(name for name, file in OURS if file.name == "__init__.py"):
        graph: dict[str, set[str]] = {}
        for name, file in OURS:
            for imported in imports(name, file) & names:
                if name.startswith(f"{package}.") and imported.startswith(f"{package}."):
                    depth = package.count(".") + 1
                    part, other = name.split(".")[depth], imported.split(".")[depth]
                    graph.setdefault(part, set()).update({other} - {part})
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            circles.append(f"{package}: {' imports '.join(reversed(error.args[1]))}")
    assert circles == []


def test_lower_floors_know_nothing_of_notebooks() -> None:
    wrong = [
        f"{name} imports {library}"
        for name, file in OURS
        if (floor_of(name) or 0) < 4
        for library in {module.split(".")[0] for module in imports(name, file)} & NOTEBOOK_LIBRARIES
    ]
    assert wrong == []


def test_contract_imports_the_standard_library_only() -> None:
    wrong = [
        f"{name} imports {module}"
        for name, file in OURS
        if name.startswith("mosaic_contract")
        for module in {module.split(".")[0] for module in imports(name, file)}
        if module not in sys.stdlib_module_names | {"mosaic_contract"}
    ]
    assert wrong == []


def test_shims_import_the_contract_and_their_upstream_only() -> None:
    packages = {name.split(".")[0] for name, _ in SHIMS}
    wrong = [
        f"{name} imports {module}"
        for name, file in SHIMS
        for module in {module.split(".")[0] for module in imports(name, file)}
        if module == "mosaic_lab" or (module in packages and module != name.split(".")[0])
    ]
    assert wrong == []


def committed_files() -> list[Path]:
    """Return the project's files: those git would commit; in an unpacked archive, all files."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True
    )
    if listed.returncode:
        return [path for path in ROOT.rglob("*") if path.is_file()]
    names = listed.stdout.decode().split("\0")
    return [path for path in (ROOT / name for name in names if name) if path.is_file()]


def test_no_file_names_a_machine_or_a_registry_host() -> None:
    names = re.compile(
        r"(?<![\w./}*-])/(?:work|root|opt|home)/\w|/tmp/dev\b"
        r"|registry\.npmjs|pypi\.org/simple|files\.pythonhosted|\"resolved\":"
    )
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match.group()}"
        for path in committed_files()
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if (match := names.search(line))
    ]
    assert found == []
