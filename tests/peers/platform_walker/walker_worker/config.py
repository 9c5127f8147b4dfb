"""The configuration: `algo`, hyperparameters in `extras.algo_params`, and a worker-specific section."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from gym_gui.core.worker import WorkerConfig

KNOWN = {"stride", "fail_at"}


@dataclass(frozen=True)
class WeatherConfig:
    wind: float = 0.0


@dataclass(frozen=True)
class WalkerConfig:
    run_id: str
    algo: str
    env_id: str
    total_timesteps: int
    seed: int | None = None
    weather: WeatherConfig = field(default_factory=WeatherConfig)
    extras: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert isinstance(self, WorkerConfig)
        for name in self.parameters.keys() - KNOWN:
            raise ValueError(f"unknown parameter {name!r}")

    @property
    def parameters(self) -> dict[str, Any]:
        return self.extras.get("algo_params", {})

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> WalkerConfig:
        return cls(**{**data, "weather": WeatherConfig(**data.get("weather", {}))})
