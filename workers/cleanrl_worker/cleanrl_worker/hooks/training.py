"""The training from the perspective of the hooks: its clock, its safe points, its end.

A safe point is the moment before a step of the first environment, when no update is running. At safe points
the hooks detect the start of the training, save due checkpoints, and stop on request.
"""

from __future__ import annotations

import functools
import math
import os
import signal
import sys
import time
from collections import deque
from types import CodeType, FrameType
from typing import Any, Callable, Iterator

from mosaic_contract import FastlaneConfig
from mosaic_contract.errors import traceback_of, type_of
from mosaic_contract.fastlane import RENDER_MODE, TrainingFrames
from mosaic_contract.process_exits import (
    ERROR_TYPE,
    Lines,
    exit_error,
    leave_within,
    lines_of,
    report_os_exit,
    stack_text,
)
from mosaic_contract.pytorch import check_visible_gpus
from mosaic_contract.signals import keep_handlers

from .channel import HookChannel

_RECENT = 20  # episodes
_STOP_SECONDS = 3.0  # after a signal, until the training is stopped at any point
_PROGRESS_SECONDS = 1.0
_EXIT_SECONDS = 20.0  # for the exit hooks of libraries once the training is over


class Frames(TrainingFrames):
    """The frames of one training. `settings` come from `runtime.hook_settings`. Environments are made as by
    the script, but able to render: with `render_mode="rgb_array"` if it sets no mode."""

    def __init__(self, settings: dict[str, Any]) -> None:
        env_id, modes = settings["env_id"], settings["render_modes"]
        fastlane = FastlaneConfig(**settings["fastlane"])
        super().__init__(env_id, settings["run_dir"], fastlane, settings["environments"])
        if RENDER_MODE not in modes:
            renders = ", ".join(modes) or "nothing"
            self.end(f"{env_id} has no render mode {RENDER_MODE}; it renders {renders}")

    def make_as(self, make: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return `make(...)`, able to render if it will be shown. Raises the errors of `make`."""
        make = functools.partial(make, *args, **kwargs)
        return make() if "render_mode" in kwargs else self.make(make)


class Training:
    """The one training of this process. `steps` counts as the script does, including steps before a resume;
    `steps_per_second` is the latest reported speed."""

    def __init__(self, settings: dict[str, Any], channel: HookChannel, frames: Frames) -> None:
        self.settings = settings
        self.channel = channel
        self.frames = frames
        self.stride: int = settings["stride"]
        self.stop_at: float = settings["stop_at"] or math.inf
        self.steps = 0
        self.steps_per_second: float | None = None
        self.due = 0  # the first step is a safe point: training begins there
        self.started = False
        self.episodes = 0
        self.recent_returns: deque[float] = deque(maxlen=_RECENT)
        self.environments: list[Any] = []
        self.writers: list[Any] = []
        self.stepping: CodeType | None = None  # the code object of the first environment's step
        self.restored = not settings["resume_from"]
        self._stopping: int | None = None
        self._saving = False
        self._ended = False
        self._last_saved = -1
        self._unsaved: OSError | None = None
        self._last_progress = (0.0, 0)
        sys.excepthook = self._failed
        report_os_exit(self._exited)

    # --- reports from the environments ------------------------------------------------------------

    def register(self, env: Any) -> int:
        """Register an environment used by the training. Return its index."""
        self.environments.append(env)
        return len(self.environments) - 1

    def episode_ended(
        self,
        index: int,
        total: float,
        length: int,
        terminated: bool,
        truncated: bool,
        seed: Any,
        seconds: float,
    ) -> None:
        self.episodes += 1
        self.recent_returns.append(float(total))
        step = global_variables().get("global_step", self.steps)  # the x coordinate of the script's plots
        flags = (bool(terminated), bool(truncated))
        self.channel.push("episode", int(step), float(total), length, *flags, seed, round(seconds, 6), index)

    def step(self) -> None:
        """Record a step of all environments, just before it is taken."""
        if self.steps >= self.due:
            self.safe_point()
        self.steps += self.stride

    def safe_point(self) -> None:
        """Handle a safe point, before a step of the first environment once `due` is reached."""
        if self._stopping is not None:
            self._leave(128 + self._stopping)
        if not self.started:
            if not self.restored:
                raise RuntimeError(
                    "the checkpoint was not restored: this script has no main loop of the known form"
                )
            if self.settings["cuda"]:
                check_visible_gpus()  # without one, the script uses the CPU
            self._last_progress = (time.monotonic(), self.steps)
            self.started = True  # from here on the channel's thread reports
        else:
            self.save()
            if self.steps >= self.stop_at:
                self._leave(0)
        interval, rollout = self.settings["checkpoint_every"], self.settings["rollout"]
        following = min((self.steps // interval + 1) * interval, self.stop_at)
        # an on-policy script is consistent only between two rollouts
        self.due = -(-following // rollout) * rollout

    # --- output -----------------------------------------------------------------------------------

    def report_progress(self) -> None:
        """Send the number of steps and the speed, once per second. Called by the channel's thread."""
        if self.started and time.monotonic() - self._last_progress[0] >= _PROGRESS_SECONDS:
            self._push_progress()

    def _push_progress(self) -> None:
        last_time, last_steps = self._last_progress
        now, steps = time.monotonic(), self.steps
        if steps > last_steps:  # a long update takes no step: its time counts towards the next report
            self.steps_per_second = (steps - last_steps) / max(now - last_time, 1e-6)
            self.channel.push("progress", steps, self.steps_per_second)
            self._last_progress = (now, steps)

    def save(self) -> None:
        """Save a checkpoint of the current step, once. A full disk does not end the training."""
        if self._saving or self._last_saved == self.steps:
            return
        from .checkpoints import save_checkpoint

        self._saving = True
        try:
            path, metrics = save_checkpoint(self)
        except OSError as error:
            self._unsaved = error
            print(f"the checkpoint of step {self.steps} could not be saved: {error}", file=sys.stderr)
        else:
            self._last_saved = self.steps
            self.channel.push("checkpoint", str(path), self.steps, self.episodes, metrics)
        finally:
            self._saving = False

    # --- its end ----------------------------------------------------------------------------------

    def take_signals(self) -> None:
        """Make SIGTERM and SIGINT stop the training at its next safe point, at the latest after a few
        seconds."""
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, self._stop)
        signal.signal(signal.SIGALRM, self._stop_here)
        keep_handlers()

    def _stop(self, signum: int, frame: FrameType | None) -> None:
        if self._stopping is not None or self._ended:
            return
        self._stopping = signum
        if not self.started:
            self._ended = True
            self.frames.close()
            os._exit(128 + signum)
        self.due = -1
        signal.setitimer(signal.ITIMER_REAL, _STOP_SECONDS)

    def _stop_here(self, signum: int, frame: FrameType | None) -> None:
        """Stop during a long update; the changes that it has already made are saved with the rest."""
        if not self._saving and not self._ended and self._stopping is not None:
            self._leave(128 + self._stopping)

    def _leave(self, code: int) -> None:
        """Save and exit immediately, so that the script can neither intercept nor delay it."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.save()
        self._ended = True
        self.frames.close()
        for writer in self.writers:
            writer.flush()
        self._push_progress()
        if code == 0:
            self._push_end()
        self.channel.flush()
        sys.stdout.flush()
        os._exit(code)

    def _failed(self, error_type: type[BaseException], error: BaseException, trace: Any) -> None:
        self._ended = True
        self.channel.push("error", type_of(error), str(error), traceback_of(error)[-60_000:])
        self.channel.flush()
        sys.__excepthook__(error_type, error, trace)

    def run(self, script: CodeType, variables: dict[str, Any]) -> None:
        """Run the script and report how it ended."""
        try:
            exec(script, variables)
            self._finished()
        except SystemExit as error:
            self._exited(error.code, lines_of(error.__traceback__))
            raise
        finally:
            self.frames.close()
            leave_within(_EXIT_SECONDS, 0)

    def _exited(self, code: Any, lines: Lines) -> int:
        """Report that the training's code ended the process; return the exit code."""
        total, steps = self.settings["steps"], self.steps
        if self._ended or (not code and steps >= total):
            self._finished()
            return int(code or 0)
        if any(frame.f_code is self.stepping for frame, _ in lines):
            steps -= self.stride  # without the current step
        self._ended = True
        error = exit_error(code, lines, f"at step {steps:,} of {total:,}")
        self.channel.push("error", ERROR_TYPE, error, stack_text(lines))
        self.channel.flush()
        print(stack_text(lines), error, sep="", file=sys.stderr)
        return 1

    def _finished(self) -> None:
        if self._ended or not self.started:
            return
        self.save()
        self._ended = True
        self._push_progress()
        self._push_end()
        self.channel.flush()

    def _push_end(self) -> None:
        """Report that all steps have been trained, or a failure if the last checkpoint was lost."""
        if self._last_saved == self.steps:
            self.channel.push("finished")
        else:
            error = f"the checkpoint of the last step, {self.steps:,}, could not be saved: {self._unsaved}"
            self.channel.push("error", type(self._unsaved).__name__, error, "")


def global_variables() -> dict[str, Any]:
    """Return the dictionary of the script's global variables itself."""
    return vars(sys.modules["__main__"])


def wrapped_environments() -> list[Any]:
    """Return the environments stepped by the script, each as its outermost wrapper, in order."""
    variables = global_variables()
    node: Any = variables.get("envs", variables.get("env"))
    while "venv" in vars(node):  # wrappers of a vector environment
        node = node.venv
    return list(vars(node).get("envs", [node]))


def wrappers(env: Any) -> Iterator[Any]:
    """Yield the wrappers of an environment, outermost first, down to the environment itself."""
    while env is not None:
        yield env
        env = vars(env).get("env")
