"""The recorded exchanges of an evaluation or a comparison, for reading and as files.

A file has the selected exchanges in the order of play: as JSON lines, as CSV, or as an Inspect log, which
`inspect view` opens, with a sample for each episode and a model event for each exchange.
"""

from __future__ import annotations

import csv
import math
import re
import time
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, groupby
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec
from mosaic_contract.language.exchange import PARSE_FAULTS, REPLY_FAULTS

from mosaic_lab._version import __version__
from mosaic_lab.arenas.exchange_index import (
    ANY,
    EVERYTHING,
    MAX_TEXT,
    NONE,
    Entry,
    ExchangeIndex,
    Numbers,
    PromptTurn,
    Selection,
)
from mosaic_lab.arenas.plan import EXCHANGES
from mosaic_lab.arenas.planning import check_seed
from mosaic_lab.arenas.replays import Replay, Replays
from mosaic_lab.arenas.replays.replaying import Progress
from mosaic_lab.arenas.tables import prompt_text
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keeper.files import open_file
from mosaic_lab.keeper.run_store import comparison_lives, read_json
from mosaic_lab.table_files import as_cell
from mosaic_lab.telemetry import JsonlFollower
from mosaic_lab.validation import checked_methods

if TYPE_CHECKING:
    import pandas as pd

FORMATS = {"jsonl": "application/jsonl", "csv": "text/csv", "json": "application/json"}
"""MIME types by file extension; "json" is an Inspect log."""

FAULT_NAMES = (ANY, NONE, *PARSE_FAULTS, *REPLY_FAULTS, "empty", "repair", "default")
DESCRIPTION = "comparison.json"
"""The description of a comparison in its folder."""

_SEED_SECONDS = 0.5  # between two reads of new episodes
_STEP = re.compile(rb'"episode_index":(\d{1,15}),.*"episode_seed":(\d{1,18})\b')

Exchanges = Iterable[tuple[dict[str, Any], Entry]]
Install = Callable[[str], None]
EpisodeKey = tuple[str, int, int]
"""An operator, a seed, and the number of the episode on it."""


@checked_methods("transcript")
@dataclass(frozen=True)
class Transcript:
    """The exchanges with language models in ``index``, of the run or comparison ``name`` of a run store.

    A notebook shows them as a table with search, prompts, answers and charts. ``selection`` is the part that
    is shown at first and saved. ``alive`` is whether more may follow, ``returns`` the returns of ended
    episodes. ``replay`` replays an episode by operator, seed and number, with the functions of
    `replay_episode`; None if only the notebook that played it can.
    """

    store: Path
    name: str
    environment: str
    index: ExchangeIndex
    alive: Callable[[], bool]
    returns: Callable[[], Mapping[EpisodeKey, float]] = dict
    replay: Callable[[str, int, int, Install, Progress], Replay | Replays] | None = None
    selection: Selection = EVERYTHING

    def select(
        self, operator: str | None = None, seed: int | None = None, fault: str | None = None, text: str = ""
    ) -> Transcript:
        """Return a transcript of a part; see `mosaic_lab.evaluation.Evaluation.transcript`."""
        if fault is not None and fault not in FAULT_NAMES:
            raise ConfigurationError(f"fault={fault!r:.100}: must be one of {', '.join(FAULT_NAMES)}")
        if not isinstance(text, str) or len(text) > MAX_TEXT:
            raise ConfigurationError(
                f"text={text!r:.100}: must be a string of at most {MAX_TEXT:,} characters"
            )
        number = None if seed is None else check_seed(seed)
        return replace(self, selection=Selection(operator, number, fault, text=text))

    @property
    def bytes(self) -> int:
        """The size of the selected exchanges in the recording."""
        return self.index.bytes_of(self._numbers())

    @property
    def file_name(self) -> str:
        """A file name without extension, which begins with a date because `inspect view` requires it."""
        return re.sub(r"[^A-Za-z0-9._-]+", "-", f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S}_{self.name}")

    def __len__(self) -> int:
        return len(self._numbers())

    def __repr__(self) -> str:
        return f"<Transcript of {self.name}: {len(self):,} exchanges>"

    def table(self) -> pd.DataFrame:
        """Return the selected exchanges as a table, with the columns of
        `mosaic_lab.evaluation.Evaluation.exchanges` and the model's reasoning."""
        import pandas as pd

        entries = self.index.entries(self._numbers())
        return pd.DataFrame(_row(self.index.place(number), entry) for number, entry in entries)

    def save(self, path: Path | str) -> Path:
        """Write the selected exchanges to a file, and return its path.

        The extension selects the format: ``.jsonl``, ``.csv``, or ``.json`` for a log that ``inspect view``
        opens. Raises ConfigurationError for any other.
        """
        file = Path(path)
        kind = file.suffix[1:]
        if kind not in FORMATS:
            raise ConfigurationError(
                f"{path}: its name must end in one of {', '.join(f'.{name}' for name in FORMATS)}"
            )
        with file.open("w", encoding="utf-8", newline="") as output:
            self.write(kind, output)
        return file

    def write(self, kind: str, output: IO[str]) -> None:
        """Write the selected exchanges in one of the `FORMATS`."""
        numbers = self._numbers()
        exchanges = ((self.index.place(number), entry) for number, entry in self.index.entries(numbers))
        if kind == "jsonl":
            for position, entry in exchanges:
                row = _row(position, entry) | {"prompt": entry.prompt, "faults": entry.faults}
                output.write(msgspec.json.encode(row).decode() + "\n")
        elif kind == "csv":
            _write_csv(exchanges, output)
        else:
            start, end = map(_time, self.index.span(numbers)) if len(numbers) else ("", "")
            self._write_inspect_log(exchanges, start, end, output)

    def _numbers(self) -> Numbers:
        return self.index.find(self.selection, math.inf).numbers

    def _write_inspect_log(self, exchanges: Exchanges, start: str, end: str, output: IO[str]) -> None:
        """Write an Inspect log (version 2 of its JSON), sample by sample. Its viewer requires all fields of
        the head."""
        samples = _samples(exchanges, self.index.folder / "images", self.returns())
        first = next(samples, None)
        spec = {
            "created": start or datetime.now(UTC).isoformat(),
            "task": self.environment,
            "task_id": self.name,
            "run_id": self.name,
            "dataset": {"name": self.environment},
            "model": first["output"]["model"] if first else "none",
            "config": {},
            "packages": {"mosaic_lab": __version__},
        }
        stats = {"started_at": start, "completed_at": end}
        head = {"version": 2, "status": "success", "eval": spec, "plan": {}, "stats": stats}
        output.write(msgspec.json.encode(head)[:-1].decode() + ',"samples":[')
        for number, sample in enumerate(chain([] if first is None else [first], samples)):
            output.write("," * (number > 0) + msgspec.json.encode(sample).decode())
        output.write("]}")


class EpisodeSeeds:
    """The seeds of a comparison's episodes, by lane and episode, read from the steps of its lanes."""

    def __init__(self, folder: Path, lanes: Sequence[str]) -> None:
        self._folder, self._lanes = folder, lanes
        self._steps: dict[Path, JsonlFollower] = {}
        self._seeds: dict[tuple[str, int], int] = {}
        self._next_read = 0.0

    def __call__(self, lane: str, episode: int) -> int | None:
        if (lane, episode) not in self._seeds and time.monotonic() >= self._next_read:
            self._read()
            self._next_read = time.monotonic() + _SEED_SECONDS
        return self._seeds.get((lane, episode))

    def _read(self) -> None:
        for number, lane in enumerate(self._lanes):
            for path in self._folder.glob(f"{number}-*/telemetry.jsonl"):
                follower = self._steps.setdefault(path, JsonlFollower(path))
                for line in follower.lines():
                    if match := _STEP.search(line):
                        self._seeds[lane, int(match[1])] = int(match[2])


def comparison_transcript(folder: Path) -> Transcript:
    """Return the transcript of the comparison in a folder of a run store."""
    description: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        description = read_json(folder / DESCRIPTION)
    lanes = list(description.get("lanes", ()))
    return Transcript(
        store=folder.parent.parent,
        name=folder.name,
        environment=str(description.get("env_id", "")),
        index=ExchangeIndex(folder / EXCHANGES, lanes, EpisodeSeeds(folder, lanes)),
        alive=lambda: comparison_lives(folder),
    )


def _row(position: Mapping[str, Any], entry: Entry) -> dict[str, Any]:
    """Return an exchange with the columns of `Transcript.table`."""
    return {
        "operator": position["operator"],
        "agent": entry.agent,
        "seed": position["seed"],
        "episode": position["episode"],
        "step": position["step"],
        "call": position["call"],
        "prompt": prompt_text(msgspec.to_builtins(entry.prompt)),
        "answer": entry.answer,
        "parsed": entry.parsed,
        "faults": ", ".join(entry.faults),
        "input_tokens": entry.input_tokens,
        "output_tokens": entry.output_tokens,
        "cost_usd": entry.cost_usd,
        "latency_ms": entry.latency_ms,
        "model": entry.model,
        "recorded": entry.recorded,
        "started": entry.started,
        "reasoning": entry.reasoning,
    }


def _write_csv(exchanges: Exchanges, output: IO[str]) -> None:
    writer = None
    for position, entry in exchanges:
        row = {name: as_cell(value) for name, value in _row(position, entry).items()}
        if writer is None:
            writer = csv.DictWriter(output, [*row])
            writer.writeheader()
        writer.writerow(row)


def _samples(
    exchanges: Exchanges, images: Path, returns: Mapping[EpisodeKey, float]
) -> Iterator[dict[str, Any]]:
    """Yield a sample of an Inspect log for each episode."""

    def episode(exchange: tuple[dict[str, Any], Entry]) -> EpisodeKey:
        place = exchange[0]
        return place["operator"], place["seed"], place["episode"]

    for key, group in groupby(exchanges, episode):
        episode_exchanges = list(group)
        first, last = episode_exchanges[0][1], episode_exchanges[-1][1]
        seconds = last.started + _seconds(last) - first.started
        usage: dict[str, Counter[str]] = defaultdict(Counter)
        for _, entry in episode_exchanges:
            usage[entry.model].update(_usage(entry))
        messages = [
            message
            for _, entry in episode_exchanges
            for message in (*map(_message, entry.prompt[-1:]), _output(entry)["choices"][0]["message"])
        ]
        value = returns.get(key)
        yield {
            "id": f"{key[0]}, seed {key[1]}",
            "epoch": key[2] + 1,
            "input": [*map(_message, first.prompt)],
            "target": "",
            "messages": messages,
            "output": _output(last),
            "scores": {} if value is None else {"return": {"value": value}},
            "metadata": {"operator": key[0], "seed": key[1]},
            "model_usage": usage,
            "started_at": _time(first.started),
            "completed_at": _time(first.started + seconds),
            "total_time": seconds,
            "events": [_event(place, entry, first.started) for place, entry in episode_exchanges],
            "attachments": _attachments((entry for _, entry in episode_exchanges), images),
        }


def _event(position: Mapping[str, Any], entry: Entry, start: float) -> dict[str, Any]:
    metadata = {
        "agent": entry.agent,
        "step": position["step"],
        "call": position["call"],
        "action": entry.parsed,
    }
    seconds = _seconds(entry)
    return {
        "event": "model",
        "timestamp": _time(entry.started),
        "working_start": max(0.0, entry.started - start),
        "completed": _time(entry.started + seconds),
        "working_time": seconds,
        "model": entry.model,
        "input": [*map(_message, entry.prompt)],
        "tools": [],
        "tool_choice": "none",
        "config": {},
        "output": _output(entry),
        "metadata": {**metadata, "faults": entry.faults},
    }


def _output(entry: Entry) -> dict[str, Any]:
    text = {"type": "text", "text": entry.answer}
    thought = [{"type": "reasoning", "reasoning": entry.reasoning}] if entry.reasoning else []
    message = {
        "role": "assistant",
        "source": "generate",
        "content": [*thought, text] if thought else entry.answer,
    }
    return {
        "model": entry.model,
        "choices": [
            {"message": message, "stop_reason": "max_tokens" if "truncated" in entry.faults else "stop"}
        ],
        "usage": _usage(entry),
        "time": _seconds(entry),
    }


def _usage(entry: Entry) -> dict[str, Any]:
    read, written = int(entry.input_tokens or 0), int(entry.output_tokens or 0)
    usage = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
    return usage | ({} if entry.cost_usd is None else {"total_cost": entry.cost_usd})


def _seconds(entry: Entry) -> float:
    return (entry.latency_ms or 0.0) / 1000


def _message(turn: PromptTurn) -> dict[str, Any]:
    role = turn.role if turn.role in ("system", "user", "assistant") else "user"
    images = [{"type": "image", "image": f"attachment://{name[:32]}"} for name in turn.images]
    return {"role": role, "content": [{"type": "text", "text": turn.text}, *images] if images else turn.text}


def _attachments(entries: Iterable[Entry], images: Path) -> dict[str, str]:
    """Return the images of prompts as data URLs, without any that are missing from the recording."""
    names = {name for entry in entries for turn in entry.prompt for name in turn.images}
    attachments = {}
    for name in names:
        with suppress(OSError, ValueError), open_file(images / f"{Path(name).name}.png") as file:
            attachments[name[:32]] = f"data:image/png;base64,{b64encode(file.read()).decode()}"
    return attachments


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
