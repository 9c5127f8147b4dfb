"""Assign tests to processes when several share the work (``pytest -n 4``).

What is built or trained once a session is built once a process: the tests of a worker stay together, those
that look at the executed examples and those of clusters too, and else the tests of a file. The largest groups
begin first.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

EXAMPLES = {"test_demo.py", "test_examples.py", "test_readme.py"}


class SharedSessions(LoadScopeScheduling):
    """Hands out the tests of a worker, of the examples, of clusters, of a file as one piece."""

    def _split_scope(self, nodeid: str) -> str:
        file = PurePosixPath(nodeid.split("::")[0])
        if file.parts[0] == "workers":
            return "/".join(file.parts[:2])
        if file.parts[:2] == ("tests", "engines"):
            return "engines"
        return "examples" if file.name in EXAMPLES else str(file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SharedSessions:
    return SharedSessions(config, log)
