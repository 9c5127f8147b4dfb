"""An episode as recorded: the steps in its arena's telemetry, and its exchanges with language models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_contract.codec import encode_line
from mosaic_contract.language.recording import read

from mosaic_lab.arenas.datasets import RecordedEpisode
from mosaic_lab.arenas.lane import Lane
from mosaic_lab.arenas.plan import EXCHANGES
from mosaic_lab.arenas.tables import EpisodeSteps, prompt_text
from mosaic_lab.errors import ConfigurationError, MosaicError

if TYPE_CHECKING:
    import pandas as pd


MAX_STEPS = 100_000
"""Maximum number of steps of a replay, over all agents."""


@dataclass(frozen=True)
class StepExchange:
    """A request to a language model in one step. ``parsed`` is the action in its answer, ``faults`` the
    problems with it, ``recorded`` the whole entry in the recording."""

    agent: str
    model: str
    prompt: str
    answer: str
    parsed: str
    faults: tuple[str, ...]
    recorded: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass
class PlayedStep:
    """One step, with values by agent. ``hashes`` are of the observations on which the agents acted,
    ``end_hashes`` of the observations after the last step."""

    actions: dict[str, Any] = field(default_factory=dict)
    hashes: dict[str, int] = field(default_factory=dict)
    rewards: dict[str, float] = field(default_factory=dict)
    terminated: dict[str, bool] = field(default_factory=dict)
    truncated: dict[str, bool] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    end_hashes: dict[str, int] = field(default_factory=dict)
    exchanges: list[StepExchange] = field(default_factory=list)


@dataclass(frozen=True)
class PlayedEpisode:
    """An episode of the lane ``label``.

    ``seed`` is the user's, ``episode`` the episode's number on it; the environment was reset with
    ``episode_seed`` and ``index``. ``complete``: whether the steps lead to the episode's end. ``lane`` is the
    lane's index, which determines its color. ``versions`` are of the packages that played it, ``note`` says
    how it ended if not by a step, ``recording`` is the folder of its exchanges, ``observed`` the episode with
    the file of its observations.
    """

    label: str
    seed: int
    episode: int
    episode_seed: int
    index: int
    steps: list[PlayedStep]
    complete: bool
    lane: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    recording: Path | None = None
    observed: RecordedEpisode | None = None

    @property
    def has_hashes(self) -> bool:
        """Whether the observations can be compared."""
        return any(step.hashes for step in self.steps)


def lane_episode(lane: Lane, seed: int, number: int | None = None) -> PlayedEpisode:
    """Return the newest episode of a lane on ``seed`` as recorded, finished or not, or the one with this
    ``number`` in the comparison.

    Raises ConfigurationError if the lane has made no step on this seed, and MosaicError without recorded
    actions.
    """
    current, ended = lane.progress, {int(row["episode_index"]): row for row in lane.rows}
    seeds = {index: int(row["seed"]) for index, row in ended.items()}
    if current.step:
        seeds[current.episode] = current.seed
    indices = [
        index for index, played_seed in seeds.items() if played_seed == seed and number in (None, index)
    ]
    index = max(indices, default=None)
    if index is None:
        listed = ", ".join(map(str, dict.fromkeys(seeds.values()))) or "none yet"
        which = "" if number is None else f" in an episode {number}"
        raise ConfigurationError(
            f"{lane.label} has made no step on seed {seed}{which}: its seeds are {listed}"
        )
    row = ended.get(index)
    folder = lane.folders[-1] if row is None else row["folder"]
    steps = recorded_steps(EpisodeSteps(folder).table(index), f"{lane.label}, seed {seed}")
    recording = folder.parent / EXCHANGES
    add_exchanges(steps, recording, lane.label, index)
    forfeit = row and row.get("forfeit")
    return PlayedEpisode(
        label=lane.label,
        seed=seed,
        episode=0,
        episode_seed=seed,
        index=index,
        steps=steps,
        complete=row is not None and forfeit is None,
        lane=lane.index,
        note="not finished" if row is None else f"{forfeit} forfeited" if forfeit else "",
        recording=recording,
        observed=None if row is None else RecordedEpisode.of(row, lane.label, "", folder),
    )


def recorded_steps(table: pd.DataFrame, name: str) -> list[PlayedStep]:
    """Return the steps of an episode from its table; ``place`` names the episode in errors. Raises
    MosaicError if actions are missing, or if there are more than `MAX_STEPS`."""
    if len(table) > MAX_STEPS:
        raise MosaicError(
            f"{name} has {len(table):,} recorded steps: a replay is kept in memory, and can have at most "
            f"{MAX_STEPS:,}. steps() returns all of them as a table"
        )
    steps: dict[int, PlayedStep] = defaultdict(PlayedStep)
    for row in table.to_dict("records"):
        step, agent = steps[int(row["step_index"])], str(row["agent_id"])
        step.rewards[agent] = row["reward"]
        step.terminated[agent], step.truncated[agent] = bool(row["terminated"]), bool(row["truncated"])
        if row["action"] is not None:
            step.actions[agent] = row["action"]
        if isinstance(row["observation_hash"], int):
            step.hashes[agent] = row["observation_hash"]
        if isinstance(row["end_hash"], int):
            step.end_hashes[agent] = row["end_hash"]
        if row["fault"]:
            step.faults[agent] = row["fault"]
    if not steps or sorted(steps) != list(range(len(steps))) or not all(s.actions for s in steps.values()):
        raise MosaicError(
            f"{name} has no recorded actions: it was forfeited before its first step, or played by a "
            "version that did not record them, or its arena's files were removed. Play it again to replay it"
        )
    return [steps[index] for index in range(len(steps))]


def add_exchanges(steps: list[PlayedStep], recording: Path, lane: str, index: int) -> None:
    """Add the exchanges of a lane's episode, in the order of the calls."""
    begins = encode_line({"lane": lane})[:-2] + b","
    exchanges: dict[tuple[int, str, int], StepExchange] = {}
    for _, _, entry in read(recording).located(begins):
        step = entry["step_index"]
        if entry["episode_index"] == index and step < len(steps):
            exchanges[step, entry["agent"], entry["call"]] = StepExchange(  # the latest, if called again
                entry["agent"],
                str(entry.get("model", "")),
                prompt_text(entry["prompt"]),
                str(entry["answer"]),
                "" if entry.get("parsed") is None else str(entry["parsed"]),
                tuple(entry["faults"]),
                entry,
            )
    for (step, _, _), exchange in sorted(exchanges.items(), key=lambda pair: pair[0]):
        steps[step].exchanges.append(exchange)
