"""The worker keeps the protocol: the contract's conformance suite."""

from __future__ import annotations

from mosaic_contract.conformance import check_worker, format_report

from mosaic_lab.workers import Environment


def test_conformance(worker: Environment) -> None:
    results = check_worker("random", python=str(worker.python))
    assert all(result.passed for result in results), format_report(results)
