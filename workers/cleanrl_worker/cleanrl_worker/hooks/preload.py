"""Modules that upstream's scripts import. A warm worker imports them before the hooks are installed."""

from __future__ import annotations

import gymnasium  # noqa: F401
import torch.utils.tensorboard  # noqa: F401

from ..upstream import installed
from . import defer_plots

if (upstream := installed()) is not None and upstream.legacy:
    defer_plots()
    import gym  # noqa: F401
    import stable_baselines3.common.vec_env  # noqa: F401
else:
    import tyro  # noqa: F401
