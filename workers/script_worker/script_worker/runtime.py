"""The life of a script: its output, its TensorBoard files, its end."""

from __future__ import annotations

import logging
from typing import Any, Mapping

from mosaic_contract import Cancelled, Telemetry, TrainingConfig, fastlane
from mosaic_contract.event_files import EventFileReader
from mosaic_contract.programs import exit_failure, run_program

from .config import variables
from .script_output import ScriptOutput

_COMMON = {
    "episode_return": (
        "charts/episodic_return",  # of CleanRL
        "charts/episode_reward",  # of CleanRL 0.4
        "rollout/ep_rew_mean",  # of Stable-Baselines3
        "train/returns_stat/mean",  # of Tianshou 1
        "training/returns_stat/mean",  # of Tianshou 2
        "env_runners/episode_return_mean",  # of RLlib
        "ray/tune/env_runners/episode_return_mean",
    ),
    "episode_length": (
        "charts/episodic_length",
        "rollout/ep_len_mean",
        "train/lens_stat/mean",
        "training/lens_stat/mean",
        "env_runners/episode_len_mean",
        "ray/tune/env_runners/episode_len_mean",
    ),
    "steps_per_second": ("charts/SPS", "charts/sps", "time/fps"),
    "policy_loss": (
        *("losses/policy_loss", "losses/actor_loss"),  # of CleanRL
        *("train/policy_gradient_loss", "train/policy_loss", "train/actor_loss"),  # of Stable-Baselines3
        *("update/actor_loss", "update/actor_loss/mean"),  # of Tianshou
        "learners/default_policy/policy_loss",
    ),
    "value_loss": (
        *("losses/value_loss", "losses/td_loss", "losses/qf_loss"),
        *("train/value_loss", "train/critic_loss"),
        *("update/vf_loss/mean", "update/critic_loss"),
        "learners/default_policy/vf_loss",
    ),
}
"""Libraries' tags for the metrics with common names, under which charts compare runs of different
libraries."""
_NAMES = {tag: name for name, tags in _COMMON.items() for tag in tags}

log = logging.getLogger(__name__)


def train(config: TrainingConfig, telemetry: Telemetry) -> Mapping[str, Any]:
    """Run the script to its end, or until it has obeyed a signal, and return its final metrics. Raises
    `UpstreamFailed` for a non-zero exit status, with the script's own error message."""
    config.tensorboard_dir.mkdir(parents=True, exist_ok=True)
    config.checkpoints_dir.mkdir(parents=True, exist_ok=True)
    values, output = config.hyperparameters, ScriptOutput(telemetry)
    events = EventFileReader(values["tensorboard"], telemetry, _with_common_names, prefixed=True)
    try:
        status = run_program(
            values["command"],
            cwd=values["cwd"],
            env=variables(config),
            poll=events.read,
            handle_line=output.process,
        )
    except Cancelled:
        return output.final_metrics
    finally:
        fastlane.clear(config.run_dir)  # frames of a script that was killed
    if status or output.failure:
        raise output.failure or exit_failure("the script", status, "ScriptExit")
    if not events.has_files and values["tensorboard"] != str(config.tensorboard_dir):
        log.warning(
            "the script wrote no TensorBoard files below %s, which tensorboard= names", values["tensorboard"]
        )
    return output.final_metrics


def _with_common_names(values: Mapping[str, Any]) -> dict[str, Any]:
    return {**values, **{_NAMES[tag]: value for tag, value in values.items() if tag in _NAMES}}
