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
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable, ContextManager, Iterator

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
        defer_plotting()
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


class _Deferred(ModuleType):
    """A module until it is used: its names in annotations are `object`, and later ones import it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            return sys.modules.get(f"{self.__name__}.{name}", object)
        return getattr(import_module(self.__name__), name)


def defer_plotting() -> None:
    """Keep Stable-Baselines3, of which scripts use the vector environments, from importing pandas and
    Matplotlib, which take a third of the time in which a training starts."""

    @contextmanager
    def deferred(package: Any) -> Iterator[None]:
        names = {"pandas", "matplotlib", "matplotlib.pyplot"} - set(sys.modules)
        sys.modules.update({name: _Deferred(name) for name in names})
        try:
            yield
        finally:
            for name in names:
                del sys.modules[name]

    around_import("stable_baselines3", deferred)


def after_import(name: str, callback: Callable[[Any], None]) -> None:
    """Call `callback(module)` once `name` has been imported; immediately if it already is."""

    @contextmanager
    def then(module: Any) -> Iterator[None]:
        yield
        callback(module)

    if name in sys.modules:
        callback(sys.modules[name])
    else:
        around_import(name, then)


def around_import(name: str, context: Callable[[Any], ContextManager[None]]) -> None:
    """Run the code of the module `name` in `context(module)`, when it is imported."""
    sys.meta_path.insert(0, _AroundImport(name, context))


class _AroundImport(MetaPathFinder):
    def __init__(self, name: str, context: Callable[[Any], ContextManager[None]]) -> None:
        self._name = name
        self._context = context

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        finders = (finder for finder in sys.meta_path if hasattr(finder, "find_spec"))
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in finders)), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                with self._context(module):
                    execute(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
