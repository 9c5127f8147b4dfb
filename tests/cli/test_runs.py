"""``mosaic-lab runs`` and ``mosaic-lab train``: starting, listing, stopping and removing runs in a shell."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from mosaic_contract.codec import with_tagged_tuples
from support import PEER, at_work, let_sigint_through, start_peer, store, wait_until

from mosaic_lab import __version__
from mosaic_lab.cli import main
from mosaic_lab.errors import RunFailed
from mosaic_lab.runs import Supervisor

COMMAND = [sys.executable, "-c", "import sys; from mosaic_lab.cli import main; sys.exit(main())"]
WALK = ["train", "toy", "--algorithm", "walk", "--env", "Hill-v0"]


@pytest.fixture
def supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Supervisor]:
    """Supervisor of the command line's default store in the working directory."""
    monkeypatch.chdir(tmp_path)
    with store(tmp_path / "mosaic_runs") as supervisor:
        yield supervisor


@pytest.mark.usefixtures("toy")
def test_a_training_started_with_standard_streams_closed(supervisor: Supervisor) -> None:
    """As under a scheduler or a daemon: no lock or log may be opened on a standard stream's descriptor."""
    command = [*COMMAND, *WALK, "--total-timesteps", "50"]
    done = subprocess.run(["sh", "-c", 'exec "$@" 0<&- 1>&- 2>&-', "sh", *command], timeout=60)
    (run,) = supervisor.runs()
    assert (run.state, run.reason, done.returncode) == ("completed", "ran to the end", 0)
    assert len(run.metrics("height")) == 50


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"mosaic-lab {__version__}\n"


@pytest.mark.parametrize(
    "wrong", [[], ["nonsense"], ["runs", "--all"], ["runs", "stop"], [*WALK, "--total-timesteps", "x"]]
)
def test_wrong_usage_is_2(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(wrong)
    assert caught.value.code == 2
    assert "usage: mosaic-lab" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["trian"], "'trian'.*did you mean 'train'"),
        (["runs", "lst"], "usage: mosaic-lab runs .*'lst'.*did you mean 'list'"),
        (["runs", "list", "--stor", "x", "y"], "usage: mosaic-lab runs list .*unrecognized arguments: y"),
        ([*WALK, "--total-timesteps", "3k"], "steps: '3k': must be an integer number of steps, such as 3000"),
        ([*WALK, "--total-timesteps", "9", "--gpus", "all"], "'all': must be a number of GPUs"),
        ([*WALK, "--total-timesteps", "9", "--seeds", "1"], "did you mean '--seed'"),
        ([*WALK, "--total-timesteps", "9", "--learning-rate", "1"], "usage: mosaic-lab train .*"
         r"hyperparameters as learning_rate=1 \(mosaic-lab workers list toy names them"),
        ([*WALK, "--total-timesteps", "9", "--learning_rate=1"], "hyperparameters as learning_rate=1 "),
        ([*WALK, "--total-timesteps", "9", "--frames", "4"],
         "unrecognized .*did you mean '--(no-frames|frames-grid)'"),
        ([*WALK, "--total-timesteps", "9", "learning_rate"], "hyperparameters as learning_rate=VALUE "),
        (["train", "toy", "seed=3"], "unrecognized arguments: seed=3; did you mean '--seed'"),
        (["train", "toy", "--evaluate", "1;2"], "'1;2': give seeds, such as 0-9 or 0,1,2"),
        (["train", "toy", "--seed", "1;2"], "'1;2': give integers, such as 1 2 3 or 1,2,3"),
        (["train", "toy", "total_timesteps=3"], "total_timesteps=3; did you mean '--total-timesteps'"),
        (["train", "toy", "grace_seconds=3"], "grace_seconds=3; did you mean '--grace-seconds'"),
        (["train", "toy", "--set", "seed=3"], "'seed=3': seed is not a hyperparameter; --help lists"),
        (["train", "script", "bash", "-c", "ls"], r"""as 'command=\["bash","-c","ls"\]'"""),
        ([*WALK, "--num-steps", "=", "64"], "give hyperparameters as num_steps=64 "),
        ([*WALK, "--num-steps==64"], "give hyperparameters as num_steps=64 "),
        ([*WALK, "num_steps==64"], "write one equals sign, num_steps=64"),
        ([*WALK, "num_steps=64", "num_steps=32"], "num_steps=64 and num_steps=32: set num_steps only once"),
    ],
)  # fmt: skip
def test_wrong_usage_says_what_to_type(
    typed: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        assert main(typed) == 1
    except SystemExit as ended:
        assert ended.code == 2
    assert re.search(said, capsys.readouterr().err, re.DOTALL)


def test_listing_and_showing(supervisor: Supervisor, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "list"]) == 0
    assert capsys.readouterr().out == "no runs\n"
    run = start_peer(supervisor, "fail")
    wait_until(lambda: run.finished)
    assert main(["runs", "list"]) == 0
    assert f"{run.id}  failed" in capsys.readouterr().out
    assert main(["runs", "show", run.id[-4:]]) == 0
    shown = capsys.readouterr().out
    assert "ValueError: the reward was a potato" in shown
    assert "about to leave with an error" in shown
    assert shown.count('raise ValueError("the reward was a potato")') == 1  # not repeated by the log
    assert str(run.path) in shown
    assert "  starting: worker process" in shown
    assert main(["runs", "list", "--store", "elsewhere"]) == 0
    assert capsys.readouterr().out == "no runs\n"


def test_what_a_worker_prints_cannot_drive_the_terminal(
    supervisor: Supervisor, capsys: pytest.CaptureFixture[str]
) -> None:
    run = start_peer(supervisor, "paint")
    wait_until(lambda: run.finished)
    with pytest.raises(RunFailed) as failed:
        run.wait()
    for arguments in (["list"], ["show", run.id]):
        assert main(["runs", *arguments]) == 0
    shown = capsys.readouterr().out
    for text in (shown, str(failed.value), run.log(), run.reason, repr(run)):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]|owned|\[0m|2J", text)
    assert "  the log of café\n" in shown and "  in line 1\n" in shown
    assert run.reason == "ValueError: too hot"


def test_a_folder_without_permission_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with tempfile.TemporaryDirectory() as parent, store(Path(parent, "runs")) as supervisor:
        run = start_peer(supervisor, "train").wait(30)
        where = ["--store", str(run.path.parent)]
        Path(parent).chmod(0o755)
        run.path.chmod(0o555)
        with as_another_user():
            assert main(["runs", "remove", run.id, *where]) == 1
        said = capsys.readouterr().err
        assert re.fullmatch(rf"mosaic-lab: run {run.id} could not be removed: .*Permission denied.*\n", said)
        assert str(run.state) == "completed" and run.folder.log_path.is_file(), "files were deleted"
        run.path.parent.chmod(0o000)
        with as_another_user():
            assert main(["runs", "list", *where]) == 1
        assert capsys.readouterr().err == f"mosaic-lab: {run.path.parent}: Permission denied\n"
        run.path.parent.chmod(0o755)
        run.path.chmod(0o755)


@contextmanager
def as_another_user() -> Iterator[None]:
    """Drop root's privileges in the block if root runs the tests."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_showing_a_run_prints_its_settings_and_results(
    supervisor: Supervisor, capsys: pytest.CaptureFixture[str]
) -> None:
    run = start_peer(supervisor, "save_checkpoints", seed=7, group="some", play=10, video=True).wait(30)
    assert main(["runs", "show", run.id]) == 0
    facts = _facts(capsys.readouterr().out)
    assert facts["algorithm"] == "save_checkpoints"
    assert (facts["environment"], facts["seed"], facts["group"]) == ("Peer-v0", "7", "some")
    assert facts["hyperparameters"] == "play=10, video=True"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", facts["started"])
    assert re.fullmatch(r"[\d.]+s", facts["time"])
    assert facts["return"] == "4.5 (mean of the last 20 episodes)"
    assert facts["checkpoints"] == f"2, newest (step 20): {run.path}/checkpoints/step-20"
    assert facts["videos"] == f"{run.path}/videos"
    assert "resume with" not in facts
    assert main(["runs", "list"]) == 0
    assert " some " in capsys.readouterr().out


def test_a_stopped_run_shows_the_command_that_resumes_it(
    supervisor: Supervisor, capsys: pytest.CaptureFixture[str]
) -> None:
    run = start_peer(supervisor, "save_checkpoints", stay=True)
    wait_until(lambda: len(run.checkpoints) == 2)
    assert main(["runs", "stop", run.id, "--grace", "0"]) == 0
    assert "its last checkpoint is at step" in capsys.readouterr().out
    assert main(["runs", "show", run.id]) == 0
    facts = _facts(capsys.readouterr().out)
    assert facts["resume with"] == f"mosaic-lab runs resume --store {supervisor.store.root} {run.id}"


def _facts(shown: str) -> dict[str, str]:
    """Facts that ``runs show`` prints, by name."""
    return dict(re.findall(r"^(\w[\w ]*?)  +(.*)$", shown, re.M))


def test_stopping_and_removing(supervisor: Supervisor, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [at_work(start_peer(supervisor, "hang", grace_seconds=600)) for _ in range(3)]
    assert main(["runs", "stop", runs[0].id, "--grace", "0"]) == 0
    assert "stopped on request" in capsys.readouterr().out
    assert [run.state for run in runs] == ["cancelled", "running", "running"]
    assert main(["runs", "remove", runs[1].id]) == 1
    assert "stop it first" in capsys.readouterr().err
    assert main(["runs", "stop", "--all", "--grace", "0"]) == 0
    capsys.readouterr()
    assert main(["runs", "stop", "--all"]) == 0
    assert capsys.readouterr().out == "nothing to stop: no run is alive\n"
    assert main(["runs", "remove", *(run.id for run in runs)]) == 0
    assert supervisor.runs() == []


@pytest.mark.usefixtures("toy")
def test_a_training_with_plain_lines(supervisor: Supervisor, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--seed", "1,2", "learning_rate=0.125", "--total-timesteps", "1e2"]
    assert main([*WALK, *arguments]) == 0
    said = capsys.readouterr().out
    assert "\r" not in said
    assert "toy walk Hill-v0 seed 2: completed, ran to the end" in said
    assert [run.config["hyperparameters"] for run in supervisor.runs()] == [{"learning_rate": 0.125}] * 2
    assert {run.seed for run in supervisor.runs()} == {1, 2}


@pytest.mark.usefixtures("toy")
def test_what_a_notebook_can_ask_of_a_training_the_command_line_can_too(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = "--total-timesteps 10 --pass-env-vars HILL_KEY --grace-seconds 3 --max-running 1"
    wanted = [*options.split(), "--no-frames", "--frames-grid", "4"]
    assert main([*WALK, *wanted]) == 1
    assert "pass_env_vars names 'HILL_KEY', which is not set" in capsys.readouterr().err
    monkeypatch.setenv("HILL_KEY", "a secret")
    assert main([*WALK, *wanted]) == 0
    (run,) = supervisor.runs()
    launched = json.loads(run.folder.launch_path.read_text())
    assert "HILL_KEY" in launched["environment_names"]
    assert (launched["grace_seconds"], launched["max_running"]) == (3, 1)
    assert run.config["fastlane"] == {"enabled": False, "grid": 4}


@pytest.mark.usefixtures("toy")
def test_a_training_that_is_refused(supervisor: Supervisor, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "toy", "envs=Hill-v0"]) == 1
    said = capsys.readouterr().err
    assert "algorithm is missing (--algorithm); toy has walk" in said
    assert "env_id is missing (--env); you gave envs=, did you mean --env?" in said
    assert "total_timesteps is missing (--total-timesteps)" in said
    assert supervisor.runs() == []


@pytest.mark.usefixtures("toy")
def test_a_detached_training_continues(supervisor: Supervisor) -> None:
    subprocess.run([*COMMAND, *WALK, "--total-timesteps", "1000", "--detach"], check=True, timeout=60)
    (run,) = supervisor.runs()
    assert run.wait(60).state == "completed"
    assert run.group is None


@pytest.mark.usefixtures("toy")
def test_ctrl_c_stops_the_run_and_says_so(supervisor: Supervisor) -> None:
    command = [*COMMAND, *WALK, "--total-timesteps", "1000000"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=let_sigint_through
    )
    (run,) = wait_until(supervisor.runs)
    at_work(run)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Ctrl-C: stopping" in out
    assert "Press it again to leave now; the runs then stop in the background." in out
    assert "toy walk Hill-v0 seed 1: cancelled, stopped on request" in out
    assert "Traceback" not in err
    assert run.state == "cancelled"


@pytest.mark.usefixtures("toy")
def test_a_terminal_gets_one_line_that_is_redrawn(supervisor: Supervisor) -> None:
    ours, theirs = pty.openpty()
    command = [*COMMAND, *WALK, "--total-timesteps", "2000"]
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            seen += os.read(ours, 4096)
        except OSError:  # the process closed its end
            break
    os.close(ours)
    assert process.wait(60) == 0
    lines = [line.strip() for line in seen.decode().split("\r") if line.strip()]
    assert any("of 2,000 steps" in line and "steps/s" in line and "remaining" in line for line in lines)
    assert lines[-2] == "toy walk Hill-v0 seed 1: completed, ran to the end"
    assert re.fullmatch(r"time +[\d.]+s", lines[-1])


def test_a_pipe_that_is_closed_early_is_no_traceback(supervisor: Supervisor) -> None:
    start_peer(supervisor, "train").wait(30)
    read, write = os.pipe()
    os.close(read)
    listing = subprocess.run([*COMMAND, "runs", "list"], stdout=write, stderr=subprocess.PIPE, timeout=60)
    os.close(write)
    assert b"Traceback" not in listing.stderr


def test_words_after_wrappers_are_their_parameters_and_evaluate_takes_seeds() -> None:
    from mosaic_lab.cli import _parser
    from mosaic_lab.cli.train import with_options

    typed = "train toy lr=1 --evaluate 0-1 --wrappers grey resize=[64,64] --seed 1,2 a=b"
    arguments = _parser().parse_args(with_options(typed.split()))
    assert arguments.wrappers == ["grey", {"resize": [64, 64]}]
    assert (arguments.evaluate, arguments.hyperparameters) == ({"seeds": range(2)}, [("lr", 1), ("a", "b")])
    for given in ("--set lr=1", "--set=lr=1", "--no-frames lr=1"):
        assert _parser().parse_args(with_options(["train", "toy", *given.split()])).hyperparameters == [
            ("lr", 1)
        ]
    stored = _parser().parse_args(with_options(["train", "toy", "--store", "lr=1"]))
    assert (stored.store, stored.hyperparameters) == (Path("lr=1"), []), "lr=1 is --store's value"
    asked = ["train", "toy", "--evaluate", '{"seeds": [1, 2], "until": 9}']
    assert _parser().parse_args(asked).evaluate == {"seeds": [1, 2], "until": 9}


def test_keyword_arguments_of_the_environment_have_dotted_names() -> None:
    from mosaic_lab.cli import _parser
    from mosaic_lab.cli.train import with_options
    from mosaic_lab.runs.train_request import nested_hyperparameters

    typed = ["train", "cleanrl", "num_steps=64", "env_kwargs.size=[3,4]", "env_kwargs.goal_velocity=0.01"]
    given = dict(_parser().parse_args(with_options(typed)).hyperparameters)
    nested = {"num_steps": 64, "env_kwargs": {"size": [3, 4], "goal_velocity": 0.01}}
    assert nested_hyperparameters(given) == nested


def test_tuples_are_shown_as_such(supervisor: Supervisor, capsys: pytest.CaptureFixture[str]) -> None:
    """The run folder stores tagged tuples, since JSON has only lists."""
    given = {"env_kwargs": {"size": (3, 4)}}
    run = supervisor.start(PEER, {"hyperparameters": with_tagged_tuples(given)}, worker="peer")
    run.stop()
    assert run.config["hyperparameters"] == run.hyperparameters == given
    assert main(["runs", "show", run.id]) == 0
    assert "env_kwargs={'size': (3, 4)}" in capsys.readouterr().out


def test_values_are_json_or_text(supervisor: Supervisor) -> None:
    from mosaic_lab.cli.train import _assignment, _gpus

    given = ["a=1", "b=1e-3", "c=true", "d=True", "e=None", "f=[1, 2]", "g=relu", 'h="1"', "i=a=b"]
    assert json.dumps(dict(map(_assignment, given))) == json.dumps(
        {"a": 1, "b": 1e-3, "c": True, "d": True, "e": None, "f": [1, 2], "g": "relu", "h": "1", "i": "a=b"}
    )
    assert (_gpus("2"), _gpus("0,1"), _gpus("1,")) == (2, [0, 1], [1])
