"""What every MOSAIC Lab worker speaks. Standard library only, Python 3.9 and newer.

A shim gives a `Worker` to `main`, and writes to the `Telemetry` that its `train` receives; workers/README.md
shows a whole one. Readers use `parse_message`, `decode_line` and `LineSplitter`.
"""

from .analytics import write_analytics
from .arrays import ARRAY_LIMIT, pack, unpack
from .cli import Worker, main
from .codec import (
    DEFAULT_LINE_LIMIT,
    OPERATING_LINE_LIMIT,
    LineSplitter,
    as_number,
    decode_line,
    encode_line,
    read_document,
)
from .config import CheckpointConfig, FastlaneConfig, TrainingConfig, load_config
from .errors import (
    BadLine,
    BadMessage,
    BudgetSpent,
    Cancelled,
    ConfigError,
    EndpointFailed,
    EndpointRefused,
    LineTooLong,
    RecordingMismatch,
    UnknownMessage,
    UpstreamFailed,
)
from .heartbeat import Heartbeats
from .hyperparameters import Parameter, check_hyperparameters, out_of_range
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
from .operators import AgentSetup, Decision, Operator
from .parent import watch_parent
from .seeds import derive_seed, operator_seed
from .signals import CancelOnSignal
from .spaces import describe_space, make_space
from .stdio import forgive_write_errors
from .telemetry import Telemetry
from .upstream import upstream_folder
from .usage import Usage, usage_of_tree

__all__ = [
    "ARRAY_LIMIT",
    "DEFAULT_LINE_LIMIT",
    "OPERATING_LINE_LIMIT",
    "PROTOCOL",
    "AgentSetup",
    "BadLine",
    "BadMessage",
    "BudgetSpent",
    "CancelOnSignal",
    "Cancelled",
    "CheckpointConfig",
    "CheckpointLoaded",
    "CheckpointSaved",
    "ConfigError",
    "Decision",
    "EndpointFailed",
    "EndpointRefused",
    "Episode",
    "FastlaneConfig",
    "Heartbeat",
    "Heartbeats",
    "LineSplitter",
    "LineTooLong",
    "Message",
    "Metrics",
    "Operator",
    "Parameter",
    "RecordingMismatch",
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
    "derive_seed",
    "describe_space",
    "encode_line",
    "forgive_write_errors",
    "load_config",
    "main",
    "make_space",
    "operator_seed",
    "out_of_range",
    "pack",
    "parse_message",
    "read_document",
    "unpack",
    "upstream_folder",
    "usage_of_tree",
    "watch_parent",
    "write_analytics",
]
