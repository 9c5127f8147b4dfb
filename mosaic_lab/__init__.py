"""Run, watch and compare reinforcement learning and language-model agents from a JupyterLab notebook.

Names in ``__all__`` are imported on first use, so that ``import mosaic_lab`` is cheap for notebooks and
keeper processes.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mosaic_lab._version import __version__

if sys.platform == "win32":
    raise ImportError(
        "MOSAIC Lab does not run on native Windows: it depends on POSIX processes and file locks. "
        "Install it in WSL (`wsl --install`), and open JupyterLab there"
    )

if TYPE_CHECKING:
    from mosaic_lab import evaluation, operators, policies, search, workers
    from mosaic_lab.arenas import Comparison
    from mosaic_lab.errors import ConfigurationError, MosaicError, RunFailed, RunTimeout
    from mosaic_lab.evaluation import Evaluation, League, Suite
    from mosaic_lab.evaluation.sharing import open_bundle
    from mosaic_lab.lab import Lab
    from mosaic_lab.operators.served_models import models
    from mosaic_lab.operators.trained_policy import policy
    from mosaic_lab.runs import Run, RunGroup
    from mosaic_lab.runs.curriculum import Curriculum
    from mosaic_lab.runs.stages import Stage
    from mosaic_lab.sweeps import Sweep
    from mosaic_lab.widgets import frame_wall, show
    from mosaic_lab.widgets.overview.workspace import workspace
    from mosaic_lab.workers.tables import algorithms, hyperparameters

_MODULES = ("evaluation", "operators", "policies", "search", "workers")
_HOME_OF = {
    "Comparison": "mosaic_lab.arenas",
    "ConfigurationError": "mosaic_lab.errors",
    "Curriculum": "mosaic_lab.runs.curriculum",
    "Evaluation": "mosaic_lab.evaluation",
    "Lab": "mosaic_lab.lab",
    "League": "mosaic_lab.evaluation",
    "MosaicError": "mosaic_lab.errors",
    "Run": "mosaic_lab.runs",
    "RunFailed": "mosaic_lab.errors",
    "RunGroup": "mosaic_lab.runs",
    "RunTimeout": "mosaic_lab.errors",
    "Stage": "mosaic_lab.runs.stages",
    "Suite": "mosaic_lab.evaluation",
    "Sweep": "mosaic_lab.sweeps",
    "algorithms": "mosaic_lab.workers.tables",
    "frame_wall": "mosaic_lab.widgets",
    "hyperparameters": "mosaic_lab.workers.tables",
    "models": "mosaic_lab.operators.served_models",
    "open_bundle": "mosaic_lab.evaluation.sharing",
    "policy": "mosaic_lab.operators.trained_policy",
    "show": "mosaic_lab.widgets",
    "workspace": "mosaic_lab.widgets.overview.workspace",
}

__all__ = [
    "Comparison",
    "ConfigurationError",
    "Curriculum",
    "Evaluation",
    "Lab",
    "League",
    "MosaicError",
    "Run",
    "RunFailed",
    "RunGroup",
    "RunTimeout",
    "Stage",
    "Suite",
    "Sweep",
    "__version__",
    "algorithms",
    "evaluation",
    "frame_wall",
    "hyperparameters",
    "models",
    "open_bundle",
    "operators",
    "policies",
    "policy",
    "search",
    "show",
    "workers",
    "workspace",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"mosaic_lab.{name}")
    try:
        home = _HOME_OF[name]
    except KeyError:
        hint = import_module("mosaic_contract.config").nearest(name, __all__, listed=True)
        text = f"module {__name__!r} has no attribute {name!r}{hint}"
        raise AttributeError(text, name=name, obj=None) from None  # of the module, Python would suggest again
    return getattr(import_module(home), name)


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Return the location of the built extension, for ``jupyter labextension develop``."""
    return [{"src": "labextension", "dest": "mosaic-lab"}]


def __dir__() -> list[str]:
    return sorted(__all__)
