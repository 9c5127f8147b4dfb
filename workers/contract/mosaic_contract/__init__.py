"""What every MOSAIC Lab worker speaks. Standard library only, Python 3.9 and newer.

A shim gives a `Worker` to `main`, and writes to the `Telemetry` that its `train` receives; workers/README.md
shows a whole one. Readers use `parse_message`, `decode_line` and `LineSplitter`.
"""

from .analytics import write_analytics
from .cli import Worker, main
from .codec import DEFAULT_LINE_LIMIT, LineSplitter, as_number, decode_line, encode_line
from .config import (
    CheckpointConfig,
    Parameter,
    TrainingConfig,
    check_hyperparameters,
    load_config,
)
from .errors import BadLine, BadMessage, Cancelled, ConfigError, LineTooLong, UnknownMessage, UpstreamFailed
from .heartbeat import Heartbeats
from .messages import (
    PROTOCOL,
    CheckpointLoaded,
    CheckpointSaved,
    Episode,
    Heartbeat,
    Message,
    Metrics,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
    Step,
    parse_message,
)
from .metadata import WorkerCapabilities, WorkerMetadata
from .parent import watch_parent
from .signals import CancelOnSignal
from .stdio import forgive_write_errors
from .telemetry import Telemetry
from .usage import Usage, usage_of_tree

__all__ = [
    "DEFAULT_LINE_LIMIT",
    "PROTOCOL",
    "BadLine",
    "BadMessage",
    "CancelOnSignal",
    "Cancelled",
    "CheckpointConfig",
    "CheckpointLoaded",
    "CheckpointSaved",
    "ConfigError",
    "Episode",
    "Heartbeat",
    "Heartbeats",
    "LineSplitter",
    "LineTooLong",
    "Message",
    "Metrics",
    "Parameter",
    "RunCancelled",
    "RunCompleted",
    "RunFailed",
    "RunStarted",
    "Step",
    "Telemetry",
    "TrainingConfig",
    "UnknownMessage",
    "UpstreamFailed",
    "Usage",
    "Worker",
    "WorkerCapabilities",
    "WorkerMetadata",
    "as_number",
    "check_hyperparameters",
    "decode_line",
    "encode_line",
    "forgive_write_errors",
    "load_config",
    "main",
    "parse_message",
    "usage_of_tree",
    "watch_parent",
    "write_analytics",
]
