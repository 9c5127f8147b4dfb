"""The film of one episode of a policy. Its time follows the episode's steps rather than the arena's clock,
because the arena runs at low priority."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic_contract import as_number
from mosaic_contract.fastlane import Frame, FrameReader
from mosaic_contract.priority import stretched

from mosaic_lab.arenas.arena_client import LOG_LINES, ArenaClient, ArenaFailed, ArenaLoop
from mosaic_lab.arenas.environment_info import EnvironmentInfo
from mosaic_lab.arenas.plan import ArenaSetup
from mosaic_lab.fastlane.encoding import Packet, compact
from mosaic_lab.fastlane.pictures import FILM_FPS, SMALL_FILM, evenly_timed, film_speed, mp4
from mosaic_lab.keeper.states import State
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.policies import Assignment
from mosaic_lab.runs.run_process import RunAborted
from mosaic_lab.sanitize import sanitize

SIDE = 320
"""Length of a film's longer side in pixels."""
MOST_STEPS = 3_000
"""Maximum number of steps of an episode."""
_LONGEST = 20.0  # seconds of a film
_MOST_FRAMES = int(FILM_FPS * _LONGEST)
_REQUESTED_FPS = 60.0
_FRAME_SECONDS = 30.0  # to draw an environment, including the loading of its libraries
_PLAY_SECONDS = 120.0  # for a whole episode; like the limit above, at normal priority
_LOOK_SECONDS = 0.002


class FilmFailed(RunAborted):
    """Raised if a checkpoint cannot be filmed; with ``refused``, no other checkpoint can be either.

    ``log`` has the last lines of the arena's log, for the run's log rather than the message.
    """

    error_type = "NotFilmed"  # as recorded by runs of earlier versions

    def __init__(self, message: str, refused: bool = False, log: Sequence[str] = ()) -> None:
        super().__init__(sanitize(message))
        self.refused = refused
        self.log = [sanitize(line) for line in log if line.strip()]


@dataclass(frozen=True)
class FilmedEpisode:
    """An episode with its film; ``complete``: whether it was played to its end."""

    film: bytes
    seconds: float
    returns: dict[str, float]
    length: int
    complete: bool


def record_episode(
    setup: ArenaSetup,
    spec: OperatorSpec,
    seed: int,
    folder: Path,
    check: Callable[[], None],
    recorded: Callable[[int], None],
) -> FilmedEpisode:
    """Play and film an episode of ``spec`` in an arena in the new folder ``folder``.

    ``check`` is called frequently; an exception that it raises ends the arena. ``recorded`` is called after
    each step with the number of steps so far. Raises `FilmFailed`.
    """
    recorder = _EpisodeRecorder(seed, FrameReader(folder), check, recorded)
    loop = ArenaLoop()
    try:
        client = ArenaClient(recorder, setup, spec.name, {"*": spec}, folder, seed, inside=True)
        arena = loop.add(client)
    except ArenaFailed as failure:
        raise FilmFailed(str(failure), refused=True) from None
    try:
        while (filmed := recorder.advance(arena)) is None:
            loop.work(loop.wait())
            check()
        return filmed
    finally:
        loop.close(State.COMPLETED, "the film is done")


class _EpisodeRecorder:
    """Records the frame of every ``_stride``-th step: of each step at first, of fewer as frames add up."""

    def __init__(
        self, seed: int, reader: FrameReader, check: Callable[[], None], recorded: Callable[[int], None]
    ) -> None:
        self._seed = seed
        self._reader = reader
        self._check = check
        self._recorded = recorded
        self._messages: deque[dict[str, Any]] = deque()
        self._failure: FilmFailed | None = None
        self._packets: list[Packet] = []
        self._stride = 1
        self._until = time.monotonic() + stretched(_PLAY_SECONDS)

    def opened(self, arena: ArenaClient, environment: EnvironmentInfo, assignment: Assignment) -> None:
        """Start the policy, if there is something to film."""
        if environment.renders:
            arena.seat(assignment)
        else:
            self._failure = FilmFailed(_no_pictures(environment.render_reason), refused=True)

    def received(self, arena: ArenaClient, message: dict[str, Any]) -> None:
        """Keep the message for `advance`, which may block."""
        self._messages.append(message)

    def failed(self, failure: ArenaFailed) -> None:
        """Keep the failure for `advance`."""
        self._failure = FilmFailed(str(failure), failure.refused, failure.log[-LOG_LINES:])

    def advance(self, arena: ArenaClient) -> FilmedEpisode | None:
        """Process the messages so far; return the film after the last step. Raises `FilmFailed`."""
        while self._messages:
            message = self._messages.popleft()
            match message.get("type"):
                case "seated":
                    self._reader.watch(_REQUESTED_FPS)
                    arena.request({"cmd": "reset", "seed": self._seed, "episode_index": 0})
                case "ready":
                    self._shoot(arena, 0)
                    arena.step()
                case "stepped":
                    step, done = int(message["step_index"]), bool(message["done"])
                    self._recorded(step)
                    if done or step % self._stride == 0:
                        self._shoot(arena, step)
                    if done or time.monotonic() > self._until:
                        cut = not done or self._cut(message["episode"])
                        returns = {agent: as_number(value) for agent, value in message["returns"].items()}
                        return self._film(returns, step, complete=not cut)
                    arena.step()
        if self._failure is not None:
            raise self._failure
        return None

    def _cut(self, episode: Mapping[str, Any]) -> bool:
        """Return whether the episode was ended by the step limit of a film."""
        return bool(episode["truncated"]) and episode["steps"] >= MOST_STEPS

    # ------------------------------------------------------------------ frames

    def _shoot(self, arena: ArenaClient, step: int) -> None:
        """Store the frame of this step."""
        self._packets.append(compact(self._frame(arena, step), SIDE))
        if len(self._packets) > _MOST_FRAMES:
            self._packets = self._packets[::2]
            self._stride *= 2

    def _frame(self, arena: ArenaClient, step: int) -> Frame:
        """Wait for the frame of a step, which the arena draws after it has reported the step."""
        deadline = time.monotonic() + stretched(_FRAME_SECONDS)
        while True:
            self._reader.watch(_REQUESTED_FPS)
            frame = self._reader.read()
            if frame is not None and frame.hud.step == step:
                return frame
            if self._reader.state == "ended":
                raise FilmFailed(_no_pictures(self._reader.notice), refused=True)
            self._check()
            if arena.ended() or time.monotonic() > deadline:
                seconds = stretched(_FRAME_SECONDS)
                raise FilmFailed(f"the environment was not rendered within {seconds:.0f} s at step {step}")
            time.sleep(_LOOK_SECONDS)

    def _film(self, returns: dict[str, float], length: int, complete: bool) -> FilmedEpisode:
        """Make the film; each step, including the last, is shown for the same time."""
        shown, per_second = len(self._packets), film_speed(len(self._packets))
        film = mp4(evenly_timed(self._packets, per_second), SIDE, SMALL_FILM)
        return FilmedEpisode(film, round(shown / per_second, 3), returns, length, complete)


def _no_pictures(reason: str) -> str:
    return f"the environment has no pictures: {reason}" if reason else "the environment has no pictures"
