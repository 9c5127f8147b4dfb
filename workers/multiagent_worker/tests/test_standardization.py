"""The worker passes the contract's conformance suite."""

import pytest
from shim_kit.fixtures import test_conformance  # noqa: F401

pytestmark = pytest.mark.extended
