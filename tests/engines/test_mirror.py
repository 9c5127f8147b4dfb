"""Mirroring a run whose node is lost or whose cluster does not answer, with a scripted engine."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mosaic_lab.engines import mirror as mirror_module
from mosaic_lab.engines.engine import FileChunk, Increment, Known, Node, NodeLost, NoHead, Stop, Unreachable
from mosaic_lab.engines.job import Job
from mosaic_lab.engines.mirror import LOST, Mirror, Outage
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.states import UNSENT
from mosaic_lab.runs.checkpoints import read_checkpoints
from mosaic_lab.telemetry import RunFeed

Answer = Increment | BaseException


class Scripted:
    """Implements `Engine`: returns its answers one after the other, and records submissions and reads."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.submitted: list[tuple[Job, str | None]] = []
        self.known: list[Known] = []

    def submit(self, job: Job, variables: Mapping[str, str], node: str | None) -> None:
        self.submitted.append((job, node))

    def node_of(self, run_id: str) -> str:
        return f"node{len(self.submitted)}"

    async def read(self, run_id: str, known: Known, seconds: float) -> Increment:
        self.known.append(known)
        answer = self._answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def frame(self, run_id: str, fps: float) -> None: ...

    async def stop(self, run_id: str, stop: Stop) -> None: ...

    async def forget(self, run_id: str) -> None: ...

    def nodes(self) -> list[Node]:
        return []


def event(kind: str, at: float = 1.0, **payload: object) -> bytes:
    return json.dumps({"event": kind, "run_id": "run", "timestamp": at, "payload": payload}).encode() + b"\n"


def metrics(step: int, at: float = 1.0) -> bytes:
    return event("metrics", at, step=step, values={"loss": 1.0})


SAVED = event("checkpoint_saved", checkpoint_path="/on/the/node/run/checkpoints/2.pt", step=2)
ENDED = event("run_completed", total_episodes=0, total_reward=0.0, duration_seconds=1.0)


def said(state: str, *chunks: FileChunk, complete: bool = False) -> Increment:
    return Increment({"state": state, "reason": f"it is {state}", "outcome": None}, chunks, complete)


def telemetry(offset: int, data: bytes) -> FileChunk:
    return FileChunk("telemetry.jsonl", offset, data, offset + len(data), 1)


def weights(data: bytes, changed: int, size: int | None = None, offset: int = 0) -> FileChunk:
    return FileChunk("checkpoints/2.pt", offset, data, size or len(data), changed)


def mirrored(folder: Path, engine: Scripted, restarts: int) -> list[dict[str, Any]]:
    """Mirror the run in this folder to its end; return the reports."""
    folder.mkdir(exist_ok=True)
    reports: list[dict[str, Any]] = []
    config = {"checkpoint": {"every_timesteps": 1, "resume_from": None}}
    job = Job(folder.name, "toy", config, "", 10.0, restarts=restarts)
    asyncio.run(Mirror(engine, "gpu-lab", job, {}, folder, reports.append).run())
    return reports


LOSS = NodeLost("node 10.0.0.7 of gpu-lab was lost")
FIRST = (
    said("running", weights(b"two", 7)),
    said("running", telemetry(0, metrics(1) + SAVED + metrics(3) + b'{"torn')),
    LOSS,
)


def test_a_run_resumes_from_its_newest_checkpoint(tmp_path: Path) -> None:
    rest = metrics(3) + ENDED
    again = said("running", telemetry(0, rest)), said("completed", complete=True)
    engine = Scripted(*FIRST, *again)
    reports = mirrored(tmp_path / "run", engine, restarts=1)
    assert (tmp_path / "run" / "telemetry.jsonl").read_bytes() == metrics(1) + SAVED + rest
    assert (tmp_path / "run" / LOST).read_bytes() == metrics(3) + b'{"torn'
    (first, _), (second, node) = engine.submitted
    assert (first.attempt, second.attempt, node) == (1, 2, None)
    assert second.config["checkpoint"] == {"every_timesteps": 1, "resume_from": "inputs/checkpoint/2.pt"}
    assert second.inputs == {"inputs/checkpoint/2.pt": str(tmp_path / "run" / "checkpoints" / "2.pt")}
    assert engine.known[3].grown["telemetry.jsonl"] == 0, "the new attempt is read from its start"
    lost = "restart 1 of 1 (node 10.0.0.7 of gpu-lab was lost at step 3)"
    assert {"state": "queued", "reason": f"it continues from its checkpoint at step 2; {lost}"}.items() <= (
        reports[1].items()
    )
    assert reports[-1]["reason"] == f"it is completed; {lost}"
    assert not (tmp_path / "run" / "engine.json").exists()
    assert [one.step for one in read_checkpoints(RunFolder(tmp_path / "run"))] == [2]


@pytest.mark.parametrize("started", [False, True])
def test_a_stop_that_a_cluster_without_a_head_cannot_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: bool
) -> None:
    """A queued run is cancelled; a running one is stopping until the cluster answers."""

    class Headless(Scripted):
        async def read(self, run_id: str, known: Known, seconds: float) -> Increment:
            await asyncio.sleep(0.01)
            return said("running" if started else "queued")

        async def stop(self, run_id: str, stop: Stop) -> None:
            raise NoHead("nothing answers at 10.0.0.5:6379")

        def node_of(self, run_id: str) -> str | None:  # type: ignore[override]
            return "node1" if started else None

    async def stopped() -> None:
        mirror = Mirror(Headless(), "gpu-lab", job, {}, folder, take)
        work = asyncio.create_task(mirror.run())
        await until(lambda: len(reports) == 1)
        mirror.stop(Stop(10.0))
        await until(lambda: len(reports) > 1 and (started or work.done()))
        mirror.abandon()
        await work

    async def until(holds: Callable[[], object]) -> None:
        while not holds():
            await asyncio.sleep(0.01)

    monkeypatch.setattr("mosaic_lab.engines.mirror._HEADLESS", 0.0)
    folder, reports = tmp_path / "run", list[dict[str, Any]]()
    folder.mkdir()
    take, job = reports.append, Job("run", "toy", {}, "", 10.0)
    asyncio.run(stopped())
    why = "nothing answers at 10.0.0.5:6379"
    if started:
        text = f"stopped on request: {UNSENT}; gpu-lab has not answered since"
        assert reports[1]["state"] == "stopping" and reports[1]["reason"].startswith(text)
    else:
        assert reports[1]["state"] == "cancelled"
        assert reports[1]["reason"] == f"stopped on request before it started, as {why}"


def test_without_a_checkpoint_it_begins_again(tmp_path: Path) -> None:
    engine = Scripted(
        said("running", telemetry(0, metrics(1))),
        LOSS,
        said("completed", telemetry(0, ENDED)),
        *[said("completed", complete=True)],
    )
    reports = mirrored(tmp_path / "run", engine, restarts=2)
    assert (tmp_path / "run" / "telemetry.jsonl").read_bytes() == ENDED
    assert reports[1]["reason"].startswith("it continues from the beginning; restart 1 of 2")
    assert engine.submitted[1][0].config == engine.submitted[0][0].config


def test_it_has_failed_when_its_restarts_are_used_up(tmp_path: Path) -> None:
    reports = mirrored(tmp_path / "run", Scripted(*FIRST, LOSS), restarts=1)
    assert reports[-1]["state"] == "failed"
    assert reports[-1]["reason"].startswith("node 10.0.0.7 of gpu-lab was lost at step 2; restart 1 of 1")


def test_a_mirror_that_was_killed_after_a_restart_finds_that_attempt(tmp_path: Path) -> None:
    class Killed(BaseException):
        """Stands for the death of the bridge's process."""

    folder = tmp_path / "run"
    killed = Scripted(*FIRST, said("running", telemetry(0, metrics(3))), Killed())
    with pytest.raises(Killed):
        mirrored(folder, killed, restarts=1)
    size = len(metrics(3))
    engine = Scripted(said("completed", telemetry(size, ENDED)), said("completed", complete=True))
    mirrored(folder, engine, restarts=1)
    ((job, node),) = engine.submitted
    assert (job.attempt, node) == (2, "node2")
    assert engine.known[0].grown["telemetry.jsonl"] == size
    assert (folder / "telemetry.jsonl").read_bytes() == metrics(1) + SAVED + metrics(3) + ENDED


@pytest.mark.parametrize("off", [-3600, 3600])
def test_the_clock_of_a_node_may_be_an_hour_off(tmp_path: Path, off: int) -> None:
    """Files are complete, and time on the charts never goes back when the next node's clock is right."""
    folder = tmp_path / "run"
    began = time.time()
    saved = int((began + off) * 1e9)
    lines = metrics(1, began + off) + SAVED.replace(b"1.0", str(began + off + 1).encode())
    rest = metrics(3, began + 2) + metrics(4, began + 3)
    engine = Scripted(
        said("running", weights(b"tw", saved, size=3)),
        said("running", weights(b"o", saved, size=3, offset=2)),
        said("running", telemetry(0, lines)),
        LOSS,
        said("running", telemetry(0, rest)),
        said("completed", complete=True),
    )
    mirrored(folder, engine, restarts=1)
    assert (folder / "telemetry.jsonl").read_bytes() == lines + rest
    assert (folder / "checkpoints" / "2.pt").read_bytes() == b"two"
    feed = RunFeed(folder)
    feed.poll()
    [piece] = feed.pieces("loss")
    seconds = piece.seconds
    assert len(seconds) == 3
    assert seconds.min() == 0
    assert feed.seconds == seconds.max()


CUT, REFUSED = Unreachable("no answer within 32 s"), NoHead("nothing answers at 10.0.0.5:6379")


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1e9
        monkeypatch.setattr(mirror_module.time, "time", lambda: self.now)


def test_a_network_that_is_cut_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, one = Clock(monkeypatch), Outage("gpu-lab")
    first = one.reason(CUT)
    clock.now += 3600
    assert one.reason(CUT) == one.reason(Unreachable("another reason")) == first
    said = (
        r"gpu-lab has not answered since \d\d:\d\d:\d\d \(no answer within 32 s\); what runs there continues"
    )
    assert re.fullmatch(said, first)
    one.end()
    assert one.reason(CUT) != first


def test_a_head_that_is_gone_for_a_minute_takes_the_nodes_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, one = Clock(monkeypatch), Outage("gpu-lab")
    one.reason(CUT)
    clock.now += 600
    assert one.reason(REFUSED).endswith("what runs there continues")
    clock.now += 61
    lost = one.reason(REFUSED)
    assert "(nothing answers at 10.0.0.5:6379): if its head was lost, its nodes have left after 60 s" in lost
    assert "ended this run, which fails, or begins again with restarts=, when a head answers there" in lost
    clock.now += 61
    assert one.reason(REFUSED) == lost
    assert one.reason(CUT).endswith("what runs there continues"), (
        "an unreachable machine may still run everything"
    )
