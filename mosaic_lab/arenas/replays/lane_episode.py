"""Find a recorded episode of a comparison's lane, for its replay."""

from __future__ import annotations

from mosaic_lab.arenas.lane import Lane
from mosaic_lab.arenas.plan import EXCHANGES
from mosaic_lab.arenas.replays.played_episode import PlayedEpisode, add_exchanges, recorded_steps
from mosaic_lab.arenas.tables import EpisodeSteps
from mosaic_lab.errors import ConfigurationError


def lane_episode(lane: Lane, seed: int, number: int | None = None) -> PlayedEpisode:
    """Return the newest episode of a lane on ``seed`` as recorded, which may still be played, or the one
    with this ``number`` in the comparison.

    Raises ConfigurationError if it has not made a step on this seed, and MosaicError without recorded
    actions.
    """
    ended = {int(row["episode_index"]): row for row in lane.rows}
    seeds = {index: int(row["seed"]) for index, row in ended.items()}
    if lane.now.step:
        seeds[lane.now.episode] = lane.now.seed
    found = [index for index, own in seeds.items() if own == seed and number in (None, index)]
    index = max(found, default=None)
    if index is None:
        listed = ", ".join(map(str, dict.fromkeys(seeds.values()))) or "none yet"
        which = "" if number is None else f" in an episode {number}"
        raise ConfigurationError(
            f"{lane.label} has made no step on seed {seed}{which}: its seeds are {listed}"
        )
    tables = (EpisodeSteps(folder).table(index) for folder in reversed(lane.folders))
    table = next((table for table in tables if len(table)), EpisodeSteps(lane.folders[-1]).table(index))
    steps = recorded_steps(table, f"{lane.label}, seed {seed}")
    recording = lane.folders[-1].parent / EXCHANGES
    add_exchanges(steps, recording, lane.label, index)
    forfeit = ended[index].get("forfeit") if index in ended else None
    return PlayedEpisode(
        label=lane.label,
        seed=seed,
        episode=0,
        episode_seed=seed,
        index=index,
        steps=steps,
        complete=index in ended and forfeit is None,
        note=f"{forfeit} forfeited" if forfeit is not None else "" if index in ended else "not finished",
        recording=recording,
    )
