"""Run by the worker's interpreter: the same trainings by upstream alone, to compare results and speed.

    a2c ENV STEPS [OVERRIDE ...]    upstream_trains.py a2c snake 100000 env.network.num_channels=4
    ppo ID STEPS [NAME=VALUE ...]   upstream_trains.py ppo Snake-v1 100000 n_envs=64 n_steps=128

A2C is upstream's program without its evaluations; overrides are those of its command line. PPO is SBX's on
this worker's batch of environments: upstream has none. Either takes `seed=1`. Prints JSON: `seconds` of the
training loop after everything is compiled, `steps`, and upstream's last metrics.
"""

from __future__ import annotations

import ast
import functools
import json
import sys
import time
from typing import Any

from jumanji_worker.cli import prepare

prepare()  # as the worker: threads, compilation cache

import jax  # noqa: E402


def a2c(name: str, steps: int, overrides: list[str]) -> dict[str, Any]:
    """Upstream's `train`, with its own loop over epochs."""
    import hydra
    import jumanji
    from jumanji.training.setup_train import setup_agent, setup_env, setup_training_state

    with hydra.initialize_config_dir(f"{jumanji.__path__[0]}/training/configs", version_base=None):
        settings = hydra.compose("config.yaml", overrides=[f"env={name}", "agent=a2c", *overrides])
    _, key = jax.random.split(jax.random.PRNGKey(settings.seed))
    env = setup_env(settings)
    agent = setup_agent(settings, env)
    state = setup_training_state(env, agent, key)
    training = settings.env.training
    per_epoch = training.n_steps * training.total_batch_size * training.num_learner_steps_per_epoch

    @functools.partial(jax.pmap, axis_name="devices")
    def epoch(state: Any) -> Any:
        return jax.lax.scan(
            lambda state, _: agent.run_epoch(state), state, None, training.num_learner_steps_per_epoch
        )

    if steps < per_epoch:
        sys.exit(f"{steps} steps are less than an epoch of {per_epoch}")
    compiled = epoch.lower(state).compile()
    began = time.monotonic()
    for _ in range(steps // per_epoch):
        state, metrics = compiled(state)
        jax.block_until_ready(metrics)
    seconds = time.monotonic() - began
    last = {name: float(value.mean()) for name, value in metrics.items()}
    return {"seconds": seconds, "steps": steps // per_epoch * per_epoch, "metrics": last}


def ppo(env_id: str, steps: int, given: list[str]) -> dict[str, Any]:
    """SBX's `learn`, after one update that compiles everything."""
    from jumanji_worker import ppo
    from jumanji_worker.environments import make
    from jumanji_worker.hyperparameters import PPO_PARAMETERS, parameters_of

    values = {name: parameter.default for name, parameter in parameters_of("ppo", env_id).items()}
    values |= {name: ast.literal_eval(value) for name, _, value in (pair.partition("=") for pair in given)}
    seed = values.pop("seed", 0)
    envs = ppo.BatchVecEnv(make(env_id, {}), values["n_envs"], seed)
    arguments = ppo.policy_arguments(envs.actions, values)
    own = {name: value for name, value in values.items() if name not in PPO_PARAMETERS}
    model = ppo.Upstream(ppo.PPOPolicy, envs, seed=seed, policy_kwargs=arguments, **own)
    per_update = values["n_steps"] * values["n_envs"]
    model.learn(per_update)
    began = time.monotonic()
    model.learn(steps // per_update * per_update, reset_num_timesteps=False)
    return {"seconds": time.monotonic() - began, "steps": steps // per_update * per_update, "metrics": {}}


if __name__ == "__main__":
    train = {"a2c": a2c, "ppo": ppo}[sys.argv[1]]
    print(json.dumps(train(sys.argv[2], int(sys.argv[3]), sys.argv[4:])))
