"""The interfaces of the platform's workers: metadata, configurations, lifecycle events, manifests."""

from __future__ import annotations

from .analytics import (
    ArtifactsMetadata,
    CheckpointMetadata,
    TensorBoardMetadata,
    WandBMetadata,
    WorkerAnalyticsManifest,
)
from .config_loader import extract_worker_config, load_worker_config_from_file
from .protocol import WorkerCapabilities, WorkerConfig, WorkerMetadata, WorkerRuntime
from .telemetry import LifecycleEvent, LifecycleEventType, TelemetryEmitter

__all__ = [
    "ArtifactsMetadata",
    "CheckpointMetadata",
    "LifecycleEvent",
    "LifecycleEventType",
    "TelemetryEmitter",
    "TensorBoardMetadata",
    "WandBMetadata",
    "WorkerAnalyticsManifest",
    "WorkerCapabilities",
    "WorkerConfig",
    "WorkerMetadata",
    "WorkerRuntime",
    "extract_worker_config",
    "load_worker_config_from_file",
]
