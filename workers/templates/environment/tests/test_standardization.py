"""The worker keeps the protocol: run with pytest in the worker's environment."""

from mosaic_contract.conformance import check_worker, format_report


def test_conformance() -> None:
    results = check_worker("placeholder")
    assert all(result.passed for result in results), format_report(results)
