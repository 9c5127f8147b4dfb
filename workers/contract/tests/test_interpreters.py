"""The contract's tests pass on the oldest interpreter that is promised and on the newest that is present."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
OLDEST = (3, 9)
TESTED = [
    "test_arrays",
    "test_codec",
    "test_messages",
    "test_config",
    "test_operating",
    "test_spaces",
    "test_telemetry",
    "test_journal",
    "test_checkpoints",
    "test_worker_process",
    "test_arena.Worlds",
    "test_arena.InTheKernel",
    "test_conformance.Conformance.test_a_good_worker_passes_everything",
    "test_conformance_arena.Conformance.test_a_good_worker_passes_everything",
    "test_conformance_operating.Conformance.test_a_good_worker_passes_without_a_configuration",
]


def version_of(python: str) -> "tuple[int, int] | None":
    """The version of an interpreter, None where it does not start (a version manager's shim may not)."""
    program = "import sys; print(*sys.version_info[:2])"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    found = re.fullmatch(r"(\d+) (\d+)\n", done.stdout)
    return (int(found[1]), int(found[2])) if found and done.returncode == 0 else None


def present() -> "dict[tuple[int, int], str]":
    """Interpreters on PATH, and those that pyenv keeps, by version."""
    candidates = [shutil.which(f"python3.{minor}") for minor in range(OLDEST[1], 30)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates += [sys.executable, *map(str, pyenv.glob("versions/3.*/bin/python"))]
    found: "dict[tuple[int, int], str]" = {}
    for python in filter(None, candidates):
        version = version_of(python)
        if version is not None and version >= OLDEST:
            found.setdefault(version, python)
    return found


@pytest.mark.parametrize("which", [min, max], ids=["oldest", "newest"])
def test_contract_on(which, record_property, capsys):
    interpreters = present()
    version = which(interpreters)
    record_property("python", ".".join(map(str, version)))
    with capsys.disabled():
        print(f" [Python {'.'.join(map(str, version))}] ", end="")
    run_tests(interpreters[version], *TESTED)


def test_frames_on_every_python():
    for python in present().values():
        run_tests(python, "test_fastlane")


def run_tests(python, *names):
    done = subprocess.run(
        [python, "-W", "error", "-m", "unittest", *names],
        cwd=TESTS,
        env={**os.environ, "PYTHONPATH": str(TESTS.parent), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, f"{python}:\n{done.stdout}{done.stderr}"
