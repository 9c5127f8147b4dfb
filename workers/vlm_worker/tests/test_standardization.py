"""The worker passes the contract's conformance suite with the fake server as its endpoint."""

from __future__ import annotations

import json
from pathlib import Path

from language.language_fixtures import FakeServer
from shim_kit.fixtures import assert_conforms

from mosaic_lab.workers import WorkerEnvironment

CONFIG = Path(__file__).parents[1] / "vlm_worker" / "conformance.json"


def test_conformance(worker: WorkerEnvironment, language_server: FakeServer) -> None:
    config = json.loads(CONFIG.read_text())
    config["operate"]["settings"] |= {
        "model": "fake:legal",
        "base_url": language_server.openai_url,
        "api_key_env": "FAKE_KEY",
    }
    assert_conforms(worker, config=config)
