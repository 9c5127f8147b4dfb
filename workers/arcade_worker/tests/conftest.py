"""The worker in an environment of its own, built once a session as users build it."""

from shim_kit.fixtures import lab, lane, mosaic_home, worker_fixture  # noqa: F401

worker = worker_fixture("arcade")
