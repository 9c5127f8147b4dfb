"""A model in this process, through llama.cpp."""

from __future__ import annotations

from typing import Callable, Sequence

from ..errors import ConfigError
from .exchange import Reply, Turn
from .settings import ModelSettings


class LocalModel:
    """A GGUF model that is loaded once for all agents of the process."""

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings

    def warm(self) -> None:
        """Load the model in another thread, so that the first call need not wait for it."""

    def complete(
        self, turns: Sequence[Turn], choices: Sequence[str] | None, seed: int, show: Callable[[str], None]
    ) -> Reply:
        raise ConfigError("local models are not there yet")
