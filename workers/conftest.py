"""Fixtures of the workers' tests; a worker that trains has a `worker` of its own."""

from language.language_fixtures import language_server  # noqa: F401
from shim_kit.fixtures import lab, lane, mosaic_home, operators, operators_of, talk, worker  # noqa: F401
