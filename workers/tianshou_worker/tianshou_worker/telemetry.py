"""What happens in the environments and in upstream's trainer, turned into telemetry.

Crosses the boundary: metrics under upstream's names (`update/…`, `training/…`) and ours, episodes. Upstream's
names also go to TensorBoard files.
"""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path
from typing import Any

from mosaic_contract import Telemetry
from tianshou.utils import TensorboardLogger
from torch.utils.tensorboard import SummaryWriter

_RECENT = 20  # episodes
_OFF_POLICY_STEPS = 100  # from one update that is told to the next


class Journal:
    """Counts steps and tells of episodes and speed. `steps` counts over all environments, and from where a
    resumed training goes on.
    """

    def __init__(self, telemetry: Telemetry, steps: int) -> None:
        self.telemetry = telemetry
        self.steps = steps
        self.latest: dict[str, float] = {}
        self.rate: float | None = None
        self._returns: deque[float] = deque(maxlen=_RECENT)
        self._since, self._counted = time.monotonic(), steps

    def step(self) -> None:
        """One step of one environment is done."""
        self.steps += 1
        now = time.monotonic()
        if now - self._since >= 1.0:
            self.rate = (self.steps - self._counted) / (now - self._since)
            self._since, self._counted = now, self.steps
            self.metrics({"steps_per_second": round(self.rate, 1)})

    def episode(
        self, total: float, length: int, *, terminated: bool, truncated: bool, seconds: float, index: int
    ) -> None:
        """One episode of the environment with this index is over."""
        self._returns.append(total)
        self.telemetry.episode(
            total_reward=total,
            steps=length,
            terminated=terminated,
            truncated=truncated,
            duration_seconds=seconds,
            metadata={"environment": index},
            step=self.steps,
        )
        self.metrics({"episode_return": total, "episode_length": float(length)})

    def metrics(self, values: dict[str, float]) -> None:
        self.telemetry.metrics(self.steps, values)
        self.latest.update(values)

    @property
    def mean_return(self) -> dict[str, float]:
        """Of the last 20 episodes; nothing before the first has ended."""
        returns = self._returns
        return {"mean_episode_return": sum(returns) / len(returns)} if returns else {}

    @property
    def final_metrics(self) -> dict[str, float]:
        return {"steps": self.steps, **self.mean_return, **self.latest}


class Log(TensorboardLogger):
    """Upstream's logger: the same names, at the steps of the journal. Its `info` at the end is left out: best
    scores of evaluations, and there are none.
    """

    def __init__(self, journal: Journal, folder: Path, *, on_policy: bool, collection: int) -> None:
        steps = 1 if on_policy else _OFF_POLICY_STEPS
        super().__init__(
            SummaryWriter(str(folder)),
            training_interval=steps,
            update_interval=max(1, steps // collection),  # counted in collections
            write_flush=False,
        )
        self._journal = journal

    def write(self, step_type: str, step: int, data: dict[str, Any]) -> None:
        scope = step_type.partition("/")[0]
        if scope == "info":
            return
        values = {f"{scope}/{name}": float(value) for name, value in data.items()}
        self._journal.metrics(values)
        for name, value in values.items():
            self.writer.add_scalar(name, value, self._journal.steps)
