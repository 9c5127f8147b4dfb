"""The worker in its own environment, built once per session as users build it."""

from shim_kit.fixtures import lab, mosaic_home, worker_fixture  # noqa: F401

worker = worker_fixture("llama.cpp")
