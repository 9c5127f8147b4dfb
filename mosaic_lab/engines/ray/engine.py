"""`RayEngine`: jobs as detached actors of a Ray cluster."""

from __future__ import annotations

import asyncio
import os
import pickle
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import ray
from ray.exceptions import ActorDiedError, ActorUnavailableError, RayActorError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from mosaic_lab.engines.capacity import Needs, waits_for, why_impossible
from mosaic_lab.engines.engine import (
    Increment,
    JobRefused,
    Known,
    Node,
    NodeFrame,
    NodeLost,
    Stop,
    Unreachable,
)
from mosaic_lab.engines.job import Job
from mosaic_lab.engines.node_files import CHUNK_BYTES
from mosaic_lab.engines.ray import actor as actor_module
from mosaic_lab.engines.ray.actor import NodeReader, RunActor, free_on_nodes
from mosaic_lab.engines.ray.connection import NAMESPACE, check_head, connect
from mosaic_lab.engines.ray.node_reads import NodeReads, answered
from mosaic_lab.keeper.states import State

_AT_ONCE = 0.5  # seconds in which a living actor usually answers
_LATE = 5.0  # seconds without an actor's answer after which the head may be gone too
_ANSWER = 30.0  # seconds for a living actor to answer
_FRAME = 5.0  # seconds to wait for a frame
_MAX_SILENCE = 45.0  # seconds without any answer before reconnecting
_LOOK = 1.0  # seconds between queries of free resources
_T = TypeVar("_T")


@dataclass
class _PlacedJob:
    """A job on the cluster, with its own actor or an actor that reads its remaining files."""

    job: Job
    variables: Mapping[str, str]
    actor: Any
    node: str | None = None
    started: asyncio.Future[Any] | None = None
    """The pending answer of the actor's `started`, which arrives once the actor is alive."""
    cancelled: Stop | None = None
    """The stop request that cancelled it while queued."""


class RayEngine:
    """Implements `Engine` for the cluster ``cluster`` at ``address``. ``archive`` is our code.

    It connects on the first call. If the connection is lost, or yields no answer for a while, the process
    exits and its keepers start it again.
    """

    def __init__(self, cluster: str, address: str, archive: bytes) -> None:
        self._cluster = cluster
        self._address = address
        self._archive = archive
        self._jobs: dict[str, _PlacedJob] = {}
        self._reads: dict[tuple[str, str], NodeReads] = {}
        self._lock = threading.Lock()
        self._code: Any = None
        self._free: Any = None
        self._heard = time.monotonic()
        self._looked = -_LOOK
        self._nodes: list[Node] = []

    # -------------------------------------------------------------- the interface

    def submit(self, job: Job, variables: Mapping[str, str], node: str | None) -> None:
        """Implement `Engine.submit`: each job has its own actor, which another driver finds by name."""
        self._connect()
        actor = self._named(job)
        if actor is not None:
            self._jobs[job.run_id] = _PlacedJob(job, variables, actor, node)
        elif node is not None:
            self._jobs[job.run_id] = _PlacedJob(job, variables, self._reader(job, node), node)
        else:
            self._check(job)
            reserved = {
                "num_cpus": job.cpus,
                "num_gpus": job.gpus,
                "label_selector": dict(job.labels) or None,
            }
            name = {"name": job.name, "namespace": NAMESPACE, "lifetime": "detached"}
            placed = _PlacedJob(job, variables, self._new(job, **reserved, **name))
            self._begin(placed)
            self._jobs[job.run_id] = placed

    def node_of(self, run_id: str) -> str | None:
        return self._jobs[run_id].node

    async def read(self, run_id: str, known: Known, seconds: float) -> Increment:
        placed = self._jobs[run_id]
        if placed.cancelled:
            reason = f"stopped before it started ({placed.cancelled})"
            return Increment({"state": "cancelled", "reason": reason, "outcome": None}, complete=True)
        if placed.node is None:
            if placed.started is None:
                placed.started = answered(placed.actor.started)
            if not (await asyncio.wait({placed.started}, timeout=seconds))[0]:
                reason = await asyncio.to_thread(self._waits_for, placed.job)
                return Increment({"state": "queued", "reason": reason, "outcome": None})
            if not await self._get(placed, placed.started, _ANSWER):
                # The process that created the actor was killed before it could start the job.
                await asyncio.to_thread(self._begin, placed)
            placed.node = await self._get(placed, answered(placed.actor.where), _ANSWER)
        shared = self._reads_on(placed.node, placed.job.folder)
        if known.status is None or known.status["state"] != State.RUNNING:
            shared.leave(run_id)
        elif (news := await shared.read(placed.job, known, seconds)) is not None:
            return news
        answer = answered(placed.actor.read, pickle.dumps(known), seconds)
        increment: Increment = pickle.loads(await self._get(placed, answer, seconds + _ANSWER))
        return increment

    async def frame(self, run_id: str, fps: float) -> NodeFrame | None:
        placed = self._jobs.get(run_id)
        if placed is None or placed.node is None:
            return None
        answer = answered(placed.actor.frame, fps)
        done, _ = await asyncio.wait({answer}, timeout=_FRAME)
        return pickle.loads(answer.result()) if done and answer.exception() is None else None

    async def stop(self, run_id: str, stop: Stop) -> None:
        placed = self._jobs[run_id]
        lives = answered(placed.actor.where)
        if placed.node is None and not (await asyncio.wait({lives}, timeout=_AT_ONCE))[0]:
            await asyncio.to_thread(self._query, partial(ray.kill, placed.actor))
            placed.cancelled = stop
            return
        await self._get(placed, answered(placed.actor.stop, pickle.dumps(stop)), _ANSWER)

    async def forget(self, run_id: str) -> None:
        placed = self._jobs[run_id]
        if not placed.cancelled:
            await self._get(placed, answered(placed.actor.remove), _ANSWER)
            ray.kill(placed.actor)
        del self._jobs[run_id]

    def nodes(self) -> list[Node]:
        self._connect()
        free = self._query(self._free_on_nodes)
        nodes = [
            Node(
                node["NodeManagerAddress"],
                node["Resources"].get("CPU", 0.0),
                node["Resources"].get("GPU", 0.0),
                free.get(node["NodeID"], {}).get("CPU", 0.0),
                free.get(node["NodeID"], {}).get("GPU", 0.0),
                node.get("Labels", {}),
            )
            for node in self._query(ray.nodes)
            if node["Alive"]
        ]
        if not nodes:
            raise Unreachable("it has no nodes yet")
        return nodes

    # ------------------------------------------------------------------- actors

    def _connect(self) -> None:
        with self._lock:
            if not ray.is_initialized():
                connect(self._cluster, self._address)
                self._heard = time.monotonic()
            if self._code is None:
                ray.cloudpickle.register_pickle_by_value(actor_module)
                self._code = ray.put(self._archive)
                self._free = ray.remote(num_cpus=0)(free_on_nodes)

    def _named(self, job: Job) -> Any | None:
        try:
            actor = ray.get_actor(job.name, NAMESPACE)
            _ = actor.where  # with the first attribute, a client of Ray waits for the actor's class
            return actor
        except ValueError:
            return None
        except RayError as error:  # for example while its class is being registered
            raise self._unreachable(str(error).splitlines()[-1]) from error

    def _new(self, job: Job, **options: Any) -> Any:
        return ray.remote(max_restarts=0, **options)(RunActor).remote(self._code, job.to_json())

    def _begin(self, placed: _PlacedJob) -> None:
        """Send the job's inputs to its actor and start it."""
        for path, source in placed.job.inputs.items():
            with Path(source).open("rb") as file:
                while data := file.read(CHUNK_BYTES):
                    placed.actor.put.remote(path, file.tell() - len(data), data)
        placed.actor.start.remote(dict(placed.variables))

    def _reader(self, job: Job, node: str) -> Any:
        """Return an actor on the node of a run whose own actor has ended. Raises NodeLost."""
        if node not in {entry["NodeID"] for entry in self._query(ray.nodes) if entry["Alive"]}:
            raise NodeLost(f"node {self._address_of(node)} of {self._cluster} was lost")
        return self._new(job, **_placed_on(node))

    def _reads_on(self, node: str, home: str) -> NodeReads:
        def start() -> Any:
            return ray.remote(max_restarts=0, **_placed_on(node))(NodeReader).remote(self._code, home)

        def heard() -> None:
            self._heard = time.monotonic()

        if (node, home) not in self._reads:
            self._reads[node, home] = NodeReads(start, heard)
        return self._reads[node, home]

    def _address_of(self, node: str) -> str:
        return next(
            (entry["NodeManagerAddress"] for entry in ray.nodes() if entry["NodeID"] == node), node[:8]
        )

    # ------------------------------------------------------------------ answers

    async def _get(self, placed: _PlacedJob, answer: asyncio.Future[Any], seconds: float) -> Any:
        """Return an actor's answer. If the actor has ended, replace it with another one on its node."""
        try:
            if not (await asyncio.wait({answer}, timeout=_LATE))[0]:
                await asyncio.to_thread(check_head, self._address)
            if not (await asyncio.wait({answer}, timeout=seconds - _LATE))[0]:
                raise self._unreachable(f"no answer within {seconds:g} s")
            content = answer.result()
            self._heard = time.monotonic()
            return content
        except ActorUnavailableError as error:
            raise self._unreachable("the run's node does not answer") from error
        except (ActorDiedError, RayActorError) as error:
            if placed.node is None:
                raise JobRefused(
                    f"the run's process on {self._cluster} ended during startup: {error}"
                ) from error
            placed.actor = await asyncio.to_thread(self._reader, placed.job, placed.node)
            raise Unreachable("the run's process on its node has ended; reading what it has left") from error
        except RayTaskError as error:
            ray.kill(placed.actor)
            raise JobRefused(f"the run's process on {self._cluster} failed: {error.cause!r}") from error
        except ConnectionError:
            os._exit(1)
        except RayError as error:
            raise self._unreachable(str(error).splitlines()[0]) from error

    def _unreachable(self, why: str) -> Unreachable:
        if time.monotonic() - self._heard > _MAX_SILENCE:  # the cluster may have been replaced
            os._exit(1)
        return Unreachable(why)

    def _query(self, question: Callable[[], _T]) -> _T:
        check_head(self._address)
        try:
            content = question()
            self._heard = time.monotonic()
            return content
        except ConnectionError:
            os._exit(1)
        except (RayError, RuntimeError) as error:
            raise Unreachable(str(error).splitlines()[0]) from error

    # ---------------------------------------------------------------- resources

    def _free_on_nodes(self) -> dict[str, dict[str, float]]:
        """Return the free resources of each node. A Ray client can query them only from a task on a node."""
        if not ray.util.client.ray.is_connected():
            return free_on_nodes()
        free: dict[str, dict[str, float]] = ray.get(self._free.remote(), timeout=_ANSWER)
        return free

    def _check(self, job: Job) -> None:
        """Raise JobRefused if no node can ever provide the job's resources."""
        if why := why_impossible(_needs(job), self.nodes(), self._cluster):
            raise JobRefused(why)

    def _waits_for(self, job: Job) -> str:
        now = time.monotonic()
        if now - self._looked > _LOOK:  # many waiting runs request the same
            self._looked, self._nodes = now, self.nodes()
        starting = f"{self._cluster} is starting a process for it"
        return waits_for(_needs(job), self._nodes, self._cluster) or starting


def _placed_on(node: str) -> dict[str, Any]:
    """Return the options of an actor that reserves no resources, on a node."""
    return {"num_cpus": 0, "scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=False)}


def _needs(job: Job) -> Needs:
    return Needs(job.cpus, job.gpus, job.labels)
