"""A feature extractor for pictures that are too small for upstream's own."""

from __future__ import annotations

import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn


class SmallCnn(BaseFeaturesExtractor):
    """Two convolutions of 3×3 and a linear layer, for grids such as MiniGrid's 7×7×3, and small pictures. The
    channels are the dimension that differs from two equal ones, else the smallest."""

    def __init__(
        self, observation_space: spaces.Box, features_dim: int = 128, normalized_image: bool = False
    ) -> None:
        super().__init__(observation_space, features_dim)
        first, second, last = shape = observation_space.shape
        self._channels_last = first == second or (second != last and last < first)
        channels = last if self._channels_last else first
        self.convolutions = nn.Sequential(
            nn.Conv2d(channels, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.Flatten()
        )
        with torch.no_grad():
            size = self._features(torch.zeros(1, *shape)).shape[1]
        self.linear = nn.Sequential(nn.Linear(size, features_dim), nn.ReLU())

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(self.linear(self._features(observations)))

    def _features(self, observations: torch.Tensor) -> torch.Tensor:
        first = observations.permute(0, 3, 1, 2) if self._channels_last else observations
        return torch.as_tensor(self.convolutions(first))
