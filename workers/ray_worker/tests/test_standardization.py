"""The worker keeps the protocol: the contract's conformance suite."""

from __future__ import annotations

from typing import Any

from mosaic_contract.conformance import check_worker, format_report


def test_conformance(worker: Any) -> None:
    results = check_worker("rllib", python=worker.python)
    assert all(result.passed for result in results), format_report(results)
