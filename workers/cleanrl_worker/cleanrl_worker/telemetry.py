"""Telemetry from the hooks' records: metrics, episodes, checkpoints, and the script's error."""

from __future__ import annotations

import json

from mosaic_contract import ConfigError, LineSplitter, Telemetry, UpstreamFailed
from mosaic_contract.episode_logger import EpisodeLogger

LOSSES = {
    "policy_loss": ["losses/policy_loss", "losses/actor_loss"],
    "value_loss": ["losses/value_loss", "losses/td_loss", "losses/qf*_loss", "losses/loss"],
}


class Translator(EpisodeLogger):
    """The reader of the hooks' pipe (bytes) that writes telemetry.

    `finished` is True once the script has completed, `failure` is the error that ended it.
    """

    def __init__(self, telemetry: Telemetry) -> None:
        super().__init__(telemetry, losses=LOSSES)
        self.finished = False
        self.failure: UpstreamFailed | ConfigError | None = None
        self._lines = LineSplitter()
        self._values: dict[str, float] = {}

    @property
    def final_metrics(self) -> dict[str, float]:
        return {**super().final_metrics, "steps": self.telemetry.last_step}

    def feed(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            for kind, *fields in json.loads(line):
                getattr(self, f"_{kind}")(*fields)
        self._write_values()

    def _scalar(self, tag: str, value: float, step: int | None) -> None:
        at_step = self.telemetry.last_step if step is None else int(step)
        if at_step != self.steps or tag in self._values:
            self._write_values()
        self.steps = at_step
        self._values[tag] = value

    def _write_values(self) -> None:
        if self._values:
            self.library_metrics(self._values)
            self._values = {}

    def _reach(self, step: int) -> None:
        self._write_values()
        self.steps = step

    def _episode(
        self,
        step: int,
        total: float,
        length: int,
        terminated: bool,
        truncated: bool,
        seed: int | None,
        seconds: float,
        environment: int,
    ) -> None:
        self._reach(step)
        self.episode(
            total,
            length,
            terminated=terminated,
            truncated=truncated,
            seconds=seconds,
            environment=environment,
            seed=seed,
        )

    def _progress(self, step: int, rate: float) -> None:
        self._reach(step)
        self.metrics({"steps_per_second": round(rate, 1)})

    def _checkpoint(self, path: str, step: int, episodes: int, metrics: dict[str, float]) -> None:
        self._write_values()
        self.telemetry.checkpoint_saved(path, step=step, episode=episodes, metrics=metrics, format="torch")

    def _loaded(self, path: str, step: int, episodes: int) -> None:
        self.telemetry.checkpoint_loaded(path, step=step, episode=episodes, format="torch")

    def _error(self, error_type: str, message: str, traceback: str) -> None:
        if error_type == ConfigError.__name__:
            self.failure = ConfigError(message)
        else:
            self.failure = UpstreamFailed(message or error_type, error_type, traceback)

    def _dropped(self, count: int) -> None:
        self.telemetry.dropped_lines += count

    def _finished(self) -> None:
        self.finished = True
