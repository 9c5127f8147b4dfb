"""The episodes of a training's checkpoints, kept for replays: a file for each film or evaluation.

The first line of ``replays/<step>-<source>.jsonl.gz`` in the training's folder describes the environment and
the episodes; the lines of their steps follow as their arena wrote them.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from mosaic_contract.codec import decode_line, encode_line
from mosaic_contract.errors import BadLine

from mosaic_lab.arenas.plan import ArenaPlan
from mosaic_lab.arenas.replays.played_episode import PlayedEpisode, recorded_steps
from mosaic_lab.arenas.replays.replay import Replay
from mosaic_lab.arenas.replays.replaying import replay_episode
from mosaic_lab.arenas.request import CompareRequest
from mosaic_lab.arenas.tables import EpisodeSteps, steps_of
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.operators import OperatorSpec, passive, rl
from mosaic_lab.runs.checkpoints import read_checkpoints

FOLDER = "replays"
"""Subfolder of a training's folder for its kept episodes."""
EVALUATION, FILM = "evaluation", "film"
"""Sources of kept episodes."""
MAX_FILES = 50
"""Maximum number of files; those of the newest steps are kept."""
MAX_BYTES = 32 << 20
"""Maximum size of the steps in a file before compression; further episodes are not kept."""
_NAMED = 5  # steps or seeds in an error


class _Episode(msgspec.Struct):
    seed: int
    index: int
    complete: bool


class _FileHead(msgspec.Struct):
    """The first line of a file."""

    env_id: str
    settings: dict[str, Any]
    family: str
    max_steps: int | None
    variables: list[str]
    episodes: list[_Episode]


def keep_episodes(
    training: Path,
    step: int,
    source: str,
    plan: ArenaPlan,
    episodes: Iterable[tuple[Path, Mapping[str, Any]]],
    variables: Sequence[str],
) -> None:
    """Keep ``episodes`` of the checkpoint at ``step``: pairs of the folder of the arena that played one and
    {"seed", "index", "complete"}.

    ``variables`` names the variables of this process that the environment received. Nothing is kept if the
    training's folder was removed, or the disk is full.
    """
    kept_episodes, lines, size = [], b"", 0
    logs: dict[Path, EpisodeSteps] = {}
    for arena, episode in episodes:
        steps = logs.setdefault(arena, EpisodeSteps(arena)).lines(episode["index"])
        size += len(steps)
        if size > MAX_BYTES:
            break
        kept_episodes.append(dict(episode))
        lines += steps
    if not kept_episodes:
        return
    head = {
        "env_id": plan.env_id,
        "settings": plan.settings,
        "family": plan.family,
        "max_steps": plan.request.max_steps,
        "variables": list(variables),
        "episodes": kept_episodes,
    }
    folder = training / FOLDER
    with suppress(OSError):
        folder.mkdir(exist_ok=True)
        (folder / f"{step}-{source}.jsonl.gz").write_bytes(gzip.compress(encode_line(head) + lines, 6))
        for old in sorted(_files(training), reverse=True)[MAX_FILES:]:
            old[1].unlink()


def replay_checkpoint(training: Path, step: int | None, seed: int | None) -> Replay:
    """Replay a kept episode of the checkpoint at ``step`` (None: the newest) on ``seed`` (None: the first).

    Raises ConfigurationError if there is none, and MosaicError if it cannot be replayed.
    """
    files = sorted(_files(training), reverse=True)
    if not files:
        raise ConfigurationError(
            f"run {training.name} has no recorded episodes of its checkpoints: train with evaluate= or "
            "films=, or call lab.evaluate_checkpoints(run) or lab.make_films(run)"
        )
    chosen = [file for file_step, file in files if file_step == (files[0][0] if step is None else step)]
    if not chosen:
        steps = _listed(
            [f"{file_step:,}" for file_step in dict.fromkeys(file_step for file_step, _ in files)]
        )
        raise ConfigurationError(f"no episode of step {step:,} was recorded: the newest are at steps {steps}")
    seeds = []
    for file in chosen:
        head, lines = _read(file)
        for episode in head.episodes:
            if seed in (None, episode.seed):
                return _replay(file, head, episode, lines)
            seeds.append(episode.seed)
    listed = _listed([str(seed) for seed in seeds])
    raise ConfigurationError(f"no episode on seed {seed} was recorded: the recorded seeds are {listed}")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")


def _replay(file: Path, head: _FileHead, episode: _Episode, lines: list[bytes]) -> Replay:
    step, _, source = file.name.partition(".")[0].partition("-")
    label = f"step {int(step):,} ({source})"
    plan = ArenaPlan(
        request=CompareRequest(max_steps=head.max_steps),
        env_id=head.env_id,
        settings=head.settings,
        family=head.family,
        operators={"1": passive().with_(name=label)},
        lanes={label: {"*": "1"}},
        seeds=[episode.seed],
        pass_env_vars=[name for name in head.variables if name in os.environ],
    )
    seed, index = episode.seed, episode.index
    steps = recorded_steps(steps_of(lines, index), f"{label}, seed {seed}")
    recorded_episode = PlayedEpisode(label, seed, 0, seed, index, steps, episode.complete)
    replay = replay_episode(plan, recorded_episode, players=_players(file.parents[1], int(step), label))
    if replay.difference is not None and source == FILM:
        replay.note = f"run.films.at({step}) shows it as it was played"
    return replay


def _players(training: Path, step: int, label: str) -> dict[str, OperatorSpec]:
    """Return {label: policy} of the checkpoint at ``step``; empty if it was removed or cannot act."""
    for checkpoint in read_checkpoints(RunFolder(training)):
        if checkpoint.step == step:
            with suppress(ConfigurationError):
                return {label: rl(checkpoint, run_code=True, name=label)}  # the training has executed it
    return {}


def _files(training: Path) -> list[tuple[int, Path]]:
    """Return the kept files with the steps of their checkpoints."""
    files = []
    for file in (training / FOLDER).glob("*-*.jsonl.gz"):
        step = file.name.partition("-")[0]
        if step.isdigit() and not file.is_symlink():
            files.append((int(step), file))
    return files


def _read(file: Path) -> tuple[_FileHead, list[bytes]]:
    try:
        with gzip.open(file) as packed:
            first, *lines = packed.read(MAX_BYTES + (1 << 20)).splitlines(keepends=True)
        head = msgspec.convert(decode_line(first), _FileHead)
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, BadLine) as error:
        raise MosaicError(f"the recorded episodes {file} cannot be read: {error!r:.200}") from None
    return head, lines
