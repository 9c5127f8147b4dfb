"""Log records of one kind."""

from __future__ import annotations

from logging import Logger, getLevelName
from typing import Any, Mapping, Optional

from .log_constants import LogConstant


def log_constant(
    logger: Logger,
    constant: LogConstant,
    *,
    message: Optional[str] = None,
    extra: Optional[Mapping[str, Any]] = None,
    exc_info: Any = None,
) -> None:
    """Log a record with its details in its text, so that the run's log contains them."""
    level = getLevelName(constant.level) if isinstance(constant.level, str) else constant.level
    parts = [constant.message or constant.code, message, str(dict(extra)) if extra else None]
    logger.log(level, " | ".join(part for part in parts if part), exc_info=exc_info)


class LogConstantMixin:
    """`log_constant` on the logger `_logger` of an object."""

    _logger: Logger

    def log_constant(self, constant: LogConstant, **details: Any) -> None:
        log_constant(self._logger, constant, **details)
