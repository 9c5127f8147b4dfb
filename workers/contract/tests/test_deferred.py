"""`deferred` imports nothing before the function is called."""

from __future__ import annotations

import sys
import unittest

from mosaic_contract import deferred


class Deferred(unittest.TestCase):
    def test_the_module_is_imported_at_the_call(self):
        sys.modules.pop("colorsys", None)
        convert = deferred("colorsys:rgb_to_hsv")
        assert "colorsys" not in sys.modules
        assert convert(1.0, g=0.0, b=0.0) == (0.0, 1.0, 1.0)
