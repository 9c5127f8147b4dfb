"""The manifest of a run's artifacts, `analytics.json`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Mapping, Optional


@dataclass(frozen=True)
class TensorBoardMetadata:
    log_dir: str
    enabled: bool
    port: Optional[int] = None
    url: Optional[str] = None


@dataclass(frozen=True)
class WandBMetadata:
    project: str
    entity: Optional[str]
    run_id: str
    run_name: str
    url: str
    enabled: bool


@dataclass(frozen=True)
class CheckpointMetadata:
    directory: str
    format: str
    files: list[str] = field(default_factory=list)
    best_checkpoint: Optional[str] = None
    final_checkpoint: Optional[str] = None


@dataclass(frozen=True)
class ArtifactsMetadata:
    tensorboard: Optional[TensorBoardMetadata] = None
    wandb: Optional[WandBMetadata] = None
    checkpoints: Optional[CheckpointMetadata] = None
    logs_dir: Optional[str] = None
    videos_dir: Optional[str] = None


_PARTS = {"tensorboard": TensorBoardMetadata, "wandb": WandBMetadata, "checkpoints": CheckpointMetadata}


@dataclass(frozen=True)
class WorkerAnalyticsManifest:
    """The artifacts of one run, and the entries that its worker adds."""

    run_id: str
    worker_type: str
    artifacts: ArtifactsMetadata
    metadata: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the manifest as JSON, without missing artifacts."""
        document = asdict(self)
        document["artifacts"] = {name: part for name, part in document["artifacts"].items() if part}
        return document

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.to_dict(), indent=2), encoding="utf-8")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> WorkerAnalyticsManifest:
        parts = {
            name: _PARTS[name](**part) if name in _PARTS else part
            for name, part in data.get("artifacts", {}).items()
        }
        artifacts = ArtifactsMetadata(**parts)
        return cls(data["run_id"], data["worker_type"], artifacts, dict(data.get("metadata", {})))

    @classmethod
    def load(cls, path: Path) -> WorkerAnalyticsManifest:
        return cls.from_dict(json.loads(path.read_text(encoding="utf-8")))
