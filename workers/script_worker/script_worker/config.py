"""The command line of a run, validated before anything starts. `resolve` completes the configuration,
`variables` creates the script's environment variables."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from mosaic_contract import Parameter, TrainingConfig, check_hyperparameters

PARAMETERS = {
    "command": Parameter(
        "command", list, [], "program and arguments; {seed} and {run_dir} stand for this run's"
    ),
    "cwd": Parameter("cwd", str, ".", "folder that it runs in; default: the one that it was started from"),
    "tensorboard": Parameter(
        "tensorboard", str, None, "folder whose TensorBoard files are followed; default: the run's own"
    ),
}
_INTERPRETERS = ("python", "bash", "sh", "perl", "ruby", "Rscript", "julia", "node")


def resolve(config: TrainingConfig) -> dict[str, Any]:
    """Return the configuration with placeholders replaced and absolute folders. Raises `ConfigError`."""
    problems: list[str] = []
    values = {name: value for name, value in config.hyperparameters.items() if value is not None}
    command: Any = values.get("command")
    folder = (config.launch_dir / str(values.get("cwd", "."))).resolve()
    if not folder.is_dir():
        problems.append(f"cwd: there is no folder {folder}")
    if isinstance(command, str):
        problems.append(f'command={command!r}: must be a list, such as ["python", "train.py", "{{seed}}"]')
        del values["command"]
    elif not isinstance(command, list) or not command or not all(isinstance(word, str) for word in command):
        problems.append(f"command={command!r:.200}: must be a list of strings, the program first")
    else:
        values["command"] = [
            word.replace("{seed}", str(config.seed)).replace("{run_dir}", str(config.run_dir))
            for word in command
        ]
        problems += _missing_files(values["command"], folder)
    hyperparameters = check_hyperparameters(values, PARAMETERS, problems)
    hyperparameters["cwd"] = str(folder)
    followed = hyperparameters["tensorboard"]
    hyperparameters["tensorboard"] = str(folder / followed if followed else config.tensorboard_dir)
    return {
        **config.to_dict(hyperparameters),
        "algorithm": config.algorithm or _name(command),
        "program": {"path": _program(hyperparameters["command"], folder), "cwd": str(folder)},
    }


def variables(config: TrainingConfig) -> dict[str, str]:
    """Return the variables that describe the run to the script, in addition to the configuration file."""
    run_variables = {
        "MOSAIC_RUN_ID": config.run_id,
        "MOSAIC_RUN_DIR": str(config.run_dir),
        "MOSAIC_SEED": str(config.seed),
        "MOSAIC_CHECKPOINTS_DIR": str(config.checkpoints_dir),
        "MOSAIC_TENSORBOARD_DIR": str(config.tensorboard_dir),
        "MOSAIC_FRAMES": str(int(config.fastlane.enabled)),
        "MOSAIC_FRAMES_MAX_FPS": str(config.fastlane.max_fps),
        "MOSAIC_FRAMES_GRID": str(config.fastlane.grid),
    }
    if config.total_timesteps:
        run_variables["MOSAIC_TOTAL_TIMESTEPS"] = str(config.total_timesteps)
    if config.checkpoint.resume_from:
        run_variables["MOSAIC_RESUME_FROM"] = config.checkpoint.resume_from
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONNOUSERSITE"}
    return {**inherited, **run_variables}


def _missing_files(command: list[str], folder: Path) -> list[str]:
    """Return problems with missing files of a command: the program, or the script for an interpreter."""
    program = command[0]
    if _program(command, folder) is None:
        problem = f"is not a program in {folder}" if os.sep in program else "is not a program on the PATH"
        return [f"command: {program!r} {problem}"]
    first = command[1] if len(command) > 1 else "-"
    if _interprets(program) and not first.startswith("-") and not (folder / first).exists():
        return [f"command: there is no {first!r} in {folder}; cwd= names another folder"]
    return []


def _program(command: list[str], folder: Path) -> str | None:
    """Return the path of the program to start."""
    program = command[0]
    return shutil.which(folder / program if os.sep in program else program)


def _interprets(program: str) -> bool:
    return Path(program).name.rstrip("0123456789.") in _INTERPRETERS


def _name(command: list[Any]) -> str:
    """Return the run's name: the script's, else the program's."""
    words = [str(word) for word in command]
    scripts = [word for word in words[1:2] if _interprets(words[0]) and not word.startswith("-")]
    return Path([words[0], *scripts][-1]).name
