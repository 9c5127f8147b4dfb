"""A run from start to end: states with reasons, outcome, measurements, recorded files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import at_work, let_sigint_through, marked_processes, start_peer, store, wait_until

from mosaic_lab import __version__
from mosaic_lab.errors import MosaicError, RunFailed, RunTimeout, UnknownRun
from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.runs import Run, RunGroup, Supervisor


def meeting(tmp_path: Path) -> dict[str, str]:
    return {"hold": str(tmp_path / "hold"), "go": str(tmp_path / "go")}


def test_a_run_goes_through_its_states_and_every_change_has_a_reason(supervisor: Supervisor) -> None:
    run = start_peer(supervisor, "train", total_timesteps=5)
    assert run.wait(30) is run
    assert run.state == "completed"
    states = [step.state for step in run.status.history]
    assert states[:2] == ["queued", "starting"]
    assert states[-1] == "completed"
    assert all(step.reason for step in run.status.history)


def test_a_worker_is_starting_until_its_first_line(supervisor: Supervisor) -> None:
    silent, loud = start_peer(supervisor, "silent"), start_peer(supervisor, "hang", grace_seconds=0)
    wait_until(lambda: loud.state == "running")
    assert silent.state == "starting"
    assert f"process {silent.status.worker_pid}" in silent.reason


def test_progress_data_and_log_are_read_from_the_folder(supervisor: Supervisor) -> None:
    run = start_peer(supervisor, "train", total_timesteps=50).wait(30)
    metrics = run.metrics("value")
    assert list(metrics["step"]) == list(range(50))
    assert (run.step, run.progress) == (49, 0.98)
    assert run.health["lines"] == 52
    assert len(run.episodes()) == 0
    assert (run.label, run.env) == ("peer train Peer-v0 seed 1", "Peer-v0")


def test_the_outcome_has_memory_and_cpu_time(supervisor: Supervisor) -> None:
    outcome = start_peer(supervisor, "use_resources").wait(60).outcome
    assert outcome is not None
    assert outcome.exit_code == 0
    assert outcome.peak_memory_mb is not None and 100 < outcome.peak_memory_mb < 400
    assert outcome.cpu_seconds is not None and outcome.cpu_seconds >= 0.5
    assert outcome.duration_seconds is not None and outcome.duration_seconds >= 0.5


def test_memory_and_time_of_a_running_run(supervisor: Supervisor) -> None:
    run = at_work(start_peer(supervisor, "hang", grace_seconds=0))
    assert run.memory_mb is not None and run.memory_mb > 1
    assert run.elapsed is not None and 0 <= run.elapsed < 60
    run.stop()
    assert run.memory_mb is None
    assert not run.alive


def test_wait_raises_the_workers_own_message_and_its_last_log_lines(supervisor: Supervisor) -> None:
    run = start_peer(supervisor, "fail")
    with pytest.raises(RunFailed) as caught:
        run.wait(30)
    text = str(caught.value)
    assert "ValueError: the reward was a potato" in text
    assert text.count('raise ValueError("the reward was a potato")') == 1  # not again from the log
    assert "about to leave with an error" in text
    assert str(run.path / "worker.log") in text
    assert run.state == "failed"


def test_an_interrupted_wait_leaves_the_run_alone(supervisor: Supervisor, tmp_path: Path) -> None:
    run = at_work(start_peer(supervisor, "train", **meeting(tmp_path)))
    code = (
        "from mosaic_lab.runs import Run\nclass Shown:\n    def waiting(self, runs):\n"
        f"        return lambda ended: print('up', flush=True)\nRun({str(run.path)!r}, Shown()).wait()"
    )
    waiting = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=let_sigint_through,
    )
    assert waiting.stdout is not None
    waiting.stdout.readline()
    waiting.send_signal(2)
    said = waiting.communicate(timeout=30)[1]
    assert f"KeyboardInterrupt: only the wait has ended: run {run.id} is running; wait() waits" in said
    assert run.alive
    (tmp_path / "go").touch()
    run.wait(30)


def test_no_clock_of_the_wall_is_needed(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Durations and deadlines hold while the wall clock jumps by a day at every reading."""
    real, jumps = time.time, iter([86_400.0, -86_400.0] * 10_000)
    monkeypatch.setattr(time, "time", lambda: real() + next(jumps))
    run = start_peer(supervisor, "train", total_timesteps=20)
    run.wait(30)
    assert run.outcome is not None and run.outcome.duration_seconds is not None
    assert 0 < run.outcome.duration_seconds < 30
    hanging = at_work(start_peer(supervisor, "hang", grace_seconds=0.2))
    with pytest.raises(RunTimeout):
        hanging.wait(0.2)
    assert hanging.stop().state == "cancelled"


def test_a_program_that_is_not_there(supervisor: Supervisor) -> None:
    run = supervisor.start(["/no/such/python", "-m", "x"], {"seed": 1}, worker="x")
    with pytest.raises(RunFailed, match="/no/such/python does not exist"):
        run.wait(30)


def test_checkpoints_are_those_that_are_still_there(supervisor: Supervisor) -> None:
    run = start_peer(supervisor, "save_checkpoints").wait(30)
    assert [(point.step, point.path.name, point.format) for point in run.checkpoints] == [
        (10, "step-10", "text"),
        (20, "step-20", "text"),
    ]


def test_ids_are_readable_and_unique_also_within_a_second(supervisor: Supervisor) -> None:
    runs = [start_peer(supervisor, "silent", seed=7, grace_seconds=0) for _ in range(4)]
    assert len({run.id for run in runs}) == 4
    assert all("-peer-silent-Peer-v0-s7-" in run.id for run in runs)
    assert supervisor.run(runs[0].id) == runs[0]
    assert supervisor.run(runs[0].id[-4:]) == runs[0]
    with pytest.raises(UnknownRun, match="4 runs"):
        supervisor.run(runs[0].id[:5])
    with pytest.raises(UnknownRun, match="no run 'nonsense'"):
        supervisor.run("nonsense")
    with pytest.raises(UnknownRun, match=r"is the name of 4 runs .*: give an id"):
        supervisor.run("peer silent Peer-v0 seed 7")
    runs[0].name = "baseline"
    other = start_peer(supervisor, "silent", seed=8, grace_seconds=0)
    assert [supervisor.run(name) for name in ("baseline", other.label)] == [runs[0], other]


def test_the_worker_works_in_its_run_folder_and_headless(supervisor: Supervisor) -> None:
    run = start_peer(supervisor, "show_environment", threads=3).wait(30)
    started = json.loads(run.folder.telemetry_path.read_text().splitlines()[0])["payload"]
    assert started["cwd"] == str(run.path)
    assert started["OMP_NUM_THREADS"] == "3"
    assert started["SDL_NO_SIGNAL_HANDLERS"] == "1"
    assert started["CUDA_VISIBLE_DEVICES"] == ""


def test_no_secret_of_the_environment_reaches_a_file(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "JUPYTER_TOKEN"):
        monkeypatch.setenv(name, f"secret-of-{name}")
    run = start_peer(
        supervisor, "show_environment", pass_env_vars=["WANDB_API_KEY"], env_vars={"MY_OWN": "secret-of-mine"}
    ).wait(30)
    names = json.loads(run.folder.telemetry_path.read_text().splitlines()[0])["payload"]["names"]
    assert {"WANDB_API_KEY", "MY_OWN", "PATH", "HOME"} <= set(names)
    assert not {"OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "JUPYTER_TOKEN"} & set(names)
    launch = run.folder.document(run.folder.launch_path)
    assert "WANDB_API_KEY" in launch["environment_names"]
    wait_until(lambda: not run.folder.alive())
    files = [path for path in supervisor.store.root.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert not [path for path in files if b"secret-of-" in path.read_bytes()]


def test_no_secret_is_in_a_keepers_own_environment_or_command(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psutil

    monkeypatch.setenv("WANDB_API_KEY", "secret-key")
    run = start_peer(supervisor, "silent", pass_env_vars=["WANDB_API_KEY"], grace_seconds=0)
    wait_until(lambda: run.status.worker_pid)
    keeper = psutil.Process(run.status.keeper_pid)
    assert "secret-key" not in str(keeper.environ()) + str(keeper.cmdline())


def test_the_environment_of_a_worker_is_composed_from_a_list() -> None:
    source = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "XDG_CACHE_HOME": "/c",
        "PYTHONPATH": "/x",
        "OMP_NUM_THREADS": "64",
    }
    composed = compose_variables(source, threads=2, env_vars={"A": "1"})
    assert composed["PATH"] == "/bin"
    assert composed["LC_ALL"] == "C"
    assert composed["XDG_CACHE_HOME"] == "/c"
    assert composed["OMP_NUM_THREADS"] == "2"
    assert composed["A"] == "1"
    assert "PYTHONPATH" not in composed


def test_provenance(supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    project.mkdir()
    identity = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    (project / "mine.py").write_text("1")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run(["git", "-C", str(project), *arguments], check=True, env={**os.environ, **identity})
    monkeypatch.chdir(project)
    clean = start_peer(supervisor, "train").provenance
    (project / "mine.py").write_text("2")
    environment = {"freeze": ["torch==2.13.0"], "source": "git"}
    run = supervisor.start(
        [sys.executable, "-c", ""], {"seed": 1}, worker="x", worker_environment=environment
    )
    changed = run.provenance
    assert changed["mosaic_lab"] == __version__
    assert changed["python"] == sys.version
    assert changed["platform"] and changed["machine"]
    assert changed["environment"] == environment
    assert len(clean["git"]["commit"]) == 40
    assert (clean["git"]["dirty"], changed["git"]["dirty"]) == (False, True)
    assert run.config["run_id"] == run.id
    assert run.config["run_dir"] == str(run.path)


def test_removing(supervisor: Supervisor) -> None:
    run = at_work(start_peer(supervisor, "hang", grace_seconds=0))
    ended = start_peer(supervisor, "train").wait(30)
    with pytest.raises(MosaicError, match=rf"{run.id} is running and cannot be removed: stop it first"):
        run.remove()
    with pytest.raises(MosaicError, match=rf"{run.id} is running .*no run was removed"):
        RunGroup([ended, run]).remove()
    assert ended.path.exists()
    run.stop()
    other = Run(run.path)
    RunGroup([ended, run]).remove()
    run.remove()
    assert not run.path.exists()
    assert supervisor.runs() == []
    with pytest.raises(UnknownRun):
        supervisor.run(run.id)
    assert run.state == other.state == "removed"
    assert repr(run) == f"<Run {run.id}: removed, its folder was deleted by remove()>"
    assert (run.label, run.seed, run.alive) == ("peer hang Peer-v0 seed 1", 1, False)
    assert run.stop() is run
    with pytest.raises(MosaicError, match="was removed"):
        run.wait(1)


def test_a_folder_that_is_no_run_is_not_listed(supervisor: Supervisor) -> None:
    supervisor.store.root.mkdir(parents=True)
    (supervisor.store.root / "notes").mkdir()
    (supervisor.store.root / "notes.txt").write_text("x")
    assert supervisor.runs() == []


def test_nothing_is_left_of_a_finished_run(supervisor: Supervisor) -> None:
    run = start_peer(supervisor, "train").wait(30)
    wait_until(lambda: not run.folder.alive())
    assert not marked_processes(run.path)
    left = {path.name for path in run.path.iterdir()}
    assert left == {
        *("config.json", "launch.json", "provenance.json", "state.json", "keeper.lock", "keeper.log"),
        *("telemetry.jsonl", "system.jsonl", "worker.log"),
    }
    assert run.folder.keeper_log_path.read_text() == ""


def test_a_handle_made_anywhere_means_the_same(supervisor: Supervisor) -> None:
    run = start_peer(supervisor, "train").wait(30)
    again = Run(run.path)
    assert again == run and hash(again) == hash(run)
    assert (again.state, again.config, again.outcome) == (run.state, run.config, run.outcome)


def test_a_store_may_have_any_name(tmp_path: Path) -> None:
    with store(tmp_path / "Läufe und mehr $HOME 'x'") as supervisor:
        assert start_peer(supervisor, "train").wait(30).state == "completed"


def test_a_store_is_the_same_through_a_link(supervisor: Supervisor, tmp_path: Path) -> None:
    run = start_peer(supervisor, "train").wait(30)
    (tmp_path / "link").symlink_to(supervisor.store.root)
    assert Supervisor(tmp_path / "link").runs() == [run]
