"""Follow the TensorBoard files of a script while they grow.

Tags keep their names; tags of files outside the first file's folder are prefixed with their own folder. A
library's tag for a metric with a common name is also sent under that name, so that one chart can compare runs
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
"""By library: its tags of metrics with a common name."""

COMMON = {tag: name for tags in LIBRARIES.values() for tag, name in tags.items()}

_MOST_FILES = 256
_MOST_EVENTS = 20_000  # per file and read, so that the script's output is not delayed

log = logging.getLogger(__name__)


class EventFileReader:
    """The event files below ``folder`` that were written to after this object was created."""

    def __init__(self, folder: str, telemetry: Telemetry) -> None:
        self._folder = Path(folder)
        self._telemetry = telemetry
        self._since = time.time() - 1.0  # file systems round timestamps
        self._loaders: dict[Path, Any] = {}
        self._first: Path | None = None

    @property
    def found(self) -> bool:
        """Whether any event file has been found."""
        return bool(self._loaders)

    def read(self) -> bool:
        """Send new events. Return whether more are available."""
        for path in self._new_files():
            from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

            try:
                self._loaders[path] = LegacyEventFileLoader(str(path))
            except Exception as error:  # the file was removed
                log.warning("%s is not followed: %s", path, error)
                self._loaders[path] = None
                continue
            self._first = self._first or path.parent
        more = False
        for path, loader in self._loaders.items():
            try:
                more |= self._send(loader, self._prefix(path.parent))
            except Exception as error:  # a damaged file must not affect others
                log.warning("%s is not followed any further: %s", path, error)
                self._loaders[path] = None
        return more

    def _new_files(self) -> list[Path]:
        paths = []
        for folder, _, names in os.walk(self._folder):
            for name in names:
                path = Path(folder) / name
                if "tfevents" in name and path not in self._loaders:
                    with suppress(OSError):
                        if path.stat().st_mtime >= self._since:
                            paths.append(path)
        return sorted(paths)[: _MOST_FILES - len(self._loaders)]

    def _prefix(self, folder: Path) -> str:
        if self._first is None or folder == self._first:
            return ""
        base = self._first if folder.is_relative_to(self._first) else self._folder
        return f"{folder.relative_to(base).as_posix()}/"

    def _send(self, loader: Any, prefix: str) -> bool:
        """Send events; return whether more remain after this batch."""
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
    """Yield the potentially numeric values of an event, in both versions of the format."""
    from tensorboard.util import tensor_util

    for value in event.summary.value:
        kind = value.WhichOneof("value")
        if kind == "simple_value":
            yield value.tag, float(value.simple_value)
        elif kind == "tensor" and not value.tensor.string_val:
            try:
                array = tensor_util.make_ndarray(value.tensor)
            except TypeError as error:  # a numeric type that NumPy does not support
                yield value.tag, error
                continue
            if array.size == 1:  # else a histogram or an image
                yield value.tag, array
