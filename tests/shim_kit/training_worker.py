"""A worker that trains with its real upstream library, one process per training, for the shims' tests."""

from __future__ import annotations

import functools
import json
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from mosaic_contract.conformance.observed_process import ObservedProcess
from mosaic_contract.fastlane import Frame, FrameReader
from operators.conversation import Conversation
from support import PEERS

from mosaic_lab import workers

SECONDS = 400.0  # libraries take seconds to import or compile, and far longer on a busy machine

CHECK = Path(__file__).with_name("configuration_errors.py")
WRAPPER_CHECKS = Path(__file__).with_name("wrapper_checks.py")


@dataclass
class Finished:
    """A finished run: its folder and messages, its exit code, its log, the processes it left behind, and, for
    workers whose tests collect them, the files it wrote elsewhere.
    """

    folder: Path
    messages: list[dict[str, Any]]
    code: int | None
    log: str
    leftovers: list[str]
    outside: list[str] = field(default_factory=list)

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Return the payloads of all events of a kind."""
        return [message["payload"] for message in self.messages if message.get("event") == kind]

    @property
    def episodes(self) -> list[dict[str, Any]]:
        return [message for message in self.messages if message.get("type") == "episode"]

    @property
    def returns(self) -> list[tuple[int, float]]:
        """(step, return) of each episode."""
        return [(episode["step"], episode["total_reward"]) for episode in self.episodes]

    @property
    def metrics(self) -> dict[str, float]:
        """The last value of each metric."""
        return {
            name: value for payload in self.events("metrics") for name, value in payload["values"].items()
        }

    def series(self, name: str) -> list[tuple[int, float]]:
        """Return (step, value) of one metric, in the order written."""
        return [(one["step"], one["values"][name]) for one in self.events("metrics") if name in one["values"]]

    @property
    def checkpoints(self) -> list[Path]:
        return [Path(saved["checkpoint_path"]) for saved in self.events("checkpoint_saved")]


class TrainingWorker:
    """A worker in its environment: ``python`` is its interpreter, ``module`` its command line.

    `train` runs a training; `trained` runs one of the ``small`` trainings once. ``always`` has defaults for
    every training's configuration. ``module`` defaults to that of the shim with the worker's name.
    """

    def __init__(
        self,
        name: str,
        python: str,
        folder: Path,
        small: Mapping[str, Mapping[str, Any]],
        always: Mapping[str, Any] | None = None,
        module: str = "",
    ) -> None:
        self.name = name
        self.python = python
        self.small = small
        self.trained = functools.cache(lambda name: self.train(**self.configuration(name)))
        self.module = module or f"{name}_worker.cli"
        self.folder = folder
        self._always = {"seed": 1, **(always or {})}

    def configuration(self, name: str) -> dict[str, Any]:
        """Return the configuration of a small training; its algorithm is ``name`` unless it sets another."""
        return {"algorithm": name, **self.small[name]}

    def error(self, **config: Any) -> str:
        """Return the error of a bad configuration."""
        failed, _ = self.dry_run(2, **config)
        assert (failed["event"], failed["payload"]["error_type"]) == ("run_failed", "ConfigError")
        return str(failed["payload"]["error"])

    def errors(self, *configs: Mapping[str, Any]) -> list[str]:
        """Return the error of each configuration, all checked in one process; empty for a valid one."""
        whole = [{"run_id": "dry", "seed": 1, "total_timesteps": 10_000, **config} for config in configs]
        return list(self.output_of(str(CHECK), self.module, json.dumps(whole)))

    def resolved(self, **config: Any) -> dict[str, Any]:
        """Return a valid configuration with every default filled in."""
        return self.dry_run(0, **config)[0]

    @functools.cached_property
    def hyperparameters(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Descriptions of each algorithm's hyperparameters by name, as the worker lists them."""
        listed = self.output_of("-m", self.module, "--describe")["hyperparameters"]
        return {algorithm: {one["name"]: one for one in known} for algorithm, known in listed.items()}

    def train(
        self, during: Callable[[ObservedProcess], object] = lambda trial: None, **config: Any
    ) -> Finished:
        """Train to the end; ``during`` may disturb the run."""
        path = self.write({**self._always, **config})
        with ObservedProcess(self._command(path), path.parent) as trial:
            during(trial)
            assert trial.wait(SECONDS), f"still running: {trial.log_tail()}"
        log = trial.stderr_path.read_text()
        return Finished(path.parent, trial.messages(), trial.code, log, trial.leftovers)

    def resume(
        self,
        checkpoint: Path,
        during: Callable[[ObservedProcess], object] = lambda trial: None,
        *,
        stop_at: int | None = None,
        **config: Any,
    ) -> Finished:
        """Resume from a checkpoint and train to the end; check that all episodes come after it."""
        run = self.train(during, **config, checkpoint={"resume_from": str(checkpoint), "stop_at": stop_at})
        assert run.code == 0, run.log
        (loaded,) = run.events("checkpoint_loaded")
        step = json.loads(checkpoint.with_suffix(".json").read_text())["step"]
        assert (loaded["checkpoint_path"], loaded["step"]) == (str(checkpoint), step)
        assert all(at > step > 0 for at, _ in run.returns)
        return run

    def output_of(self, *arguments: str) -> Any:
        """Return the JSON in the last line that the worker's interpreter prints."""
        command = [self.python, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def operators(self) -> Conversation:
        """Return an operator process, for a with block."""
        return Conversation(self.command())

    def dry_run(self, code: int, **config: Any) -> tuple[dict[str, Any], str]:
        """Run a dry run, check its exit code, and return its output and its log."""
        path = self.write({"run_id": "dry", "seed": 1, "total_timesteps": 10_000, **config})
        command = [*self._command(path), "--dry-run"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout), done.stderr

    def _command(self, config: Path) -> list[str]:
        return [*self.command(), "--config", str(config)]

    def command(self) -> list[str]:
        """Return the worker's command line, without arguments."""
        return [self.python, "-m", self.module]

    def write(self, config: Mapping[str, Any]) -> Path:
        """Write a configuration into a new folder; return the file's path."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        path = folder / "config.json"
        path.write_text(json.dumps({"run_id": folder.name, **config}))
        return path


@contextmanager
def interpreter_of(worker: str) -> Iterator[str]:
    """Yield the interpreter of a worker's environment, built as users build it.

    Processes started inside the block use one thread.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setattr("operators.conversation.SECONDS", SECONDS)
        yield str(workers.ensure(worker).python)


def _has_episode(trial: ObservedProcess) -> bool:
    """Wait for a training's first episode."""
    return trial.wait(SECONDS, until=lambda: any(m.get("type") == "episode" for m in trial.messages()))


def stop_after_an_episode(trial: ObservedProcess) -> None:
    """Send SIGTERM to a training once an episode has ended."""
    assert _has_episode(trial)
    trial.signal(signal.SIGTERM)


def assert_stopped_cleanly(run: Finished) -> None:
    """Check that a stopped training saved a checkpoint at its last step, and left no process."""
    assert run.code == 143, run.log
    (cancelled,) = run.events("run_cancelled")
    assert cancelled["partial_results"]["steps"] == run.events("checkpoint_saved")[-1]["step"]
    assert run.checkpoints[-1].is_file()
    assert run.leftovers == []


def assert_served_alike(worker: TrainingWorker, name: str, **breaking: Any) -> None:
    """Check that a small training is the same when a process of its own worker serves its environments, and
    that an error in a served environment fails the training with that error.

    ``breaking`` selects the environment with the error, by default one with a single agent.
    """
    config = served(worker, name)
    run = worker.train(**config)
    assert (run.code, run.leftovers) == (0, []), run.log
    assert run.returns == worker.trained(name).returns
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(PEERS), prepend=os.pathsep)
        failing = worker.train(**{**config, **(breaking or {"env_id": "unruly:Breaks-v0"})})
    (failed,) = failing.events("run_failed")
    assert (failed["error_type"], failed["error"]) == ("RuntimeError", "the simulator is gone")
    assert "unruly.py" in failed["traceback"] and "unruly.py" in failing.log
    assert (failing.code, failing.leftovers) == (1, [])


def served(worker: TrainingWorker, name: str, **config: Any) -> dict[str, Any]:
    """Return the configuration of a small training whose environment its own worker serves."""
    server = {"worker": worker.name, "command": worker.command()}
    return {**worker.configuration(name), "environment_server": server, **config}


SERVED_ENDS: dict[str, tuple[dict[str, Any], str, str]] = {
    "Breaks": ({}, "RuntimeError", "the simulator is gone"),
    "Leaves": (
        {},
        "SystemExit",
        r"the environment ended the process \(exit code 0\) at step 10 of an episode: "
        r"line \d+ of unruly.py, in step",
    ),
    "Hangs": ({"step_timeout": 0.5}, "StepTimeout", r"the environment's step took longer than 0.5 s .*"),
}
"""Environments of `unruly` that end a training when served: server settings, error type and pattern."""


def assert_ends(worker: TrainingWorker, environment: str, config: Mapping[str, Any]) -> None:
    """Check that an environment of `SERVED_ENDS` ends the training with its error."""
    more, kind, reason = SERVED_ENDS[environment]
    run = worker.train(**{**config, "environment_server": {**config["environment_server"], **more}})
    (failed,) = run.events("run_failed")
    assert (run.code, failed["error_type"]) == (1, kind), run.log
    assert re.fullmatch(reason, failed["error"])
    assert "unruly.py" in failed["error"] + failed["traceback"]
    assert run.leftovers == []


def assert_killed_server_ends_it(worker: TrainingWorker, config: Mapping[str, Any]) -> None:
    """Check that a training whose environment server is killed fails and reports the cause."""

    def kill(trial: ObservedProcess) -> None:
        assert _has_episode(trial)
        psutil.Process(trial.popen.pid).children()[0].kill()

    run = worker.train(kill, **config)
    (failed,) = run.events("run_failed")
    killed = f"the environment's process (worker '{worker.name}') was killed by signal 9 (SIGKILL)"
    assert failed["error"].startswith(killed)
    assert (run.code, run.leftovers) == (1, [])


def assert_refused(
    worker: TrainingWorker,
    bad: Mapping[str, tuple[Mapping[str, Any], str]],
    subtests: pytest.Subtests,
    **valid: Any,
) -> None:
    """Check that each change to a valid configuration is refused with its expected error."""
    errors = worker.errors(*({**valid, **change} for change, _ in bad.values()))
    for (name, (_, expected)), error in zip(bad.items(), errors, strict=True):
        with subtests.test(name):
            assert expected in error


class Viewer:
    """A viewer of a training's frames, for `TrainingWorker.train`'s ``during``."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []

    def __call__(self, trial: ObservedProcess) -> None:
        reader = FrameReader(trial.stdout_path.parent)

        def look() -> bool:
            reader.watch(60)
            self.frames.extend(filter(None, [reader.read()]))
            return False

        trial.wait(SECONDS, until=look)
        reader.close()

    @property
    def sizes(self) -> set[tuple[int, int]]:
        """The (height, width) of all frames seen."""
        return {(frame.height, frame.width) for frame in self.frames}
