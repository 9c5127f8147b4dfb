"""The hooks inside upstream's process, installed by `__main__.py` before the script starts.

The script's own code is not changed. The hooks add to its process: scalars and episodes sent to the shim
through a pipe, checkpoints at safe points, frames for viewers, Gymnasium's environments with the old gym's
API if the script needs it, and an orderly end on SIGTERM, on SIGINT and when the shim dies. The only code
that runs per step is one closure around the environment's `step`; a thread that wakes four times per second
sends the records.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from pathlib import Path
from typing import Any, Callable

from mosaic_contract import forgive_write_errors, watch_parent
from mosaic_contract.environment_server.client import provide_servers
from mosaic_contract.gymnasium_wrappers import resume_statistics
from mosaic_contract.import_hooks import after_import, defer_imports
from mosaic_contract.pytorch import defer_compiler
from mosaic_contract.training_recorder import record_training

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
    if settings["record"]:
        record_training(Path(settings["frames"]["run_dir"]))
    provide_servers(settings["frames"]["env_id"], settings["frames"]["environments"])

    after_import("torch.utils.tensorboard.writer", lambda module: _hook_writer(module, training))
    if settings["legacy"]:

        def gym_imported(module: Any) -> None:
            from .legacy import hook_gym

            hook_gym(module, training, render=settings["capture_video"])

        after_import("gym", gym_imported)
        after_import("argparse", _accept_seed_zero)
        after_import("stable_baselines3.common.vec_env.dummy_vec_env", _vectors_imported)
        defer_plots()
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


def defer_plots() -> None:
    """Defer the plotting imports of Stable-Baselines3, whose vector environments scripts use: they take a
    third of a training's start."""
    defer_imports("stable_baselines3", "pandas", "matplotlib", "matplotlib.pyplot")


def _vectors_imported(module: Any) -> None:
    from mosaic_contract.environment_server.served import step_together

    step_together(module.DummyVecEnv)


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


def _hook_writer(module: Any, training: Training) -> None:
    """Wrap `SummaryWriter`: scalars are also sent to the shim, and a full disk does not end the training."""
    writer = module.SummaryWriter
    push, initialise = training.channel.push, writer.__init__
    add = _forgiving(writer.add_scalar)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        initialise(self, *args, **kwargs)
        training.writers.append(self)

    def add_scalar(
        self: Any, tag: str, scalar_value: Any, global_step: Any = None, *args: Any, **kw: Any
    ) -> None:
        add(self, tag, scalar_value, global_step, *args, **kw)
        item = getattr(scalar_value, "item", None)  # tensors and arrays with one element
        push("scalar", tag, float(item() if item else scalar_value), global_step)

    writer.__init__, writer.add_scalar = __init__, add_scalar
    writer.flush, writer.close = _forgiving(writer.flush), _forgiving(writer.close)


def _forgiving(method: Callable[..., None]) -> Callable[..., None]:
    """Return the method, with an `OSError` printed once instead of raised."""
    reported = False

    @functools.wraps(method)
    def forgiving(self: Any, *args: Any, **kwargs: Any) -> None:
        nonlocal reported
        try:
            method(self, *args, **kwargs)
        except OSError as error:
            if not reported:
                print(f"the TensorBoard file is incomplete from here on: {error}", file=sys.stderr)
            reported = True

    return forgiving
