"""Environments whose earlier episodes change later ones although these are seeded: made again at a reset."""

from __future__ import annotations

from typing import Any, Callable


class RecreateOnReset:
    """Wraps an environment that `make` makes again at every reset but the first."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._env = make()
        self._used = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)

    def reset(self, **options: Any) -> Any:
        if self._used:
            self._env.close()
            self._env = self._make()
        self._used = True
        return self._env.reset(**options)
