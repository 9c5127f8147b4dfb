"""Upstream's networks for images, from its Atari examples. Inputs are bytes from 0 to 255."""

from __future__ import annotations

from typing import Any, Mapping

from tianshou.env.atari.atari_network import (
    C51Net,
    DQNet,
    QRDQNet,
    RainbowNet,
    ScaledObsInputActionReprNet,
    layer_init,
)
from tianshou.utils.net.common import ActionReprNetWithVectorOutput

_FEATURES = 512  # as in upstream's examples


def features(observations: Any) -> ActionReprNetWithVectorOutput:
    """Return a network from images (channels, height, width) to features, for actors and critics."""
    net = DQNet(
        **_size(observations),
        action_shape=1,
        features_only=True,
        output_dim_added_layer=_FEATURES,
        layer_init=layer_init,
    )
    return ScaledObsInputActionReprNet(net)


def values_of_actions(
    name: str, observations: Any, count: int, values: Mapping[str, Any]
) -> ActionReprNetWithVectorOutput:
    """Return the network of an algorithm that learns the value, or its distribution, of each of `count`
    actions."""
    shape = {**_size(observations), "action_shape": [count]}
    if name == "c51":
        net: DQNet = C51Net(**shape, num_atoms=values["num_atoms"])
    elif name == "rainbow":
        net = RainbowNet(**shape, num_atoms=values["num_atoms"], noisy_std=values["noisy_std"])
    elif name == "qrdqn":
        net = QRDQNet(**shape, num_quantiles=values["num_quantiles"])
    else:
        net = DQNet(**shape)
    return ScaledObsInputActionReprNet(net)


def _size(observations: Any) -> dict[str, int]:
    return dict(zip("chw", map(int, observations.shape)))
