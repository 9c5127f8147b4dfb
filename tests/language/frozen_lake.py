"""A language model on FrozenLake, for the tests of evaluations and bundles."""

from __future__ import annotations

from typing import Any

from language.language_fixtures import FakeServer

from mosaic_lab import operators
from mosaic_lab.operators import OperatorSpec

LAKE: dict[str, Any] = {"env": "FrozenLake-v1", "env_kwargs": {"is_slippery": False}, "max_steps": 4}
KEY = "LAKE_KEY"
PRICES = {"input": 1.0, "output": 2.0}


def model(server: FakeServer, name: str = "fake:legal", **options: Any) -> OperatorSpec:
    return operators.llm(name, base_url=server.openai_url, api_key_env=KEY, **{"prices": PRICES, **options})
