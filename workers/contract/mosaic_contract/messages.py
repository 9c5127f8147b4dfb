"""The messages of a worker as typed classes: lifecycle events and data lines of PROTOCOL version 1.

`to_dict` returns the JSON object sent on the wire; `from_dict` and `parse_message` read it. Unknown fields
are ignored, and fields that an older worker does not send have defaults.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Callable, ClassVar, Mapping, TypeVar

from mosaic_contract.codec import as_number, whole_number
from mosaic_contract.errors import BadMessage, UnknownMessage

PROTOCOL = 1

ALONE = "agent_0"
"""The id of the agent in a single-agent environment."""

EVENTS: dict[str, type[Event]] = {}
DATA: dict[str, type[Data]] = {}

M = TypeVar("M", bound="WorkerMessage")


def _added(default: Any) -> Any:
    """Declare a field that MOSAIC Lab adds to the platform's protocol: a worker may omit it."""
    return field(default=default, metadata={"added": True})


@dataclass(frozen=True)
class WorkerMessage:
    """Base class of all messages. `KIND` is the value of "event" or "type" on the wire."""

    KIND: ClassVar[str] = ""
    TERMINAL: ClassVar[bool] = False

    run_id: str

    def to_dict(self) -> dict[str, Any]:
        """Return the object to encode as a line of JSON."""
        raise NotImplementedError

    @classmethod
    def from_dict(cls: type[M], document: Mapping[str, Any]) -> M:
        """Read the object. Raises `BadMessage` if a field is missing or has the wrong type."""
        return cls(**_read(cls, document))


@dataclass(frozen=True)
class Event(WorkerMessage):
    """A lifecycle event: {"event", "run_id", "timestamp", "payload"}. `timestamp` in Unix seconds."""

    timestamp: float

    def __init_subclass__(cls) -> None:
        EVENTS[cls.KIND] = cls

    def to_dict(self) -> dict[str, Any]:
        payload = dict(vars(self))
        head = {"event": self.KIND, "run_id": payload.pop("run_id"), "timestamp": payload.pop("timestamp")}
        return {**head, "payload": payload}

    @classmethod
    def from_dict(cls: type[M], document: Mapping[str, Any]) -> M:
        payload = document.get("payload", {})
        if not isinstance(payload, Mapping):
            raise BadMessage(f"{cls.KIND}: payload is not an object: {payload!r:.100}")
        head = {name: document[name] for name in ("run_id", "timestamp") if name in document}
        return cls(**_read(cls, {**payload, **head}))


@dataclass(frozen=True)
class RunStarted(Event):
    """The run has started; `config` is the resolved configuration. `steps` in it, if present, is the step at
    which the training ends: after whole updates, possibly before `total_timesteps`."""

    KIND = "run_started"
    worker_type: str = ""
    algo: str = ""
    env_id: str = ""
    seed: int | None = None
    config: dict[str, Any] = field(default_factory=dict)
    protocol: int = _added(PROTOCOL)


@dataclass(frozen=True)
class Heartbeat(Event):
    """The worker is alive. Memory in MiB and CPU in percent of one core, including its children."""

    KIND = "heartbeat"
    episode: int = 0
    step: int = 0
    memory_mb: float = 0.0
    cpu_percent: float = 0.0
    dropped_lines: int = _added(0)


@dataclass(frozen=True)
class CheckpointSaved(Event):
    """A checkpoint is complete on disk at `checkpoint_path`, relative to the run folder or absolute."""

    KIND = "checkpoint_saved"
    checkpoint_path: str
    episode: int = 0
    step: int = 0
    metrics: dict[str, Any] = field(default_factory=dict)
    format: str = _added("")


@dataclass(frozen=True)
class CheckpointLoaded(CheckpointSaved):
    """The run resumes from a checkpoint."""

    KIND = "checkpoint_loaded"


@dataclass(frozen=True)
class Metrics(Event):
    """Numbers at one training step."""

    KIND = "metrics"
    step: int
    values: dict[str, float]


@dataclass(frozen=True)
class RunCompleted(Event):
    """The run completed."""

    KIND = "run_completed"
    TERMINAL = True
    episodes: int = 0
    total_reward: float = 0.0
    duration_seconds: float = 0.0
    final_metrics: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RunFailed(Event):
    """The run ended with an error."""

    KIND = "run_failed"
    TERMINAL = True
    error: str = ""
    error_type: str = ""
    traceback: str = ""
    episode: int = 0
    step: int = 0


@dataclass(frozen=True)
class RunCancelled(Event):
    """The run was cancelled and has stopped."""

    KIND = "run_cancelled"
    TERMINAL = True
    reason: str = ""
    completed_episodes: int = 0
    partial_results: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Data(WorkerMessage):
    """A data line: {"type", "run_id", …}, with all fields at the top level."""

    def __init_subclass__(cls) -> None:
        DATA[cls.KIND] = cls

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.KIND, **vars(self)}


@dataclass(frozen=True)
class Step(Data):
    """One step of one agent.

    `messages` were sent to other agents, `observation_hash` is the hash of the observation on which the agent
    acted, `fault` says why its operator's own answer was late or not played, and `end_hash` is the hash of
    the observation after an episode's last step. Each is omitted if there is none.
    """

    KIND = "step"
    step_index: int
    episode_index: int
    agent_id: str = ALONE
    action: Any = None
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    episode_seed: int | None = None
    ts_unix_ns: int = 0
    messages: list[Any] = field(default_factory=list, metadata={"added": True})
    observation_hash: int | None = _added(None)
    fault: str = _added("")
    end_hash: int | None = _added(None)

    def to_dict(self) -> dict[str, Any]:
        document = super().to_dict()
        for name, absent in (("messages", []), ("observation_hash", None), ("fault", ""), ("end_hash", None)):
            if document[name] == absent:
                del document[name]
        return document


@dataclass(frozen=True)
class Episode(Data):
    """One finished episode of one agent. `step` is the training step at its end, `timestamp` Unix seconds."""

    KIND = "episode"
    episode_index: int
    total_reward: float
    steps: int
    terminated: bool = False
    truncated: bool = False
    episode_seed: int | None = None
    agent_id: str = ALONE
    metadata: dict[str, Any] = field(default_factory=dict)
    duration_seconds: float | None = _added(None)
    step: int | None = _added(None)
    timestamp: float | None = _added(None)


def parse_message(document: Mapping[str, Any]) -> WorkerMessage:
    """Return the message in a JSON object. Raises `UnknownMessage`, or `BadMessage` for invalid fields."""
    for key, kinds in (("event", EVENTS), ("type", DATA)):
        kind = document.get(key)
        if kind is None:
            continue
        if isinstance(kind, str) and kind in kinds:
            return kinds[kind].from_dict(document)
        raise UnknownMessage(f"unknown {key} {kind!r:.100}")
    raise UnknownMessage('a message needs "event" or "type", and this one has neither')


def missing_fields(document: Mapping[str, Any]) -> list[str]:
    """Return the fields of the platform's protocol that a message of a known kind omits."""
    kind = EVENTS.get(document.get("event", "")) or DATA.get(document.get("type", ""))
    if kind is None:
        return []
    payload = document.get("payload", {})
    present = {*document, *(payload if isinstance(payload, Mapping) else ())}
    return [f.name for f in fields(kind) if f.name not in present and not f.metadata.get("added")]


def _read(cls: type[WorkerMessage], source: Mapping[str, Any]) -> dict[str, Any]:
    values = {}
    for f in fields(cls):
        if f.name in source:
            try:
                values[f.name] = _READERS[str(f.type)](source[f.name])
            except ValueError as error:
                raise BadMessage(f"{cls.KIND}: {f.name} is {error}") from None
        elif f.default is MISSING and f.default_factory is MISSING:
            raise BadMessage(f"{cls.KIND}: {f.name} is missing")
    return values


def _instance(kind: type, name: str) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, kind):
            raise ValueError(f"not {name}: {value!r:.100}")
        return value

    return read


def _integer(value: Any) -> int:
    number = whole_number(value)
    if number is None:
        raise ValueError(f"not an integer: {value!r:.100}")
    return number


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


def _numbers(value: Any) -> dict[str, float]:
    return {str(name): as_number(number) for name, number in _instance(dict, "an object")(value).items()}


_READERS: dict[str, Callable[[Any], Any]] = {  # by annotation: a message's annotations are its schema
    "str": _instance(str, "a string"),
    "int": _integer,
    "int | None": _optional(_integer),
    "float": as_number,
    "float | None": _optional(as_number),
    "bool": _instance(bool, "true or false"),
    "Any": lambda value: value,
    "dict[str, Any]": _instance(dict, "an object"),
    "list[Any]": _instance(list, "a list"),
    "dict[str, float]": _numbers,
}
