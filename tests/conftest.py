"""Mark quick tests; in CI, fail every test that is skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from arenas.comparison_fixtures import odd_home, start_comparison  # noqa: F401
from browser.chromium import browser, chromium_cache, context, page, playwright  # noqa: F401
from evaluation.evaluation_fixtures import start_evaluation  # noqa: F401
from example_fixtures import demo, executed  # noqa: F401
from hiking_worker import hiker  # noqa: F401
from language.language_fixtures import language_server  # noqa: F401
from npm_fixtures import npm_packages  # noqa: F401
from operators.chess_fixtures import stockfish  # noqa: F401
from side_by_side import pytest_xdist_make_scheduler  # noqa: F401
from support import lab, max_running, supervisor  # noqa: F401
from telemetry.stream_fixtures import clock, stream, writer  # noqa: F401
from toy_worker import toy  # noqa: F401
from worker_fixtures import cinema, cleanrl_environment, mosaic_home, own_home  # noqa: F401

QUICK = ("tests/", "workers/contract/tests/")
STARTERS = {
    *(
        "JupyterLab",
        "Lab",
        "Page",
        "Supervisor",
        "mosaic",
        "mosaic_lab",
        "main",
        "run",
        "subprocess",
        "workers",
    ),
    *("ArenaLane", "Compare", "Conversation", "Evaluate", "Executed", "Members", "ObservedProcess"),
    *("check_worker", "notebooks", "npm_packages", "own_home", "stockfish", "supervisor"),
    *("cinema", "hiker", "lab", "toy"),
}
"""Module-level names and fixtures with which tests start trainings, servers, browsers or build tools."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark a test as quick if neither its module nor its fixtures use any of `STARTERS`."""
    for item in items:
        assert isinstance(item, pytest.Function)
        ours = item.path.relative_to(config.rootpath).as_posix().startswith(QUICK)
        names = {*vars(item.module), *item.fixturenames}
        if ours and not item.get_closest_marker("extended") and STARTERS.isdisjoint(names):
            item.add_marker("quick")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and CI skips nothing: {call.excinfo.value}"
    return report
