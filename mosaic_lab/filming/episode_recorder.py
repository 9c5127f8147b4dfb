"""Record one episode of a policy, with a frame of every step in the film.

The film's time follows the episode's steps rather than the arena's clock, because the arena runs at low
priority.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mosaic_contract import as_number
from mosaic_contract.fastlane import Frame, FrameReader
from mosaic_contract.priority import stretched
from PIL import Image

from mosaic_lab.arenas.arena_session import GIVE_UP_SECONDS, ArenaSession, unrepeated
from mosaic_lab.arenas.setup import ArenaSetup
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.fastlane.encoding import Content, Packet, encode
from mosaic_lab.fastlane.pictures import SMALL_FILM, mp4
from mosaic_lab.keeper.states import State
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.runs.run_process import RunAborted
from mosaic_lab.sanitize import sanitize

SIDE = 320
"""Length of a film's longer side in pixels."""
MOST_STEPS = 3_000
"""Maximum number of steps of an episode."""
_FPS = 30  # steps per second, unless the episode is too short or too long for a film
_SHORTEST, _LONGEST = 3.0, 20.0  # seconds of a film
_SLOWEST = 2.0  # steps per second
_MOST_FRAMES = int(_FPS * _LONGEST)
_REQUESTED_FPS = 60.0
_FRAME_SECONDS = 30.0  # to draw an environment, including the loading of its libraries
_PLAY_SECONDS = 120.0  # for a whole episode; like the limit above, at normal priority
_LOOK_SECONDS = 0.002
_MODES = {1: "L", 3: "RGB", 4: "RGBA"}


class NotFilmed(RunAborted):
    """Raised if a checkpoint cannot be filmed; ``refused``: nor can any other, for the same reason.

    ``log``: the last lines of the arena's log, for the run's log rather than the message.
    """

    error_type = "NotFilmed"

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
    setup: ArenaSetup, spec: OperatorSpec, seed: int, folder: Path, check: Callable[[], None]
) -> FilmedEpisode:
    """Play and film an episode of ``spec`` in an arena in the new folder ``folder``.

    ``check`` is called frequently; an exception that it raises ends the arena. Raises `NotFilmed`.
    """
    try:
        session = ArenaSession(setup, spec.name, {"*": spec}, folder, seed)
    except OSError as error:
        raise NotFilmed(f"its arena could not be started: {error}", refused=True) from None
    try:
        return _EpisodeRecorder(session, FrameReader(folder), seed, check).play()
    finally:
        session.end(State.COMPLETED, "the film is done", GIVE_UP_SECONDS)
        while not session.process.ended():
            time.sleep(0.01)


class _EpisodeRecorder:
    """Records the frame of every ``_stride``-th step: of each step at first, of fewer as the number of frames
    grows."""

    def __init__(
        self, session: ArenaSession, reader: FrameReader, seed: int, check: Callable[[], None]
    ) -> None:
        self._session = session
        self._reader = reader
        self._seed = seed
        self._check = check
        self._packets: list[Packet] = []
        self._stride = 1
        self._until = time.monotonic() + stretched(_PLAY_SECONDS)
        self._returns: dict[str, float] = {}

    def play(self) -> FilmedEpisode:
        session = self._session
        for message in self._messages():
            match message.get("type"):
                case "opened":
                    self._seat(message)
                case "seated":
                    self._reader.watch(_REQUESTED_FPS)
                    session.send({"cmd": "reset", "seed": self._seed, "episode_index": 0})
                case "ready":
                    self._shoot(0)
                    session.send({"cmd": "step"})
                case "stepped":
                    step, done = int(message["step_index"]), bool(message["done"])
                    self._returns = {agent: as_number(value) for agent, value in message["returns"].items()}
                    if done or step % self._stride == 0:
                        self._shoot(step)
                    if done or time.monotonic() > self._until:
                        cut = not done or self._cut(message["episode"])
                        return self._filmed(step, complete=not cut)
                    session.send({"cmd": "step"})
                case "error":
                    raise self._failure(message)
        raise AssertionError("the messages of an arena end with an exception")

    def _seat(self, message: Mapping[str, Any]) -> None:
        session = self._session
        try:
            session.opened(message)
        except ConfigurationError as error:
            raise NotFilmed(str(error), refused=True) from None
        assert session.environment is not None
        if not session.environment.renders:
            raise NotFilmed(_no_pictures(session.environment.render_reason), refused=True)
        session.seat(inside=True)

    def _cut(self, episode: Mapping[str, Any]) -> bool:
        """Return whether the episode was ended by the step limit of a film."""
        return bool(episode["truncated"]) and episode["steps"] >= MOST_STEPS

    def _messages(self) -> Iterator[dict[str, Any]]:
        """Yield the arena's messages. Raises `NotFilmed` if no more arrive."""
        session, process = self._session, self._session.process
        poll = select.poll()
        poll.register(process.output, select.POLLIN)
        while True:
            ready = poll.poll(250)
            self._check()
            if late := session.overdue(time.monotonic()):
                raise NotFilmed(late)
            if process.unsent:
                process.flush()
            process.cut_logs()
            if not ready:
                continue
            lines = process.read()
            if lines is None or process.oversize:
                raise NotFilmed(f"its arena {process.how_it_ended()}", log=session.last_log())
            for line in lines:
                yield session.read_message(line)

    def _failure(self, message: Mapping[str, Any]) -> NotFilmed:
        text = str(message.get("message") or "its arena reported an error without a message")
        log = unrepeated(self._session.last_log(str(message.get("log") or "")), text)
        return NotFilmed(text, refused=message.get("error_type") == "ConfigError", log=log)

    # ------------------------------------------------------------------ frames

    def _shoot(self, step: int) -> None:
        """Store the frame of this step."""
        frame = self._frame(step)
        small = _reduced(frame)
        content = Content(small)
        self._packets.append(encode(small, "deflate" if content.ratio < 0.5 else "jpeg"))
        if len(self._packets) > _MOST_FRAMES:
            self._packets = self._packets[::2]
            self._stride *= 2

    def _frame(self, step: int) -> Frame:
        """Wait for the frame of a step, which the arena draws after it has reported the step."""
        deadline = time.monotonic() + stretched(_FRAME_SECONDS)
        while True:
            self._reader.watch(_REQUESTED_FPS)
            frame = self._reader.read()
            if frame is not None and frame.hud.step == step:
                return frame
            if self._reader.state == "ended":
                raise NotFilmed(_no_pictures(self._reader.notice), refused=True)
            self._check()
            if self._session.process.ended() or time.monotonic() > deadline:
                seconds = stretched(_FRAME_SECONDS)
                raise NotFilmed(f"the environment was not drawn within {seconds:.0f} s at step {step}")
            time.sleep(_LOOK_SECONDS)

    def _filmed(self, length: int, complete: bool) -> FilmedEpisode:
        """Make the film; each step, including the last, is shown for the same time."""
        shown = len(self._packets)
        per_second = min(float(_FPS), max(_SLOWEST, shown / _SHORTEST))
        timed = [
            replace(packet, published=number / per_second) for number, packet in enumerate(self._packets)
        ]
        return FilmedEpisode(
            mp4(timed, SIDE, SMALL_FILM), round(shown / per_second, 3), self._returns, length, complete
        )


def _no_pictures(reason: str) -> str:
    return f"the environment has no pictures: {reason}" if reason else "the environment has no pictures"


def _reduced(frame: Frame) -> Frame:
    """Return the frame, reduced to the size of a film."""
    if max(frame.height, frame.width) <= SIDE:
        return frame
    mode = _MODES[frame.channels]
    image = Image.frombuffer(mode, (frame.width, frame.height), frame.pixels, "raw", mode, 0, 1)
    image.thumbnail((SIDE, SIDE), Image.Resampling.BICUBIC)
    return frame._replace(height=image.height, width=image.width, pixels=image.tobytes())
