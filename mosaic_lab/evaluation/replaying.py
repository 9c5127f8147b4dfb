"""Replays and recordings of an evaluation's episodes, played on this machine or from an opened bundle."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections.abc import Callable, Sequence

from mosaic_lab.arenas.datasets import RecordedEpisode
from mosaic_lab.arenas.replays import Replay, Replays
from mosaic_lab.arenas.replays.played_episode import PlayedEpisode, add_exchanges, recorded_steps
from mosaic_lab.arenas.replays.replaying import Progress, checked_names, replay_episode
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.episode_log import PlayedEvaluation, Record, key_of
from mosaic_lab.evaluation.plan import EvaluationPlan, episode_text

_NEAREST = 4  # seeds in an error


def replay(
    evaluation: PlayedEvaluation,
    operator: str | Sequence[str],
    seed: int,
    episode: int,
    install: Callable[[str], None] = print,
    progress: Progress | None = None,
) -> Replay | Replays:
    """Replay an episode of one operator, or of several side by side; see `Evaluation.replay`. ``install`` and
    ``progress`` are as in `replay_episode`."""
    names = [operator] if isinstance(operator, str) else checked_names(operator)
    episodes = [_played_episode(evaluation, name, seed, episode) for name in names]
    replays = [replay_episode(evaluation.plan, recorded, install, progress) for recorded in episodes]
    return replays[0] if isinstance(operator, str) else Replays(replays)


def recorded_episodes(evaluation: PlayedEvaluation) -> list[RecordedEpisode]:
    """Return the ended episodes, with the files of their observations if recorded."""
    owners = {lane: label for label, lanes in evaluation.plan.lanes_by_operator.items() for lane in lanes}
    return [_recorded(evaluation, record, owners[record["operator"]]) for record in evaluation.records()]


def _recorded(evaluation: PlayedEvaluation, record: Record, operator: str) -> RecordedEpisode:
    return RecordedEpisode.of(record, operator, record["category"], evaluation.arena_path(record["arena"]))


def _played_episode(evaluation: PlayedEvaluation, operator: str, seed: int, episode: int) -> PlayedEpisode:
    """Return an episode as recorded, with the exchanges of its language models. Raises ConfigurationError for
    an unknown operator or episode, and MosaicError without recorded actions."""
    plan = evaluation.plan
    lane = _lane(plan, operator)
    record = _record(plan, {key_of(record): record for record in evaluation.records()}, lane, seed, episode)
    episode_name = episode_text(lane, seed, episode)
    steps = recorded_steps(evaluation.steps(lane, seed, episode), episode_name)
    add_exchanges(steps, evaluation.recording, lane, record["index"])
    forfeit = record.get("forfeit")
    return PlayedEpisode(
        label=lane,
        seed=seed,
        episode=episode,
        episode_seed=record["episode_seed"],
        index=record["index"],
        steps=steps,
        complete=forfeit is None,
        lane=list(plan.lanes).index(lane),
        versions=evaluation.versions.get(lane, {}),
        note="" if forfeit is None else f"{forfeit} forfeited",
        recording=evaluation.recording,
        observed=_recorded(evaluation, record, lane),
    )


def _lane(plan: EvaluationPlan, operator: str) -> str:
    if operator in plan.lanes:
        return operator
    if trainings := plan.trainings.get(operator):
        names = ", ".join(map(repr, trainings.values()))
        raise ConfigurationError(f"{operator!r} has {len(trainings)} trainings: replay one of {names}")
    near = difflib.get_close_matches(operator, plan.lanes, n=1)
    guess = f", did you mean {near[0]!r}?" if near else "."
    raise ConfigurationError(f"no operator {operator!r}{guess} The operators are {', '.join(plan.lanes)}")


def _record(
    plan: EvaluationPlan, records: dict[tuple[str, int, int], Record], lane: str, seed: int, episode: int
) -> Record:
    record = records.get((lane, seed, episode))
    if record is None:
        seeds = sorted({lane_seed for label, lane_seed, _ in records if label == lane})
        last = plan.request.episodes - 1
        raise ConfigurationError(
            f"no finished {episode_text(f'episode of {lane}', seed, episode)}: {nearest_seeds(seeds, seed)}"
            + (f"; each has the episodes 0 to {last}" if last else "")
        )
    if record["status"] != "ok":
        raise ConfigurationError(f"{episode_text(lane, seed, episode)} failed: {record['error']}")
    return record


def nearest_seeds(seeds: list[int], seed: int) -> str:
    """Return a clause with those of the sorted ``seeds`` that are nearest to an unknown one."""
    if not seeds:
        return "none has ended yet"
    start = min(max(bisect_left(seeds, seed) - _NEAREST // 2, 0), max(0, len(seeds) - _NEAREST))
    listed = ", ".join(map(str, seeds[start : start + _NEAREST]))
    return f"its seeds are {listed}" if len(seeds) <= _NEAREST else f"the nearest of its seeds are {listed}"
