"""`Comparison`, the methods behind a comparison's buttons, and its start.

Methods can be called from any thread, never wait without a deadline, and leave the comparison usable when
interrupted. Its processes end with it, with this kernel, or when it is garbage-collected.
"""

from __future__ import annotations

import math
import os
import re
import secrets
import shutil
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_lab.arenas.arena_client import OPEN_SECONDS, Liveness
from mosaic_lab.arenas.arena_process import CLOSE_SECONDS
from mosaic_lab.arenas.arena_workers import environment_worker, operator_commands, with_provider
from mosaic_lab.arenas.datasets import RecordedEpisode, warn_of_size, write_dataset
from mosaic_lab.arenas.driver import Driver, Lockstep
from mosaic_lab.arenas.lane import Lane, LaneState
from mosaic_lab.arenas.plan import ArenaPlan, ArenaSetup, passed_to
from mosaic_lab.arenas.planning import check_seed, plan_arenas
from mosaic_lab.arenas.replays import Replay, Replays
from mosaic_lab.arenas.replays.played_episode import lane_episode
from mosaic_lab.arenas.replays.replaying import Progress, replay_episode
from mosaic_lab.arenas.request import CompareRequest
from mosaic_lab.arenas.snapshot import snapshot
from mosaic_lab.arenas.tables import EPISODES, episode_rows, steps_table, table_of
from mosaic_lab.arenas.transcript import DESCRIPTION, Transcript, comparison_transcript
from mosaic_lab.errors import ConfigurationError, MosaicError, RunFailed, warn_user
from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.keeper.run_store import COMPARISONS, comparison_lives, write_json
from mosaic_lab.keeper.warm_workers import WarmWorkers
from mosaic_lab.policies import refusals_text
from mosaic_lab.runs.provenance import provenance
from mosaic_lab.runs.train_request import whole_number
from mosaic_lab.validation import Problems, checked_methods
from mosaic_lab.workers import WorkerEnvironment

if TYPE_CHECKING:
    import pandas as pd


STEP_SECONDS = 60.0
_RESET_MARGIN = 5.0  # seconds beyond a step's limit, after which a lane that has not reset has failed
_CLOSE_SECONDS = CLOSE_SECONDS + 6.0
MAX_KEPT = 20
"""Number of ended comparisons whose folders are kept in a store."""
_NAME = re.compile(r"\d{8}-\d{6}-.+-[0-9a-f]{4}")


@checked_methods("cmp")
class Comparison:
    """Lanes side by side on the same seeds, in lockstep, made by `mosaic_lab.Lab.compare`.

    The ``timeout`` of each method is the number of seconds to wait for the action to finish. RunTimeout is
    raised after that, while the action continues; 0 does not wait. If a lane fails while others continue, a
    RuntimeWarning is issued once.
    """

    def __init__(self, setup: ArenaSetup) -> None:
        self._plan = plan = setup.plan
        self._folder = setup.folder
        self._warned: dict[int, str] = {}  # the reason given in the last warning about each lane
        self._driver = driver = Driver()
        lanes = [
            Lane(index, label, setup, driver.loop, driver.post) for index, label in enumerate(plan.lanes)
        ]
        self._lockstep = Lockstep(lanes, plan.seeds)
        driver.start(self._lockstep)
        self._finalizer = weakref.finalize(self, driver.abandon)
        self._finalizer.atexit = False  # the driver does that

    # ------------------------------------------------------------- attributes

    @property
    def lanes(self) -> list[Lane]:
        """The lanes in order, with ``label``, ``state``, ``reason``, ``step``, ``folder`` and more."""
        return list(self._lockstep.lanes)

    @property
    def seeds(self) -> list[int]:
        return list(self._lockstep.seeds)

    @property
    def seed(self) -> int:
        """The seed of the current episode."""
        return self._lockstep.seed

    @property
    def mode(self) -> str:
        """ "idle", "playing" or "closed"."""
        return self._lockstep.mode

    def view(self) -> dict[str, Any]:
        """Return a snapshot of everything to display as plain data; see `mosaic_lab.arenas.snapshot`."""
        with self._driver.lock:
            return snapshot(self._lockstep, self._plan)

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback`` after changes, at most 30 times per second. Return a function that ends this.

        The callback runs in the comparison's thread: it must be fast and must not wait for the comparison.
        """
        return self._driver.subscribe(callback)

    def results(self) -> pd.DataFrame:
        """Return a table with a row for each finished episode of each lane.

        Columns: lane, operator (the names of its operators), category, seed, episode_index (from 0, over the
        whole comparison), return (the sum over agents), length (steps), terminated, truncated, forfeit (the
        agent that forfeited the episode, or None), success (if the environment reports it), faults (unusable
        or late answers), seconds and, with several agents, each agent's return as "return <agent>".
        """
        with self._driver.lock:
            rows = episode_rows(self._lockstep.lanes)
        return table_of(rows, EPISODES)

    def steps(self, lane: int | str | Lane) -> pd.DataFrame:
        """Return a table of every step of a lane, read from its telemetry.

        Columns: episode_index, step_index, agent_id, action, reward, terminated, truncated, episode_seed,
        observation_hash (CRC-32 of the observation on which the agent acted), fault (why its operator's own
        answer came late or was not played, or None) and end_hash (CRC-32 of the observation after the last
        step).
        """
        return steps_table(self._lane(lane).folders)

    def replay(
        self,
        lane: int | str | Lane | list[int | str | Lane] | tuple[int | str | Lane, ...] | None = None,
        seed: int | None = None,
        episode_index: int | None = None,
        progress: Progress | None = None,
    ) -> Replay | Replays:
        """Replay the newest episode on ``seed`` (default: the current seed), finished or not, or the one with
        an ``episode_index`` of `results`, from its recorded actions; a notebook shows it as a player.

        By default, all lanes are replayed side by side. A list, or several lanes, gives `Replays`, with the
        first step in which they differ. The lanes themselves are not affected. ``progress`` is called with
        the number of steps played and the total; by default, a longer replay shows a line, as `Run.wait`
        does.

        Raises ConfigurationError for a lane without such an episode, and MosaicError if its actions were not
        recorded or the environment can no longer be made.
        """
        number = self.seed if seed is None else check_seed(seed)
        lanes = self.lanes if lane is None else lane if isinstance(lane, list | tuple) else [lane]
        chosen = list(dict.fromkeys(map(self._lane, lanes)))
        if not chosen:
            raise ConfigurationError(f"lane={lane!r}: give one lane or more, or None for all")
        episodes = [lane_episode(chosen_lane, number, episode_index) for chosen_lane in chosen]
        replays = [replay_episode(self._plan, episode, progress=progress) for episode in episodes]
        return replays[0] if len(replays) == 1 and lanes is not lane else Replays(replays)

    def transcript(
        self, operator: str | None = None, seed: int | None = None, fault: str | None = None, text: str = ""
    ) -> Transcript:
        """Return a transcript of the exchanges with language models in all episodes. ``operator`` is a lane's
        name; see `mosaic_lab.evaluation.Evaluation.transcript`."""
        if operator is not None:
            operator = self._lane(operator).label

        def replay(lane: str, number: int, index: int, _: object, progress: Progress) -> Replay | Replays:
            return self.replay(lane, number, index, progress)

        transcript = replace(comparison_transcript(self._folder), replay=replay)
        return transcript.select(operator, seed, fault, text)

    def dataset(self, path: Path | str, operators: str | Iterable[str] | None = None) -> Path:
        """Write the finished episodes, played with ``record="observations"``, as a Minari dataset.

        Return its folder: ``path``, with a version appended to its name if it has none ("played-v0").
        ``operators`` are names of lanes; default: all. A dataset written there before is replaced. See
        `mosaic_lab.evaluation.Evaluation.dataset`.
        """
        return write_dataset(path, self.recorded_episodes(), operators, {"start": self._plan.request.start})

    def recorded_episodes(self) -> list[RecordedEpisode]:
        """Return the ended episodes, with the files of their observations if recorded."""
        with self._driver.lock:
            ended = [
                (lane.label, {str(spec.category) for spec in lane.mapping.values()}, episode)
                for lane in self._lockstep.lanes
                for episode in lane.rows
            ]
        return [
            RecordedEpisode.of(episode, label, ", ".join(categories), episode["folder"])
            for label, categories, episode in ended
        ]

    # ---------------------------------------------------------------- buttons

    def step(self, n: int = 1, lane: int | str | Lane | None = None, timeout: float = STEP_SECONDS) -> None:
        """Step all lanes, or a single one, ``n`` times; lanes that lag behind step first.

        An interrupt starts no further step. Raises MosaicError if no lane can step, and RunFailed if all
        lanes have failed by the end.
        """
        count = whole_number("n", n, 1)
        try:
            if lane is None:
                self._settle(lambda: self._lockstep.step(count), timeout, f"step({n})")
            else:
                chosen = self._lane(lane)
                self._driver.call(
                    lambda: self._lockstep.step_lane(chosen, count),
                    lambda: not chosen.busy,
                    timeout,
                    f"step({n}, lane={chosen.label!r})",
                )
                self._report_failures()
        except KeyboardInterrupt:
            self._driver.post(self._lockstep.pause)
            raise

    def play(self, steps: int | None = None, speed: float | None = None) -> None:
        """Step all lanes until each has finished its episode, or for ``steps`` steps. Return at once.

        ``speed`` is in steps per second; None is as fast as possible. A call while playing changes both.
        """
        count = None if steps is None else whole_number("steps", steps, 1)
        if speed is not None and not (isinstance(speed, int | float) and 0 < speed < math.inf):
            raise ConfigurationError(
                f"speed={speed!r}: must be a number of steps per second > 0, or None for no limit"
            )
        self._driver.call(lambda: self._lockstep.play(count, speed), None, 0, "play()")

    def pause(self) -> None:
        """Start no further step, and return at once; a step that waits for an operator continues to wait."""
        self._driver.call(self._lockstep.pause, None, 0, "pause()")

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the comparison is idle: not playing, and no lane stepping, opening or resetting. Raises
        RunTimeout after ``timeout`` seconds (None: no limit), and RunFailed if all lanes have failed."""
        limit = math.inf if timeout is None else max(timeout, 1e-3)
        self._settle(lambda: None, limit, "wait()")

    def reset(self, seed: int | None = None, timeout: float | None = None) -> None:
        """Stop playing and start a new episode in all lanes, on ``seed`` (default: the current seed).

        With ``timeout=None``, waits until every lane has been reset or has failed by exceeding
        ``step_timeout``. A lane whose arena has died stays failed; see `restart`.
        """
        number = None if seed is None else check_seed(seed)
        limit = self._reset_seconds if timeout is None else timeout
        self._settle(lambda: self._lockstep.reset(number), limit, f"reset({seed})")

    def next_seed(self, timeout: float | None = None) -> int:
        """`reset` to the next seed in the list, starting over after the last. Return the seed."""
        limit = self._reset_seconds if timeout is None else timeout
        self._settle(self._lockstep.next_seed, limit, "next_seed()")
        return self.seed

    def restart(self, lane: int | str | Lane, timeout: float | None = None) -> None:
        """Reopen a lane in a new folder and advance it to the step of the other lanes. With ``timeout=None``,
        waits as long as a lane may take. Raises RunFailed if the lane fails again."""
        chosen = self._lane(lane)
        limit = self._open_seconds if timeout is None else timeout
        self._driver.call(
            lambda: self._lockstep.restart(chosen),
            lambda: not chosen.busy,
            limit,
            f"restart({chosen.label!r})",
        )
        if limit > 0 and chosen.state is LaneState.FAILED:
            raise RunFailed(_failure_report([chosen]))

    def act(self, lane: int | str | Lane, agent: str, action: Any) -> bool:
        """Submit a person's action for ``agent`` in ``lane``. Return whether an action was due.

        The action can be its name if actions have names ("e2e4" in chess, "push left" in CartPole). If the
        person plays in real time, the action is held until the next one; None releases it. Raises
        ConfigurationError if no person acts for the agent or the action is currently not legal.
        """
        chosen = self._lane(lane)
        return bool(self._driver.call(lambda: chosen.act(agent, action), None, 0, "act()"))

    def stop(self, timeout: float = _CLOSE_SECONDS) -> None:
        """End all lanes and their processes, keeping results and the last state. Can be called repeatedly."""
        self._finalizer.detach()
        self._driver.close(timeout)

    close = stop

    # ----------------------------------------------------------------- inside

    @property
    def _reset_seconds(self) -> float:
        return Liveness(self._plan.request.step_timeout).limit + _RESET_MARGIN

    @property
    def _open_seconds(self) -> float:
        return 2 * OPEN_SECONDS + self._reset_seconds

    def open(self) -> None:
        """Open all lanes and wait for them; on failure, end them and raise the errors of
        `mosaic_lab.Lab.compare`."""
        try:
            settled = lambda: self._lockstep.settled  # noqa: E731
            self._driver.call(self._lockstep.open, settled, self._open_seconds, "opening the lanes")
            self._raise_misfits()
            self._report_failures()
        except BaseException:
            self.stop()
            raise

    def _settle(self, begin: Callable[[], Any], timeout: float, what: str) -> None:
        """Perform an action, wait until the comparison is idle, and report lanes that have failed."""
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
                hint = f"cmp.restart({lane.label!r}) reopens it"
                warn_user(f"{lane.label} has failed: {lane.reason}; {hint}", RuntimeWarning)

    def _lane(self, which: int | str | Lane) -> Lane:
        lanes = self._lockstep.lanes
        if isinstance(which, Lane) and which in lanes:
            return which
        for lane in lanes:
            if which == lane.label or (which == lane.index and not isinstance(which, bool)):
                return lane
        labels = ", ".join(f"{lane.index} ({lane.label!r})" for lane in lanes)
        raise ConfigurationError(f"no lane {which!r}: the lanes are {labels}")

    def __repr__(self) -> str:
        lanes = ", ".join(f"{lane.label} {lane.state} at {lane.step}" for lane in self._lockstep.lanes)
        return f"<Comparison of {self._plan.env_id}, seed {self.seed}, {self.mode}: {lanes}>"


def _failure_report(lanes: Sequence[Lane]) -> str:
    """Return why lanes failed, with one entry for all lanes that share a reason."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for lane in lanes:
        reasons.setdefault((lane.reason, lane.log), []).append(lane.label)
    texts = [
        f"{', '.join(labels)}: {reason}" + (f"\n{log}" if log else "")
        for (reason, log), labels in reasons.items()
    ]
    return "\n\n".join(["every lane has failed" if len(lanes) > 1 else "the lane has failed", *texts])


def compare(
    root: Path,
    request: CompareRequest,
    progress: Callable[[str], None] = print,
    warm: WarmWorkers | None = None,
) -> Comparison:
    """Start a comparison; see `mosaic_lab.Lab.compare`. ``root`` is the run store's folder."""
    problems = Problems()
    plan = plan_arenas(request, problems)
    problems.check()
    _delete_old(root / COMPARISONS)
    plan = with_provider(plan, request.family, progress)
    worker = environment_worker(plan.family, progress)
    commands = operator_commands(plan.operators.values(), progress)
    folder = _new_folder(root, plan.env_id)
    setup = ArenaSetup(
        plan=plan,
        arena=worker.command(),
        commands=commands,
        variables=compose_variables(os.environ, pass_env_vars=plan.pass_env_vars),
        passed=passed_to(plan.operators.values()),
        folder=folder,
        warm=warm,
    )
    try:
        write_json(folder / DESCRIPTION, _description(plan, worker))
    except OSError as error:
        raise MosaicError(f"the comparison's folder {folder} cannot be written: {error}") from error
    comparison = Comparison(setup)
    try:
        comparison.open()
    except ConfigurationError:  # an invalid request leaves no folder
        shutil.rmtree(folder, ignore_errors=True)
        raise
    plan.warn()  # after `open`, whose error for operators that do not fit says the same
    for lane in comparison.lanes:
        if lane.environment is not None:
            warn_of_size(request, lane.environment, len(plan.seeds) * len(plan.lanes), folder)
            break
    return comparison


def _new_folder(root: Path, env: str) -> Path:
    """Create a folder such as ``20261121-053012-CartPole-v1-3f9a`` in the root's comparisons."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", env)[:60]
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    folder = root / COMPARISONS / f"{stamp}-{name}-{secrets.token_hex(2)}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise MosaicError(f"cannot create the comparison's folder in {root}: {error}") from error
    return folder


def _delete_old(folder: Path) -> None:
    """Delete the oldest folders of ended comparisons, but nothing that a user has added or renamed."""
    folders = (
        path for path in folder.glob("*") if _NAME.fullmatch(path.name) and (path / DESCRIPTION).is_file()
    )
    for old in sorted(path for path in folders if not comparison_lives(path))[:-MAX_KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def _description(plan: ArenaPlan, worker: WorkerEnvironment) -> dict[str, Any]:
    """Return the comparison's description for its folder: request, machine and versions."""
    origin = {"worker": worker.name, "origin": worker.origin, "freeze": worker.freeze}
    facts = vars(plan) | plan.options("max_steps", "step_timeout")
    del facts["request"], facts["operators"]
    lanes = {
        label: {pattern: repr(spec) for pattern, spec in plan.mapping(label).items()} for label in plan.lanes
    }
    return {**facts, "lanes": lanes, "provenance": provenance(Path.cwd(), origin)}
