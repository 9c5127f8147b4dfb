"""Kinds of log records. The platform numbers hundreds; here each is created from its name at import."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LogConstant:
    """A kind of log records; `level` is the name of one of logging's levels."""

    code: str
    level: str = "INFO"
    message: str = ""
    component: str = "Worker"
    subcomponent: str = ""
    tags: tuple[str, ...] = ()


def __getattr__(name: str) -> LogConstant:
    if not name.startswith("LOG_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    problem = name.endswith(("_FAILED", "_ERROR"))
    text = name.removeprefix("LOG_").replace("_", " ").lower()
    return LogConstant(name, "ERROR" if problem else "INFO", text)
