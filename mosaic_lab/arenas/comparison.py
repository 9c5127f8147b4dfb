"""A comparison as users know it: everything its buttons do, as methods.

Methods may be called from any thread, none of them waits without a deadline, and interrupting one leaves the
comparison usable. Its processes end with it, with this kernel, and when it is garbage-collected.
"""

from __future__ import annotations

import math
import operator
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mosaic_lab.arenas.arena_process import CLOSE_SECONDS
from mosaic_lab.arenas.arena_session import OPEN_SECONDS
from mosaic_lab.arenas.driver import Driver
from mosaic_lab.arenas.lane import Lane, LaneState
from mosaic_lab.arenas.lockstep import Lockstep
from mosaic_lab.arenas.request_checks import check_seed
from mosaic_lab.arenas.setup import ArenaSetup
from mosaic_lab.arenas.snapshot import snapshot
from mosaic_lab.arenas.tables import episode_rows, results_table, steps_table
from mosaic_lab.errors import ConfigurationError, RunFailed, warn_user
from mosaic_lab.policies import refusals_text
from mosaic_lab.validation import checked_methods

if TYPE_CHECKING:
    import pandas as pd

STEP_SECONDS = 60.0
_RESET_MARGIN = 10.0  # seconds after which a lane that does not reset has failed by itself
_CLOSE_SECONDS = CLOSE_SECONDS + 6.0


@checked_methods("cmp")
class Comparison:
    """Lanes side by side on the same seeds, in lockstep. Made by `mosaic_lab.Lab.compare`.

    ``timeout`` of any method: seconds to wait until it is done, after which RunTimeout is raised and it goes
    on all the same; 0 does not wait. A lane that fails beside others that continue is a RuntimeWarning, once.
    """

    def __init__(self, setup: ArenaSetup) -> None:
        self._plan = plan = setup.plan
        self._warned: dict[int, str] = {}  # the reason of each lane's failure that a warning gave
        self._driver = driver = Driver()
        lanes = [Lane(index, label, setup, driver.post) for index, label in enumerate(plan.lanes)]
        self._lockstep = Lockstep(lanes, plan.seeds)
        driver.start(self._lockstep)
        self._finalizer = weakref.finalize(self, driver.abandon)
        self._finalizer.atexit = False  # the driver does that

    # ------------------------------------------------------------- attributes

    @property
    def lanes(self) -> list[Lane]:
        """The lanes, in order: read their ``label``, ``state``, ``reason``, ``step``, ``folder`` …"""
        return list(self._lockstep.lanes)

    @property
    def seeds(self) -> list[int]:
        return list(self._lockstep.seeds)

    @property
    def seed(self) -> int:
        """The seed of the episode that the lanes are in."""
        return self._lockstep.seed

    @property
    def mode(self) -> str:
        """ "idle", "playing" or "closed"."""
        return self._lockstep.mode

    def view(self) -> dict[str, Any]:
        """Return everything there is to show now, as plain data; see `mosaic_lab.arenas.snapshot`."""
        with self._driver.lock:
            return snapshot(self._lockstep, self._plan)

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back after changes, at most 30 times a second; return a function that ends that.

        It is called in the comparison's thread: be quick, and do not wait for the comparison in it.
        """
        return self._driver.subscribe(callback)

    def results(self) -> pd.DataFrame:
        """One row for each finished episode of each lane.

        Columns: lane, operator, category, seed, episode_index (from 0, over the whole comparison), return
        (the sum over agents), length (steps), terminated, truncated, forfeit (the agent that gave up the
        episode, or None), success (where the environment reports it), faults (unusable or late answers),
        seconds; with several agents the return of each, as "return <agent>".
        """
        with self._driver.lock:
            rows = episode_rows(self._lockstep.lanes)
        return results_table(rows)

    def steps(self, lane: int | str | Lane) -> pd.DataFrame:
        """Every step of a lane: episode_index, step_index, agent_id, action, reward, terminated, truncated,
        episode_seed. Read from its telemetry.
        """
        return steps_table(self._lane(lane).folders)

    # ---------------------------------------------------------------- buttons

    def step(self, n: int = 1, lane: int | str | Lane | None = None, timeout: float = STEP_SECONDS) -> None:
        """Make ``n`` steps with all lanes, or with one alone; lanes that are behind go first.

        Interrupting it makes no further steps. Raises MosaicError when no lane can step, RunFailed when by
        its end all of them have failed.
        """
        count = _count("n", n)
        try:
            if lane is None:
                self._settle(lambda: self._lockstep.step(count), timeout, f"step({n})")
            else:
                one = self._lane(lane)
                self._driver.call(
                    lambda: self._lockstep.step_lane(one, count),
                    lambda: not one.busy,
                    timeout,
                    f"step({n}, lane={one.label!r})",
                )
                self._report_failures()
        except KeyboardInterrupt:
            self._driver.post(self._lockstep.pause)
            raise

    def play(self, steps: int | None = None, speed: float | None = None) -> None:
        """Step all lanes until every one has finished its episode, or for ``steps`` steps; returns at once.

        ``speed``: steps a second, None for as fast as possible. Called while it plays it changes both.
        """
        count = None if steps is None else _count("steps", steps)
        if speed is not None and not (isinstance(speed, int | float) and 0 < speed < math.inf):
            raise ConfigurationError(
                f"speed={speed!r}: give steps a second, more than 0, or None for no limit"
            )
        self._driver.call(lambda: self._lockstep.play(count, speed), None, 0, "play()")

    def pause(self) -> None:
        """Begin no further step; returns at once. A step that waits for an operator still waits."""
        self._driver.call(self._lockstep.pause, None, 0, "pause()")

    def wait(self, timeout: float | None = None) -> None:
        """Wait until nothing is under way: not playing, no lane stepping, opening or resetting.

        Raises RunTimeout after ``timeout`` seconds (None: no limit), RunFailed when all lanes have failed.
        """
        limit = math.inf if timeout is None else max(timeout, 1e-3)
        self._settle(lambda: None, limit, "wait()")

    def reset(self, seed: int | None = None, timeout: float | None = None) -> None:
        """Begin another episode in all lanes, on ``seed`` (default: the same as before); stops playing.

        ``timeout`` None: until every lane has, or has failed by taking longer than ``step_timeout``. A lane
        whose arena has died stays failed: `restart` it.
        """
        number = None if seed is None else check_seed(seed)
        limit = self._reset_seconds if timeout is None else timeout
        self._settle(lambda: self._lockstep.reset(number), limit, f"reset({seed})")

    def next_seed(self, timeout: float | None = None) -> int:
        """`reset` to the next seed of the list, after the last to the first; returns it."""
        limit = self._reset_seconds if timeout is None else timeout
        self._settle(self._lockstep.next_seed, limit, "next_seed()")
        return self.seed

    def restart(self, lane: int | str | Lane, timeout: float | None = None) -> None:
        """Open a lane again, in a new folder; it goes by itself to the step where the others are.

        ``timeout`` None: as long as a lane may take. Raises RunFailed when it fails again.
        """
        one = self._lane(lane)
        limit = self._open_seconds if timeout is None else timeout
        self._driver.call(
            lambda: self._lockstep.restart(one), lambda: not one.busy, limit, f"restart({one.label!r})"
        )
        if limit > 0 and one.state is LaneState.FAILED:
            raise RunFailed(_failure_report([one]))

    def act(self, lane: int | str | Lane, agent: str, action: Any) -> bool:
        """Take a person's action for ``agent`` in ``lane``; return whether one was due.

        An action may be its name where actions have names ("e2e4" in chess, "push left" in CartPole). Where
        the person plays in real time the action is held until another comes; None releases it. Raises
        ConfigurationError where no person acts for the agent, or the action cannot be played now.
        """
        one = self._lane(lane)
        return bool(self._driver.call(lambda: one.act(agent, action), None, 0, "act()"))

    def stop(self, timeout: float = _CLOSE_SECONDS) -> None:
        """End all lanes and their processes; the results and the last state stay. Any number of times."""
        self._finalizer.detach()
        self._driver.close(timeout)

    close = stop

    # ----------------------------------------------------------------- inside

    @property
    def _reset_seconds(self) -> float:
        return self._plan.step_timeout + _RESET_MARGIN

    @property
    def _open_seconds(self) -> float:
        return 2 * OPEN_SECONDS + self._reset_seconds

    def open(self) -> None:
        """Open all lanes and wait for them. Raises what `mosaic_lab.Lab.compare` does, having ended them."""
        try:
            settled = lambda: self._lockstep.settled  # noqa: E731
            self._driver.call(self._lockstep.open, settled, self._open_seconds, "opening the lanes")
            self._raise_misfits()
            self._report_failures()
        except BaseException:
            self.stop()
            raise

    def _settle(self, begin: Callable[[], Any], timeout: float, what: str) -> None:
        """Do something and wait until nothing is under way; report the lanes that have failed."""
        self._driver.call(begin, lambda: self._lockstep.settled, timeout, what)
        self._report_failures()

    def _raise_misfits(self) -> None:
        """Raise ConfigurationError for operators that do not fit the agents."""
        refused = {lane.label: lane.misfit for lane in self._lockstep.lanes if lane.misfit is not None}
        if refused:
            raise ConfigurationError(refusals_text(refused))

    def _report_failures(self) -> None:
        lanes = self._lockstep.lanes
        if all(lane.state is LaneState.FAILED for lane in lanes):
            if all(lane.refused for lane in lanes) and len({lane.reason for lane in lanes}) == 1:
                raise ConfigurationError(lanes[0].reason)
            raise RunFailed(_failure_report(lanes))
        for lane in lanes:
            if lane.state is LaneState.FAILED and lane.reason != self._warned.get(lane.index):
                self._warned[lane.index] = lane.reason
                then = f"cmp.restart({lane.label!r}) opens it again"
                warn_user(f"{lane.label} has failed: {lane.reason}; {then}", RuntimeWarning)

    def _lane(self, which: int | str | Lane) -> Lane:
        lanes = self._lockstep.lanes
        if isinstance(which, Lane) and which in lanes:
            return which
        for lane in lanes:
            if which == lane.label or (which == lane.index and not isinstance(which, bool)):
                return lane
        known = ", ".join(f"{lane.index} ({lane.label!r})" for lane in lanes)
        raise ConfigurationError(f"there is no lane {which!r} here: there are {known}")

    def __repr__(self) -> str:
        lanes = ", ".join(f"{lane.label} {lane.state} at {lane.step}" for lane in self._lockstep.lanes)
        return f"<Comparison of {self._plan.env_id}, seed {self.seed}, {self.mode}: {lanes}>"


def _count(name: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise ConfigurationError(f"{name}={value!r}: give a whole number of steps, 1 or more")
    return number


def _failure_report(lanes: Sequence[Lane]) -> str:
    """Return why lanes have failed; lanes with the same reason share one entry."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for lane in lanes:
        reasons.setdefault((lane.reason, lane.log), []).append(lane.label)
    texts = [
        f"{', '.join(labels)}: {reason}" + (f"\n{log}" if log else "")
        for (reason, log), labels in reasons.items()
    ]
    return "\n\n".join(["every lane has failed" if len(lanes) > 1 else "the lane has failed", *texts])
