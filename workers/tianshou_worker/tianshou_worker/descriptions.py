"""What lies beside a checkpoint: `step-7.json` describes `step-7.pt`.

Crosses the boundary: the description, JSON: format, algorithm, env_id, step, episodes, hyperparameters, the
two spaces, upstream's version. Nothing of upstream is imported here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mosaic_contract import ConfigError, read_document

from .algorithms import ALGORITHMS

FORMAT = "mosaic-tianshou/1"
_DESCRIBED = {
    "algorithm": str, "env_id": str, "step": int, "episodes": int, "hyperparameters": dict,
    "observation_space": dict, "action_space": dict,
}  # fmt: skip


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
    wrong = [name for name, kind in _DESCRIBED.items() if not isinstance(described.get(name), kind)]
    if described.get("format") != FORMAT:
        why = f"it is of the format {described.get('format')!r}"
    elif wrong:
        why = f"it lacks {', '.join(wrong)}"
    elif described["algorithm"] not in ALGORITHMS:
        why = f"it is of {described['algorithm']!r:.100}, which this worker does not have"
    else:
        return path, described
    raise ConfigError(f"{path} is not a checkpoint of this worker ({FORMAT}), by {file.name}: {why}")
