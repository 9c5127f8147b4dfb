"""Excludes the tests with a Ray cluster unless `test_on_ray` runs them in a network namespace.

Ray's servers listen on every interface; the namespace has only the loopback.
"""

from __future__ import annotations

import os

collect_ignore = [] if os.environ.get("MOSAIC_TEST_NAMESPACE") else ["on_ray"]
