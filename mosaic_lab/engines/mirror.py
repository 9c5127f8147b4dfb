"""Mirror one run of an engine into its local run folder, and forward stop requests.

The local files are the only state: their sizes and modification times show what is missing, so a mirror that
is killed at any moment continues without gaps or duplicates. If the run's node is lost, the run restarts on
another node in the same folder, from its newest local checkpoint.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from mosaic_lab.engines.engine import (
    Engine,
    FileChunk,
    Increment,
    JobRefused,
    Known,
    NodeLost,
    NoHead,
    Stop,
    Unreachable,
)
from mosaic_lab.engines.frames import mirror_frames
from mosaic_lab.engines.job import Job, with_checkpoint
from mosaic_lab.engines.node_files import GROWING, growing, is_growing
from mosaic_lab.keeper.events import CHECKPOINT_SAVED
from mosaic_lab.keeper.files import open_for_appending
from mosaic_lab.keeper.run_store import RunFolder, read_json, write_json
from mosaic_lab.keeper.states import UNSENT, State
from mosaic_lab.keeper.tail import progress

PLACEMENT = "engine.json"
"""The file of a run folder that exists until the run is completely mirrored. It contains the run's node, the
files that came from it, the ``attempt``, how the previous one was ``lost``, and the sizes of growing files
when the attempt began."""
LOST = "telemetry.lost.jsonl"
"""The file of a run folder for telemetry that lost nodes wrote after the checkpoint."""
NODES_LEAVE = 60.0
"""Seconds after which the nodes of a Ray cluster without a head leave and end their runs."""
READ_SECONDS = 2.0
_RETRY_SECONDS = 1.0  # seconds between attempts to reach a cluster
_HEADLESS = 10.0  # seconds without a head after which a stopped queued run counts as cancelled
_LARGE = 256 << 10  # bytes above which data is written in a thread, so that other runs need not wait
_PART = ".part"
Report = Callable[[dict[str, Any]], None]


class Mirror:
    """Mirrors a job in ``folder``. ``report`` is called with each status that differs from the previous one.
    It runs in the event loop of the bridge."""

    def __init__(
        self,
        engine: Engine,
        cluster: str,
        job: Job,
        variables: Mapping[str, str],
        folder: Path,
        report: Report,
    ) -> None:
        self._engine = engine
        self._outage = Outage(cluster)
        self._job = job
        self._variables = variables
        self._folder = folder
        self._report = report
        self._status: dict[str, Any] | None = None
        """The last status reported."""
        self._heard: Mapping[str, Any] | None = None
        """The last status received from the engine."""
        self._others: dict[str, tuple[int, int]] = {}
        self._begun_at: dict[str, int] = {}
        self._lost = ""
        self._stop: Stop | None = None
        self._sent: Stop | None = None
        """The stop request accepted by the engine."""
        self._abandoned = asyncio.Event()
        self._frames: asyncio.Task[None] | None = None

    def stop(self, stop: Stop) -> None:
        """Request the run's end."""
        self._stop = stop

    def abandon(self) -> None:
        """Make `run` return soon in any state, because the run's keeper is gone. The node continues."""
        self._abandoned.set()

    async def run(self) -> None:
        """Mirror until the run has ended and is complete locally."""
        try:
            await self._run()
        finally:
            if self._frames is not None:
                self._frames.cancel()

    async def _run(self) -> None:
        submitted = False
        while not self._abandoned.is_set():
            try:
                if not submitted:
                    await asyncio.to_thread(self._submit)
                    submitted = True
                if self._stop is not None and self._stop != self._sent:
                    await self._engine.stop(self._job.run_id, self._stop)
                    self._sent = self._stop
                if await self._step():
                    await self._engine.forget(self._job.run_id)
                    (self._folder / PLACEMENT).unlink(missing_ok=True)
                    return
            except Unreachable as error:
                if self._report_unreachable(error).finished:
                    return
                await self._pause()
            except NodeLost as error:
                if not self._may_restart():
                    self._end(str(error))
                    return
                reason = await asyncio.to_thread(self._restart, str(error))
                self._heard = None
                self._say({"state": str(State.QUEUED), "reason": reason, "outcome": None})
                submitted = False
            except JobRefused as error:
                self._end(str(error))
                return

    # -------------------------------------------------------------------- steps

    def _submit(self) -> None:
        placement = self._folder / PLACEMENT
        recorded = read_json(placement) if placement.is_file() else {}
        self._others = {name: _size_and_time(self._folder / name) for name in recorded.get("files", ())}
        self._begun_at, self._lost = recorded.get("begun_at", {}), recorded.get("lost", "")
        if (attempt := recorded.get("attempt", 1)) > 1:
            before = replace(self._job, attempt=attempt - 1)
            self._job = next_attempt(before, newest_checkpoint(RunFolder(self._folder)))
        self._engine.submit(self._job, self._variables, recorded.get("node"))

    async def _step(self) -> bool:
        """Read once. Return whether the local copy is complete."""
        names = [name for group in growing(self._folder) for name in group]
        grown = {name: max(0, _size(self._folder / name) - self._base(name)) for name in names}
        received = Known(grown, self._others, self._heard)
        increment = await self._engine.read(self._job.run_id, received, READ_SECONDS)
        if sum(len(chunk.data) for chunk in increment.chunks) > _LARGE:
            await asyncio.to_thread(self._write_increment, increment)
        else:
            self._write_increment(increment)
        self._heard = increment.status
        self._outage.end()
        status = {**increment.status, "reason": f"{increment.status['reason']}{self._restarted}"}
        deleted = not self._folder.is_dir()
        if State(status["state"]).finished:
            if increment.complete or deleted:
                self._say(status)
            return increment.complete or deleted
        if deleted:  # the keeper requests the stop; data arriving until then is discarded
            await self._pause()
        if status != self._status:
            self._record_placement()
        if self._frames is None and status["state"] == State.RUNNING and not deleted:
            enabled = bool(self._job.config.get("fastlane", {}).get("enabled", True))
            fetch = partial(self._engine.frame, self._job.run_id)
            self._frames = asyncio.create_task(mirror_frames(fetch, self._folder, enabled))
        self._say(status)
        return False

    async def _pause(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._abandoned.wait(), _RETRY_SECONDS)

    def _write_increment(self, increment: Increment) -> None:
        files = len(self._others)
        for chunk in increment.chunks:
            if not self._folder.is_dir():
                continue  # deleted by the user; the keeper requests the stop
            if is_growing(chunk.path):
                self._append(chunk)
            else:
                self._write(chunk)
        if len(self._others) != files:
            self._record_placement()

    def _append(self, chunk: FileChunk) -> None:
        path = _path_inside(self._folder, chunk.path)
        path.parent.mkdir(exist_ok=True, parents=True)
        with open_for_appending(path) as file:
            if chunk.offset == 0:
                file.truncate(self._base(chunk.path))
            if file.seek(0, os.SEEK_END) == self._base(chunk.path) + chunk.offset:
                file.write(chunk.data)

    def _write(self, chunk: FileChunk) -> None:
        """Write a chunk of a file, which appears under its final name once complete."""
        path = _path_inside(self._folder, chunk.path)
        part = path.with_name(f".{path.name}{_PART}")
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("r+b" if chunk.offset and part.is_file() else "wb") as file:
            if file.seek(0, os.SEEK_END) < chunk.offset:
                self._others.pop(chunk.path, None)  # a part was lost, so start from the beginning
                return
            file.seek(chunk.offset)
            file.write(chunk.data)
            received = file.tell()
        if received >= chunk.size:
            os.utime(part, ns=(chunk.changed, chunk.changed))
            part.replace(path)
        self._others[chunk.path] = (received, chunk.changed)

    def _record_placement(self) -> None:
        """Record the run's node and the files that came from it."""
        node = self._engine.node_of(self._job.run_id)
        if node is not None and self._folder.is_dir():
            self._record(node)

    def _record(self, node: str | None) -> None:
        fields = {"node": node, "files": sorted(self._others)}
        restart_fields = {"attempt": self._job.attempt, "begun_at": self._begun_at, "lost": self._lost}
        write_json(self._folder / PLACEMENT, fields | (restart_fields if self._job.attempt > 1 else {}))

    def _base(self, name: str) -> int:
        """Return the size of a growing file at the beginning of this attempt."""
        return self._begun_at.get(name, 0)

    # ------------------------------------------------------------------- faults

    def _report_unreachable(self, error: Unreachable) -> State:
        """Report why the cluster does not answer, and that a stop cannot be sent. Return the run's state."""
        state, reason = self._state, self._outage.reason(error)
        if self._stop is not None:
            queued = not (self._folder / PLACEMENT).is_file()  # no node has received it
            if queued and self._outage.headless >= _HEADLESS:
                state, reason = State.CANCELLED, f"{self._stop} before it started, as {error}"
            else:
                progress = "the stop is sent when the cluster answers"
                if self._sent:
                    progress = "the cluster has received the stop"
                elif not queued and isinstance(error, NoHead):
                    progress = UNSENT
                state, reason = State.STOPPING, f"{self._stop}: {progress}; {reason}"
        self._say({"state": str(state), "reason": reason, "outcome": None})
        return state

    @property
    def _state(self) -> State:
        """The last state reported."""
        return State((self._status or {}).get("state", State.QUEUED))

    def _end(self, why: str) -> None:
        reason = f"{why}{self._reached()}{self._restarted}"
        self._say({"state": str(State.FAILED), "reason": reason, "outcome": None})

    def _say(self, status: dict[str, Any]) -> None:
        if status != self._status:
            self._status = status
            self._report(status)

    def _reached(self) -> str:
        step = progress(RunFolder(self._folder).telemetry_path).get("step")
        return "" if step is None else f" at step {step:,}"

    # ----------------------------------------------------------------- restarts

    @property
    def _restarted(self) -> str:
        number = self._job.attempt - 1
        return f"; restart {number} of {self._job.restarts} ({self._lost})" if number else ""

    def _may_restart(self) -> bool:
        return self._job.attempt <= self._job.restarts and self._stop is None and self._folder.is_dir()

    def _restart(self, why: str) -> str:
        """Truncate the run's files to the point from which another node continues, and record it. Return the
        reason."""
        folder = RunFolder(self._folder)
        saved = newest_checkpoint(folder)
        self._job, self._lost = next_attempt(self._job, saved), f"{why}{self._reached()}"
        origin = "the beginning" if saved is None else f"its checkpoint at step {saved.step:,}"
        reason = f"it continues from {origin}{self._restarted}"
        go_back(folder, saved, reason)
        self._begun_at, self._others = {name: _size(self._folder / name) for name in GROWING}, {}
        self._record(None)
        return reason


def _size_and_time(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns


def _size(path: Path) -> int:
    return _size_and_time(path)[0]


def _path_inside(folder: Path, name: str) -> Path:
    """Return the path of a file in the run folder. Raises ValueError if it is outside."""
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ValueError(f"{name!r} is not in the run folder")
    return path


class Outage:
    """A period in which the cluster ``name`` does not answer, as described in the reasons of its runs."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._silent_since: float | None = None
        self._headless: float | None = None
        self._why = ""

    def end(self) -> None:
        """Record that the cluster has answered."""
        self._silent_since = self._headless = None

    @property
    def headless(self) -> float:
        """Seconds for which nothing has listened at the head's address; 0 if the head may be alive."""
        return 0.0 if self._headless is None else time.time() - self._headless

    def reason(self, error: Unreachable) -> str:
        """Return the reason of a run's state. It changes at most once during an outage."""
        now = time.time()
        if self._silent_since is None:
            self._silent_since, self._why = now, str(error)
        self._headless = (self._headless or now) if isinstance(error, NoHead) else None
        since = time.strftime("%H:%M:%S", time.localtime(self._silent_since))
        text = f"{self._name} has not answered since {since}"
        if self._headless is None or now - self._headless <= NODES_LEAVE:
            return f"{text} ({self._why}); what runs there continues"
        return (
            f"{text} ({error}): if its head was lost, its nodes have left after {NODES_LEAVE:.0f} s and "
            "ended this run, which fails, or begins again with restarts=, when a head answers there"
        )


@dataclass(frozen=True)
class LocalCheckpoint:
    """A checkpoint with local files. ``end`` is the byte offset of the end of its telemetry line."""

    path: Path
    step: int
    end: int


def newest_checkpoint(folder: RunFolder) -> LocalCheckpoint | None:
    """Return the last checkpoint that the telemetry reports and that exists locally."""
    newest, position = None, 0
    if not folder.telemetry_path.exists():
        return None
    with folder.telemetry_path.open("rb") as lines:
        for line in lines:
            position += len(line)
            if CHECKPOINT_SAVED.encode() not in line or not line.endswith(b"\n"):
                continue
            message = json.loads(line)
            if message.get("event") == CHECKPOINT_SAVED:
                path = folder.placed(message["payload"]["checkpoint_path"])
                if path.exists():
                    newest = LocalCheckpoint(path, int(message["payload"].get("step") or 0), position)
    return newest


def next_attempt(job: Job, saved: LocalCheckpoint | None) -> Job:
    """Return the job of the next attempt. Without a checkpoint, it starts like the first attempt."""
    next_job = replace(job, attempt=job.attempt + 1)
    if saved is None:
        return next_job
    config, files = with_checkpoint(job.config, saved.path)
    return replace(next_job, config=config, inputs={**job.inputs, **files})


def go_back(folder: RunFolder, saved: LocalCheckpoint | None, note: str) -> None:
    """Truncate the run's files to the point where the next attempt begins, and note it in the log. Telemetry
    after the checkpoint is moved to `LOST`. Readers find that the file was replaced."""
    _move_rest(folder.telemetry_path, 0 if saved is None else saved.end, folder.path / LOST)
    _cut_partial_line(folder.system_path)
    with open_for_appending(folder.log_path) as log:
        log.write(f"\n{note}\n".encode())


def _move_rest(path: Path, end: int, remainder: Path) -> None:
    if not path.exists() or path.stat().st_size <= end:
        return
    new = path.with_name(f".{path.name}.new")
    with path.open("rb") as source, new.open("wb") as valid, open_for_appending(remainder) as lost:
        valid.write(source.read(end))
        shutil.copyfileobj(source, lost)
    new.replace(path)


def _cut_partial_line(path: Path) -> None:
    if path.exists():
        with path.open("r+b") as file:
            file.truncate(file.read().rfind(b"\n") + 1)
