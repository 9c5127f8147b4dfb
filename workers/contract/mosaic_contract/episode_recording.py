"""Recordings of episodes with their observations, one compressed `.npz` file each.

An arena writes them on request; the worker `minari` makes datasets from them. A file has the arrays of the
steps in numbered parts, such as `0/observations` and `0/rewards` (one for each key of a Dict or Tuple:
`0/observations/image`), and a description in `recording.json`. The first part has one more observation than
steps. NumPy is imported when an episode begins.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import zipfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

OBSERVATIONS = "observations"
"""The value of `record=`, and the folder of an arena's recordings."""
DESCRIPTION = "recording.json"
_ACTIONS, _REWARDS, _TERMINATED, _TRUNCATED = "actions", "rewards", "terminated", "truncated"
_ARRAYS = ("Box", "Discrete", "MultiBinary", "MultiDiscrete")
_TEXTS = ("MissionSpace", "Text")
_PART_BYTES = 8 * 2**20  # bytes of observations that are held before they are written
_BLOCK_BYTES = 2**20
_TEXT_BYTES = 400  # estimated for a string

Keys = Sequence[Any]
Arrays = Mapping[str, Any]


def leaves(space: Mapping[str, Any], keys: Keys = ()) -> Iterator[tuple[Keys, Mapping[str, Any]]]:
    """Yield the arrays and texts that a value of a described space consists of: the keys that lead to each,
    and its own space. Raises `ValueError` for a kind of space that cannot be recorded."""
    kind, parts = space["type"], space.get("spaces")
    if kind in ("Dict", "Tuple") and parts is not None:
        for key, part in parts.items() if kind == "Dict" else enumerate(parts):
            yield from leaves(part, (*keys, key))
    elif kind in (*_ARRAYS, *_TEXTS):
        yield keys, space
    else:
        raise ValueError(f"a {kind} cannot be recorded, only arrays, texts, and a Dict or Tuple of them")


def recording_problem(env_id: str, agents: Mapping[str, Iterable[Mapping[str, Any]]]) -> str:
    """Return why the observations of an environment cannot be recorded, given the described spaces of each of
    its agents; "" if they can."""
    if len(agents) > 1:
        return (
            f"record={OBSERVATIONS!r}: {env_id} has several agents ({', '.join(agents)}); a Minari dataset "
            "has the observations of one"
        )
    try:
        for space in next(iter(agents.values())):
            list(leaves(space))
    except ValueError as error:
        return f"record={OBSERVATIONS!r}: {env_id}: {error}"
    return ""


def bytes_of(space: Mapping[str, Any]) -> int:
    """Return the bytes of one value of a described space, before compression; for texts, an
    estimate."""
    return sum(_size(leaf) for _, leaf in leaves(space))


def _size(leaf: Mapping[str, Any]) -> int:
    if leaf["type"] in _TEXTS:
        return _TEXT_BYTES
    return math.prod(leaf["shape"]) * int(import_module("numpy").dtype(leaf["dtype"]).itemsize)


def spec_of(env: Any) -> str | None:
    """Return the environment's Gymnasium specification as JSON; None if it has none, or one that cannot be
    written."""
    try:
        return str(env.spec.to_json())
    except Exception:  # no spec, an entry point that is a function, or keywords that are not JSON
        return None


class EpisodeRecorder:
    """Writes one agent's episodes to `folder`. `description` is recorded with each episode; its
    `observation_space` and `action_space` must be recordable. The methods raise `OSError`."""

    def __init__(self, folder: Path, description: Mapping[str, Any]) -> None:
        self._folder, self._description = folder, description
        self._observations = _Columns(OBSERVATIONS, description["observation_space"])
        self._actions = _Columns(_ACTIONS, description["action_space"])
        self._file: zipfile.ZipFile | None = None
        self._path = folder

    def begin(self, index: int, seed: int | None, observation: Any) -> None:
        """Begin the recording of an episode, with its seed if it has one of its own. An unfinished one is
        deleted."""
        self.discard()
        self._folder.mkdir(exist_ok=True)
        self._path = self._folder / f"{index}.npz"
        self._episode = {**self._description, "seed": seed}
        self._parts = self._steps = 0
        self._outcomes: dict[str, list[Any]] = {_REWARDS: [], _TERMINATED: [], _TRUNCATED: []}
        self._observations.clear()
        self._actions.clear()
        self._observations.add(observation)
        self._file = zipfile.ZipFile(self._unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=1)

    def step(self, action: Any, reward: float, terminated: bool, truncated: bool, observation: Any) -> None:
        """Record a step with the observation after it."""
        if self._observations.bytes >= _PART_BYTES:
            self._write_part()
        self._actions.add(action)
        for name, value in zip(self._outcomes, (reward, terminated, truncated)):
            self._outcomes[name].append(value)
        self._observations.add(observation)
        self._steps += 1

    def end(self, truncated: bool) -> dict[str, Any] | None:
        """Finish the episode's file and return its name, SHA-256 and number of steps; None for an episode
        without a step. `truncated`: the arena has ended the episode."""
        if self._file is None or not self._steps:
            self.discard()
            return None
        truncations = self._outcomes[_TRUNCATED]
        truncations[-1] = truncations[-1] or (truncated and not self._outcomes[_TERMINATED][-1])
        self._write_part()
        self._file.writestr(DESCRIPTION, json.dumps({**self._episode, "steps": self._steps}))
        self._file.close()
        self._file = None
        self._unfinished.replace(self._path)
        return {"file": self._path.name, "sha256": sha256_of(self._path), "steps": self._steps}

    def discard(self) -> None:
        """Delete the file of an episode that has not ended."""
        if self._file is not None:
            file, self._file = self._file, None
            with suppress(OSError, ValueError):  # on a full disk, or within an array
                file.close()
            self._unfinished.unlink(missing_ok=True)

    @property
    def _unfinished(self) -> Path:
        return self._path.with_suffix(".part")

    def _write_part(self) -> None:
        """Write the steps since the last part."""
        numpy = import_module("numpy")
        columns = {
            **self._observations.pop_arrays(),
            **self._actions.pop_arrays(),
            **{name: numpy.array(values) for name, values in self._outcomes.items()},
        }
        for values in self._outcomes.values():
            values.clear()
        assert self._file is not None
        for name, array in columns.items():
            with self._file.open(f"{self._parts}/{name}.npy", "w", force_zip64=True) as member:
                numpy.lib.format.write_array(member, array, allow_pickle=False)
        self._parts += 1


class _Columns:
    """The values of one space at each step, as a list for each array or text in it."""

    def __init__(self, name: str, space: Mapping[str, Any]) -> None:
        self._leaves = [
            ("/".join([name, *map(str, keys)]), keys, None if leaf["type"] in _TEXTS else leaf["dtype"])
            for keys, leaf in leaves(space)
        ]
        self.clear()

    def clear(self) -> None:
        self.bytes = 0
        self._values: list[list[Any]] = [[] for _ in self._leaves]

    def add(self, value: Any) -> None:
        asarray = import_module("numpy").array  # copies: environments reuse their arrays
        for (_, keys, dtype), values in zip(self._leaves, self._values):
            part = value
            for key in keys:
                part = part[key]
            values.append(str(part) if dtype is None else asarray(part, dtype=dtype))
            self.bytes += len(part) if dtype is None else values[-1].nbytes

    def pop_arrays(self) -> dict[str, Any]:
        """Return the values as arrays by name, and begin again."""
        numpy = import_module("numpy")
        arrays = {name: numpy.array(values) for (name, _, _), values in zip(self._leaves, self._values)}
        self.clear()
        return arrays


def read_recording(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a recording's description, and its observations, actions, rewards, terminated and truncated:
    arrays, lists of texts, and dicts and tuples of these. Raises `OSError`, and `ValueError` for a file that
    is not a recording."""
    try:
        return _read(path)
    except OSError:
        raise
    except Exception as error:  # damaged and hostile files raise arbitrary exceptions
        raise ValueError(
            f"{path} is not a recording of an episode: {type(error).__name__}: {error}"
        ) from None


def at_step(column: Any, step: int) -> Any:
    """Return the value of a recording's observations or actions at one step."""
    if isinstance(column, Mapping):
        return {key: at_step(part, step) for key, part in column.items()}
    return tuple(at_step(part, step) for part in column) if isinstance(column, tuple) else column[step]


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    numpy = import_module("numpy")
    with numpy.load(path, allow_pickle=False) as file:
        described = json.loads(file.zip.read(DESCRIPTION))
        parts = sorted({int(name.partition("/")[0]) for name in file.files if "/" in name})
        steps = described["steps"]

        def load(name: str, shape: Sequence[int], rows: int = steps) -> Any:
            array = numpy.concatenate([file[f"{part}/{name}"] for part in parts])
            if not steps or array.shape != (rows, *shape):
                raise ValueError(f"{name} of {steps} steps has the shape {array.shape}")
            return array

        columns = {name: load(name, ()) for name in (_REWARDS, _TERMINATED, _TRUNCATED)}
        columns[_ACTIONS] = _nested(described["action_space"], _ACTIONS, load)
        load_observations = functools.partial(load, rows=steps + 1)
        columns[OBSERVATIONS] = _nested(described["observation_space"], OBSERVATIONS, load_observations)
    return described, columns


def _nested(space: Mapping[str, Any], name: str, load: Callable[[str, Sequence[int]], Any]) -> Any:
    if space["type"] == "Dict":
        return {key: _nested(part, f"{name}/{key}", load) for key, part in space["spaces"].items()}
    if space["type"] == "Tuple":
        return tuple(_nested(part, f"{name}/{key}", load) for key, part in enumerate(space["spaces"]))
    return load(name, ()).tolist() if space["type"] in _TEXTS else load(name, space["shape"])


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file. Raises `OSError`."""
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            hashed.update(block)
    return hashed.hexdigest()
