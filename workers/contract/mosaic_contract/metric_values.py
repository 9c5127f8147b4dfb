"""The numbers in a row of metrics, whatever else a library or a script has put there.

Nested objects are flattened, `{"eval": {"return": 1.0}}` to `eval/return`; what is no number is left out, and
its key named once in the log.
"""

from __future__ import annotations

import logging
from typing import Any, Iterator, Mapping, Tuple

from mosaic_contract.codec import as_number

_DEEPEST = 20
_MOST_NAMED = 100

log = logging.getLogger("mosaic_contract")


def flat(values: Mapping[Any, Any], prefix: str = "", depth: int = 0) -> Iterator[Tuple[str, Any]]:
    """Yield the values of nested objects, under their keys joined by "/"."""
    for name, value in values.items():
        if isinstance(value, Mapping) and value and depth < _DEEPEST:
            yield from flat(value, f"{prefix}{name}/", depth + 1)
        else:
            yield f"{prefix}{name}", value


class MetricValues:
    """Extracts the numbers of rows; remembers which keys it has named."""

    def __init__(self) -> None:
        self._named: set[str] = set()

    def numbers(self, values: Mapping[Any, Any]) -> dict[str, float]:
        """Return the numbers in a row by their names; arrays and tensors of one element are numbers too."""
        found = {}
        for name, value in flat(values):
            try:
                found[name] = _number(value)
            except (TypeError, ValueError, RuntimeError):  # the last is PyTorch's for several numbers
                self._name(name, value)
        return found

    def _name(self, name: str, value: Any) -> None:
        if name not in self._named and len(self._named) < _MOST_NAMED:
            self._named.add(name)
            log.warning("metric %.200r is left out: %.100r is not a number", name, value)
            if len(self._named) == _MOST_NAMED:
                log.warning("no further metrics that are left out are named")


def _number(value: Any) -> float:
    item = getattr(value, "item", None)
    return as_number(item() if callable(item) else value)
