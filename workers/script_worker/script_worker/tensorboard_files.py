"""TensorBoard files that a script writes, followed while they grow.

Tags are kept; tags of files outside the first file's folder are prefixed with their own folder. A library's
tag for a metric that has a common name here is also sent under that name, so that one chart can overlay runs
of different libraries.
"""

from __future__ import annotations

import logging
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Iterator

from mosaic_contract import Telemetry

LIBRARIES = {
    "CleanRL": {
        "charts/episodic_return": "episode_return",
        "charts/episodic_length": "episode_length",
        "charts/SPS": "steps_per_second",
        "losses/policy_loss": "policy_loss",
        "losses/actor_loss": "policy_loss",
        "losses/value_loss": "value_loss",
        "losses/td_loss": "value_loss",
        "losses/qf_loss": "value_loss",
    },
    "CleanRL 0.4": {"charts/episode_reward": "episode_return", "charts/sps": "steps_per_second"},
    "Stable-Baselines3": {
        "rollout/ep_rew_mean": "episode_return",
        "rollout/ep_len_mean": "episode_length",
        "time/fps": "steps_per_second",
        "train/policy_gradient_loss": "policy_loss",
        "train/policy_loss": "policy_loss",
        "train/actor_loss": "policy_loss",
        "train/value_loss": "value_loss",
        "train/critic_loss": "value_loss",
    },
    "Tianshou 1": {"train/returns_stat/mean": "episode_return", "train/lens_stat/mean": "episode_length"},
    "Tianshou 2": {
        "training/returns_stat/mean": "episode_return",
        "training/lens_stat/mean": "episode_length",
        "update/actor_loss": "policy_loss",
        "update/actor_loss/mean": "policy_loss",
        "update/vf_loss/mean": "value_loss",
        "update/critic_loss": "value_loss",
    },
    "RLlib": {
        "env_runners/episode_return_mean": "episode_return",
        "env_runners/episode_len_mean": "episode_length",
        "learners/default_policy/policy_loss": "policy_loss",
        "learners/default_policy/vf_loss": "value_loss",
    },
    "RLlib under Tune": {
        "ray/tune/env_runners/episode_return_mean": "episode_return",
        "ray/tune/env_runners/episode_len_mean": "episode_length",
    },
}
"""By library: its tags of what has a common name here."""

COMMON = {tag: name for tags in LIBRARIES.values() for tag, name in tags.items()}

_MOST_FILES = 256
_MOST_EVENTS = 20_000  # of one file at a time, so that lines of the script are not kept waiting

log = logging.getLogger(__name__)


class EventFileReader:
    """The event files below ``folder`` that have been written to since this object was made."""

    def __init__(self, folder: str, telemetry: Telemetry) -> None:
        self._folder = Path(folder)
        self._telemetry = telemetry
        self._since = time.time() - 1.0  # file systems round
        self._loaders: dict[Path, Any] = {}
        self._first: Path | None = None

    @property
    def found(self) -> bool:
        """True once there was an event file."""
        return bool(self._loaders)

    def read(self) -> bool:
        """Send what is new. Whether there is more of it already."""
        for path in self._new_files():
            from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

            try:
                self._loaders[path] = LegacyEventFileLoader(str(path))
            except Exception as error:  # it is gone again
                log.warning("%s is not followed: %s", path, error)
                self._loaders[path] = None
                continue
            self._first = self._first or path.parent
        more = False
        for path, loader in self._loaders.items():
            try:
                more |= self._send(loader, self._prefix(path.parent))
            except Exception as error:  # a broken file costs its own numbers only
                log.warning("%s is not followed any further: %s", path, error)
                self._loaders[path] = None
        return more

    def _new_files(self) -> list[Path]:
        found = []
        for folder, _, names in os.walk(self._folder):
            for name in names:
                path = Path(folder) / name
                if "tfevents" in name and path not in self._loaders:
                    with suppress(OSError):
                        if path.stat().st_mtime >= self._since:
                            found.append(path)
        return sorted(found)[: _MOST_FILES - len(self._loaders)]

    def _prefix(self, folder: Path) -> str:
        if self._first is None or folder == self._first:
            return ""
        base = self._first if folder.is_relative_to(self._first) else self._folder
        return f"{folder.relative_to(base).as_posix()}/"

    def _send(self, loader: Any, prefix: str) -> bool:
        """Send events; return whether more remain than are sent at once."""
        if loader is None:
            return False
        step, count = 0, 0
        values: dict[str, Any] = {}
        for count, event in enumerate(loader.Load(), 1):
            for tag, value in _scalars(event):
                if event.step != step and values:
                    self._telemetry.metrics(step, values)
                    values = {}
                step = event.step
                values[prefix + tag] = value
                if not prefix and tag in COMMON:
                    values[COMMON[tag]] = value
            if count >= _MOST_EVENTS:
                break
        if values:
            self._telemetry.metrics(step, values)
        return count >= _MOST_EVENTS


def _scalars(event: Any) -> Iterator[tuple[str, Any]]:
    """The values in one event that may be numbers, of both generations of the format."""
    from tensorboard.util import tensor_util

    for value in event.summary.value:
        kind = value.WhichOneof("value")
        if kind == "simple_value":
            yield value.tag, float(value.simple_value)
        elif kind == "tensor" and not value.tensor.string_val:
            try:
                array = tensor_util.make_ndarray(value.tensor)
            except TypeError as error:  # a type of numbers that NumPy does not have
                yield value.tag, error
                continue
            if array.size == 1:  # else a histogram or a picture
                yield value.tag, array
