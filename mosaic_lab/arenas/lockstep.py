"""Lockstep scheduling: all lanes advance one step at a time, except during `Lockstep.step_lane`.

`Lockstep` is the state of a comparison and the actions of its buttons. All methods must be called from the
comparison's thread and return at once; `advance` starts steps that can start.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from mosaic_lab.arenas.lane import Lane, LaneState
from mosaic_lab.errors import MosaicError


class Lockstep:
    """The lanes of a comparison, opened by `open`.

    ``seed`` and ``episode`` (from 0) were set by the last reset.
    """

    def __init__(self, lanes: Sequence[Lane], seeds: Sequence[int]) -> None:
        self.lanes = lanes
        self.seeds = seeds
        self.seed = seeds[0]
        self.episode = 0
        self.speed: float | None = None
        """Steps per second while playing; None: as fast as possible."""
        self.closed = False
        self._rounds: float = 0  # remaining steps of all lanes
        self._playing = False
        self._due = 0.0

    @property
    def mode(self) -> str:
        """The mode: "idle", "playing" or "closed"."""
        return "closed" if self.closed else "playing" if self._playing else "idle"

    @property
    def settled(self) -> bool:
        """Whether no step or reset is running or scheduled."""
        return not self._rounds and not any(lane.busy for lane in self.lanes)

    # ---------------------------------------------------------------- buttons

    def open(self) -> None:
        for lane in self.lanes:
            lane.open(self.seed, self.episode)

    def step(self, count: int) -> None:
        """Step all lanes ``count`` times."""
        self._refuse_if_over()
        self._rounds, self._playing, self._due = count, False, 0.0

    def step_lane(self, lane: Lane, count: int) -> None:
        """Step a single lane ``count`` times. Raises MosaicError if it cannot step."""
        if lane.state not in (LaneState.OPENING, LaneState.READY, LaneState.STEPPING):
            raise MosaicError(f"{lane.label} cannot step: {_why(lane)}")
        ahead = lane.step + (lane.state is LaneState.STEPPING)
        lane.target = max(lane.target, ahead) + count

    def play(self, steps: int | None, speed: float | None) -> None:
        """Step all lanes repeatedly until each has finished or ``steps`` steps have been made."""
        self._refuse_if_over()
        self._rounds, self._playing, self.speed = steps or math.inf, True, speed
        self._due = 0.0

    def pause(self) -> None:
        """Stop after the steps under way."""
        self._rounds, self._playing = 0, False
        for lane in self.lanes:
            if lane.state is not LaneState.OPENING:
                lane.target = 0

    def reset(self, seed: int | None) -> None:
        """Begin another episode in all lanes (default: on the same seed) and stop playing.

        Raises MosaicError if no lane can be reset.
        """
        if not any(lane.resettable for lane in self.lanes):
            raise MosaicError(f"no lane can be reset: {_states(self.lanes)}")
        self.pause()
        self.seed = self.seed if seed is None else seed
        self.episode += 1
        for lane in self.lanes:
            if lane.resettable:
                lane.reset(self.seed, self.episode)

    def next_seed(self) -> int:
        """Reset to the next seed in the list; after the last comes the first."""
        at = self.seeds.index(self.seed) + 1 if self.seed in self.seeds else 0
        self.reset(self.seeds[at % len(self.seeds)])
        return self.seed

    def restart(self, lane: Lane) -> None:
        """Reopen a lane. It then catches up with the others."""
        others = [other.step for other in self.lanes if other is not lane and other.state in _UNDER_WAY]
        lane.open(self.seed, self.episode, min(others, default=0))

    def close(self) -> None:
        """End all lanes. No further actions are possible."""
        self._rounds, self._playing, self.closed = 0, False, True
        for lane in self.lanes:
            lane.stop()

    # ------------------------------------------------------------- its thread

    def advance(self, now: float) -> float | None:
        """Start steps that can start. Return when (monotonic clock) to call this again."""
        waiting = False
        for lane in self.lanes:
            if lane.state is LaneState.READY and lane.step < lane.target:
                lane.go()
            waiting = waiting or lane.busy
        if not self._rounds or waiting:
            return None
        if now < self._due:
            return self._due
        ready = [lane for lane in self.lanes if lane.state is LaneState.READY]
        if ready:
            behind = min(lane.step for lane in ready)
            for lane in ready:
                if lane.step == behind:
                    lane.go()
            self._rounds -= 1
            self._due = self._next(now)
        else:
            self._rounds = 0
        if not self._rounds:
            self._playing = False
        return None

    def _next(self, now: float) -> float:
        """Return the time of the next step: a steady beat that does not make up for missed steps."""
        if not self._playing or not self.speed:
            return 0.0
        period = 1 / self.speed
        return (self._due if now - self._due < period else now) + period

    def _refuse_if_over(self) -> None:
        if not any(lane.busy or lane.state is LaneState.READY for lane in self.lanes):
            raise MosaicError(
                f"no lane can step: {_states(self.lanes)}. cmp.reset() or "
                "cmp.next_seed() begins another episode, cmp.restart(lane) opens a failed lane again"
            )


_UNDER_WAY = (LaneState.READY, LaneState.STEPPING)


def _states(lanes: Sequence[Lane]) -> str:
    return "; ".join(f"{lane.label}: {_why(lane)}" for lane in lanes)


def _why(lane: Lane) -> str:
    reason = lane.reason.splitlines()[0] if lane.reason else ""
    return f"{lane.state} ({reason})" if reason else str(lane.state)
