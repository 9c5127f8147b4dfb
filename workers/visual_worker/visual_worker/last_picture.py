"""Environments that have no picture of the last state of an episode."""

from __future__ import annotations

from typing import Any

import gymnasium


class LastPicture(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Shows ViZDoom's picture of before where there is no state any more, which upstream draws black."""

    _picture: Any = None

    def render(self) -> Any:
        if self.unwrapped.state is not None or self._picture is None:
            self._picture = self.env.render()
        return self._picture
