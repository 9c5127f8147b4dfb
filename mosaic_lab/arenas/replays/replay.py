"""`Replay`, a recorded episode played again, and `Replays`, several of one seed side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from mosaic_contract.arena.start import Start
from mosaic_contract.fastlane import Frame
from msgspec import structs

from mosaic_lab.arenas.action_text import action_text
from mosaic_lab.arenas.environment_info import EnvironmentInfo
from mosaic_lab.arenas.replays.played_episode import PlayedEpisode, StepExchange
from mosaic_lab.arenas.replays.player import Difference, Playback
from mosaic_lab.arenas.request import CompareRequest
from mosaic_lab.arenas.tables import table_of
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.fastlane.encoding import Packet, Pixels, compact, rgb
from mosaic_lab.fastlane.pictures import evenly_timed, film_path, film_speed, png
from mosaic_lab.number_format import number
from mosaic_lab.validation import checked_methods

if TYPE_CHECKING:
    import pandas as pd

_GAP = 8  # pixels between films side by side
_TABLE = {
    "step": "int64",
    "agent": "object",
    "operator": "object",
    "action": "object",
    "reward": "float64",
    "return": "float64",
    "terminated": "bool",
    "truncated": "bool",
    "fault": "object",
}
_EXCHANGES = {"prompt": "object", "answer": "object", "answer_faults": "object"}


@dataclass(frozen=True)
class ReplayStep:
    """One step of a replay, counted from 0, with values by agent.

    ``observations`` are those on which the agents acted, ``names`` their actions as text, ``rewards`` the
    rewards of the step and ``returns`` their sums so far. ``faults`` says why an operator's own answer came
    late or was not played. ``exchanges`` are the requests to language models.
    """

    index: int
    actions: dict[str, Any]
    names: dict[str, str]
    observations: dict[str, Any]
    rewards: dict[str, float]
    returns: dict[str, float]
    terminated: dict[str, bool]
    truncated: dict[str, bool]
    faults: dict[str, str]
    exchanges: tuple[StepExchange, ...]
    packet: Packet | None = field(repr=False, default=None)
    """The picture as kept; see `picture`."""

    @property
    def picture(self) -> bytes | None:
        """The state before the step as PNG, at most 640 pixels long; None without pictures."""
        return None if self.packet is None else png(self.packet.decode())

    @property
    def pixels(self) -> Pixels | None:
        """The same picture as an array, height × width × channels."""
        return None if self.packet is None else self.packet.decode()

    @property
    def text(self) -> str:
        """The observations that are text; empty if none are."""
        return texts_in(self.observations)


def texts_in(observations: Mapping[str, Any]) -> str:
    """Return the textual observations of all agents as one text; empty if there are none."""
    texts = {agent: value for agent, value in observations.items() if isinstance(value, str)}
    if len(texts) == 1 == len(observations):
        return next(iter(texts.values()))
    return "\n\n".join(f"{agent}:\n{text}" for agent, text in texts.items())


@checked_methods("replay")
class Replay(Sequence[ReplayStep]):
    """A recorded episode played again: its steps, with pictures and observations.

    Actions, rewards and ends are those of the recording. Made by `Evaluation.replay`, `Comparison.replay` and
    `Run.replay_checkpoint`; a notebook shows it as a player.
    """

    def __init__(
        self, environment: str, episode: PlayedEpisode, playback: Playback, request: CompareRequest
    ) -> None:
        self._request, self._episode_seed = request, episode.episode_seed
        self.environment = environment
        """The environment's id."""
        self.operator = episode.label
        self.lane = episode.lane
        """The operator's index among those that were played, which determines its color."""
        self.seed = episode.seed
        self.episode = episode.episode
        """The episode's number on the seed."""
        self.note = episode.note
        """How the episode ended, if not by a step."""
        self.recording = episode.recording
        """The folder of the exchanges with language models."""
        self.agents = playback.environment.agents
        seats = playback.assignment.seats
        names = {key: spec.name for key, spec in playback.assignment.operators.items()}
        alone = len(names) == 1
        self.operators = {agent: self.operator if alone else names[seats[agent]] for agent in self.agents}
        """The name of each agent's operator: the lane's if there is only one."""
        self.difference: Difference | None = playback.difference
        """Where the replay begins to differ from the recording; None if it does not."""
        self.verified = episode.has_hashes
        """Whether observations were compared; otherwise only rewards and ends were."""
        self.no_picture = playback.no_picture
        """Why there are no pictures; empty if there are."""
        installed = playback.environment.versions
        self.versions = {
            name: (recorded, installed[name])
            for name, recorded in episode.versions.items()
            if name in installed and installed[name] != recorded
        }
        """Packages that have changed since: {name: (then, now)}."""
        self.last_observations: dict[str, Any] = playback.observations.get(len(episode.steps), {})
        """The agents' observations at the end of the episode."""
        self._pictures = playback.pictures
        self._steps = list(_steps(episode, playback))

    @overload
    def __getitem__(self, index: int) -> ReplayStep: ...
    @overload
    def __getitem__(self, index: slice) -> list[ReplayStep]: ...
    def __getitem__(self, index: int | slice) -> ReplayStep | list[ReplayStep]:
        return self._steps[index]

    def __len__(self) -> int:
        return len(self._steps)

    @property
    def steps(self) -> list[ReplayStep]:
        """All steps."""
        return list(self._steps)

    @property
    def title(self) -> str:
        """``PPO, seed 3 in CartPole-v1``."""
        numbered = f", episode {self.episode}" if self.episode else ""
        return f"{self.operator}, seed {self.seed}{numbered} in {self.environment}"

    @property
    def returns(self) -> dict[str, float]:
        """Each agent's return."""
        return self._steps[-1].returns

    @property
    def pictured(self) -> list[int]:
        """The numbers of steps after which there is a picture: 0 to `len`, or every nth in a long episode."""
        return sorted(self._pictures)

    @property
    def packets(self) -> list[Packet]:
        """The pictures as kept, in the order of `pictured`."""
        return [self._pictures[step] for step in self.pictured]

    def shown(self, step: int) -> Packet | None:
        """Return the picture of the state after ``step`` steps, or the latest one before it, as kept."""
        pictured_steps = [pictured for pictured in self._pictures if pictured <= step]
        return self._pictures[max(pictured_steps)] if pictured_steps else None

    def picture(self, step: int) -> bytes:
        """Return the picture of the state after ``step`` steps as PNG; `len` is the end. In a long episode,
        it may be of an earlier state. Raises MosaicError without pictures."""
        packet = self.shown(step if step >= 0 else len(self) + 1 + step)
        if packet is None:
            raise MosaicError(f"{self.title} has no pictures: {self.no_picture}")
        return png(packet.decode())

    def start_at(self, step: int) -> dict[str, Any]:
        """Return keywords of `Lab.compare` and `Lab.evaluate` that begin an episode at ``step``, to see what
        other operators would do from there on.

        Raises ConfigurationError for a step that the episode does not have.
        """
        if type(step) is not int or not 0 <= step < len(self):
            raise ConfigurationError(f"step={step!r}: must be an integer from 0 to {len(self) - 1}")
        origin = Start.of(self._request.start)
        start: Any = [*origin.actions, *(played_step.actions for played_step in self._steps[:step])]
        if origin.position is not None:
            start = {"position": origin.position, "actions": start}
        return {"seeds": [self._episode_seed], "start": start}

    @property
    def can_continue(self) -> bool:
        """Whether its operators are known, so that `continued` can compare them."""
        return bool(self._request.operators)

    def continued(self, step: int) -> CompareRequest:
        """Return the request of a comparison of all operators that have played, beginning at ``step``."""
        return structs.replace(self._request, **self.start_at(step))

    def table(self) -> pd.DataFrame:
        """Return a table with a row for each agent that acted in a step or received a reward.

        Columns: step, agent, operator, action (its name, or None), reward, return (so far), terminated,
        truncated, fault and, with language models, prompt, answer and answer_faults of the last request.
        ``fault`` is the operator's in this step, such as a late answer; ``answer_faults`` are as in a
        transcript, such as "unparsed".
        """
        rows = [
            {
                "step": step.index,
                "agent": agent,
                "operator": self.operators[agent],
                "action": step.names.get(agent),
                "reward": reward,
                "return": step.returns[agent],
                "terminated": step.terminated[agent],
                "truncated": step.truncated[agent],
                "fault": step.faults.get(agent),
                **_last_exchange(step, agent),
            }
            for step in self._steps
            for agent, reward in step.rewards.items()
        ]
        any_model = any(step.exchanges for step in self._steps)
        return table_of(
            [row if any_model else {name: row[name] for name in _TABLE} for row in rows],
            _TABLE | (_EXCHANGES if any_model else {}),
        )

    def save(self, path: Path | str, fps: float | None = None) -> Path:
        """Write the pictures to an MP4 or GIF file at ``fps`` pictures per second; by default, a film lasts 3
        seconds or longer. Raises MosaicError without pictures."""
        return _save(self.packets, self, path, fps)

    @property
    def verdict(self) -> str:
        """How the replay compares with the recording, as text."""
        if self.difference is None:
            return "as recorded" if self.verified else "rewards as recorded; no observations were recorded"
        versions = ", ".join(f"{name} {then} then, {now} now" for name, (then, now) in self.versions.items())
        return str(self.difference) + (f" ({versions})" if versions else "")

    def __repr__(self) -> str:
        total = number(sum(self.returns.values()))
        note = f", {self.note}" if self.note else ""
        return f"<Replay of {self.title}: {len(self)} steps, return {total}{note}; {self.verdict}>"


@checked_methods("replays")
class Replays(Sequence[Replay]):
    """Replays of several operators on one seed, side by side."""

    def __init__(self, replays: Sequence[Replay]) -> None:
        self._replays = list(replays)

    @overload
    def __getitem__(self, index: int | str) -> Replay: ...
    @overload
    def __getitem__(self, index: slice) -> list[Replay]: ...
    def __getitem__(self, index: int | str | slice) -> Replay | list[Replay]:
        if not isinstance(index, str):
            return self._replays[index]
        for replayed in self._replays:
            if replayed.operator == index:
                return replayed
        raise ConfigurationError(
            f"no replay of {index!r}: there are {', '.join(replayed.operator for replayed in self._replays)}"
        )

    def __len__(self) -> int:
        return len(self._replays)

    def __iter__(self) -> Iterator[Replay]:
        return iter(self._replays)

    @cached_property
    def first_difference(self) -> int | None:
        """The first step at which they differ: in an action, a reward, or because one has ended. None if all
        are the same."""
        longest = max(map(len, self._replays))
        for step in range(longest):
            if len({_compared(replayed, step) for replayed in self._replays}) > 1:
                return step
        return None

    def start_at(self, step: int) -> dict[str, Any]:
        """Return keywords that begin an episode at ``step``, as `Replay.start_at` does. Raises
        ConfigurationError after the first difference, where their states differ."""
        if (differ := self.first_difference) is not None and type(step) is int and step > differ:
            first = self._replays[0].operator
            raise ConfigurationError(
                f"step={step}: the episodes differ from step {differ} on and have no common start: use one, "
                f"replays[{first!r}].start_at({step})"
            )
        return max(self._replays, key=len).start_at(step)

    def save(self, path: Path | str, fps: float | None = None) -> Path:
        """Write the pictures side by side to an MP4 or GIF file; see `Replay.save`. A replay that ends
        earlier keeps showing its end."""
        longest = max(self._replays, key=len)
        rows = [[replayed.shown(step) for replayed in self._replays] for step in longest.pictured]
        pictures = [[packet for packet in row if packet is not None] for row in rows]
        return _save([_joined(row) for row in pictures if row], self._replays[0], path, fps)

    def __repr__(self) -> str:
        step = self.first_difference
        differ = "all the same" if step is None else f"they differ from step {step:,} on"
        return "\n".join([f"<Replays: {differ}", *(f"  {replayed!r}" for replayed in self._replays)]) + ">"


def _steps(episode: PlayedEpisode, playback: Playback) -> Iterator[ReplayStep]:
    returns = dict.fromkeys(playback.environment.agents, 0.0)
    for index, step in enumerate(episode.steps):
        returns = {agent: total + step.rewards.get(agent, 0.0) for agent, total in returns.items()}
        yield ReplayStep(
            index,
            step.actions,
            {agent: _name(playback.environment, agent, action) for agent, action in step.actions.items()}
            | playback.names.get(index, {}),
            playback.observations.get(index, {}),
            step.rewards,
            returns,
            step.terminated,
            step.truncated,
            step.faults,
            tuple(step.exchanges),
            playback.pictures.get(index),
        )


def _name(environment: EnvironmentInfo, agent: str, action: Any) -> str:
    named = {number: name for name, number in environment.named_actions(agent).items()}
    if named and type(action) is int:
        return named.get(action, str(action))
    return action_text(action, environment.action_meanings.get(agent))


def _last_exchange(step: ReplayStep, agent: str) -> dict[str, Any]:
    exchanges = [exchange for exchange in step.exchanges if exchange.agent == agent]
    if not exchanges:
        return dict.fromkeys(_EXCHANGES)
    last = exchanges[-1]
    return {"prompt": last.prompt, "answer": last.answer, "answer_faults": ", ".join(last.faults)}


def _compared(replayed: Replay, step: int) -> str:
    """Return what is compared between replays at a step."""
    if step >= len(replayed):
        return "ended"
    compared = replayed[step]
    return repr((sorted(compared.actions.items()), sorted(compared.rewards.items())))


def _joined(row: Sequence[Packet]) -> Packet:
    """Return pictures joined in a row, compressed because a film has many."""
    pictures = [rgb(packet.decode()) for packet in row]
    height = max(picture.shape[0] for picture in pictures)
    padded = [
        np.pad(picture, ((0, height - picture.shape[0]), (0, _GAP), (0, 0)), constant_values=255)
        for picture in pictures
    ]
    joined = np.concatenate(padded, axis=1)[:, :-_GAP]
    height, width, _ = joined.shape
    return compact(Frame(row[0].sequence, 0.0, height, width, 3, joined.tobytes(), row[0].hud), width)


def _save(packets: Sequence[Packet], replayed: Replay, path: Path | str, fps: float | None) -> Path:
    target, film = film_path(path)
    if not packets:
        raise MosaicError(f"{replayed.title} has no pictures: {replayed.no_picture}")
    if fps is not None and not fps > 0:
        raise ConfigurationError(f"fps={fps!r}: must be a number of pictures per second > 0")
    target.write_bytes(film(evenly_timed(packets, fps or film_speed(len(packets)))))
    return target
