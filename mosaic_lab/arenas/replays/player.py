"""A recorded episode played again in an arena of its environment's worker, with each state compared."""

from __future__ import annotations

import binascii
import math
import tempfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic_contract import as_number
from mosaic_contract.arrays import unpack
from mosaic_contract.fastlane import Frame, Hud

from mosaic_lab.arenas.arena_client import ArenaClient, ArenaFailed, ArenaLoop
from mosaic_lab.arenas.environment_info import EnvironmentInfo
from mosaic_lab.arenas.plan import ArenaSetup
from mosaic_lab.arenas.replays.played_episode import PlayedEpisode, PlayedStep
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.fastlane.encoding import Packet, compact
from mosaic_lab.keeper.states import State
from mosaic_lab.policies import Assignment

SIDE = 640
"""Length of a picture's longer side in pixels."""
MAX_PICTURES = 1_500
"""Maximum number of pictures; a longer episode has one for every second step, or fewer."""
OBSERVATION_BYTES = 128 << 20
"""Maximum size of the kept observations; later steps have none."""
_MAX_COMPRESSED_SHARE = 0.1  # a picture compressed to less than this share of its size is kept as received


@dataclass(frozen=True)
class Difference:
    """The first difference between a replay and the recording: ``what`` differs at ``step``."""

    step: int
    what: str

    def __str__(self) -> str:
        return f"differs from step {self.step:,} on: {self.what}"


@dataclass
class Playback:
    """Pictures and observations of the state before each step, and of the last state. ``names`` are of
    actions that the state names; ``played_steps`` is the number of steps that could be played."""

    environment: EnvironmentInfo
    assignment: Assignment
    pictures: dict[int, Packet] = field(default_factory=dict)
    observations: dict[int, dict[str, Any]] = field(default_factory=dict)
    names: dict[int, dict[str, str]] = field(default_factory=dict)
    difference: Difference | None = None
    no_picture: str = ""
    played_steps: int = 0


def play(episode: PlayedEpisode, setup: ArenaSetup, progress: Callable[[int, int], None]) -> Playback:
    """Play an episode again; ``progress`` is called with the number of steps played and the total. Raises
    MosaicError if the environment cannot be made, or fails before anything differs."""
    with tempfile.TemporaryDirectory(prefix="mosaic-replay-") as folder:
        player = _Player(episode, setup, Path(folder) / "arena")
        try:
            return player.play(progress)
        finally:
            player.loop.close(State.COMPLETED, "the replay is done")


class _Player:
    """The owner of a replay's arena."""

    def __init__(self, episode: PlayedEpisode, setup: ArenaSetup, folder: Path) -> None:
        self.loop = ArenaLoop()
        self._episode = episode
        self._opened: tuple[EnvironmentInfo, Assignment] | None = None
        self._state: dict[str, Any] | None = None
        self._failure: ArenaFailed | None = None
        self._unkept: tuple[dict[str, Any], int] = {}, 0
        self._stride = math.ceil((len(episode.steps) + 1) / MAX_PICTURES)
        self._free_bytes = OBSERVATION_BYTES
        mapping = setup.plan.mapping(episode.label)
        try:
            self._arena = self.loop.add(ArenaClient(self, setup, episode.label, mapping, folder))
        except ArenaFailed as failure:
            raise MosaicError(str(failure)) from None

    def opened(self, arena: ArenaClient, environment: EnvironmentInfo, assignment: Assignment) -> None:
        arena.answered()
        self._opened = environment, assignment

    def received(self, arena: ArenaClient, message: dict[str, Any]) -> None:
        if message.get("type") == "replayed":
            arena.answered()
            self._state = message

    def failed(self, failure: ArenaFailed) -> None:
        self._failure = failure

    def play(self, progress: Callable[[int, int], None]) -> Playback:
        while self._opened is None:
            self._work("its environment cannot be made again")
        environment, assignment = self._opened
        playback = Playback(environment, assignment)
        playback.no_picture = "" if environment.renders else environment.render_reason or "no pictures"
        begin = {"seed": self._episode.episode_seed, "episode_index": self._episode.index}
        state = self._request(begin, playback)
        for index, step in enumerate(self._episode.steps):
            before = _difference_before(step, state)
            self._differs(playback, before)
            if state["done"] or sorted(step.actions) != sorted(state["turn"]):
                break
            try:
                state = self._request({"actions": step.actions}, playback)
            except _Refused as refusal:
                self._differs(playback, str(refusal))
                break
            playback.played_steps = index + 1
            playback.names[index] = state.get("names", {})
            self._differs(playback, _difference_after(step, state), index)
            progress(playback.played_steps, len(self._episode.steps))
        if self._episode.complete and not state["done"]:
            self._differs(playback, "the episode does not end")
        self._keep(playback)
        return playback

    def _differs(self, playback: Playback, difference: str, step: int | None = None) -> None:
        """Note the first difference."""
        if difference and playback.difference is None:
            playback.difference = Difference(playback.played_steps if step is None else step, difference)

    def _request(self, command: Mapping[str, Any], playback: Playback) -> dict[str, Any]:
        """Send a "replay" command and return the resulting state, whose picture and observations `_keep`
        keeps later. Raises `_Refused` if recorded actions do not fit the state."""
        index = playback.played_steps + ("actions" in command)
        last = index == len(self._episode.steps)
        picture = not playback.no_picture and (last or index % self._stride == 0)
        requested = {"picture": picture, "observations": self._free_bytes > 0}
        self._state = None
        self._arena.request({"cmd": "replay", **command, **requested})
        self._keep(playback)  # while the arena works
        while self._state is None:
            summary = f"the replay of {self._episode.label} failed at step {playback.played_steps:,}"
            self._work(summary, playback if "actions" in command else None)
        state = self._state
        state["rewards"] = {agent: as_number(value) for agent, value in state["rewards"].items()}
        playback.no_picture = state.get("no_picture") or playback.no_picture
        self._unkept = state, index
        return state

    def _keep(self, playback: Playback) -> None:
        """Keep the picture and the observations of the last state."""
        state, index = self._unkept
        if (picture := state.pop("picture", None)) is not None:
            playback.pictures[index] = _packet(picture, index)
        if observed := state.pop("observations", None):
            observations = {agent: unpack(value) for agent, value in observed.items()}
            self._free_bytes -= sum(map(_size, observations.values()))
            playback.observations[index] = observations

    def _work(self, summary: str, playback: Playback | None = None) -> None:
        """Wait for the arena. Raises MosaicError for a failure, `_Refused` for actions that do not fit."""
        self.loop.work(self.loop.wait())
        failure, self._failure = self._failure, None
        if failure is None:
            return
        if playback is not None and (failure.usable or playback.difference is not None):
            raise _Refused(str(failure).partition("\n")[0])
        error_class = ConfigurationError if failure.refused else MosaicError
        raise error_class("\n".join([f"{summary}: {failure}", *failure.log]))


class _Refused(Exception):
    """The environment did not play recorded actions."""


def _difference_before(step: PlayedStep, state: Mapping[str, Any]) -> str:
    """Return how a state differs from the one in which a step was recorded; empty if it does not."""
    if state["done"]:
        return "the episode has ended already"
    if sorted(step.actions) != sorted(state["turn"]):
        return f"it is the turn of {', '.join(state['turn'])}, not of {', '.join(step.actions)}"
    for agent, recorded in step.hashes.items():
        if state["hashes"].get(agent) != recorded:
            return "the observation" if len(state["rewards"]) == 1 else f"the observation of {agent}"
    return ""


def _difference_after(step: PlayedStep, state: Mapping[str, Any]) -> str:
    for agent, reward in step.rewards.items():
        of_agent = "" if len(state["rewards"]) == 1 else f" of {agent}"
        if repr(replayed := state["rewards"][agent]) != repr(reward):  # repr: NaN equals NaN
            return f"the reward{of_agent} is {replayed:g}, not {reward:g}"
        for name, recorded_flags in (("terminated", step.terminated), ("truncated", step.truncated)):
            if state[name][agent] != recorded_flags[agent]:
                return f"it is {'' if state[name][agent] else 'not '}{name}{of_agent}"
    for agent, recorded in step.end_hashes.items():
        if state["hashes"].get(agent) != recorded:
            return "the last observation" + ("" if len(state["rewards"]) == 1 else f" of {agent}")
    return ""


def _packet(picture: Mapping[str, Any], step: int) -> Packet:
    """Return a picture as received if it is small enough, which is faster than encoding it again."""
    height, width, channels = picture["shape"]
    size, data, hud = height * width * channels, binascii.a2b_base64(picture["data"]), Hud(step=step)
    if max(height, width) <= SIDE and len(data) <= _MAX_COMPRESSED_SHARE * size:
        return Packet(step, 0.0, width, height, channels, "deflate", data, hud)
    pixels = zlib.decompressobj().decompress(data, size)
    return compact(Frame(step, 0.0, height, width, channels, pixels, hud), SIDE)


def _size(value: Any) -> int:
    """Return the approximate size of an observation in bytes."""
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    if isinstance(value, Mapping):
        return sum(map(_size, value.values()))
    if isinstance(value, list):
        return sum(map(_size, value))
    return len(value) if isinstance(value, str) else 8
