"""Exports: TensorBoard and Weights & Biases read the same values as `run.metrics()`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import start_learner, start_peer, store

from mosaic_lab.cli import main
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.runs import RunGroup
from mosaic_lab.runs.exporting import export
from mosaic_lab.workers import WorkerEnvironment

READERS = Path(__file__).parent


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, mosaic_home: Path) -> Iterator[RunGroup]:
    """A completed run with name, tags and notes, a run with NaN and infinities, and a failed run."""
    with store(tmp_path_factory.mktemp("store") / "mosaic_runs") as supervisor:
        learner = start_learner(supervisor, learning_rate=0.01, layers=[64, 64])
        odd, failed = start_peer(supervisor, "not_numbers"), start_peer(supervisor, "fail")
        learner.wait(60), odd.wait(60)
        learner.name, learner.tags, learner.notes = (
            "the <b>good</b> one",
            ["paper", "ablation"],
            "see *fig. 3*",
        )
        with pytest.raises(MosaicError):
            failed.wait(60)
        yield RunGroup([learner, odd, failed])


def read(worker: WorkerEnvironment, reader: str, *arguments: object) -> Any:
    command = [worker.python, READERS / reader, *arguments]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_tensorboard_reads_what_metrics_has(
    runs: RunGroup, worker: WorkerEnvironment, tmp_path: Path
) -> None:
    for _ in range(2):  # an export replaces the previous one
        paths = runs.export("tensorboard", tmp_path / "logs")
    assert paths == [tmp_path / "logs" / run.id for run in runs]
    found = read(worker, "event_reader.py", tmp_path / "logs", *paths)
    for run, path in zip(runs, paths, strict=True):
        table = run.metrics()
        scalars = found["runs"][str(path)]["scalars"]
        assert set(scalars) == set(table["name"])
        for name, points in table.groupby("name", observed=True):
            times, steps, values = np.array(scalars[name], dtype=float).T
            assert (steps == points["step"]).all() and np.allclose(times, points["timestamp"], atol=1e-3)
            np.testing.assert_array_equal(values.astype(np.float32), points["value"].astype(np.float32))
    text = found["runs"][str(paths[0])]["text"]
    assert "the <b>good</b> one" in text and "paper, ablation" in text and '"total_timesteps": 100000' in text
    rows = {row["run"]: row for row in found["hparams"]}
    learned = rows[runs[0].id]["hparams"]
    assert (learned["learning_rate"], learned["layers"], learned["seed"]) == (0.01, "[64, 64]", 1)
    assert (learned["algorithm"], learned["env_id"], learned["worker"]) == ("ppo", "CartPole-v1", "learner")
    assert [rows[run.id]["status"] for run in runs] == [1, 1, 2]  # success, success, failure


def test_weights_and_biases_reads_what_metrics_has(
    runs: RunGroup, worker: WorkerEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "online")
    for _ in range(2):
        paths = runs.export("wandb", tmp_path)
    assert len(list((tmp_path / "wandb").glob("offline-run-*"))) == 3
    learner, odd, failed = (read(worker, "offline_reader.py", path) for path in paths)
    config = learner["run"].pop("config")
    assert learner["run"] == {
        "id": runs[0].id,
        "name": "the <b>good</b> one",
        "project": "mosaic-lab",
        "group": "",
        "tags": ["paper", "ablation"],
        "notes": "see *fig. 3*",
    }
    assert (config["learning_rate"], config["layers"], config["algorithm"]) == (0.01, [64, 64], "ppo")
    assert ["*", "step"] in learner["metrics"]
    assert (learner["exit"], odd["exit"], failed["exit"]) == (0, 0, 1)
    for run, found in zip(runs, (learner, odd, failed), strict=True):
        rows = [
            (row["step"], row["_timestamp"], name, float(value))
            for row in found["history"]
            for name, value in row.items()
            if name != "step" and not name.startswith("_")
        ]
        # `rows` has one entry per value, like `run.metrics()`.
        expected = run.metrics().astype({"name": str}).itertuples(index=False, name=None)
        assert_same(sorted(rows, key=itemgetter(0, 1, 2)), sorted(expected, key=itemgetter(0, 1, 2)))


def assert_same(rows: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> None:
    for column, expected_column in zip(zip(*rows, strict=True), zip(*expected, strict=True), strict=True):
        np.testing.assert_array_equal(column, expected_column)


def test_nothing_is_sent(worker: WorkerEnvironment, tmp_path: Path) -> None:
    """In a separate network namespace, no DNS lookup and no connection attempt is counted."""
    namespace = ["unshare", "-rn"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*namespace, "true"], capture_output=True).returncode
    ):
        pytest.skip("this machine allows no network namespace")
    run = {"id": "r", "name": "r"}
    points = [[step, 1000.0 + step, {"loss": 0.5}] for step in range(100)]
    (tmp_path / "run.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in (run, *points)))
    counted = []
    for script in (
        *(
            f"{worker.python} -m export_worker.cli --export {form} --out {tmp_path} < {tmp_path}/run.jsonl"
            for form in ("wandb", "tensorboard")
        ),
        f"{sys.executable} -c 'import socket; socket.socket().connect_ex((\"192.0.2.1\", 443))'",
    ):
        count = f"{script} >&2 && {sys.executable} -c 'print(open(\"/proc/net/snmp\").read())'"
        done = subprocess.run([*namespace, "sh", "-c", f"ip link set lo up; {count}"],
                              capture_output=True, text=True, timeout=120)  # fmt: skip
        assert done.returncode == 0, done.stderr
        lines = [line.split() for line in done.stdout.splitlines()]
        counters = {
            f"{names[0]}{name}": int(value)
            for names, values in zip(lines[::2], lines[1::2], strict=False)
            for name, value in zip(names[1:], values[1:], strict=True)
        }
        counted.append((counters["Ip:OutNoRoutes"], counters["Udp:OutDatagrams"]))
    assert counted[:2] == [(0, 0), (0, 0)]
    assert counted[2][0] > 0  # the control: an attempt is counted


def test_the_command_line(
    runs: RunGroup, worker: WorkerEnvironment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store_ = str(runs[0].path.parent)
    out = str(tmp_path / "logs")
    assert (
        main(["export", runs[0].id, runs[1].id, "--to", "tensorboard", "--out", out, "--store", store_]) == 0
    )
    said = capsys.readouterr().out
    assert f"{out}/{runs[0].id}\n{out}/{runs[1].id}\n" in said and f"tensorboard --logdir {out}" in said
    assert main(["export", runs[0].id, "--to", "wandb", "--out", out, "--store", store_]) == 0
    (path,) = (tmp_path / "logs" / "wandb").glob("offline-run-*")
    assert f"nothing was sent; to upload: wandb sync {path}" in capsys.readouterr().out
    assert main(["export", "nowhere", "--to", "wandb", "--store", store_]) == 1
    assert "no run 'nowhere'" in capsys.readouterr().err
    for wrong in (["--to", "wandb"], ["a", "b"], ["a", "--to", "neptune"]):
        with pytest.raises(SystemExit):
            main(["export", *wrong])


def test_what_cannot_be_exported_says_why(runs: RunGroup, worker: WorkerEnvironment, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="'neptune': must be 'tensorboard' or 'wandb'"):
        runs[0].export("neptune", tmp_path)
    (tmp_path / runs[1].id).write_text("in the way")
    with pytest.raises(MosaicError, match=r"1 of 3 runs were exported, .* exit code 1\n[^$]*FileExistsError"):
        runs.export("tensorboard", tmp_path)
    with pytest.raises(MosaicError, match=r"0 of 3 runs .* did nothing for 0\.1 s"):
        export(runs, "wandb", tmp_path / "late", deadline=0.1)
