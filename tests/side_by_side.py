"""Schedule tests over several processes (``pytest -n 4``).

Session-scoped builds, trainings and servers exist once per process, so tests that share them run in the same
process: the tests of a worker, of executed examples, of clusters, and of pages (in two halves, each with its
own JupyterLab server); other tests are grouped by file. The longest groups start first, so that short ones
fill the processes at the end.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

EXAMPLES = {"test_demo.py", "test_examples.py", "test_readme.py"}
PLAYED = ("test_compare", "test_evaluation", "test_forms", "test_sweeps", "test_transcript")
"""Test files for pages that show environments being played: about half of the page tests."""
SECONDS = {
    15: ("pages",),
    5: ("examples", "engines", "tests/filming", "tests/operators"),
    3: ("workers", "tests/runs", "tests/sweeps", "tests/curricula", "tests/language", "tests/evaluation"),
    1: ("tests/arenas", "tests/cli", "tests/workers", "tests/test_"),
}
"""Approximate seconds per test, by prefix of its group's name. Tests in other groups take far less."""


class SharedSessions(LoadScopeScheduling):
    """Schedules the tests of a worker, the examples, clusters, half of the pages, or a file as one group."""

    def _split_scope(self, nodeid: str) -> str:
        file = PurePosixPath(nodeid.split("::")[0])
        if file.parts[0] == "workers":
            return "/".join(file.parts[:2])
        if file.parts[:2] == ("tests", "engines"):
            return "engines"
        if file.parts[:2] == ("tests", "browser"):
            return "pages, played" if file.name.startswith(PLAYED) else "pages"
        return "examples" if file.name in EXAMPLES else str(file)

    def _assign_work_unit(self, node: WorkerController) -> None:
        self.workqueue.move_to_end(max(self.workqueue, key=self._seconds), last=False)
        super()._assign_work_unit(node)

    def _seconds(self, scope: str) -> float:
        """Return roughly how long the tests of a group take."""
        each = next((seconds for seconds, starts in SECONDS.items() if scope.startswith(starts)), 0.1)
        return each * len(self.workqueue[scope])


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SharedSessions:
    return SharedSessions(config, log)
