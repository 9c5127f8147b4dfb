"""An index of the recorded exchanges of an evaluation or a comparison, which may still be growing.

Only the index is in memory, 120 bytes per exchange: the place of its line, and the numbers by which exchanges
are filtered. Texts are read from the files when they are shown or searched. Each call that indexes or
searches has a time limit, and the next call continues: a large recording opens at once, and a search ends
when no more of it is requested.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from json import dumps
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import msgspec
import numpy as np
from mosaic_contract.codec import decode_line, is_sealed
from mosaic_contract.language.recording import LINE_LIMIT
from msgspec import Meta, Struct
from numpy.typing import NDArray

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keeper.files import check_inside, open_file

STEP_SECONDS = 0.2
"""Time limit of a call for indexing and searching."""
MAX_TEXT = 1000
"""Maximum length of a search string."""
EXCERPT = 160
"""Maximum number of characters of an answer in a row."""
MAX_POINTS = 500
"""Maximum number of points of a line over steps."""
AMOUNTS = ("tokens", "latency_ms", "cost_usd")
"""The amounts that are averaged by step."""
ANY, NONE = "any", "none"
"""Selections of the exchanges with any fault, and of those without."""
_MAX_SEARCHES = 8
_MAX_FAULTS = 62  # the bits of an integer; further names cannot be selected
_BUFFER = 1 << 20
_BLOCK = 1 << 16  # bytes that are searched at once
_CHECK_EVERY = 64  # lines between two checks of the deadline while indexing

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Range = tuple[float | None, float | None]
Integer = Annotated[int, Meta(ge=-(1 << 62), le=1 << 62)]
Amount = float | None


class Selection(Struct, frozen=True, forbid_unknown_fields=True):
    """The exchanges to show. ``fault`` is the name of a fault, "any" or "none". ``prompt`` and ``answer`` are
    ranges of their lengths in characters. ``text`` is searched for in prompts, answers and reasoning,
    ignoring case.
    """

    operator: str | None = None
    seed: int | None = None
    fault: str | None = None
    prompt: Range = (None, None)
    answer: Range = (None, None)
    text: Annotated[str, Meta(max_length=MAX_TEXT)] = ""


EVERYTHING = Selection()


class PromptTurn(Struct):
    """A turn of a recorded prompt."""

    role: str = ""
    text: str = ""
    images: list[str] = []


class Entry(Struct):
    """The parts of a recorded exchange that are indexed, searched and exported; see
    `mosaic_contract.language.recording`."""

    lane: str
    agent: str
    episode_index: Annotated[int, Meta(ge=0, le=1 << 62)]
    step_index: Annotated[int, Meta(ge=0, le=1 << 62)]
    call: Integer
    started: float
    prompt: list[PromptTurn]
    answer: str
    parsed: str | None
    faults: list[str]
    model: str
    input_tokens: Amount = None
    output_tokens: Amount = None
    cost_usd: Amount = None
    latency_ms: Amount = None
    reasoning: str = ""
    recorded: bool = False

    def contains(self, words: str) -> bool:
        """Return whether the prompt, the answer or the reasoning contains ``words``, given in lower case."""
        return any(words in text.lower() for text in (self.answer, self.reasoning)) or any(
            words in turn.text.lower() for turn in self.prompt
        )


_decode = msgspec.json.Decoder(Entry, strict=False).decode
_INTS = ("file", "offset", "size", "lane", "episode", "step", "call", "seed", "faults", "prompt", "answer")
_INDEX = np.dtype([*((name, "i8") for name in _INTS), *((name, "f8") for name in ("started", *AMOUNTS))])
_NO_SEED = -1


@dataclass
class _File:
    """A file of the recording, whose first ``read`` bytes are indexed."""

    path: Path
    read: int = 0
    size: int = 0


@dataclass
class _Search:
    """The matches of a selection among the indexed exchanges, the first ``done`` of which were examined."""

    matches: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    done: int = 0


@dataclass(frozen=True)
class Matches:
    """The numbers of the selected exchanges found so far, in the order of play. ``indexed`` and ``searched``
    are the fractions of the recording processed so far, from 0 to 1."""

    numbers: Numbers
    indexed: float
    searched: float

    @property
    def complete(self) -> bool:
        return self.indexed >= 1 and self.searched >= 1


class ExchangeIndex:
    """The exchanges in ``folder``. ``lanes`` are the operators in their order.

    ``seed_of`` returns the user's seed of an operator's episode by its index, None while unknown.
    ``episodes`` is the number of episodes on each seed, from which an episode's number on its seed follows;
    None: its index is that number. Methods may be called on any thread.
    """

    def __init__(
        self,
        folder: Path,
        lanes: Sequence[str],
        seed_of: Callable[[str, int], int | None],
        episodes: int | None = None,
    ) -> None:
        self.folder = folder
        self.damaged = 0
        """The number of lines that are truncated, modified or not an exchange."""
        self._seed_of, self._episodes = seed_of, episodes
        self._lanes = dict(zip(lanes, range(len(lanes)), strict=True))
        self._without_seed: dict[tuple[int, int], list[int]] = {}  # exchanges by lane and episode
        self._faults: dict[str, int] = {}
        self._files: dict[str, _File] = {}
        self._index = np.zeros(0, _INDEX)
        self._order = np.zeros(0, np.int64)
        self._searches: OrderedDict[Selection, _Search] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, selection: Selection = EVERYTHING, seconds: float = STEP_SECONDS) -> Matches:
        """Index new lines of the recording and continue the search, for about ``seconds`` at most."""
        deadline = time.monotonic() + seconds
        with self._lock:
            indexed = self._read(deadline)
            search = self._search(selection, deadline)
            numbers = self._order[(search.matches & (np.arange(len(self._index)) < search.done))[self._order]]
            return Matches(numbers, indexed, search.done / len(self._index) if len(self._index) else 1.0)

    def facets(self) -> dict[str, Any]:
        """Return the operators' indices, and the number of exchanges with each fault."""
        index, names = self._index, list(self._lanes)
        return {
            "operators": {names[lane]: int(lane) for lane in np.unique(index["lane"])},
            "faults": {
                name: int(np.count_nonzero(index["faults"] & bit)) for name, bit in [*self._faults.items()]
            },
        }

    @property
    def size(self) -> int:
        """The number of exchanges indexed so far."""
        return len(self._index)

    def bytes_of(self, numbers: Numbers) -> int:
        """Return the size of these exchanges in their files."""
        return int(self._index["size"][numbers].sum())

    def span(self, numbers: Numbers) -> tuple[float, float]:
        """Return when the first of these exchanges began and the last one ended, in Unix seconds."""
        chosen = self._index[numbers]
        end_times = chosen["started"] + np.nan_to_num(chosen["latency_ms"]) / 1000
        return float(chosen["started"].min()), float(end_times.max())

    def rows(self, numbers: Numbers) -> list[dict[str, Any]]:
        """Return these exchanges as rows of a table, with the beginnings of their answers."""
        return [
            {
                **self.place(number),
                "answer": entry.answer[:EXCERPT],
                "action": entry.parsed,
                "faults": entry.faults,
                **{name: _as_json(self._index[number][name]) for name in AMOUNTS},
            }
            for number, entry in self.entries(numbers)
        ]

    def exchange(self, id: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the place and the recorded line of an exchange. Raises ConfigurationError for an id that is
        not, or no longer, in the recording."""
        name, _, offset = id.rpartition(":")
        index, numbers = self._index, {name: number for number, name in enumerate(self._files)}
        mask = (index["file"] == numbers.get(name, -1)) & (
            index["offset"] == (int(offset) if offset.isdigit() else -1)
        )
        for number, line in self._lines(np.flatnonzero(mask)):
            return self.place(number), decode_line(line)
        raise ConfigurationError(f"the exchange {id!r:.100} is not in the recording (any more)")

    def entries(self, numbers: Numbers) -> Iterator[tuple[int, Entry]]:
        """Yield these exchanges with their numbers, without those whose files are gone."""
        for number, line in self._lines(numbers):
            yield number, _decode(line)

    def means(self, numbers: Numbers, amount: str) -> dict[str, tuple[Floats, Floats]]:
        """Return each operator's mean of an amount at each step of its episodes: {operator: (steps, means)}.

        More than `MAX_POINTS` steps are averaged in groups. Unknown amounts are left out.
        """
        chosen, names = self._index[numbers], list(self._lanes)
        width = int(chosen["step"].max(initial=0)) // MAX_POINTS + 1
        lines = {}
        for lane in np.unique(chosen["lane"]):
            rows = chosen[(chosen["lane"] == lane) & ~np.isnan(chosen[amount])]
            groups, members, counts = np.unique(
                rows["step"] // width, return_inverse=True, return_counts=True
            )
            sums = np.bincount(members, rows[amount], len(groups))
            lines[names[lane]] = ((groups * width).astype(np.float64), sums / counts)
        return lines

    # ----------------------------------------------------------------- inside

    def _read(self, deadline: float) -> float:
        """Index the lines written since the last call, and return the indexed fraction."""
        check_inside(self.folder)
        for path in sorted(self.folder.glob("*.jsonl")):
            self._files.setdefault(path.name, _File(path))
        rows: list[tuple[Any, ...]] = []
        for number, file in enumerate(self._files.values()):
            with suppress(OSError):
                file.size = file.path.stat().st_size
                if file.read < file.size:
                    self._read_file(number, file, rows, deadline)
        if rows:
            new, count = np.array(rows, _INDEX), len(self._index)
            for number, key in enumerate(new[["lane", "episode"]].tolist(), count):
                self._without_seed.setdefault(key, []).append(number)
            self._index = np.concatenate([self._index, new])
            self._order = np.lexsort([self._index[key] for key in ("started", "step", "episode", "lane")])
        self._find_seeds()
        size = sum(file.size for file in self._files.values())
        return sum(file.read for file in self._files.values()) / size if size else 1.0

    def _find_seeds(self) -> None:
        """Set the seeds that have become known."""
        names = list(self._lanes)
        for (lane, episode), numbers in [*self._without_seed.items()]:
            seed = self._seed_of(names[lane], episode)
            if seed is not None:
                self._index["seed"][numbers] = seed
                del self._without_seed[lane, episode]
                self._searches.clear()

    def _read_file(self, number: int, file: _File, rows: list[tuple[Any, ...]], deadline: float) -> None:
        with open_file(file.path, _BUFFER) as source:
            source.seek(file.read)
            while len(rows) % _CHECK_EVERY or time.monotonic() < deadline:
                line = source.readline(LINE_LIMIT + 1)
                size = len(line)
                while line and not line.endswith(b"\n") and len(line) > LINE_LIMIT:
                    line = source.readline(LINE_LIMIT + 1)
                    size += len(line)
                if not line.endswith(b"\n"):  # the end of the file, or a line that is being written
                    file.size = file.read
                    return
                self._add(number, file.read, line, rows)
                file.read += size

    def _add(self, file: int, offset: int, line: bytes, rows: list[tuple[Any, ...]]) -> None:
        try:
            if not is_sealed(line):
                raise ValueError("cut off, or changed")
            entry = _decode(line)
            faults = sum(map(self._fault_bit, set(entry.faults)))
            lengths = sum(len(turn.text) for turn in entry.prompt), len(entry.answer)
            tokens = _amount(entry.input_tokens) + _amount(entry.output_tokens)
            amounts = tokens, _amount(entry.latency_ms), _amount(entry.cost_usd)
            location = file, offset, len(line), self._lanes.setdefault(entry.lane, len(self._lanes))
            position = entry.episode_index, entry.step_index, entry.call, _NO_SEED
            row = (*location, *position, faults, *lengths, entry.started, *amounts)
        except ValueError:
            self.damaged += 1
        else:
            rows.append(row)

    def _fault_bit(self, name: str) -> int:
        if len(self._faults) < _MAX_FAULTS:
            self._faults.setdefault(name, 1 << len(self._faults))
        return self._faults.get(name, 0)

    def _search(self, selection: Selection, deadline: float) -> _Search:
        """Continue the search of a selection. The latest searches are cached."""
        search = self._searches.setdefault(selection, _Search())
        self._searches.move_to_end(selection)
        if len(self._searches) > _MAX_SEARCHES:
            self._searches.popitem(last=False)
        new = self._index[len(search.matches) :]
        search.matches = np.concatenate([search.matches, self._selected(new, selection)])
        if not selection.text:
            search.done = len(self._index)
        elif search.done < len(self._index):
            self._search_text(search, selection.text.lower(), deadline)
        return search

    def _selected(self, index: NDArray[Any], selection: Selection) -> NDArray[np.bool_]:
        """Return a mask of the rows of an index that match a selection, except for its text."""
        chosen = np.ones(len(index), np.bool_)
        if selection.operator is not None:
            chosen &= index["lane"] == self._lanes.get(selection.operator, -1)
        if selection.seed is not None:
            chosen &= index["seed"] == selection.seed
        if selection.fault in (ANY, NONE):
            chosen &= (index["faults"] != 0) == (selection.fault == ANY)
        elif selection.fault is not None:
            chosen &= index["faults"] & self._faults.get(selection.fault, 0) != 0
        for name in ("prompt", "answer"):
            low, high = getattr(selection, name)
            chosen &= index[name] >= (0 if low is None else low)
            chosen &= index[name] <= (math.inf if high is None else high)
        return chosen

    def _search_text(self, search: _Search, words: str, deadline: float) -> None:
        """Remove the matches without these words, in the order of the index, until the deadline."""
        encoded = dumps(words, ensure_ascii=False)[1:-1].encode() if words.isascii() else b""
        start = search.done
        search.done = len(self._index)
        for numbers, block in self._blocks(start + np.flatnonzero(search.matches[start:])):
            if numbers[0] > start and time.monotonic() > deadline:
                search.done = int(numbers[0])
                return
            search.matches[numbers] = False
            if encoded in block.lower():
                for number, line in self._cut(numbers, block):
                    search.matches[number] = encoded in line.lower() and _decode(line).contains(words)

    def _lines(self, numbers: Numbers) -> Iterator[tuple[int, bytes]]:
        """Yield the lines of these exchanges as written, without those whose files are gone."""
        for adjacent, block in self._blocks(numbers):
            yield from self._cut(adjacent, block)

    def _blocks(self, numbers: Numbers) -> Iterator[tuple[Numbers, bytes]]:
        """Yield these exchanges with their lines, up to about `_BLOCK` bytes of adjacent lines at once."""
        index, paths = self._index[numbers], [file.path for file in self._files.values()]
        files, starts = index["file"], index["offset"]
        ends = starts + index["size"]
        is_apart = (np.diff(files) != 0) | (starts[1:] != ends[:-1]) | (np.diff(starts // _BLOCK) != 0)
        bounds = [0, *(np.flatnonzero(is_apart) + 1).tolist(), len(numbers)]
        opened: dict[int, BinaryIO | None] = {}
        with ExitStack() as stack:
            for first, end in pairwise(bounds if len(numbers) else ()):
                file, start, size = int(files[first]), int(starts[first]), int(ends[end - 1] - starts[first])
                if file not in opened:
                    opened[file] = None
                    with suppress(OSError):
                        opened[file] = stack.enter_context(open_file(paths[file], 0))
                if (source := opened[file]) is not None:
                    source.seek(start)
                    block = source.read(size)
                    if len(block) == size:
                        yield numbers[first:end], block

    def _cut(self, numbers: Numbers, block: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield the lines of a block of `_blocks`."""
        ends = np.cumsum(self._index["size"][numbers]).tolist()
        for number, (start, end) in zip(numbers.tolist(), pairwise([0, *ends]), strict=True):
            yield number, block[start:end]

    def place(self, number: int) -> dict[str, Any]:
        """Return the position of an exchange in the evaluation, and its permanent id."""
        row = self._index[number]
        episode = int(row["episode"])
        return {
            "id": f"{list(self._files)[row['file']]}:{row['offset']}",
            "operator": list(self._lanes)[row["lane"]],
            "seed": _as_json(row["seed"]),
            "episode": episode % self._episodes if self._episodes else episode,
            "step": int(row["step"]),
            "call": int(row["call"]),
        }


def _amount(value: Amount) -> float:
    return math.nan if value is None else value


def _as_json(value: Any) -> float | int | None:
    """Return a number of the index for JSON; None if it is unknown."""
    number: float | int = value.item()
    return None if number == _NO_SEED or number != number else number
