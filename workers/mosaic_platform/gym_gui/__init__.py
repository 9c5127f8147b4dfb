"""The subset of the MOSAIC platform's own package that its workers import and MOSAIC Lab provides.

Names and fields are the platform's, the code is MOSAIC Lab's. Importing any other
module raises an error with its name.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from typing import Any


class _Missing(MetaPathFinder):
    """Comes after every other finder: explains which module of the platform is missing."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.startswith("gym_gui."):
            raise ModuleNotFoundError(
                f"the module {name} of the MOSAIC platform is not provided by MOSAIC Lab's adapter "
                "(mosaic-platform-adapter), which has what workers need of the platform and nothing else",
                name=name,
            )


sys.meta_path.append(_Missing())
