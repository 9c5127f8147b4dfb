"""The algorithms: their upstream configurations, supported actions, and the settings available to users.
Upstream is not imported here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

from mosaic_contract.environment_spec import CONTINUOUS, DISCRETE
from mosaic_contract.metadata import Algorithm

SETTINGS: Mapping[str, tuple[str, ...]] = {
    "environment": ("normalize_actions", "clip_actions"),
    "env_runners": (
        "num_env_runners", "num_envs_per_env_runner", "num_cpus_per_env_runner", "sample_timeout_s",
        "max_requests_in_flight_per_env_runner", "rollout_fragment_length", "batch_mode",
    ),
    "learners": ("num_learners", "num_gpus_per_learner", "num_aggregator_actors_per_learner"),
    "training": ("gamma", "grad_clip", "grad_clip_by", "train_batch_size_per_learner"),
    "reporting": ("min_time_s_per_iteration", "min_sample_timesteps_per_iteration",
                  "metrics_num_episodes_for_smoothing"),
    "fault_tolerance": (
        "restart_failed_env_runners", "ignore_env_runner_failures", "max_num_env_runner_restarts",
        "delay_between_env_runner_restarts_s", "env_runner_health_probe_timeout_s",
    ),
}  # fmt: skip
"""Hyperparameters of every algorithm, by the method of upstream's `AlgorithmConfig` that sets them.
`training` also has each algorithm's own."""

MODEL = (
    "fcnet_hiddens", "fcnet_activation", "head_fcnet_hiddens", "head_fcnet_activation", "vf_share_layers",
    "free_log_std", "log_std_clip_param", "conv_filters", "conv_activation", "use_lstm", "max_seq_len",
    "lstm_cell_size",
)  # fmt: skip
"""Hyperparameters taken from upstream's `DefaultModelConfig`."""

_OFF_POLICY = (
    "tau", "target_network_update_freq", "num_steps_sampled_before_learning_starts", "n_step",
    "training_intensity", "replay_buffer_config", "store_buffer_in_checkpoints",
)  # fmt: skip
_ON_POLICY = ("lr", "num_epochs", "minibatch_size", "shuffle_batch_per_epoch")
_IMPALA = (*_ON_POLICY, "vtrace_clip_rho_threshold", "vtrace_clip_pg_rho_threshold", "broadcast_interval",
           "vf_loss_coeff", "entropy_coeff")  # fmt: skip

_BOUND = (
    "RLlib's own checkpoint brings settings along, of its optimisers for one: which of those given take "
    "effect instead, and when, is not known"
)


@dataclass(frozen=True)
class RllibAlgorithm(Algorithm):
    """One algorithm. `configs` are upstream's configuration classes, starting with the base class, as (file
    below `rllib/algorithms`, name). `training` are its own settings, `model` the model settings that it
    overrides."""

    name: str
    configs: tuple[tuple[str, str], ...]
    actions: tuple[str, ...]
    training: tuple[str, ...]
    model: Mapping[str, Any]
    on_policy: bool
    recurrent: bool
    agents = "one or a team"

    @property
    def bound(self) -> Mapping[str, str]:
        return {"*": _BOUND}

    @property
    def sees_pictures(self) -> bool:
        """Whether upstream has convolutional networks for it."""
        return self.name != "sac"

    @property
    def config_class(self) -> tuple[str, str]:
        """The module and name of its own configuration class."""
        file, name = self.configs[-1]
        return f"ray.rllib.algorithms.{file.replace('/', '.')}", name


_BASE = ("algorithm_config", "AlgorithmConfig")
_ANY_ACTIONS = (DISCRETE, CONTINUOUS)

ALGORITHMS: Mapping[str, RllibAlgorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        RllibAlgorithm(
            "ppo", (_BASE, ("ppo/ppo", "PPOConfig")), _ANY_ACTIONS,
            (*_ON_POLICY, "use_critic", "use_gae", "lambda_", "use_kl_loss", "kl_coeff", "kl_target",
             "vf_loss_coeff", "entropy_coeff", "clip_param", "vf_clip_param"),
            {"vf_share_layers": False}, on_policy=True, recurrent=True,
        ),
        RllibAlgorithm(
            "impala", (_BASE, ("impala/impala", "IMPALAConfig")), _ANY_ACTIONS, _IMPALA, {},
            on_policy=True, recurrent=True,
        ),
        RllibAlgorithm(
            "appo", (_BASE, ("impala/impala", "IMPALAConfig"), ("appo/appo", "APPOConfig")), _ANY_ACTIONS,
            (*_IMPALA, "use_gae", "lambda_", "clip_param", "use_kl_loss", "kl_coeff", "kl_target",
             "use_circular_buffer", "circular_buffer_num_batches", "circular_buffer_iterations_per_batch",
             "simple_queue_size", "target_network_update_freq", "tau"),
            {"vf_share_layers": False}, on_policy=True, recurrent=True,
        ),
        RllibAlgorithm(
            "dqn", (_BASE, ("dqn/dqn", "DQNConfig")), (DISCRETE,),
            (*_OFF_POLICY, "lr", "epsilon", "adam_epsilon", "double_q", "dueling", "num_atoms", "v_min",
             "v_max", "td_error_loss_fn"),
            {}, on_policy=False, recurrent=False,
        ),
        RllibAlgorithm(
            "sac", (_BASE, ("sac/sac", "SACConfig")), _ANY_ACTIONS,
            (*_OFF_POLICY, "twin_q", "initial_alpha", "target_entropy", "actor_lr", "critic_lr", "alpha_lr"),
            {}, on_policy=False, recurrent=False,
        ),
    )
}  # fmt: skip
