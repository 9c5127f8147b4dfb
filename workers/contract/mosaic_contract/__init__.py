"""The protocol between MOSAIC Lab and its workers. Standard library only, Python 3.9 and newer.

A shim passes a `Worker` to `main` and writes to the `Telemetry` that its `train` receives; workers/README.md
shows a complete example. Readers use `parse_message`, `decode_line` and `LineSplitter`.

Core modules, needed by every shim:

- wire format: messages, codec, arrays, spaces, errors, metadata, discovery
- process: worker, cli, stdio, signals, process_exits, priority, seeds, warm, ready_process, piped_process
- library: upstream, import_hooks, registry, environment_families, environment_spec, pettingzoo_ids
- training: config, hyperparameters, training_plan, environment_check, checked_environment, telemetry,
  episode_logger, heartbeat, checkpoints, pytorch, analytics, programs, event_files
- acting: operators, operator_server, agent_threads, trained_policy, user_policy, user_code, wrappers,
  space_compatibility, noop

Subpackages: `fastlane` publishes frames, `arena` hosts environments, `environment_server` serves them to
trainings of other libraries, `language` supports operators that call language models, `conformance` tests
shims.
"""

from mosaic_contract.analytics import write_analytics
from mosaic_contract.arrays import pack, unpack
from mosaic_contract.cli import main
from mosaic_contract.codec import LineSplitter, as_number, decode_line, encode_line, read_document
from mosaic_contract.config import FastlaneConfig, TrainingConfig
from mosaic_contract.errors import BadLine, BadMessage, Cancelled, ConfigError, UnknownMessage, UpstreamFailed
from mosaic_contract.hyperparameters import Parameter, check_hyperparameters, with_limits
from mosaic_contract.messages import (
    CheckpointSaved,
    Episode,
    Metrics,
    RunCompleted,
    RunFailed,
    Step,
    parse_message,
)
from mosaic_contract.metadata import WorkerCapabilities, WorkerMetadata, describe_worker
from mosaic_contract.operators import AgentSetup, Decision, Operator
from mosaic_contract.process_exits import watch_parent
from mosaic_contract.seeds import derive_seed, operator_seed
from mosaic_contract.spaces import describe_space, make_space
from mosaic_contract.stdio import forgive_write_errors
from mosaic_contract.telemetry import Telemetry
from mosaic_contract.upstream import upstream_folder
from mosaic_contract.worker import Worker, deferred, operator_worker

__all__ = [
    "AgentSetup",
    "BadLine",
    "BadMessage",
    "Cancelled",
    "CheckpointSaved",
    "ConfigError",
    "Decision",
    "Episode",
    "FastlaneConfig",
    "LineSplitter",
    "Metrics",
    "Operator",
    "Parameter",
    "RunCompleted",
    "RunFailed",
    "Step",
    "Telemetry",
    "TrainingConfig",
    "UnknownMessage",
    "UpstreamFailed",
    "Worker",
    "WorkerCapabilities",
    "WorkerMetadata",
    "as_number",
    "check_hyperparameters",
    "decode_line",
    "deferred",
    "derive_seed",
    "describe_space",
    "describe_worker",
    "encode_line",
    "forgive_write_errors",
    "main",
    "make_space",
    "operator_seed",
    "operator_worker",
    "pack",
    "parse_message",
    "read_document",
    "unpack",
    "upstream_folder",
    "watch_parent",
    "with_limits",
    "write_analytics",
]
