"""Pictures of a state as arrays, drawn by upstream's viewers, which otherwise open windows."""

from __future__ import annotations

from typing import Any

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams["figure.max_open_warning"] = 0

_INCHES = (4.0, 4.0)  # 400 pixels


class Renderer:
    """Draws states of an environment. Raises `ValueError` where upstream has no viewer for it."""

    def __init__(self, env: Any) -> None:
        self._env = env.unwrapped
        viewer = getattr(self._env, "_viewer", None) or getattr(self._env, "_env_viewer", None)
        if not hasattr(viewer, "_display_rgb_array"):
            raise ValueError(f"upstream draws {type(self._env).__name__} in windows only")
        viewer.figure_size = _INCHES
        viewer._display = self._take
        self._viewer = viewer
        self._taken: Any = None

    def draw(self, state: Any) -> Any:
        """Return the picture as an array. Some `render` return nothing: what they display is taken."""
        self._env.render(state)
        return self._taken

    def _take(self, figure: Any) -> None:
        self._taken = self._viewer._display_rgb_array(figure)[..., :3].copy()
