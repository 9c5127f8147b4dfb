"""The exchanges of an evaluation on disk: written before their action is played, read, and looked up.

A recording is a folder: one file of sealed JSON lines for each operator process, and the images of prompts,
each stored once as `images/<SHA-256>.png`. A line is an `Exchange.to_dict()` with its context: lane,
operator, agent, seed (of the operator's episode), episode_index, step_index, call (0, 1, … within the step),
provider, prompt_sha256, started (Unix seconds), retries.
"""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Iterator, Mapping, Optional, Sequence, Tuple

from mosaic_contract.codec import decode_line, encode_line, is_sealed, seal
from mosaic_contract.errors import BadLine
from mosaic_contract.language.exchange import PARSE_FAULTS, REPLY_FAULTS, Exchange, Turn, hash_of, image_name

LINE_LIMIT = 8 << 20
"""Maximum length of a recording's line, in bytes."""

IMAGE_HEAD = 24
"""Bytes of a PNG file that end with its width and height."""

_IMAGES = "images"

Episode = Tuple[Optional[int], int]
"""The seed of an operator's episode, and its index."""


@dataclass(frozen=True)
class CallKey:
    """The lane, agent, episode and step of a model call, by which an exchange is looked up."""

    lane: str
    agent: str
    seed: int | None
    episode_index: int
    step_index: int
    call: int


class RecordingWriter:
    """The writer of one operator process's exchanges to its file in a recording."""

    def __init__(self, folder: Path, file: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._images = folder / _IMAGES
        self._stored: set[str] = set()
        self._path = folder / file
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            os.write(self._file, b"\n")  # terminates a partial line left by a killed process

    def images(self, turns: Sequence[Turn]) -> None:
        """Store the images of a prompt that the folder does not contain yet."""
        for image in (image for turn in turns for image in turn.images):
            name = image_name(image)
            if name in self._stored:
                continue
            self._images.mkdir(exist_ok=True)
            path = self._images / f"{name}.png"
            if not path.exists():
                part = path.with_name(f".{name}.{os.getpid()}.{threading.get_ident()}")
                part.write_bytes(image)
                part.replace(path)
            self._stored.add(name)

    def write(self, exchange: Exchange, key: CallKey, operator: str, provider: str) -> tuple[Path, int]:
        """Append one exchange and return its file and offset. Raises `LineTooLong` beyond `LINE_LIMIT` bytes,
        and OSError if the disk is full."""
        line = {
            **asdict(key),
            "operator": operator,
            "provider": provider,
            "prompt_sha256": hash_of(exchange.prompt),
            "started": round(exchange.started, 3),
            "retries": exchange.retries,
            **exchange.to_dict(),
        }
        unwritten = sealed = seal(encode_line(line, LINE_LIMIT - 64))
        while unwritten:
            unwritten = unwritten[os.write(self._file, unwritten) :]
        return self._path, os.lseek(self._file, 0, os.SEEK_CUR) - len(sealed)

    def close(self) -> None:
        os.close(self._file)


class RecordedExchanges:
    """The exchanges of a recording, each as the dict on its line. `.damaged_in` counts, by file, the damaged
    lines found so far: truncated, changed, or longer than `LINE_LIMIT`; `.damaged` is their total."""

    def __init__(self, folder: Path) -> None:
        self.damaged_in: dict[str, int] = {}
        self._folder = folder

    @property
    def damaged(self) -> int:
        return sum(self.damaged_in.values())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for _, _, entry in self.located():
            yield entry

    def located(self, prefix: bytes = b"") -> Iterator[tuple[Path, int, dict[str, Any]]]:
        """Yield (file, byte offset of the line, exchange) for lines that start with `prefix`. Other lines are
        not parsed: every operator of an evaluation searches the exchanges of all operators."""
        for path in sorted(self._folder.glob("*.jsonl")):
            with path.open("rb") as file:
                for offset, line in _lines(file):
                    if not line.startswith(prefix):
                        continue
                    entry = _entry(line)
                    if entry is None:
                        self.damaged_in[path.name] = self.damaged_in.get(path.name, 0) + 1
                    else:
                        yield path, offset, entry


def read(folder: Path) -> RecordedExchanges:
    """Return the exchanges of a recording, file by file, in the order written; none if the folder does not
    exist."""
    return RecordedExchanges(folder)


def image_head(folder: Path, name: str) -> bytes:
    """Return the first `IMAGE_HEAD` bytes of an image of a recording; empty if it is missing."""
    try:
        with (folder / _IMAGES / f"{name}.png").open("rb") as file:
            return file.read(IMAGE_HEAD)
    except OSError:
        return b""


class RecordingIndex:
    """File offsets of the exchanges of one lane's agent in a recording; exchanges are read on lookup."""

    def __init__(self, folder: Path, lane: str, agent: str) -> None:
        self._locations: dict[Episode, dict[CallKey, list[tuple[Path, int, str]]]] = {}
        self._files: dict[Path, BinaryIO] = {}
        prefix = encode_line({"lane": lane, "agent": agent})[:-2] + b","  # the format of `RecordingWriter`
        for path, offset, entry in read(folder).located(prefix):
            with contextlib.suppress(KeyError, TypeError):  # a line written by another program
                key = CallKey(**{name: entry[name] for name in CallKey.__dataclass_fields__})
                self.add(key, path, offset, str(entry["prompt_sha256"]))

    def add(self, key: CallKey, path: Path, offset: int, prompt_sha256: str) -> None:
        """Index the exchange at `offset` (bytes) of the file `path`."""
        locations = self._locations.setdefault((key.seed, key.episode_index), {})
        locations.setdefault(key, []).append((path, offset, prompt_sha256))

    def forget(self, episode: Episode) -> None:
        """Drop an episode that will not be replayed."""
        self._locations.pop(episode, None)

    def find(self, key: CallKey, prompt_sha256: str) -> dict[str, Any] | None:
        """Return the latest exchange of a call with this prompt, None if there is none."""
        for path, offset, recorded_sha256 in reversed(self._locations_of(key)):
            if recorded_sha256 == prompt_sha256:
                return self._read(path, offset)
        return None

    def latest(self, key: CallKey) -> dict[str, Any] | None:
        """Return the latest exchange of a call, with any prompt; None if there is none."""
        locations = self._locations_of(key)
        return self._read(*locations[-1][:2]) if locations else None

    def _locations_of(self, key: CallKey) -> Sequence[tuple[Path, int, str]]:
        return self._locations.get((key.seed, key.episode_index), {}).get(key, ())

    def _read(self, path: Path, offset: int) -> dict[str, Any] | None:
        if path not in self._files:
            self._files[path] = path.open("rb")
        file = self._files[path]
        file.seek(offset)
        return _entry(file.readline(LINE_LIMIT + 2))

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def exchange_of(entry: Mapping[str, Any]) -> Exchange:
    """Return a recorded exchange before its answer is parsed, with its cost at the time of recording. An
    answer that had no action when it was recorded keeps that fault."""
    return Exchange(
        prompt=entry["prompt"],
        answer=str(entry["answer"]),
        parsed=None,
        faults=tuple(fault for fault in entry["faults"] if fault in (*REPLY_FAULTS, *PARSE_FAULTS)),
        model=str(entry["model"]),
        reasoning=str(entry.get("reasoning", "")),
        input_tokens=entry["input_tokens"],
        output_tokens=entry["output_tokens"],
        cost_usd=entry["cost_usd"],
        latency_ms=entry["latency_ms"],
        recorded=True,
        retries=entry["retries"],
        started=entry["started"],
    )


def _entry(line: bytes) -> dict[str, Any] | None:
    """Return the exchange in a line, None for a damaged or oversized line."""
    if len(line) > LINE_LIMIT or not line.endswith(b"\n") or not is_sealed(line):
        return None
    try:
        return decode_line(line)
    except BadLine:
        return None


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their offsets; of an oversized line, only its beginning."""
    offset = 0
    while line := file.readline(LINE_LIMIT + 1):
        yield offset, line
        offset += len(line)
        while not line.endswith(b"\n") and (line := file.readline(LINE_LIMIT + 1)):
            offset += len(line)
