"""Resuming from a checkpoint: the script builds everything as usual, and the saved state is restored at its
main loop.

The script's main loop is its one `for` over the steps, or over the updates of an on-policy script. Until it
is reached, the name `range` in the script refers to our function, which then restores the checkpoint and
skips the completed iterations, so that step counts, schedules and the x axis continue.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from .training import Training, global_variables, wrapped_environments


def resume_at_main_loop(training: Training, settings: dict[str, Any]) -> None:
    """Restore when the script calls `range` for its main loop."""
    variables = global_variables()

    def range_of_script(*bounds: int) -> range:
        iterations = range(*bounds)
        if not _is_main_loop(iterations, settings):
            return iterations
        del variables["range"]
        step = restore(training, settings)
        if not settings["on_policy"]:
            return iterations[step:]
        variables["global_step"] = step
        return iterations[step // settings["rollout"] :]

    variables["range"] = range_of_script


def _is_main_loop(candidate: range, settings: dict[str, Any]) -> bool:
    if settings["on_policy"]:
        updates = settings["total_timesteps"] // settings["rollout"]
        return "global_step" in global_variables() and candidate == range(1, updates + 1)
    return len(candidate) == settings["total_timesteps"] and candidate.start in (0, 1)


def restore(training: Training, settings: dict[str, Any]) -> int:
    """Load the checkpoint into the script's variables. Return the step that the training resumes from."""
    import torch
    from mosaic_contract.pytorch import load_optimizer, load_torch

    from .checkpoints import set_random_state, trained_state, write_statistics

    path = settings["resume_from"]
    saved = load_torch(Path(path), "modules")
    variables, present = global_variables(), trained_state()
    for group in ("modules", "optimizers", "tensors"):
        missing = set(present[group]) - set(saved[group])
        if missing:
            raise ValueError(f"the checkpoint {path} has no {group} named {', '.join(sorted(missing))}")
    for name in present["modules"]:
        variables[name].load_state_dict(saved["modules"][name])
    for name in present["optimizers"]:
        load_optimizer(variables[name], saved["optimizers"][name])
    for name in present["tensors"]:
        with torch.no_grad():
            variables[name].copy_(saved["tensors"][name])
    variables.update({name: saved["variables"][name] for name in present["variables"]})
    write_statistics(wrapped_environments(), saved["normalisation"])
    set_random_state(saved["random"])
    step = saved["step"] // settings["rollout"] * settings["rollout"]  # a partial rollout is repeated
    if not settings["on_policy"]:
        _learn_once_refilled(variables["args"], step)
    training.steps = step
    training.restored = True
    training.channel.push("loaded", path, step, saved["episodes"])
    print(f"resumed from {path} at step {step}", file=sys.stderr)
    return step


def _learn_once_refilled(arguments: Any, step: int) -> None:
    """Delay learning after a resume, because the replay buffer is empty: the policy acts immediately,
    learning waits as long as initially."""
    at_first = int(arguments.learning_starts)
    refilled = step + max(at_first, int(arguments.batch_size))
    arguments.learning_starts = _Threshold(acting=at_first, learning=refilled)


class _Threshold(int):
    """`learning_starts` after a resume. The scripts compare it in two ways, each with its own operator: `step
    < threshold` (act at random?) and `step > threshold` (learn?)."""

    _learning: int

    def __new__(cls, acting: int, learning: int) -> _Threshold:
        threshold = super().__new__(cls, acting)
        threshold._learning = learning
        return threshold

    def __gt__(self, step: int) -> bool:
        return step < int(self)

    def __lt__(self, step: int) -> bool:
        return step > self._learning
