"""Tests with a Ray cluster run in a network namespace, where `test_on_ray` starts them.

Ray's servers listen on every interface; there the loopback is the only one.
"""

from __future__ import annotations

import os

collect_ignore = [] if os.environ.get("MOSAIC_TEST_NAMESPACE") else ["on_ray"]
