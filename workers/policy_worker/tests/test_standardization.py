"""The worker passes the contract's conformance suite."""

from __future__ import annotations

from pathlib import Path

from shim_kit.fixtures import assert_conforms

from mosaic_lab.workers import WorkerEnvironment


def test_conformance(worker: WorkerEnvironment, tmp_path: Path) -> None:
    source = "print('not among the answers')\ndef act(observation):\n    return 1\n"
    (tmp_path / "policy.py").write_text(source)
    settings = {"folder": str(tmp_path), "file": "policy.py", "attribute": "act"}
    space = {"type": "Discrete", "shape": [], "dtype": "int64", "n": 2, "start": 0}
    operate = {"settings": settings, "action_space": space}
    assert_conforms(worker, config={"operate": operate})
