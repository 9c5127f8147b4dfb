"""The worker in the environment that runs the tests, where users have it too."""

from shim_kit.fixtures import mosaic_home, worker_fixture  # noqa: F401

worker = worker_fixture("policy")
