"""Frames of the environments that the script trains on.

The environments are made as the script makes them, but able to draw: with `render_mode="rgb_array"` where it
names no mode.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

from mosaic_contract import FastlaneConfig
from mosaic_contract.fastlane import RENDER_MODE, TrainingFrames


class Frames(TrainingFrames):
    """The frames of one training. `settings` come from `runtime.hook_settings`."""

    def __init__(self, settings: dict[str, Any]) -> None:
        env_id, modes = settings["env_id"], settings["render_modes"]
        fastlane = FastlaneConfig(**settings["fastlane"])
        super().__init__(env_id, settings["run_dir"], fastlane, settings["environments"])
        if RENDER_MODE not in modes:
            renders = ", ".join(modes) or "nothing"
            self.end(f"{env_id} has no render mode {RENDER_MODE}; it renders {renders}")

    def make_as(self, make: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """`make(...)`, able to draw if it will be shown. Raises what `make` raises."""
        make = functools.partial(make, *args, **kwargs)
        return make() if "render_mode" in kwargs else self.make(make)
