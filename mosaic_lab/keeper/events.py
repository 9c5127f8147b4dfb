"""Names of telemetry messages, as in PROTOCOL.md, for keepers, which start without the contract."""

RUN_COMPLETED, RUN_FAILED, RUN_CANCELLED = TERMINAL = ("run_completed", "run_failed", "run_cancelled")
METRICS, HEARTBEAT, CHECKPOINT_SAVED = "metrics", "heartbeat", "checkpoint_saved"
STEP, EPISODE = "step", "episode"

SYSTEM_PREFIX = "system/"
"""Prefix of the metrics measured by keepers."""
EVALUATED = "evaluation/"
"""Prefix of the metrics of evaluated checkpoints."""
