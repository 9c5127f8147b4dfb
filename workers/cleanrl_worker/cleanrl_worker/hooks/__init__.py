"""The hooks inside upstream's process, installed by `__main__.py` before the script starts.

The script's own code is not changed. The hooks add to its process: scalars and episodes sent to the shim
through a pipe, checkpoints at safe points, frames for viewers, Gymnasium's environments with the old gym's
API if the script needs it, and an orderly end on SIGTERM, on SIGINT and when the shim dies. The only code
that runs per step is one closure around the environment's `step`; a thread that wakes four times per second
sends the records.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any, Callable

from mosaic_contract import forgive_write_errors, watch_parent
from mosaic_contract.gymnasium_wrappers import resume_statistics
from mosaic_contract.pytorch import defer_compiler

from .channel import HookChannel
from .training import Frames, Training

VARIABLE = "MOSAIC_CLEANRL_HOOKS"
"""The environment variable with the hooks' settings as JSON."""


def install_from_environment() -> Training:
    """Install the hooks with the settings of this process. Its children do not inherit them."""
    settings = json.loads(os.environ.pop(VARIABLE))  # from `runtime.hook_settings`
    os.set_inheritable(settings["fd"], False)
    watch_parent(settings["shim_pid"])
    forgive_write_errors()
    defer_compiler()
    channel = HookChannel(settings["fd"])
    training = Training(settings, channel, Frames(settings["frames"]))
    training.take_signals()

    def writer_imported(module: Any) -> None:
        from .scalars import hook_writer

        hook_writer(module.SummaryWriter, training)

    after_import("torch.utils.tensorboard.writer", writer_imported)
    if settings["legacy"]:

        def gym_imported(module: Any) -> None:
            from .legacy import hook_gym

            hook_gym(module, training, render=settings["capture_video"])

        after_import("gym", gym_imported)
        after_import("argparse", _accept_seed_zero)
    else:

        def gymnasium_imported(module: Any) -> None:
            from .episodes import hook_games, hook_gymnasium

            hook_gymnasium(module, training)
            if settings["games"]:
                hook_games(module, training)

        after_import("gymnasium", gymnasium_imported)
    if settings["resume_from"]:
        from .resume import resume_at_main_loop

        resume_statistics(settings["wrapper_statistics"])
        resume_at_main_loop(training, settings)
    channel.start(training.report_progress)
    return training


class _Zero(int):
    """A zero that is true: the release replaces a false seed by the time of day."""

    def __bool__(self) -> bool:
        return True


def _accept_seed_zero(module: Any) -> None:
    parse = module.ArgumentParser.parse_args

    def parse_args(self: Any, *args: Any, **kwargs: Any) -> Any:
        namespace = parse(self, *args, **kwargs)
        if getattr(namespace, "seed", None) == 0:
            namespace.seed = _Zero()
        return namespace

    module.ArgumentParser.parse_args = parse_args


def after_import(name: str, callback: Callable[[Any], None]) -> None:
    """Call `callback(module)` once `name` has been imported; immediately if it already is."""
    if name in sys.modules:
        callback(sys.modules[name])
    else:
        sys.meta_path.insert(0, _AfterImport(name, callback))


class _AfterImport(MetaPathFinder):
    def __init__(self, name: str, callback: Callable[[Any], None]) -> None:
        self._name = name
        self._callback = callback

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        finders = (finder for finder in sys.meta_path if hasattr(finder, "find_spec"))
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in finders)), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                execute(module)
                self._callback(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
