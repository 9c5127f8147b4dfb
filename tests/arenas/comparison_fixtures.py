"""Fixtures for comparison tests: comparisons that end with the test, and the family "odd"."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import PEERS, marked_processes, wait_until
from worker_fixtures import home_with

from mosaic_lab.arenas import CompareRequest, Comparison, compare

ODD_FAMILY = PEERS / "odd_family"

Compare = Callable[..., Comparison]


@pytest.fixture
def start_comparison(tmp_path: Path) -> Iterator[Compare]:
    """`compare` in the test's own store; no process of its comparisons may survive the test."""
    made: list[Comparison] = []

    def one(env: str, operators: Any = None, seeds: Any = (42,), **keywords: Any) -> Comparison:
        request = CompareRequest(env=env, operators=operators, seeds=seeds, **keywords)
        made.append(compare(tmp_path, request))
        return made[-1]

    yield one
    for comparison in made:
        comparison.stop()
    wait_until(lambda: not marked_processes(tmp_path))


@pytest.fixture(scope="module")
def odd_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A worker home with "odd", whose environments and operators misbehave on demand."""
    yield from home_with("odd", lambda _: ODD_FAMILY, tmp_path_factory)


def states(comparison: Comparison) -> list[tuple[str, int]]:
    """Each lane's state and step."""
    return [(str(lane.state), lane.step) for lane in comparison.lanes]
