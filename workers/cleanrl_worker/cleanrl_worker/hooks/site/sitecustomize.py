"""Python runs this file first in the script's process: its folder, which holds nothing else, is on
PYTHONPATH.

A `sitecustomize` of the environment's own, if there is one, runs too.
"""

import importlib.util
import os
import sys
import traceback
from importlib.machinery import PathFinder
from pathlib import Path

_HERE = Path(__file__).parent

_other = PathFinder.find_spec("sitecustomize", [p for p in sys.path if Path(p or ".").resolve() != _HERE])
if _other is not None and _other.loader is not None:
    _other.loader.exec_module(importlib.util.module_from_spec(_other))

try:
    from cleanrl_worker.hooks import install_from_environment

    install_from_environment()
except BaseException:  # Python itself would go on without the hooks, and the run would say nothing
    traceback.print_exc()
    os._exit(70)
