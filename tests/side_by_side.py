"""Assign tests to processes when several share the work (``pytest -n 4``).

What is built, trained or started once a session exists once in each process: the tests of a worker stay
together, as do those of the executed examples, of clusters, and of pages, in two halves, each with its
JupyterLab server; all others by file. The longest groups begin first: at the end, short ones fill all
processes.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

EXAMPLES = {"test_demo.py", "test_examples.py", "test_readme.py"}
PLAYED = ("test_compare", "test_evaluation", "test_forms", "test_sweeps", "test_transcript")
"""Files of pages that show environments being played, about half of all."""
SECONDS = {
    15: ("pages",),
    5: ("examples", "engines", "tests/filming", "tests/operators"),
    3: ("workers", "tests/runs", "tests/sweeps", "tests/curricula", "tests/language", "tests/evaluation"),
    1: ("tests/arenas", "tests/cli", "tests/workers", "tests/test_"),
}
"""About how long a test takes or waits, by the beginnings of its group. The others take far less."""


class SharedSessions(LoadScopeScheduling):
    """Assigns the tests of a worker, the examples, clusters, half of the pages, or a file together."""

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
        """About how long the tests of a group take."""
        each = next((seconds for seconds, starts in SECONDS.items() if scope.startswith(starts)), 0.1)
        return each * len(self.workqueue[scope])


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SharedSessions:
    return SharedSessions(config, log)
