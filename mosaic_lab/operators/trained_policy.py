"""Trained policies as functions of observations in the kernel."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mosaic_contract.checkpoints import description_of
from mosaic_contract.messages import ALONE

from mosaic_lab import workers
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.keeper.warm_workers import WARM_WORKERS
from mosaic_lab.kernel_policy import Policy
from mosaic_lab.operators.spec import DEADLINE, Algorithm, OperatorSpec
from mosaic_lab.operators.trained import is_model_zip, rl, sb3
from mosaic_lab.runs import Checkpoint, Run
from mosaic_lab.validation import checked


@checked
def policy(
    source: Run | Checkpoint | Path | str | OperatorSpec,
    deterministic: bool = True,
    *,
    seed: int = 0,
    agent: str | None = None,
    deadline: float | None = DEADLINE,
    run_code: bool = False,
) -> Policy:
    """Return a trained policy as a function of observations.

    It runs in a process of its worker's, which ends with the kernel, with ``close()``, at the end of a
    ``with`` block and when the policy is garbage-collected.

    Args:
        source: a run, one of its ``checkpoints`` or a path, as for `mosaic_lab.operators.rl`; a zip of
            Stable-Baselines3's ``model.save()``; or a trained operator, such as ``operators.sb3(…)``, which
            has its own ``deterministic`` and ``run_code``.
        deterministic: always take the best action. False samples from the policy's distribution, as the
            operator does in an episode with this ``seed``.
        seed: an integer ≥ 0; see `mosaic_lab.kernel_policy.Policy.reset`.
        agent: the agent to act for, if the checkpoint has the policies of several.
        deadline: seconds for each call, None for no limit. After it, the process is ended.
        run_code: whether the files of your own wrappers that the checkpoint names may be executed.

    Raises:
        ConfigurationError: there is no policy, or its worker cannot load it.
    """
    spec = _spec(source, deterministic, run_code).with_(deadline=deadline)
    assert spec.worker is not None
    agent = _agent(spec, agent)
    spaces = spec.spaces_for(agent)
    command = workers.ensure(spec.worker).command()
    variables = compose_variables(os.environ, pass_env_vars=spec.pass_env_vars)
    return Policy(
        [*command, "--interactive"],
        variables,
        name=spec.name,
        worker=spec.worker,
        agent=agent,
        settings=spec.settings,
        seed=seed,
        deadline=spec.deadline,
        trained_on=spec.trained_on,
        observation_space=None if spaces is None else spaces[0],
        warm=WARM_WORKERS.get(command, variables) if WARM_WORKERS.enabled else None,
    )


def _spec(source: Any, deterministic: bool, run_code: bool) -> OperatorSpec:
    if isinstance(source, Algorithm):
        raise ConfigurationError(f"{source!r} has several policies: pass one of its trainings")
    if isinstance(source, OperatorSpec):
        if source.category != "rl":
            raise ConfigurationError(f"{source!r} is not a trained policy")
        return source
    file = Path(source).expanduser() if isinstance(source, str | Path) else None
    if file is not None and is_model_zip(file) and not description_of(file).is_file():
        return sb3(file, deterministic=deterministic)
    spec = rl(source, deterministic, run_code=run_code)
    if isinstance(spec, Algorithm):
        raise ConfigurationError(
            f"{source!r} is a group of trainings: pass one of its runs, such as group[0]"
        )
    return spec


def _agent(spec: OperatorSpec, agent: str | None) -> str:
    """Return the agent to act for. Raises ConfigurationError unless the checkpoint has a policy for it."""
    if spec.agents is None:
        return agent or ALONE
    if agent is None or agent not in spec.agents:
        other = "" if agent is None else f", not of {agent!r}"
        raise ConfigurationError(
            f"the checkpoint has the policies of {', '.join(spec.agents)}{other}: choose one with agent="
        )
    return agent
