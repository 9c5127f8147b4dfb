"""Upstream's own, unmodified `eval.py` as a run: start it in its interpreter, follow its files, stop it.

Each episode's JSON file becomes an episode of the telemetry; upstream's output is the run's log. Upstream
stays in the shim's process group, so that stopping the group stops both.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Mapping

from mosaic_contract import Cancelled, ConfigError, Telemetry, TrainingConfig, UpstreamFailed

from .config import command

RESULTS = "balrog"
"""Subfolder of the run folder for upstream's output."""
_LOOK_SECONDS = 0.5
_STOP_SECONDS = 7.0  # for upstream to exit: less than the grace period of a run
_LARGEST = 32 << 20  # bytes of an episode's file
_LOG_BYTES = 1 << 20  # of upstream's log that are copied at a time

log = logging.getLogger(__name__)


def train(config: TrainingConfig, telemetry: Telemetry) -> Mapping[str, Any]:
    """Run the evaluation to its end and return the numbers of its summary, in percent.

    Raises `UpstreamFailed` for a non-zero exit status, and if there are no episodes at the end.
    """
    results = config.run_dir / RESULTS
    results.mkdir(parents=True, exist_ok=True)
    episodes, upstreams_log = EpisodeFiles(results, telemetry), UpstreamLog(results / "eval.log")
    process = _start(config, results)
    try:
        while process.poll() is None:
            episodes.read()
            upstreams_log.pass_on()
            time.sleep(_LOOK_SECONDS)
    except Cancelled as cancelled:
        _stop(process, cancelled.signal)
        raise
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        upstreams_log.pass_on()
        episodes.read()
    if process.returncode:
        raise _failure(process.returncode)
    if not episodes.count:
        raise UpstreamFailed("upstream ended without an episode; the log says why", "NoEpisodes")
    return episodes.final_metrics()


def _start(config: TrainingConfig, results: Path) -> subprocess.Popen[bytes]:
    """Start upstream. Its stdout contains progress bars and is redirected to the log, like its stderr."""
    arguments = command(config, results)
    try:
        return subprocess.Popen(
            arguments,
            cwd=config.hyperparameters["checkout"],
            env={name: value for name, value in os.environ.items() if name != "PYTHONNOUSERSITE"},
            stdin=subprocess.DEVNULL,
            stdout=2,
        )
    except OSError as error:
        raise ConfigError(f"{arguments[0]!r} cannot be started: {error.strerror or error}") from None


def _stop(process: subprocess.Popen[bytes], signum: int) -> None:
    """Forward the signal to upstream, in case it was sent to this process only, not to the group."""
    if process.poll() is None:
        process.send_signal(signum)
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        log.warning("upstream did not exit within %g s and is killed", _STOP_SECONDS)


def _failure(code: int) -> UpstreamFailed:
    if code < 0:
        return UpstreamFailed(f"upstream was ended by {signal.Signals(-code).name}", "Killed")
    return UpstreamFailed(f"upstream ended with exit status {code}; its output is in the log", "EvalExit")


class EpisodeFiles:
    """The files that upstream writes, one per episode, as they appear."""

    def __init__(self, folder: Path, telemetry: Telemetry) -> None:
        self._folder = folder
        self._telemetry = telemetry
        self._seen: set[Path] = set()
        self._progressions: dict[str, list[float]] = {}
        self.count = 0

    def read(self) -> None:
        """Report new episodes."""
        for path in sorted(self._folder.rglob("*_run_*.json")):
            if path in self._seen:
                continue
            try:
                if path.stat().st_size > _LARGEST:
                    raise ValueError(f"it is larger than {_LARGEST >> 20} MiB")
                episode = json.loads(path.read_text(encoding="utf-8"))
                self._send(path, episode)
            except json.JSONDecodeError:
                continue  # incomplete
            except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
                log.warning("%s is not the file of an episode: %r", path, error)
            self._seen.add(path)

    def _send(self, path: Path, episode: Mapping[str, Any]) -> None:
        family = path.relative_to(self._folder).parts[0]
        progression = float(episode.get("progression", 0.0))
        steps, done = int(episode["num_steps"]), bool(episode.get("done"))
        tokens = {name: int(episode.get(name, 0)) for name in ("input_tokens", "output_tokens")}
        failed = len(episode.get("failed_candidates") or ())
        total = float(episode["episode_return"])
        seed = episode.get("seed")
        self.count += 1
        self._progressions.setdefault(family, []).append(progression)
        self._telemetry.episode(
            total_reward=total,
            steps=steps,
            terminated=done,
            truncated=not done,
            episode_seed=seed if type(seed) is int else None,
            step=self.count,
            metadata={
                "environment": family,
                "task": str(episode.get("task", "")),
                "progression": progression,
                "failed_candidates": failed,
                **tokens,
                "file": path.relative_to(self._folder).as_posix(),
            },
        )
        mean = sum(self._progressions[family]) / len(self._progressions[family])
        values = {"episode_return": total, "episode_length": steps, "progression": progression, **tokens}
        values |= {"failed_candidates": failed, f"mean_progression/{family}": mean}
        self._telemetry.metrics(self.count, values)

    def final_metrics(self) -> dict[str, float]:
        """Return the numbers in upstream's summary.json; missing ones are left out."""
        try:
            summary = json.loads((self._folder / "summary.json").read_text(encoding="utf-8"))
            metrics = {name: float(summary[name]) for name in ("average_progress", "standard_error")}
            for family, results in summary["environments"].items():
                metrics[f"progress/{family}"] = float(results["progression_percentage"])
            return metrics
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            log.warning("upstream's summary.json cannot be read: %r", error)
            return {}


class UpstreamLog:
    """Copies upstream's own log file to the run's log."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def pass_on(self) -> None:
        """Write new content to stderr."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read(_LOG_BYTES)
        except OSError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        while whole:
            whole = whole[os.write(2, whole) :]
