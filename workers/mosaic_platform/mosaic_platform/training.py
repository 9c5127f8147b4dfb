"""A training of the platform's worker: write its configuration, translate its reports into telemetry."""

from __future__ import annotations

import functools
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Mapping

from mosaic_contract import ConfigError, Telemetry, TrainingConfig, UpstreamFailed
from mosaic_contract.config import nearest
from mosaic_contract.episode_logger import with_losses
from mosaic_contract.event_files import EventFileReader
from mosaic_contract.programs import exit_text, run_program

from .command import command, variables
from .introduction import Introduction, introduction
from .translation import Translation

_COMMON = {  # MOSAIC Lab's names of metrics, by the endings of libraries' tags
    "episode_return": [
        "*/episodic_return",
        "*/episode_reward",
        "*/episode_return",
        "Train-Episode-Rewards/*",
    ],
    "episode_length": ["*/episodic_length", "*/episode_length", "Episode-Steps/*"],
    "steps_per_second": ["*/SPS", "*/steps_per_second"],
    "policy_loss": ["*/policy_loss", "*/actor_loss", "actor_loss"],
    "value_loss": ["*/value_loss", "*/critic_loss", "critic_loss"],
}
_CHECK_SECONDS = 100.0
_MAX_LINES = 8
_NAMES = {  # names of a field in workers' configurations, by the name used here
    "run_id": ("run_id",),
    "seed": ("seed",),
    "env_id": ("env_id",),
    "algorithm": ("algo", "algorithm", "method", "agent"),
    "total_timesteps": ("total_timesteps", "max_steps", "running_steps"),
}
# Refused if the worker's configuration has no field for them; other values without a field are dropped.
_OPTIONAL = ("algorithm", "total_timesteps")


def resolve(config: TrainingConfig) -> dict[str, Any]:
    """Return the configuration. Raises `ConfigError` for values that the worker cannot use."""
    worker = introduction()
    if config.checkpoint.resume_from is not None:
        raise ConfigError(f"{worker.name} resumes by settings of its own: leave checkpoint.resume_from out")
    if "--dry-run" in worker.options:
        _check(worker, config)
    return config.to_dict()


def document(worker: Introduction, config: TrainingConfig) -> dict[str, Any]:
    """Return the worker's configuration: each value in the field of its name, at the top or in a section;
    hyperparameters without one in `algo_params`. Raises `ConfigError` for values without a place."""
    values = {
        "run_id": config.run_id,
        "seed": config.seed,
        "env_id": config.env_id,
        "algorithm": config.algorithm,
        "total_timesteps": config.total_timesteps,
    }
    document: dict[str, Any] = {"seed": config.seed}
    problems = []
    for field, names in _NAMES.items():
        is_set = [
            _set(worker, document, name, values[field]) for name in names if values[field] not in ("", 0)
        ]
        if field in _OPTIONAL and is_set and not any(is_set):
            problems.append(f"{worker.name} has no field for {field} in its configuration: leave it out")
    hyperparameters = dict(config.hyperparameters)
    extras = {**(config.raw.get("extras") or {}), **(hyperparameters.pop("extras", None) or {})}
    if "extras" in worker.fields:
        document["extras"] = {"tensorboard_dir": "tensorboard", **extras}
    remaining = {
        name: value for name, value in hyperparameters.items() if not _set(worker, document, name, value)
    }
    if remaining and not _set(worker, document, "algo_params", remaining):
        if "extras" in worker.fields:
            document["extras"]["algo_params"] = remaining
        else:
            problems += [_unknown(worker, name) for name in remaining]
    if problems:
        raise ConfigError(problems)
    return document


def _set(worker: Introduction, document: dict[str, Any], name: str, value: Any) -> bool:
    """Put a value into the field of its name, at the top or in the first section that has one, and return
    whether there is any. The value of a section is merged into it."""
    if name in worker.sections and isinstance(value, Mapping):
        document[name] = {**document.get(name, {}), **value}
    elif name in worker.fields:
        document[name] = value
    else:
        for section, fields in worker.sections.items():
            if name in fields:
                document.setdefault(section, {})[name] = value
                return True
        return False
    return True


def _unknown(worker: Introduction, name: str) -> str:
    names = [*worker.fields, *(field for fields in worker.sections.values() for field in fields)]
    return f"{worker.name} has no field {name!r} in its configuration{nearest(name, names)}"


def train(config: TrainingConfig, telemetry: Telemetry) -> Mapping[str, Any]:
    """Run the worker to its end and translate its output. Raises `UpstreamFailed` if it fails."""
    worker = introduction()
    path = config.run_dir / "platform" / "config.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document(worker, config), indent=2), encoding="utf-8")
    translation = Translation(telemetry, config.run_dir)
    fastlane_variables = {"GYM_GUI_FASTLANE_ONLY": "1" if config.fastlane.enabled else "0"}
    with_common_names = functools.partial(with_losses, losses=_COMMON)
    code = run_program(
        _command(worker, config, path),
        cwd=config.run_dir,
        env={**variables(config.run_dir), **fastlane_variables},
        poll=EventFileReader(config.run_dir, telemetry, with_common_names, prefixed=False).read,
        handle_line=translation.process,
    )
    if translation.failure is not None:
        raise translation.failure
    if code != 0 or not translation.completed:
        end_text = f"{worker.name} {exit_text(code)} {telemetry.reached}"
        raise UpstreamFailed(f"{end_text}, without a run_completed line; why is in the log", "ExitCode")
    return translation.results


def _command(worker: Introduction, config: TrainingConfig, path: Path, *flags: str) -> list[str]:
    options = {"config": path, "run-id": config.run_id, "seed": config.seed}
    return command(worker, options, *flags)


def _check(worker: Introduction, config: TrainingConfig) -> None:
    """Raise `ConfigError` if the worker's own dry run refuses the configuration."""
    with tempfile.TemporaryDirectory(prefix="mosaic-platform-") as folder:
        path = Path(folder, "config.json")
        path.write_text(json.dumps(document(worker, config)), encoding="utf-8")
        try:
            process = subprocess.run(
                _command(worker, config, path, "--dry-run"),
                cwd=folder,
                env=variables(Path(folder)),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_CHECK_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ConfigError(f"the dry run of {worker.name} took more than {_CHECK_SECONDS:g} s") from None
    if process.returncode != 0:
        output = (process.stderr or process.stdout).decode("utf-8", "replace").strip().splitlines()
        raise ConfigError(f"{worker.name} refuses the configuration: " + " / ".join(_reason(output)))


def _reason(output: list[str]) -> list[str]:
    """Return the last lines of a program's output, without the indented ones of a traceback or a usage
    above them."""
    first_line = max((number for number, line in enumerate(output, 1) if line.startswith(" ")), default=0)
    return (output[first_line:] or output)[-_MAX_LINES:]
