"""The plan of an evaluation, which determines every episode in advance.

An episode depends only on its operator, seed and number, not on other episodes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from mosaic_contract import derive_seed
from mosaic_contract.codec import with_tuples
from msgspec import structs

from mosaic_lab.arenas.plan import PREPARED, ArenaPlan
from mosaic_lab.arenas.request import MAX_EPISODES
from mosaic_lab.errors import MosaicError
from mosaic_lab.evaluation.request import EvaluateRequest
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.operators.tables import algorithm_table, lane_table
from mosaic_lab.runs.provenance import module_path
from mosaic_lab.runs.request import compact_seeds
from mosaic_lab.runs.run_record import RunRecord
from mosaic_lab.workers.families import family_of

_LIMITS = ("max_steps", "step_timeout", "step_delay", "budget")
_RECORDED = (*_LIMITS, "episodes", "seed_sequence", "on_failure", "on")
"""Arguments that every plan in a folder has; others are there only if they were given."""

Trainings = dict[str, dict[str, str]]
"""The lanes of each algorithm's trainings: {operator: {training: lane}}."""

Key = tuple[str, int, int]
"""An episode's key: its operator's label, its seed and its number on that seed."""


def episode_text(label: str, seed: int, episode: int) -> str:
    """Return an episode's name for messages: "PPO, seed 7, episode 2". Episode 0 has no number."""
    return f"{label}, seed {seed}" + (f", episode {episode}" if episode else "")


@dataclass(frozen=True)
class EpisodeJob:
    """One episode. ``index`` counts an operator's episodes, ``episode_seed`` seeds the environment, and
    ``operator_seed`` the operators' random numbers."""

    label: str
    seed: int
    episode: int
    index: int
    episode_seed: int
    operator_seed: int

    @property
    def key(self) -> Key:
        return self.label, self.seed, self.episode


@dataclass(frozen=True, kw_only=True)
class EvaluationPlan(ArenaPlan):
    """A request with its episodes' schedule, as read by the evaluation's process.

    ``arena`` is the command of an arena, ``commands`` are those of the operators' workers. ``parallel`` is
    the number of arenas, or of parts on a cluster, that play at once. ``digests`` are the checkpoints'
    digests by path. ``replay`` is the folder of the recording that language models answer from, None if they
    are called. ``only`` are the keys of the episodes to play, None for all. In a part, ``places`` are the
    positions of its seeds among all seeds. ``module`` is the file or folder of the user's module that makes
    the environment, None if a worker provides it. ``trainings`` are the lanes of each algorithm's trainings.
    ``batches`` has the number of episodes that an arena plays together, for each lane where it plays several.
    """

    request: EvaluateRequest
    arena: list[str]
    commands: dict[str, list[str]]
    parallel: int
    digests: dict[str, str]
    replay: str | None = None
    only: list[Key] | None = None
    places: list[int] | None = None
    module: str | None = None
    trainings: Trainings = field(default_factory=dict)
    batches: dict[str, int] = field(default_factory=dict)

    @property
    def brought_module(self) -> Path | None:
        """The environment's module if a script or bundle provides it; None if this process's PYTHONPATH does,
        or if the environment is a worker's own."""
        if self.module is None or module_path(self.env_id, self.passed) == Path(self.module):
            return None
        return Path(self.module)

    @property
    def env_vars(self) -> dict[str, str]:
        if self.brought_module is None:
            return {}
        folders = [str(self.brought_module.parent), self.passed.get("PYTHONPATH", "")]
        return {"PYTHONPATH": os.pathsep.join(filter(None, folders))}

    def jobs(self) -> list[EpisodeJob]:
        """Return all episodes, seed by seed, with each operator in turn."""
        selected = None if self.only is None else set(self.only)
        jobs = (
            EpisodeJob(
                label,
                seed,
                episode,
                position * self.request.episodes + episode,
                self.episode_seed(seed, episode),
                self.operator_seed(seed, episode),
            )
            for position, seed in zip(self.places or range(len(self.seeds)), self.seeds, strict=True)
            for label in self.lanes
            for episode in range(self.request.episodes)
        )
        return [job for job in jobs if selected is None or job.key in selected]

    def episode_seed(self, seed: int, episode: int) -> int:
        """Return the environment's seed: ``seed`` itself in a fixed sequence, else the operators' seed."""
        return seed if self.request.seed_sequence == "fixed" else self.operator_seed(seed, episode)

    def operator_seed(self, seed: int, episode: int) -> int:
        """Return ``seed`` itself if it has a single episode, else a seed derived for this episode."""
        return seed if self.request.episodes == 1 else derive_seed(seed, f"episode/{episode}")

    @property
    def variables(self) -> list[str]:
        """The names of all environment variables that the evaluation's process needs."""
        return sorted(
            {*self.pass_env_vars, *(n for spec in self.operators.values() for n in spec.pass_env_vars)}
        )

    @property
    def workers(self) -> set[str]:
        """The names of all required workers."""
        return {self.family, *(spec.worker for spec in self.operators.values() if spec.worker)}

    @property
    def lanes_by_operator(self) -> dict[str, list[str]]:
        """The lanes of each operator named by the user: one, or one for each training of an algorithm."""
        owners = {lane: label for label, lanes in self.trainings.items() for lane in lanes.values()}
        grouped: dict[str, list[str]] = {}
        for lane in self.lanes:
            grouped.setdefault(owners.get(lane, lane), []).append(lane)
        return grouped

    def tables(self) -> dict[str, Any]:
        """Return each operator as the table of a script."""
        return {
            label: algorithm_table(
                {name: lane_table(self.mapping(lane)) for name, lane in self.trainings[label].items()}
            )
            if label in self.trainings
            else lane_table(self.mapping(label))
            for label in self.lanes_by_operator
        }

    def category(self, label: str) -> str:
        return ", ".join(dict.fromkeys(str(spec.category) for spec in self.mapping(label).values()))

    def recorded_request(self, request: EvaluateRequest) -> EvaluateRequest:
        """Return ``request`` with the values of this plan, to be recorded by `EvaluateRequest.to_json`."""
        return structs.replace(
            request,
            operators=self.tables(),
            policies=None,
            deadline=None,  # the operators have their own
            fallback=None,
            seeds=compact_seeds(self.seeds),
            episodes=self.request.episodes,
            seed_sequence=self.request.seed_sequence,
            replay=self.replay,
            pass_env_vars=tuple(self.pass_env_vars),
        )

    def to_config(self) -> dict[str, Any]:
        config = {name: getattr(self, name) for name in _FIELDS} | self.options(*_RECORDED)
        operators = {key: asdict(spec) for key, spec in self.operators.items()}
        for content in operators.values():
            del content["function"]  # evaluations have no operators in the kernel
        return {**config, "operators": operators, "total_episodes": len(self.jobs())}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> EvaluationPlan:
        """Read a plan. Raises KeyError, TypeError or ValueError if it is not an evaluation's."""
        # Older configurations lack these.
        config = {"module": None, "trainings": {}, "batches": {}, **config}
        values = {name: config[name] for name in _FIELDS}
        names = [name for name in EvaluateRequest.__struct_fields__ if name not in PREPARED]
        request = EvaluateRequest(**{name: config[name] for name in names if name in config})
        total = len(values["seeds"]) * len(values["lanes"]) * request.episodes
        if not 0 <= total <= MAX_EPISODES:
            raise ValueError(f"it plans {total:,} episodes; the maximum is {MAX_EPISODES:,}")
        values["operators"] = {key: _read_operator(spec) for key, spec in values["operators"].items()}
        if values["only"] is not None:
            values["only"] = [
                (str(label), int(seed), int(episode)) for label, seed, episode in values["only"]
            ]
        return cls(request=request, **values)


def request_of(run: RunRecord) -> EvaluateRequest:
    """Return the request that plays a run's episodes again, with operators as tables. Raises KeyError,
    TypeError or ValueError for a run that is not an evaluation."""
    if recorded := run.folder.document(run.folder.request_path):
        return EvaluateRequest.of_json(recorded)
    plan = EvaluationPlan.from_config(run.folder.config())  # made by an earlier version
    return structs.replace(
        plan.recorded_request(plan.request),
        env=plan.env_id,
        env_kwargs=with_tuples(plan.settings) or None,
        family=None if plan.family == _usual_family(plan.env_id) else plan.family,
        module=plan.brought_module,
    )


def _usual_family(env_id: str) -> str | None:
    try:
        return family_of(env_id)
    except MosaicError:
        return None


_FIELDS = [field.name for field in fields(EvaluationPlan) if field.name != "request"]


def _read_operator(content: Mapping[str, Any]) -> OperatorSpec:
    agents = content["agents"]
    pairs = None if agents is None else {agent: tuple(spaces) for agent, spaces in agents.items()}
    return OperatorSpec(**{**content, "agents": pairs})
