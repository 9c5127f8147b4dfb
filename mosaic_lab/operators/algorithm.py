"""`Algorithm`: the policies that several trainings of one algorithm produced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.operators.spec import OperatorSpec


@dataclass(frozen=True, eq=False, repr=False)
class Algorithm:
    """An algorithm, represented by the policies of several trainings that differ in their seed.

    ``trainings`` are the policies by the names of their trainings, ``{"s1": rl(run), "s2": rl(other)}``; `rl`
    of a group makes them. `mosaic_lab.Lab.evaluate` plays all of them, and its intervals are over trainings.
    Comparisons and policy mappings need a single policy. Raises ConfigurationError for no trainings, or for
    other values.
    """

    trainings: Mapping[str, OperatorSpec]

    def __post_init__(self) -> None:
        if not isinstance(self.trainings, Mapping) or not self.trainings:
            raise ConfigurationError(
                f"trainings={self.trainings!r:.100}: must map names of trainings to operators, such as "
                '{"s1": operators.rl(run)}'
            )
        for name, spec in self.trainings.items():
            if not isinstance(name, str) or not name.strip() or not isinstance(spec, OperatorSpec):
                raise ConfigurationError(
                    f"training {name!r:.100}: {spec!r:.100}: must be a non-empty name and an operator"
                )

    def with_(self, **changes: Any) -> Algorithm:
        """Return a copy with ``changes`` of each policy; see `OperatorSpec.with_`."""
        return Algorithm({name: spec.with_(**changes) for name, spec in self.trainings.items()})

    def __repr__(self) -> str:
        first = next(iter(self.trainings.values()))
        return f"<algorithm {first.name}: {len(self.trainings)} trainings, {', '.join(self.trainings)}>"
