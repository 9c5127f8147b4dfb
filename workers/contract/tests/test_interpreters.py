"""The contract works on the oldest supported interpreter and on the newest one installed.

The full suite runs on one interpreter. These runs cover what depends on the interpreter: the standard
library, signals, descriptors, processes and memory.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
OLDEST = (3, 9)
FRAMES = ["test_fastlane", "test_fastlane_viewers", "test_fastlane_ends", "test_fastlane_torn"]
TESTED = [
    "test_arrays",
    "test_codec",
    "test_messages",
    "test_config",
    "test_spaces",
    "test_telemetry",
    "test_episode_logger",
    "test_checkpoints",
    "test_language",
    "test_operator_server.Errors.test_an_operator_that_raises",
    "test_operator_server.Ends.test_the_answers_have_no_reader",
    "test_operator_server.ConcurrentAgents.test_calls_that_are_abandoned_hold_up_nothing",
    "test_worker_process.Trainings.test_a_training_from_start_to_end",
    "test_worker_process.Trainings.test_prints_of_python_of_c_and_of_children_go_to_stderr",
    "test_worker_process.Endings.test_an_error_is_reported_with_its_traceback",
    "test_worker_process.Endings.test_a_thread_that_never_ends_does_not_keep_a_cancelled_process",
    "test_worker_cancelling.Cancelling.test_a_signal_that_lands_where_python_cannot_raise_is_not_lost",
    "test_worker_cancelling.Cancelling.test_a_forked_child_of_the_library_dies_without_a_word",
    "test_worker_cancelling.ParentWatch.test_a_child_ends_when_its_parent_is_killed",
    "test_arena_adapters.Adapters.test_agents_that_act_at_once",
    "test_arena_adapters.Adapters.test_agents_in_turns_with_masks",
    "test_arena_faults.Faults.test_an_operator_that_dies_stops_the_lane_with_its_last_words",
    "test_arena_language.Writers.test_messages_reach_their_receivers_with_the_next_observation",
    "test_arena_kernel.InTheKernel.test_a_question_is_withdrawn_at_the_deadline",
    "test_arena_inside.InsideOperators.test_that_take_long_are_late_and_waited_for",
    "test_conformance.Conformance.test_good_workers_pass_everything",
]


def version_of(python: str) -> "tuple[int, int] | None":
    """Return the version of an interpreter; None if it does not start (a version manager's shim may not)."""
    program = "import sys; print(*sys.version_info[:2])"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    found = re.fullmatch(r"(\d+) (\d+)\n", done.stdout)
    return (int(found[1]), int(found[2])) if found and done.returncode == 0 else None


def present() -> "dict[tuple[int, int], str]":
    """Return {version: path} of the interpreters on PATH and in pyenv's folder."""
    candidates = [shutil.which(f"python3.{minor}") for minor in range(OLDEST[1], 30)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates += [sys.executable, *map(str, pyenv.glob("versions/3.*/bin/python"))]
    found: "dict[tuple[int, int], str]" = {}
    for python in filter(None, candidates):
        version = version_of(python)
        if version is not None and version >= OLDEST:
            found.setdefault(version, python)
    return found


@pytest.mark.parametrize(
    "which", [pytest.param(min, id="oldest"), pytest.param(max, id="newest", marks=pytest.mark.extended)]
)
def test_contract_on(which, record_property, capsys, tmp_path):
    interpreters = present()
    version = which(interpreters)
    record_property("python", ".".join(map(str, version)))
    with capsys.disabled():
        print(f" [Python {'.'.join(map(str, version))}] ", end="")
    run_tests(tmp_path, interpreters[version], *TESTED)


@pytest.mark.extended
def test_frames_on_every_other_python(tmp_path):
    for version, python in present().items():
        if version != sys.version_info[:2]:
            run_tests(tmp_path, python, *FRAMES)


def run_tests(compiled, python, *names):
    """Run unit tests with an interpreter; its bytecode goes to the folder `compiled`."""
    done = subprocess.run(
        [python, "-W", "error", "-m", "unittest", *names],
        cwd=TESTS,
        env={**os.environ, "PYTHONPATH": str(TESTS.parent), "PYTHONPYCACHEPREFIX": str(compiled)},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, f"{python}:\n{done.stdout}{done.stderr}"
