"""The mean returns of a curriculum's stages, each over its last episodes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean

from mosaic_contract.codec import decode_line

from mosaic_lab.keeper.events import EPISODE
from mosaic_lab.runs.stages import Segment, Stage
from mosaic_lab.telemetry import JsonlFollower
from mosaic_lab.telemetry.decoding import Health, Message, parse


class RecentReturns:
    """The finite returns of the last ``window`` episodes, of each agent where there are several."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._agents: set[object] = set()
        self._returns: deque[float] = deque()

    def observe(self, message: Message) -> None:
        """Take in the line of an ended episode."""
        if isinstance(message.total_reward, float):  # no infinity
            self._agents.add(message.agent_id)
            self._returns.append(message.total_reward)
            while len(self._returns) > self._window * len(self._agents):
                self._returns.popleft()

    @property
    def mean(self) -> float | None:
        """None before the first episode."""
        return fmean(self._returns) if self._returns else None

    @property
    def full(self) -> bool:
        """Whether there were as many episodes as ``window``."""
        return len(self._returns) >= self._window * max(1, len(self._agents))


def stage_returns(
    telemetry: Path, stages: Sequence[Stage], segments: Iterable[Segment]
) -> list[float | None]:
    """Return the mean return of the last ``window`` episodes of each stage, None for one without episodes.

    ``telemetry`` is the curriculum's, whose lines have the ids of the runs in ``segments``.
    """
    recent = [RecentReturns(stage.window) for stage in stages]
    by_run = {segment.run: recent[segment.stage] for segment in segments}
    for line in JsonlFollower(telemetry).lines():
        message = parse(line, Health())
        if message is None or message.type != EPISODE:
            continue
        if (of_stage := by_run.get(str(decode_line(line).get("run_id")))) is not None:
            of_stage.observe(message)
    return [one.mean for one in recent]
