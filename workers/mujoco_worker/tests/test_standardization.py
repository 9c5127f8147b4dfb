"""The worker passes the contract's conformance suite."""

import pytest
from shim_kit.fixtures import test_conformance  # noqa: F401

pytestmark = pytest.mark.extended  # the worker's environment takes 0.5 GB
