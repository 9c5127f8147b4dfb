"""The configuration of upstream's own evaluation, and the command line of its `eval.py`. Parameters have
short names defined here; upstream's own are given as `overrides`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from mosaic_contract import ConfigError, Parameter, TrainingConfig, check_hyperparameters
from mosaic_contract.language.balrog import AGENTS

SCRIPT = "eval.py"
_NEEDED = (SCRIPT, "balrog/evaluator.py")

_ALL = ("babyai", "babaisai", "textworld", "crafter", "nle", "minihack")

PARAMETERS = {
    "checkout": Parameter("checkout", str, "", "folder of a checkout of BALROG"),
    "python": Parameter(
        "python",
        str,
        None,
        "interpreter with BALROG's dependencies; default: .venv/bin/python of the checkout",
    ),
    "agent": Parameter("agent", str, "naive", "BALROG's name of an agent", tuple(AGENTS)),
    "client": Parameter("client", str, "openai", "BALROG's name of a client: openai, claude, gemini, vllm …"),
    "model": Parameter(
        "model", str, None, "BALROG's client.model_id; default: as configured in the checkout"
    ),
    "base_url": Parameter("base_url", str, None, "base URL of the client; default: as configured"),
    "envs": Parameter("envs", list, None, "environments, such as babyai and crafter; default: as configured"),
    "episodes": Parameter("episodes", int, None, "episodes per task; default: as configured", minimum=1),
    "num_workers": Parameter("num_workers", int, 1, "episodes at once", minimum=1),
    "max_steps": Parameter(
        "max_steps", int, None, "maximum steps per episode; default: the environment's own", minimum=1
    ),
    "env_seed": Parameter(
        "env_seed",
        int,
        None,
        "seed of every episode, so that a task's episodes are alike; default: one per episode",
        minimum=0,
    ),
    "overrides": Parameter(
        "overrides",
        list,
        [],
        "further settings in the form of its command line, such as agent.max_text_history=8",
    ),
}


def resolve(config: TrainingConfig) -> dict[str, Any]:
    """Return the configuration with absolute paths. Raises `ConfigError` with all problems."""
    values = check_hyperparameters(config.hyperparameters, PARAMETERS)
    problems: list[str] = []
    if config.algorithm != "eval":
        problems.append(f"unknown algorithm {config.algorithm!r}; this worker has 'eval', upstream's own")
    for name in values["envs"] or ():
        if name not in _ALL:
            problems.append(f"envs: {name!r} is not a BALROG environment; these are {', '.join(_ALL)}")
    if not all(isinstance(override, str) and "=" in override for override in values["overrides"]):
        problems.append(f"overrides={values['overrides']!r:.200}: must be strings such as client.timeout=30")
    values["checkout"] = _checkout(config, values["checkout"], problems)
    values["python"] = _python(config, values, problems)
    if problems:
        raise ConfigError(problems)
    program = {"path": str(Path(values["checkout"], SCRIPT)), "cwd": values["checkout"]}
    return {**config.to_dict(values), "program": program}


def command(config: TrainingConfig, results: Path) -> list[str]:
    """Return the command line.

    ``results`` is upstream's output folder; nothing is written to the checkout.
    """
    values = config.hyperparameters
    episodes = dict.fromkeys(values["envs"] or _ALL, values["episodes"])
    settings = {
        "agent.type": values["agent"],
        "client.client_name": values["client"],
        "client.model_id": values["model"],
        "client.base_url": values["base_url"],
        "envs.names": "-".join(values["envs"]) if values["envs"] else None,
        "envs.env_kwargs.seed": values["env_seed"],
        **{f"eval.num_episodes.{name}": count for name, count in episodes.items()},
        "eval.num_workers": values["num_workers"],
        "eval.max_steps_per_episode": values["max_steps"],
        "eval.resume_from": str(results),
        "hydra.run.dir": str(results.parent / "hydra"),
    }
    arguments = [f"{name}={_quoted(value)}" for name, value in settings.items() if value is not None]
    return [values["python"], SCRIPT, *arguments, *values["overrides"]]


def _quoted(value: Any) -> str:
    """Return a value quoted for Hydra's command line, whatever it contains."""
    if not isinstance(value, str):
        return str(value)
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _checkout(config: TrainingConfig, checkout: str, problems: list[str]) -> str:
    if not checkout:
        problems.append('checkout: give the folder of a checkout of BALROG, checkout="~/BALROG"')
        return ""
    folder = (config.launch_dir / Path(checkout).expanduser()).resolve()
    missing = [name for name in _NEEDED if not (folder / name).is_file()]
    if missing:
        problems.append(f"checkout: {folder} is not a checkout of BALROG, it has no {', '.join(missing)}")
    return str(folder)


def _python(config: TrainingConfig, values: dict[str, Any], problems: list[str]) -> str:
    """Return the interpreter. Links in its path, which make it a virtual environment's, are kept."""
    python = values["python"]
    if not python:
        venv_python = Path(values["checkout"] or ".", ".venv", "bin", "python")
        if values["checkout"] and not venv_python.is_file():
            problems.append("python: give the interpreter of the environment with BALROG's dependencies")
        return str(venv_python)
    if os.sep not in python:
        program = shutil.which(python)
    else:
        path = config.launch_dir / Path(python).expanduser()
        program = str(path) if path.is_file() and os.access(path, os.X_OK) else None
    if program is None:
        problems.append(f"python: {python!r} is not a program that can be started")
    return program or python
