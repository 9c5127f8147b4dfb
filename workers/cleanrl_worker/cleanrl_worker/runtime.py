"""The life of one training: upstream's script as a child process, its records, and its exit.

The child stays in the shim's process group, so that a signal to the group stops both. It writes only below
the run folder, its working directory.
"""

from __future__ import annotations

import json
import logging
import os
import re
import select
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Iterator, Mapping

from mosaic_contract import Cancelled, ConfigError, Telemetry, UpstreamFailed, fastlane
from mosaic_contract.atari import ATARI
from mosaic_contract.checkpoints import describe_environment
from mosaic_contract.programs import exit_text
from mosaic_contract.ready_process import PythonProcess, start_python
from mosaic_contract.signals import signals_held

from .config import ScriptPlan
from .hooks import VARIABLE
from .telemetry import Translator

_STOP_SECONDS = 7.0  # for the script to save and exit: less than the grace period of a run
_EXIT_SECONDS = 30.0  # for the exit hooks of libraries once the training is over
_CACHES = ".cache"  # in the run folder: caches that libraries would put into the user's home

log = logging.getLogger(__name__)


def train(plan: ScriptPlan, telemetry: Telemetry) -> Mapping[str, Any]:
    """Run the script to its end and return the final metrics. After a signal, the script is stopped and saves
    a checkpoint. Raises `UpstreamFailed`."""
    translator = Translator(telemetry)
    with _run_folder(plan):
        _run(plan, translator)
    return translator.final_metrics


def hook_settings(plan: ScriptPlan, fd: int) -> dict[str, Any]:
    """Return the settings of the hooks in the script's process. `fd` is the descriptor that they write to."""
    config, algorithm = plan.config, plan.algorithm
    return {
        "fd": fd,
        "shim_pid": os.getpid(),
        "legacy": plan.upstream.legacy,
        "cuda": plan.hyperparameters.get("cuda", False),
        "capture_video": bool(plan.hyperparameters.get("capture_video")),
        "wrappers": () if algorithm.games else config.wrappers,
        "games": algorithm.games,
        "on_policy": algorithm.on_policy,
        "stride": plan.hyperparameters["num_envs"] if algorithm.on_policy else 1,
        "rollout": plan.rollout,
        "total_timesteps": config.total_timesteps,
        "steps": plan.steps,
        "checkpoint_every": config.checkpoint_every,
        "checkpoints_dir": str(config.checkpoints_dir),
        "resume_from": plan.resume_from and str(plan.resume_from[0]),
        "wrapper_statistics": plan.resume_from[1].get("wrapper_statistics", {}) if plan.resume_from else {},
        "record": config.record,
        "stop_at": plan.steps if plan.stops_early else None,
        "frames": {
            "run_dir": str(config.run_dir),
            "fastlane": asdict(config.fastlane),
            "environments": plan.hyperparameters.get("num_envs", 1),
            "env_id": config.env_id,
            "render_modes": plan.own_spec.render_modes,
        },
        "description": {
            "format": plan.FORMAT,
            "algorithm": algorithm.name,
            "env_id": config.env_id,
            "seed": config.seed,
            "total_timesteps": config.total_timesteps,
            "legacy": plan.upstream.legacy,
            "upstream": plan.upstream.describe(algorithm.script),
            "hyperparameters": plan.hyperparameters,
            **_describe_environment(plan),
        },
    }


def _describe_environment(plan: ScriptPlan) -> dict[str, Any]:
    fields = describe_environment(plan.config, restarts=plan.algorithm.games)
    if ATARI in fields:
        fields[ATARI]["stacked"] = plan.algorithm.pictures
    return fields


@contextmanager
def _run_folder(plan: ScriptPlan) -> Iterator[None]:
    """Provide the folder that the script runs in. Its output in `runs/` is redirected to `tensorboard/`, and
    its videos are moved to `videos/` at the end."""
    folder = plan.config.run_dir
    plan.config.tensorboard_dir.mkdir(parents=True, exist_ok=True)
    link = folder / "runs"
    link.unlink(missing_ok=True)
    link.symlink_to("tensorboard", target_is_directory=True)
    try:
        yield
    finally:
        link.unlink(missing_ok=True)
        shutil.rmtree(folder / _CACHES, ignore_errors=True)
        try:
            _gather_videos(plan.config.videos_dir)
        except OSError as error:
            log.warning("videos stay where upstream has put them: %s", error)


def _gather_videos(folder: Path) -> None:
    """Rename upstream's `<long name>/….video000008.mp4` or `…-episode-8.mp4` to `episode-000008.mp4`, by the
    episode of the first environment. Videos of upstream's own evaluation become `evaluation-…`."""
    for source in [path for path in folder.glob("*") if path.is_dir()]:
        prefix = "evaluation" if source.name.endswith("-eval") else "episode"
        for video in source.glob("*.mp4"):
            episode = re.search(r"\d+$", video.stem)
            video.replace(folder / (f"{prefix}-{int(episode[0]):06d}.mp4" if episode else video.name))
        shutil.rmtree(source, ignore_errors=True)


def _run(plan: ScriptPlan, translator: Translator) -> None:
    read_fd, write_fd = os.pipe()
    try:
        script = start_python(
            f"{__package__}.hooks",
            [f"cleanrl.{plan.algorithm.script}", *plan.arguments],
            cwd=str(plan.config.run_dir),
            env=_environment(plan, write_fd),
            pass_fds=[write_fd],
        )
        os.close(write_fd)
        try:
            _read_until(None, read_fd, translator)
        except Cancelled as cancelled:
            _stop(script, cancelled.signal, read_fd, translator)
            return
        finally:
            _reap(script, plan.config.run_dir)
    finally:
        os.close(read_fd)
    if translator.failure is not None or not translator.finished:
        raise _failure(script.wait(), translator)


def _environment(plan: ScriptPlan, fd: int) -> dict[str, str]:
    caches = str(plan.config.run_dir / _CACHES)
    return {
        **os.environ,
        "PYTHONSAFEPATH": "1",  # folders of the run are not packages
        "MPLCONFIGDIR": caches,
        "TORCHINDUCTOR_CACHE_DIR": caches,
        "XDG_CACHE_HOME": caches,
        "WANDB_MODE": "disabled",
        VARIABLE: json.dumps(hook_settings(plan, fd)),
    }


def _read_until(deadline: float | None, fd: int, translator: Translator) -> None:
    """Forward the script's records until it closes the pipe or the deadline (monotonic) passes."""
    while True:
        timeout = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not select.select([fd], [], [], timeout)[0]:
            return
        with signals_held():  # interrupted within a record, an episode could be counted but not written
            data = os.read(fd, 1 << 16)
            if not data:
                return
            translator.feed(data)
        if translator.finished and deadline is None:
            deadline = time.monotonic() + _EXIT_SECONDS


def _stop(
    script: subprocess.Popen[bytes] | PythonProcess, signum: int, fd: int, translator: Translator
) -> None:
    """Make the script save and exit. The signal may have reached it already; a second one has no effect."""
    script.send_signal(signum)
    _read_until(time.monotonic() + _STOP_SECONDS, fd, translator)


def _reap(script: subprocess.Popen[bytes] | PythonProcess, run_dir: Path) -> None:
    """Ensure that the script, whose pipe is closed or whose time is over, has exited and left no frames."""
    try:
        script.wait(timeout=1.0)
    except subprocess.TimeoutExpired:
        script.send_signal(signal.SIGKILL)
        script.wait()
    if script.returncode:
        fastlane.clear(run_dir)


def _failure(returncode: int, translator: Translator) -> UpstreamFailed | ConfigError:
    if translator.failure is not None:
        return translator.failure
    text = f"the script {exit_text(returncode)} before its training was over; its output is in the log"
    return UpstreamFailed(text, "Killed" if returncode < 0 else "ScriptExit")
