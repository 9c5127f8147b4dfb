"""The recorded exchanges of one agent: writing, reuse and replay, within a budget."""

from __future__ import annotations

import fcntl
import os
import random
import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ContextManager, Iterator, Mapping, Sequence

from mosaic_contract.errors import ConfigError, EndpointFailed, RecordingMismatch
from mosaic_contract.language.budget import Budget, charge, estimate, read_budget
from mosaic_contract.language.exchange import Exchange, Turn, hash_of
from mosaic_contract.language.prices import Price
from mosaic_contract.language.recording import CallKey, Episode, RecordingIndex, RecordingWriter, exchange_of
from mosaic_contract.language.retries import PATIENCE
from mosaic_contract.language.settings import ModelSettings

_CONTEXT_CHARS = 40  # on each side of the first difference
_LOCKS = "locks"
_POLL_SECONDS = 0.02
_MAX_WAIT_SECONDS = 3_600.0


@dataclass(frozen=True)
class RecordingSettings:
    """The kernel's settings of a recording: its folder and this process's file in it, the names of the lane
    and the operator, the folder to replay, whether recorded exchanges are reused, and the budget."""

    folder: str
    file: str
    lane: str
    operator: str
    replay: str | None = None
    reuse: bool = False
    budget: Mapping[str, Any] | None = None


class ExchangeStore:
    """The recording, the replay and the budget of one agent. Without settings, nothing is recorded."""

    def __init__(
        self, options: Mapping[str, Any] | None, agent: str, model: ModelSettings, price: Price | None
    ):
        self._model, self._price = model, price
        self._settings = settings = _read(options) if options is not None else None
        self._writer: RecordingWriter | None = None
        self._reuse: RecordingIndex | None = None
        self._replay: RecordingIndex | None = None
        self._budget: Budget | None = None
        self._call_limit: CallLimit | None = None
        if settings is None:
            return
        folder = Path(settings.folder)
        self._writer = RecordingWriter(folder, settings.file)
        self._reuse = RecordingIndex(folder, settings.lane, agent) if settings.reuse else None
        if settings.replay is not None:
            self._replay = RecordingIndex(Path(settings.replay), settings.lane, agent)
            return
        limits = read_budget(settings.budget, price, model.model)
        if limits is not None:
            self._budget = Budget(folder, *limits, price, model.timeout * (model.retries + 1) + PATIENCE)
        self._call_limit = CallLimit(folder / _LOCKS, model.provider, model.concurrency)

    @property
    def lane(self) -> str:
        return self._settings.lane if self._settings else ""

    @property
    def replays(self) -> bool:
        return self._replay is not None

    def recorded(self, key: CallKey, prompt: Sequence[Mapping[str, Any]]) -> tuple[Exchange, bool] | None:
        """Return the recorded exchange of this call with this prompt, with its answer not yet parsed, and
        whether it belongs to this same recording. Return None if the model must be called. Raises
        `RecordingMismatch` in a replay without such an exchange."""
        sha = hash_of(prompt)
        for index, is_own in ((self._reuse, True), (self._replay, False)):
            entry = index.find(key, sha) if index is not None else None
            if entry is not None:
                return exchange_of(entry), is_own
        if self._replay is not None:
            raise RecordingMismatch(self._mismatch(self._replay.latest(key), key, prompt))
        return None

    def forget(self, episode: Episode) -> None:
        """Drop the index of a finished episode."""
        for index in (self._reuse, self._replay):
            if index is not None:
                index.forget(episode)

    def slot(self) -> ContextManager[None]:
        """Return the context of one call, which waits for a free slot among the concurrent calls."""
        return self._call_limit.acquired() if self._call_limit else nullcontext()

    @contextmanager
    def reserved(self, turns: Sequence[Turn]) -> Iterator[str | None]:
        """Reserve the maximum cost of a call; the reservation is released unless it is booked. Raises
        `BudgetSpent`."""
        if self._budget is None:
            yield None
            return
        name = self._budget.reserve(*estimate(turns, self._model.max_tokens, self._price))
        try:
            yield name
        finally:
            self._budget.release(name)

    def write(self, exchange: Exchange, key: CallKey, turns: Sequence[Turn], reservation: str | None) -> None:
        """Record an exchange and book its cost."""
        if self._writer is None or self._settings is None:
            return
        writer, operator = self._writer, self._settings.operator
        writer.images(turns)

        def record() -> None:
            location = writer.write(exchange, key, operator, self._model.provider)
            if self._reuse is not None:
                self._reuse.add(key, *location, hash_of(exchange.prompt))

        if self._budget is None or reservation is None:
            record()
        else:
            usd, tokens = charge(exchange.to_dict(), self._price, Path(self._settings.folder))
            self._budget.book(reservation, usd or 0.0, tokens, record)

    def close(self) -> None:
        for part in (self._writer, self._reuse, self._replay, self._budget):
            if part is not None:
                part.close()

    def _mismatch(
        self, recorded: Mapping[str, Any] | None, key: CallKey, prompt: Sequence[Mapping[str, Any]]
    ) -> str:
        name = self._settings.operator if self._settings else ""
        message = f"{name} departs from the recording at episode {key.episode_index}, step {key.step_index}"
        if recorded is None:
            return f"{message}: nothing is recorded there for {key.agent} (call {key.call})"
        return f"{message}: its prompt is not the recorded one; {difference(recorded['prompt'], prompt)}"


def difference(recorded: Sequence[Mapping[str, Any]], current: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence describing the first difference between two prompts."""
    for number, (old, new) in enumerate(zip(recorded, current), 1):
        if old == new:
            continue
        label = f"they first differ in turn {number}"
        if old["role"] != new["role"]:
            return f"{label}, which was of the {old['role']} and is of the {new['role']}"
        if old["text"] == new["text"]:
            return f"{label}, in its images"
        pairs = enumerate(zip(old["text"], new["text"]))
        index = next((index for index, (a, b) in pairs if a != b), min(len(old["text"]), len(new["text"])))
        old_excerpt, new_excerpt = _excerpt(old["text"], index), _excerpt(new["text"], index)
        return f"{label} ({new['role']}) at character {index}: {old_excerpt} is now {new_excerpt}"
    return f"it had {len(recorded)} turns and has {len(current)}"


def _excerpt(text: str, index: int) -> str:
    return repr(text[max(0, index - _CONTEXT_CHARS) : index + _CONTEXT_CHARS])


def _read(values: Mapping[str, Any]) -> RecordingSettings:
    names = {field.name for field in fields(RecordingSettings)}
    try:
        return RecordingSettings(**{name: value for name, value in values.items() if name in names})
    except TypeError as error:
        raise ConfigError(f"recording: {error}") from None


class CallLimit:
    """A limit of `number` concurrent calls. The slots of a process that dies become free."""

    def __init__(self, folder: Path, name: str, number: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._paths = [folder / f"{name}.{index}" for index in range(number)]

    @contextmanager
    def acquired(self) -> Iterator[None]:
        """Wait for a free slot and hold it. Raises `EndpointFailed` after an hour."""
        deadline = time.monotonic() + _MAX_WAIT_SECONDS
        while (file := self._try_slots()) is None:
            if time.monotonic() > deadline:
                raise EndpointFailed(f"none of {len(self._paths)} concurrent calls has ended for an hour")
            time.sleep(_POLL_SECONDS)
        try:
            yield
        finally:
            os.close(file)

    def _try_slots(self) -> int | None:
        start = random.Random().randrange(len(self._paths))  # not from the global generator, which users seed
        for path in (*self._paths[start:], *self._paths[:start]):
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
                continue
            return file
        return None
