"""User scripts as runs: printed lines, TensorBoard files, failures and stops."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from support import marked_processes, wait_until

import mosaic_lab as mosaic
from mosaic_lab.errors import ConfigurationError, RunFailed
from mosaic_lab.runs import Run, RunGroup
from mosaic_lab.workers import WorkerEnvironment

REPORTS = """\
import json, os, pathlib, sys
print("hello from", sys.argv[1])
for step in range(1, 4):
    values = {"loss": 1 / step, "phase": "warmup", "eval": {"return": step}}
    print(json.dumps({"event": "metrics", "payload": {"step": step, "values": values}}))
print(json.dumps({"type": "episode", "episode_index": 0, "total_reward": 7.5, "steps": 3, "step": 3}))
weights = pathlib.Path(os.environ["MOSAIC_CHECKPOINTS_DIR"], "weights.txt")
weights.write_text(os.environ["MOSAIC_SEED"])
print(json.dumps({"event": "checkpoint_saved", "payload": {"checkpoint_path": str(weights), "step": 3}}))
print('{"nothing": "of ours"}')
print('{"event": "metrics", "payload": {"step": "three", "values": {}}}')
print("the last line has no end", end="")
"""

BOARD = """\
import sys
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

writer = EventFileWriter(sys.argv[1])
for step in range(1, 101):
    values = [Summary.Value(tag="rollout/ep_rew_mean", simple_value=2.0 * step),
              Summary.Value(tag="train/loss", simple_value=1.0 / step)]
    writer.add_event(Event(wall_time=step, step=step, summary=Summary(value=values)))
    if step == 50:
        writer.flush()
        print("half", flush=True)
        sys.stdin.read()
writer.close()
"""

TAGS = """\
import json, os, sys
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

writer = EventFileWriter(os.environ["MOSAIC_TENSORBOARD_DIR"])
for tag, value in json.loads(sys.argv[1]).items():
    writer.add_event(Event(step=64, summary=Summary(value=[Summary.Value(tag=tag, simple_value=value)])))
writer.close()
"""
RETURN, LENGTH, SPEED = "episode_return", "episode_length", "steps_per_second"
POLICY, VALUE = "policy_loss", "value_loss"
LIBRARIES = {
    "CleanRL": {"charts/episodic_return": RETURN, "charts/episodic_length": LENGTH, "charts/SPS": SPEED},
    "CleanRL's PPO": {"losses/policy_loss": POLICY, "losses/value_loss": VALUE},
    "CleanRL's SAC": {"losses/actor_loss": POLICY, "losses/qf_loss": VALUE},
    "CleanRL 0.4": {"charts/episode_reward": RETURN, "charts/sps": SPEED},
    "Stable-Baselines3": {"rollout/ep_rew_mean": RETURN, "rollout/ep_len_mean": LENGTH, "time/fps": SPEED},
    "Stable-Baselines3's PPO": {"train/policy_gradient_loss": POLICY, "train/value_loss": VALUE},
    "Stable-Baselines3's SAC": {"train/actor_loss": POLICY, "train/critic_loss": VALUE},
    "Tianshou 1": {"train/returns_stat/mean": RETURN, "train/lens_stat/mean": LENGTH},
    "Tianshou 2": {"training/returns_stat/mean": RETURN, "training/lens_stat/mean": LENGTH},
    "Tianshou's PPO": {"update/actor_loss/mean": POLICY, "update/vf_loss/mean": VALUE},
    "RLlib's PPO": {"learners/default_policy/policy_loss": POLICY, "learners/default_policy/vf_loss": VALUE},
    "RLlib": {"env_runners/episode_return_mean": RETURN, "env_runners/episode_len_mean": LENGTH},
    "RLlib under Tune": {
        "ray/tune/env_runners/episode_return_mean": RETURN,
        "ray/tune/env_runners/episode_len_mean": LENGTH,
    },
}


def start(lab: mosaic.Lab, *command: str, **given: Any) -> Run:
    run = lab.train("script", command=list(command), **given)
    assert isinstance(run, Run)
    return run


def values(run: Run, name: str) -> list[float]:
    found: list[float] = run.metrics(name)["value"].tolist()
    return found


def logged(run: Run) -> str:
    return run.log(100)


def test_lines_in_our_format_are_telemetry_and_the_rest_is_log(lab: mosaic.Lab, tmp_path: Path) -> None:
    (tmp_path / "reports.py").write_text(REPORTS)
    run = start(lab, sys.executable, "reports.py", "seed {seed}", seed=5).wait(60)
    assert values(run, "loss") == pytest.approx([1, 1 / 2, 1 / 3])
    assert values(run, "eval/return") == [1, 2, 3]
    assert run.episodes()["total_reward"].tolist() == [7.5]
    (saved,) = run.checkpoints
    assert saved.path.read_text() == "5"
    assert "reports.py" in run.label
    assert run.progress is None, "the script reported no total"
    text = logged(run)
    for words in ("hello from seed 5", '{"nothing": "of ours"}', "step is not an integer", "has no end"):
        assert words in text
    assert text.count("metric 'phase' is left out: 'warmup' is not a number") == 1


def test_several_seeds_are_a_group(lab: mosaic.Lab, tmp_path: Path) -> None:
    (tmp_path / "reports.py").write_text(REPORTS)
    group = lab.train("script", command=[sys.executable, "reports.py", "{seed}"], seed=[1, 2])
    assert isinstance(group, RunGroup)
    group.wait(60)
    assert [run.checkpoints[0].path.read_text() for run in group] == ["1", "2"]


def test_a_bash_script_runs_where_it_should(lab: mosaic.Lab, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "train.sh").write_text("pwd; echo $MOSAIC_RUN_DIR; echo given $1\n")
    run = start(lab, "bash", "train.sh", "{run_dir}", cwd="project").wait(60)
    assert logged(run).splitlines()[-3:] == [str(tmp_path / "project"), str(run.path), f"given {run.path}"]


def test_tensorboard_files_are_followed_while_they_grow(
    lab: mosaic.Lab, worker: WorkerEnvironment, tmp_path: Path
) -> None:
    (tmp_path / "board.py").write_text(BOARD)
    go = tmp_path / "go"
    command = f'"{worker.python}" board.py logs < <(while [ ! -e "{go}" ]; do sleep 0.05; done)'
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "events.out.tfevents.1.of-last-week").write_bytes(b"not even a record")
    old = tmp_path / "logs" / "events.out.tfevents.1.of-last-week"
    os.utime(old, (0, 0))
    run = start(lab, "bash", "-c", command, tensorboard="logs")
    try:
        wait_until(lambda: len(run.metrics("train/loss")) == 50)
    finally:
        go.touch()
    run.wait(60)
    assert values(run, "rollout/ep_rew_mean") == [2.0 * step for step in range(1, 101)]
    assert values(run, "episode_return") == values(run, "rollout/ep_rew_mean")
    assert values(run, "train/loss")[-1] == pytest.approx(0.01)


def test_a_folder_that_no_tensorboard_files_came_to_is_reported(lab: mosaic.Lab, tmp_path: Path) -> None:
    run = start(lab, "true", tensorboard="lags").wait(60)
    assert f"wrote no TensorBoard files below {tmp_path / 'lags'}" in logged(run)


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_a_library_calls_its_own_way_has_the_common_name_too(
    lab: mosaic.Lab, worker: WorkerEnvironment, tmp_path: Path, library: str
) -> None:
    tags = LIBRARIES[library]
    written = {tag: float(number) for number, tag in enumerate(tags, 1)}
    (tmp_path / "tags.py").write_text(TAGS)
    run = start(lab, str(worker.python), "tags.py", json.dumps(written)).wait(60)
    points = run.metrics()
    points = points[~points["name"].str.startswith("system/")]
    sent = points.set_index("name")["value"].to_dict()
    assert sent == written | {tags[tag]: value for tag, value in written.items()}
    assert set(points["step"]) == {64}


def test_a_script_that_fails_shows_its_last_words(lab: mosaic.Lab) -> None:
    run = start(lab, sys.executable, "-c", "raise ValueError('no gradient today')")
    with pytest.raises(RunFailed, match="exit code 1") as raised:
        run.wait(60)
    assert "no gradient today" in str(raised.value)


def test_a_script_may_say_itself_why_it_failed(lab: mosaic.Lab) -> None:
    line = '{"event": "run_failed", "payload": {"error": "the data set is gone", "error_type": "DataError"}}'
    with pytest.raises(RunFailed, match="the data set is gone"):
        start(lab, "sh", "-c", f"echo '{line}'").wait(60)


def test_stop_reaches_the_script_and_all_that_it_has_started(lab: mosaic.Lab, tmp_path: Path) -> None:
    saves = "trap 'echo saved; exit 0' TERM; sleep 600 & echo started; wait"
    run = start(lab, "bash", "-c", saves)
    wait_until(lambda: "started" in logged(run))
    run.stop()
    assert run.state == "cancelled"
    assert "saved" in logged(run)
    wait_until(lambda: not marked_processes(tmp_path))


def test_a_script_that_does_not_leave_is_killed(lab: mosaic.Lab, tmp_path: Path) -> None:
    run = start(
        lab, "bash", "-c", "trap '' TERM; echo started; while true; do sleep 0.1; done", grace_seconds=1
    )
    wait_until(lambda: "started" in logged(run))
    run.stop()
    assert run.finished
    wait_until(lambda: not marked_processes(tmp_path))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"command": []}, "must be a list of strings, the program first"),
        ({"command": "python train.py"}, r'must be a list, such as \["python", "train.py"'),
        ({"command": ["pyhton"]}, "'pyhton' is not a program on the PATH"),
        ({"command": ["python3", "trian.py"]}, "there is no 'trian.py' in"),
        ({"command": ["true"], "cwd": "nowhere"}, "there is no folder .*nowhere"),
        ({"command": ["true"], "learning_rate": 1}, "unknown hyperparameter 'learning_rate'"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_starts(
    lab: mosaic.Lab, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        lab.train("script", **given)
    assert not lab.runs
