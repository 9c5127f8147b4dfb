"""Warm workers: runs forked by a process that has imported their library behave like cold runs."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from support import PEERS, at_work, marked_processes, store, wait_until

from mosaic_lab import Lab, operators, workers
from mosaic_lab.cli import main
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.keeper import warm_workers
from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.keeper.warm_workers import WARM_WORKERS
from mosaic_lab.kernel_policy import Policy
from mosaic_lab.runs import Run, Supervisor
from mosaic_lab.runs.dry_run import dry_run
from mosaic_lab.workers.build import processes_in

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="warm workers need Linux")

COMMAND = [sys.executable, "-m", "warm_peer"]
LIBRARY = """
import os, sys
IMPORTED_BY = os.getpid()
os.environ["SET_BY_LIBRARY"] = "1"
print("a warning of the library", file=sys.stderr)
"""
SCRIPT = """
import json, os, sys
import warm_library
said = {"variables": dict(os.environ), "cwd": os.getcwd(), "imported_by": warm_library.IMPORTED_BY}
os.write(int(sys.argv[1]), json.dumps(said).encode())
sys.exit(7)
"""


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Folder of the peer and its library, on its runs' `PYTHONPATH`. Teardown checks that no warm worker
    is left."""
    monkeypatch.setattr(warm_workers, "MIN_FREE_MB", 0)
    monkeypatch.delattr(os, "memfd_create", raising=False)  # as in some builds of Python, such as Anaconda's
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "warm_peer.py").write_bytes((PEERS / "warm_peer.py").read_bytes())
    (folder / "warm_library.py").write_text(LIBRARY)
    (folder / "warm_script.py").write_text(SCRIPT)
    yield folder
    WARM_WORKERS.close()
    wait_until(lambda: not warm_processes(folder))


@pytest.fixture
def warm(tmp_path: Path, code: Path) -> Iterator[Supervisor]:
    with store(tmp_path / "runs") as supervisor:
        supervisor.warm = WARM_WORKERS
        yield supervisor


def warm_processes(code: Path) -> list[psutil.Process]:
    """Return the warm workers with this folder on their `PYTHONPATH`, and their forks."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("PYTHONPATH") == str(code) and "--warm" in process.cmdline():
                found.append(process)
        except psutil.Error:
            continue
    return found


def variables(code: Path) -> dict[str, str]:
    return compose_variables(os.environ, env_vars={"PYTHONPATH": str(code)})


def prepared(code: Path) -> warm_workers.WarmWorker:
    """Start the peer's warm worker and return it when it is ready."""
    WARM_WORKERS.prepare(COMMAND, variables(code))
    found = wait_until(lambda: WARM_WORKERS.find(COMMAND, variables(code)))
    assert isinstance(found, warm_workers.WarmWorker)
    return found


def start(
    supervisor: Supervisor, code: Path, algorithm: str = "walk", program: str = sys.executable, **options: Any
) -> Run:
    config = {"algorithm": algorithm, "env_id": "Peer-v0", "seed": 1, "total_timesteps": 10}
    command = [program, *COMMAND[1:]]
    return supervisor.start(command, config, worker="peer", env_vars={"PYTHONPATH": str(code)}, **options)


def is_warm(run: Run) -> bool:
    return any("forked by a warm worker" in step.reason for step in run.status.history)


def started_with(run: Run, file: str = "start.json") -> dict[str, Any]:
    """Return the start state recorded by the training or script, with the run's own names replaced."""
    text = (run.path / file).read_text().replace(run.id, "RUN")
    text = text.replace(str(run.folder.scratch_path), "SCRATCH")
    found: dict[str, Any] = json.loads(text)
    return found


def numbers(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run.path / "numbers.json").read_text())
    return found


def test_a_warm_run_has_all_that_a_cold_one_has(warm: Supervisor, code: Path) -> None:
    """Both warm runs share one import of the library, and their logs equal the cold run's."""
    cold = start(warm, code).wait(30)
    prepared(code)
    runs = [start(warm, code).wait(30) for _ in range(2)]
    assert [is_warm(run) for run in (cold, *runs)] == [False, True, True]
    for run in runs:
        assert run.state == "completed"
        assert started_with(run) == started_with(cold)
        assert (run.path / "worker.log").read_text() == (cold.path / "worker.log").read_text()
        assert run.outcome is not None and run.outcome.peak_memory_mb
        assert not run.folder.scratch_path.exists()
    first, second = map(numbers, runs)
    assert first["imported_by"] == second["imported_by"] not in (first["pid"], second["pid"])
    assert first["random"] != second["random"]


def test_a_program_that_a_warm_run_starts_in_python_is_warm_too(warm: Supervisor, code: Path) -> None:
    cold = start(warm, code, "script").wait(30)
    prepared(code)
    run = start(warm, code, "script").wait(30)
    assert (run.state, is_warm(run)) == ("completed", True), run.reason
    said, by_cold = (started_with(one, "script.json") for one in (run, cold))
    assert said.pop("imported_by") == numbers(run)["imported_by"] != by_cold.pop("imported_by")
    assert said == by_cold
    assert said["code"] == 7


def test_a_warm_run_is_stopped_killed_and_fails_like_a_cold_one(warm: Supervisor, code: Path) -> None:
    failed = start(warm, code, "exit")
    wait_until(lambda: failed.finished)
    prepared(code)
    again = start(warm, code, "exit")
    wait_until(lambda: again.finished)
    assert is_warm(again) and (again.state, again.reason) == (failed.state, failed.reason)
    stopped = at_work(start(warm, code, "stay"))
    assert is_warm(stopped) and stopped.stop().state == "cancelled"
    deaf = at_work(start(warm, code, "deaf", grace_seconds=0.2))
    wait_until(lambda: (deaf.path / "numbers.json").exists())
    assert (outcome := deaf.stop().outcome) is not None and outcome.stopped_by == "SIGKILL"
    wait_until(lambda: len(warm_processes(code)) == 1)


def test_processes_of_a_warm_run_are_found_when_its_keeper_and_guardian_were_killed(
    warm: Supervisor, code: Path
) -> None:
    prepared(code)
    run = at_work(start(warm, code, "deaf", grace_seconds=600))
    wait_until(lambda: (run.path / "numbers.json").exists())
    assert run.status.keeper_pid is not None
    keeper = psutil.Process(run.status.keeper_pid)
    guardian, worker = keeper.parent(), psutil.Process(numbers(run)["pid"])
    assert guardian is not None and guardian.ppid() != os.getpid()
    for process in (guardian, keeper):
        process.kill()
    wait_until(lambda: run.state == "lost")
    assert worker.pid in [process.pid for process in marked_processes(run.path)]
    run.stop(0)
    wait_until(lambda: not worker.is_running())


def test_a_queued_run_that_is_stopped_leaves_no_ready_process(tmp_path: Path, code: Path) -> None:
    with store(tmp_path / "few", 1) as supervisor:
        supervisor.warm = WARM_WORKERS
        prepared(code)
        first, second = at_work(start(supervisor, code, "stay")), start(supervisor, code)
        wait_until(lambda: "waits for a free slot" in second.reason)
        second.stop()
        first.stop()
        wait_until(lambda: len(warm_processes(code)) == 1)


def test_warm_workers_end_with_their_kernel_and_their_runs_do_not(tmp_path: Path, code: Path) -> None:
    kernel = (
        "import sys\nsys.path += sys.argv[3:]\nfrom pathlib import Path\n"
        "import runs.test_warm_workers as tests\n"
        "tests.warm_workers.MIN_FREE_MB = 0\n"
        "supervisor, code = tests.Supervisor(sys.argv[1], warm=True), Path(sys.argv[2])\n"
        "tests.prepared(code)\n"
        "run = tests.at_work(tests.start(supervisor, code, 'stay'))\n"
        "print(run.id, flush=True)\nsys.stdin.read()"
    )
    with store(tmp_path / "runs") as supervisor:
        tests = str(Path(__file__).parents[1])
        process = subprocess.Popen(
            [sys.executable, "-c", kernel, str(supervisor.store.root), str(code), tests],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        run = supervisor.run(process.stdout.readline().strip())
        assert is_warm(run) and len(warm_processes(code)) > 1
        process.kill()
        process.communicate()
        worker = numbers(run)["pid"]
        wait_until(lambda: worker in (left := [one.pid for one in warm_processes(code)]) and len(left) <= 2)
        assert run.state == "running"
        run.stop()


def test_a_run_that_a_warm_worker_does_not_fit_is_started_cold(
    warm: Supervisor, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other variables, other limits, changed code (which the next warm worker has), too little memory."""
    prepared(code)
    assert not is_warm(start(warm, code, threads=2).wait(30))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
    limited = start(warm, code).wait(30)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert not is_warm(limited)
    assert started_with(limited)["limits"] == [soft - 1, hard]
    prepared(code)
    (code / "warm_library.py").write_text(LIBRARY + "CHANGED = True\n")
    changed = start(warm, code).wait(30)
    assert (changed.state, is_warm(changed)) == ("completed", False)
    prepared(code)
    assert is_warm(start(warm, code).wait(30))
    monkeypatch.setattr(warm_workers, "MIN_FREE_MB", 10**9)
    assert not is_warm(start(warm, code).wait(30))
    wait_until(lambda: not warm_processes(code))


def test_a_library_with_threads_is_never_forked(warm: Supervisor, code: Path) -> None:
    thread = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    (code / "warm_library.py").write_text(LIBRARY + thread)
    WARM_WORKERS.prepare(COMMAND, variables(code))
    wait_until(lambda: not warm_processes(code))
    assert not is_warm(start(warm, code).wait(30))
    assert not warm_processes(code)  # no new one was started either


def test_a_program_that_is_gone_is_the_failure_of_its_run(warm: Supervisor, code: Path) -> None:
    run = start(warm, code, program=str(code / "python"))
    wait_until(lambda: run.finished)
    assert "python does not exist" in run.reason


def test_warm_workers_are_listed(code: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prepared(code)
    pid = warm_processes(code)[0].pid
    assert main(["workers", "warm"]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if str(pid) in line)
    assert "warm_peer" in row and row.endswith(f"process {os.getpid()}")
    assert pid not in processes_in(Path(sys.prefix))  # it does not block the removal of its environment


def test_warm_workers_are_few(code: Path) -> None:
    for number in range(warm_workers.MOST + 1):
        WARM_WORKERS.prepare(COMMAND, {**variables(code), "NUMBER": str(number)})
    wait_until(lambda: len(warm_processes(code)) == warm_workers.MOST)


def test_a_warm_dry_run_answers_and_refuses_like_a_cold_one(code: Path) -> None:
    config = {"algorithm": "walk", "env_id": "Peer-v0", "seed": 1, "total_timesteps": 10}
    cold = dry_run(COMMAND, config, variables(code))
    prepared(code)
    warm = dry_run(COMMAND, config, variables(code), warm=WARM_WORKERS)
    folders = ("run_dir", "launch_dir")
    assert {**warm, **dict.fromkeys(folders)} == {**cold, **dict.fromkeys(folders)}
    with pytest.raises(ConfigurationError, match="total_timesteps"):
        dry_run(COMMAND, {**config, "total_timesteps": -1}, variables(code), warm=WARM_WORKERS)
    os.kill(warm_processes(code)[0].pid, signal.SIGKILL)
    assert dry_run(COMMAND, config, variables(code), warm=WARM_WORKERS)  # falls back to a cold one


def acting(code: Path, file: Path, warm: bool = True) -> Policy:
    """Return a policy of the peer that writes the state at its start to a file."""
    return Policy(
        [*COMMAND, "--interactive"],
        variables(code),
        name="echo",
        worker="peer",
        agent="agent_0",
        settings={"file": str(file)},
        seed=0,
        deadline=20.0,
        trained_on=None,
        observation_space=None,
        warm=WARM_WORKERS.get(COMMAND, variables(code)) if warm else None,
    )


def test_a_warm_operator_has_all_that_a_cold_one_has(
    code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same variables and shared memory; when killed, the same error and no process left."""
    monkeypatch.setenv("LC_OF_USER", "1")
    documents, failures = [], []
    for warm in (False, True):
        with acting(code, tmp_path / "start.json", warm) as policy:
            assert policy([1.0, 2.0]) == [1.0, 2.0]
            documents.append(json.loads((tmp_path / "start.json").read_text()))
            os.kill(policy.pid, signal.SIGKILL)
            with pytest.raises(MosaicError, match="killed by signal 9") as failure:
                policy([1.0])
            failures.append(str(failure.value))
    assert [document.pop("imported_here") for document in documents] == [True, False]
    assert documents[0] == documents[1]
    assert documents[1]["variables"]["LC_OF_USER"] == "1"
    assert failures[0] == failures[1]
    wait_until(lambda: len(warm_processes(code)) == 1)


def test_an_operator_whose_library_has_changed_is_cold_and_the_next_one_warm(
    code: Path, tmp_path: Path
) -> None:
    prepared(code)
    (code / "warm_library.py").write_text(LIBRARY + "CHANGED = True\n")
    imported_here = []
    for _ in range(2):
        with acting(code, tmp_path / "start.json"):
            imported_here.append(json.loads((tmp_path / "start.json").read_text())["imported_here"])
    assert imported_here == [True, False]


def test_warm_operators_end_with_the_process_that_uses_them(code: Path, tmp_path: Path) -> None:
    user = (
        "import sys\nsys.path += sys.argv[3:]\nfrom pathlib import Path\n"
        "import runs.test_warm_workers as tests\n"
        "tests.warm_workers.MIN_FREE_MB = 0\n"
        "policy = tests.acting(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "print(policy.pid, flush=True)\nsys.stdin.read()"
    )
    file, tests = tmp_path / "start.json", str(Path(__file__).parents[1])
    with subprocess.Popen(
        [sys.executable, "-c", user, str(code), str(file), tests],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert int(process.stdout.readline()) in [one.pid for one in warm_processes(code)]
        process.kill()
    wait_until(lambda: not warm_processes(code))


@pytest.mark.extended
@pytest.mark.timeout(900)
@pytest.mark.parametrize("worker", ["cleanrl", "sb3", "tianshou", "xuance"])
def test_a_warm_training_has_the_results_of_a_cold_one(
    worker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit for bit: the episodes (except their durations), the weights, and episodes of the trained policy,
    whose processes end with their arena."""
    monkeypatch.setattr(warm_workers, "MIN_FREE_MB", 0)
    lab = Lab(tmp_path, warm=True)
    command, runs = workers.ensure(worker).command(), []
    for warm in (False, True):
        if warm:
            wait_until(lambda: WARM_WORKERS.find(command, compose_variables(os.environ)), 120)
        run = lab.train(worker, algorithm="ppo", env="CartPole-v1", seed=3, total_timesteps=3_000)
        run.wait()
        assert (run.state, is_warm(run)) == ("completed", warm), run.reason
        runs.append(run)
    episodes = [run.episodes().filter(["step", "total_reward", "steps"]).to_dict() for run in runs]
    assert episodes[0] == episodes[1] and len(episodes[0]["step"]) > 50
    weights = [[content for point in run.checkpoints for content in contents(point.path)] for run in runs]
    assert weights[0] == weights[1] and weights[0]
    policies = {name: operators.rl(runs[0]) for name in "ab"}
    fingerprints = set()
    for warm in (False, True):
        lab.supervisor.warm = WARM_WORKERS if warm else None
        evaluation = lab.evaluate(env="CartPole-v1", operators=policies, seeds=range(3)).wait()
        fingerprints.add(evaluation.fingerprint())
        comparison = lab.compare(env="CartPole-v1", operators=policies, seeds=[0])
        processes = marked_processes(tmp_path)
        assert warm == any("--warm" in process.cmdline() for process in processes)
        for process in processes:
            if "--arena" in process.cmdline():
                process.kill()
        wait_until(lambda: not marked_processes(tmp_path))
        comparison.close()
    assert len(fingerprints) == 1
    WARM_WORKERS.close()


def contents(checkpoint: Path) -> list[bytes]:
    """Return a checkpoint's bytes, or only the weights of an SB3 zip, which also has the start time."""
    with zipfile.ZipFile(checkpoint) as archive:
        names = [name for name in archive.namelist() if name.endswith(".pth")]
        return [archive.read(name) for name in names] or [checkpoint.read_bytes()]
