"""The worker passes the contract's conformance suite with the local model."""

from shim_kit.fixtures import test_conformance  # noqa: F401
