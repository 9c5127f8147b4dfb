"""The names of telemetry messages, as PROTOCOL has them; for keepers, which start without the contract."""

RUN_COMPLETED, RUN_FAILED, RUN_CANCELLED = TERMINAL = ("run_completed", "run_failed", "run_cancelled")
METRICS, HEARTBEAT, CHECKPOINT_SAVED = "metrics", "heartbeat", "checkpoint_saved"
STEP, EPISODE = "step", "episode"

SYSTEM_PREFIX = "system/"
"""The names of the metrics that a keeper measures begin with it."""
