"""The stages of a curriculum, as given by the user and as recorded in its folder.

``stages.json`` in the folder lists the runs that trained the stages, in order. A run is recorded before it is
started, so that a killed curriculum finds its runs by their ids.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeGuard

from mosaic_contract.codec import with_tagged_tuples, with_tuples

from mosaic_lab.documents import read_document
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keeper.run_store import RunFolder, read_json, write_json
from mosaic_lab.validation import Problems
from mosaic_lab.workers.own_environments import check_environment_id

WINDOW = 20
"""Default number of episodes in the mean return."""
TABLE = "curriculum"
"""Name of the table that describes a stage in a file."""
_NO_STEPS = ("steps", None)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


class Stage:
    """A stage of a curriculum: its environment, and when it ends. `Lab.train` checks it.

    Args:
        env: an environment id.
        steps: the stage's maximum number of environment steps; default: all that remain of
            ``total_timesteps``.
        until: end the stage early, but not before its first checkpoint, once the mean return of its last
            ``window`` episodes reaches this value; default: never.
        window: number of episodes in that mean.
        **hyperparameters: hyperparameters of this stage only, as in `Lab.train`.
    """

    def __init__(
        self,
        env: str,
        *,
        steps: int | None = None,
        until: float | None = None,
        window: int = WINDOW,
        **hyperparameters: Any,
    ) -> None:
        self.env = env
        self.steps = steps
        self.until = until
        self.window = window
        self.hyperparameters = hyperparameters

    def problems(self) -> Iterator[str]:
        """Yield everything that is not valid, one sentence each."""
        try:
            check_environment_id(self.env)
        except ConfigurationError as error:
            yield str(error)
        for name, value in (("steps", self.steps), ("window", self.window)):
            if not (_is_number(value) and value >= 1 and value == value // 1) and (name, value) != _NO_STEPS:
                yield f"{name}={value!r}: must be an integer ≥ 1"
        if self.until is not None and not _is_number(self.until):
            yield f"until={self.until!r}: must be a number, the mean return at which the stage ends"

    def to_json(self) -> dict[str, Any]:
        """Return the stage as JSON-compatible data; see `from_json`."""
        numbers = {"window": int(self.window), "steps": None if self.steps is None else int(self.steps)}
        return {**vars(self), **numbers, "hyperparameters": with_tagged_tuples(self.hyperparameters)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Stage:
        """Return the stage from the data returned by `to_json`."""
        stage_fields = {name: value for name, value in content.items() if name != "hyperparameters"}
        return cls(**stage_fields, **with_tuples(content["hyperparameters"]))

    def __repr__(self) -> str:
        window = None if self.window == WINDOW else self.window
        keywords = {"steps": self.steps, "until": self.until, "window": window, **self.hyperparameters}
        texts = [f"{name}={value!r}" for name, value in keywords.items() if value is not None]
        return f"mosaic.Stage({', '.join([repr(self.env), *texts])})"


@dataclass(frozen=True)
class Segment:
    """A run of a stage; after a stop, another segment continues the stage.

    ``start`` is the step of the checkpoint from which it resumed, ``path`` that checkpoint's path in the run
    store. Steps up to ``reported`` were reported by earlier runs. Once it has ended, ``end`` is the step of
    the newest checkpoint and ``furthest`` the last reported step. ``reached`` is the return that ended the
    stage early, ``done`` whether the stage is over.
    """

    stage: int
    run: str
    start: int = 0
    path: str | None = None
    reported: int = 0
    end: int | None = None
    furthest: int = 0
    reached: float | None = None
    done: bool = False


_FIELDS = {field.name for field in fields(Segment)}


def read_segments(folder: Path) -> list[Segment]:
    """Return the recorded runs of a curriculum's stages; empty for other runs. Never raises."""
    try:
        content = read_json(RunFolder(folder).stages_path)
        return [Segment(**{name: row[name] for name in _FIELDS & set(row)}) for row in content["segments"]]
    except (OSError, ValueError, TypeError, KeyError):
        return []


def write_segments(folder: Path, segments: Iterable[Segment]) -> None:
    """Record the runs of a curriculum's stages. Raises OSError."""
    write_json(RunFolder(folder).stages_path, {"segments": [asdict(segment) for segment in segments]})


def stage_starts(segments: Iterable[Segment]) -> dict[int, int]:
    """Return the step at which each stage began, by its number from 0."""
    starts: dict[int, int] = {}
    for segment in segments:
        starts.setdefault(segment.stage, segment.start)
    return starts


def read_curriculum(path: Path) -> list[Stage]:
    """Read stages from a file with one table ``[[curriculum]]`` per stage; `Lab.train` checks them. Raises
    ConfigurationError if the file has other content."""
    arguments, lines = read_document(path)
    problems = Problems(path.name, lines)
    tables = arguments.pop(TABLE, None)
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        problems.add(TABLE, f"give a table [[{TABLE}]] for each stage, with its env and its steps or until")
    for name in arguments:
        problems.add(name, f"{name} is not a field of a stage: pass it as an option of the command")
    problems.check()
    return [Stage(**{"env": "", **table}) for table in tables]
