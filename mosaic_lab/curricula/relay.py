"""The relay of reports from a stage's run to the curriculum's own telemetry.

Lines keep their run's id and their time. Steps that are trained again after a stop, because the checkpoint
is older, have been reported before and are omitted.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from mosaic_contract.codec import decode_line, encode_line
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.keeper.events import CHECKPOINT_SAVED, EPISODE, HEARTBEAT, METRICS
from mosaic_lab.runs import Run
from mosaic_lab.runs.curriculum import RecentReturns
from mosaic_lab.telemetry import JsonlFollower
from mosaic_lab.telemetry.progress import EpisodeCount
from mosaic_lab.telemetry.stream import Health, Message, decode_message, parse


class RelayProgress:
    """The lines relayed to a curriculum's telemetry so far: ``lines`` by run id, and the number of
    ``episodes``."""

    def __init__(self, telemetry: Path) -> None:
        self.lines: Counter[str] = Counter()
        self.episodes = EpisodeCount()
        for line in JsonlFollower(telemetry).lines():
            if (message := parse(line, Health())) is not None:
                self.lines[str(decode_line(line).get("run_id"))] += 1
                if message.type == EPISODE:
                    self.episodes.observe(message)


class Relay:
    """Relays the reports of ``run`` after the step ``reported``, without lines already ``passed``.

    ``folder`` is the curriculum's folder, ``window`` the number of episodes for `mean_return`.
    """

    def __init__(
        self,
        run: Run,
        folder: Path,
        telemetry: Telemetry,
        passed: RelayProgress,
        *,
        reported: int,
        window: int,
    ) -> None:
        self.saved = False
        """Whether the run has saved a checkpoint."""
        self._run = run
        self._folder = folder
        self._telemetry = telemetry
        self._reported = reported
        self._skip = passed.lines[run.id]
        self._episodes = passed.episodes
        self._recent = RecentReturns(window)
        self._follower = JsonlFollower(run.folder.telemetry_path)
        telemetry.advance(reported)

    def read(self) -> None:
        """Relay new lines. Raises OSError if the run's telemetry cannot be read."""
        behind = True
        while behind:
            lines = b"".join(self._passed(self._follower.poll()))
            if lines:
                self._telemetry.steps(lines)
            behind = self._follower.behind
        self._follower.close()

    @property
    def mean_return(self) -> float | None:
        """The mean return of the last ``window`` episodes, per agent if there are several; None with fewer
        episodes."""
        return self._recent.mean if self._recent.full else None

    def _passed(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        for line in lines:
            message = parse(line, Health())
            if message is None or (encoded := self._encoded(line, message)) is None:
                continue
            if self._skip:
                self._skip -= 1
                continue
            if message.type == EPISODE:
                self._episodes.observe(message)
                self._telemetry.episodes = self._episodes.ended
            yield encoded

    def _encoded(self, line: bytes, message: Message) -> bytes | None:
        """Process a message, and return the line to relay; None if it is not relayed."""
        step = message.payload.step if message.payload is not None else message.step
        if message.event not in (METRICS, HEARTBEAT, CHECKPOINT_SAVED) and message.type != EPISODE:
            return None
        self._telemetry.advance(step or 0)
        if message.event == CHECKPOINT_SAVED:
            self.saved = True
            return self._placed(line)
        if message.type == EPISODE:
            self._recent.observe(message)
        if message.event == HEARTBEAT:
            return self._furthest(line)
        again = step is not None and step <= self._reported
        return None if again else line + b"\n"

    def _furthest(self, line: bytes) -> bytes | None:
        """Return a heartbeat with the counts of the curriculum, because each worker counts from 0."""
        message = decode_message(line, HEARTBEAT)
        if message is None:
            return None
        counts = {"step": self._telemetry.last_step, "episode": self._telemetry.episodes}
        return encode_line({**message, "payload": {**message["payload"], **counts}})

    def _placed(self, line: bytes) -> bytes | None:
        """Return the report of a checkpoint with its path relative to the curriculum's folder, so that the
        run store can be moved."""
        message = decode_message(line, CHECKPOINT_SAVED)
        if message is None:
            return None
        path = self._run.folder.placed(str(message["payload"]["checkpoint_path"]))
        message["payload"]["checkpoint_path"] = os.path.relpath(path, self._folder)
        return encode_line(message)
