"""Upstream's own, unmodified `eval.py` as a run. Each episode's JSON file becomes an episode of the
telemetry; upstream's output, which has progress bars, is the run's log."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any, Mapping

from mosaic_contract import Telemetry, TrainingConfig, UpstreamFailed
from mosaic_contract.programs import exit_failure, run_program

from .config import command

RESULTS = "balrog"
"""Subfolder of the run folder for upstream's output."""
_MAX_BYTES = 32 << 20  # bytes of an episode's file
_LOG_BYTES = 1 << 20  # of upstream's log that are copied at a time

log = logging.getLogger(__name__)


def train(config: TrainingConfig, telemetry: Telemetry) -> Mapping[str, Any]:
    """Run the evaluation to its end and return the numbers of its summary, in percent. Raises
    `UpstreamFailed` for a non-zero exit status, and if there are no episodes at the end."""
    results = config.run_dir / RESULTS
    results.mkdir(parents=True, exist_ok=True)
    episodes, upstream_log = EpisodeFiles(results, telemetry), UpstreamLog(results / "eval.log")

    def poll() -> None:
        episodes.read()
        upstream_log.pass_on()

    environ = {name: value for name, value in os.environ.items() if name != "PYTHONNOUSERSITE"}
    status = run_program(
        command(config, results), cwd=config.hyperparameters["checkout"], env=environ, poll=poll
    )
    if status:
        raise exit_failure("upstream", status, "EvalExit")
    if not episodes.count:
        raise UpstreamFailed("upstream ended without an episode; the log says why", "NoEpisodes")
    return episodes.final_metrics()


class EpisodeFiles:
    """The files that upstream writes, one per episode, as they appear."""

    def __init__(self, folder: Path, telemetry: Telemetry) -> None:
        self._folder = folder
        self._telemetry = telemetry
        self._reported: set[Path] = set()
        self._progressions: dict[str, list[float]] = {}
        self.count = 0

    def read(self) -> None:
        """Report new episodes."""
        for path in sorted(self._folder.rglob("*_run_*.json")):
            if path in self._reported:
                continue
            try:
                if path.stat().st_size > _MAX_BYTES:
                    raise ValueError(f"it is larger than {_MAX_BYTES >> 20} MiB")
                episode = json.loads(path.read_text(encoding="utf-8"))
                self._send(path, episode)
            except json.JSONDecodeError:
                continue  # incomplete
            except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
                log.warning("%s is not the file of an episode: %r", path, error)
            self._reported.add(path)

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
        lines = data[: data.rfind(b"\n") + 1]
        self._offset += len(lines)
        while lines:
            lines = lines[os.write(2, lines) :]
