"""The worker keeps the protocol: the contract's conformance suite, with the fake server for an endpoint."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from language.language_fixtures import FakeServer
from mosaic_contract.conformance import check_worker, format_report

from mosaic_lab.workers import Environment

CONFIG = Path(__file__).parents[1] / "vlm_worker" / "conformance.json"


def test_conformance(
    worker: Environment, language_server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = json.loads(CONFIG.read_text())
    monkeypatch.setenv("FAKE_KEY", language_server.key)
    config["operate"]["settings"] |= {
        "model": "fake:legal",
        "base_url": language_server.openai_url,
        "api_key_env": "FAKE_KEY",
    }
    results = check_worker("vlm", python=str(worker.python), config=config)
    assert all(result.passed for result in results), format_report(results)
