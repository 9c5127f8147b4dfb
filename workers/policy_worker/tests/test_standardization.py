"""The worker keeps the protocol: the contract's conformance suite."""

from __future__ import annotations

from pathlib import Path

from mosaic_contract.conformance import check_worker, format_report

from mosaic_lab.workers import Environment


def test_conformance(worker: Environment, tmp_path: Path) -> None:
    source = "print('not among the answers')\ndef act(observation):\n    return 1\n"
    (tmp_path / "policy.py").write_text(source)
    settings = {"folder": str(tmp_path), "file": "policy.py", "attribute": "act"}
    space = {"type": "Discrete", "shape": [], "dtype": "int64", "n": 2, "start": 0}
    operate = {"settings": settings, "action_space": space}
    results = check_worker("policy", python=str(worker.python), config={"operate": operate})
    assert all(result.passed for result in results), format_report(results)
