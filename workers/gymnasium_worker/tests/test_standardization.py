"""The worker passes the contract's conformance suite."""

from shim_kit.fixtures import test_conformance  # noqa: F401
