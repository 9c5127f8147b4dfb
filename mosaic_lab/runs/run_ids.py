"""Names of runs: their ids and their labels."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Mapping
from typing import Any


def new_run_id(worker: str, config: Mapping[str, Any]) -> str:
    """Return an id that sorts by time (UTC): ``20261121-053012-cleanrl-ppo-CartPole-v1-s1-k3f9``."""
    parts = [time.strftime("%Y%m%d-%H%M%S", time.gmtime()), worker]
    parts += [str(config[key]) for key in ("algorithm", "env_id") if config.get(key)]
    if config.get("seed") is not None:
        parts.append(f"s{config['seed']}")
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(parts))[:110]
    return f"{name}-{''.join(secrets.choice('abcdefghjkmnpqrstuvwxyz23456789') for _ in range(4))}"


def default_label(worker: str, config: Mapping[str, Any]) -> str:
    """Return what a run is called that its starter does not name: ``cleanrl ppo CartPole-v1 seed 1``."""
    parts = [worker, *(str(config[key]) for key in ("algorithm", "env_id") if config.get(key))]
    return " ".join(parts) + (f" seed {config['seed']}" if config.get("seed") is not None else "")
