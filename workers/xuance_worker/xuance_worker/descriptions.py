"""What lies beside a checkpoint: `step-7.json` describes `step-7.pt`.

Crosses the boundary: the description, JSON: format, algorithm, env_id, step, episodes, hyperparameters,
spaces (of each agent where there are several), upstream's version. Nothing of upstream is imported here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping

from mosaic_contract import ConfigError, describe_space, read_document

from .algorithms import ALGORITHMS
from .environments import ALONE, World

FORMAT = "mosaic-xuance/1"
_DESCRIBED = {"algorithm": str, "env_id": str, "step": int, "episodes": int, "hyperparameters": dict}
_SPACES = ("observation_space", "action_space")

Spaces = Mapping[str, Mapping[str, Any]]


def describe_spaces(world: World) -> dict[str, Any]:
    """The part of a description that tells the spaces of each agent, or those of the only one."""
    agents = {
        agent: {
            "observation_space": describe_space(world.observations[agent]),
            "action_space": describe_space(world.actions[agent]),
        }
        for agent in world.actions
    }
    return {"agents": agents} if world.several else agents[ALONE]


def spaces_of(described: Mapping[str, Any]) -> dict[str, Spaces]:
    """The described spaces by agent."""
    if "agents" in described:
        return dict(described["agents"])
    return {ALONE: {name: described[name] for name in _SPACES}}


def read_description(path: str | Path) -> tuple[Path, dict[str, Any]]:
    """A checkpoint's absolute path and its description. Raises `ConfigError` where it is none of ours."""
    path = Path(path).expanduser().resolve()
    if not path.is_file():
        raise ConfigError(f"there is no checkpoint {path}")
    file = path.with_suffix(".json")
    try:
        described = read_document(file)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{path} is not a checkpoint of this worker: {file.name}, which would describe it: {error}"
        ) from None
    if why := _wrong(described):
        raise ConfigError(f"{path} is not a checkpoint of this worker ({FORMAT}), by {file.name}: {why}")
    return path, described


def _wrong(described: dict[str, Any]) -> str:
    if described.get("format") != FORMAT:
        return f"it is of the format {described.get('format')!r:.100}"
    if missing := [name for name, kind in _DESCRIBED.items() if not isinstance(described.get(name), kind)]:
        return f"it lacks {', '.join(missing)}"
    if described["algorithm"] not in ALGORITHMS:
        return f"it is of {described['algorithm']!r:.100}, which this worker does not have"
    agents = described.get("agents", {ALONE: described})
    told = isinstance(agents, dict) and all(
        isinstance(of, dict) and isinstance(of.get(name), dict) for of in agents.values() for name in _SPACES
    )
    return "" if agents and told else "it does not tell the spaces of its agents"
