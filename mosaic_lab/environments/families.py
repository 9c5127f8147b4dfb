"""Which worker holds an environment, by the environment's id; known before that worker is installed.

A shim names the ids that it makes as globs: ``[tool.mosaic-lab] environments = ["MosaicMultiGrid-*"]``. Where
several match, the one that says more counts. Nothing is installed, started or imported here.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from mosaic_lab.environments.catalog import unknown_worker
from mosaic_lab.environments.environment import RECORD, read_environment
from mosaic_lab.environments.home import workers_home
from mosaic_lab.environments.shims import bundled_shims, check_name
from mosaic_lab.errors import ConfigurationError


def family_of(env_id: str, family: str | None = None) -> str:
    """The name of the worker that makes the environment ``env_id``; ``family`` where the user has chosen one.

    Raises ConfigurationError where no worker says that it makes such ids, WorkerEnvironmentError where there
    is no worker of the chosen name.
    """
    if family is not None:
        if check_name(family) not in bundled_shims() and read_environment(family) is None:
            raise unknown_worker(family)
        return family
    if not isinstance(env_id, str) or not env_id.strip():
        raise ConfigurationError(f"env={env_id!r}: give the id of an environment, such as 'CartPole-v1'")
    matches = [
        (_weight(glob), name)
        for name, globs in families().items()
        for glob in globs
        if fnmatchcase(env_id, glob)
    ]
    if not matches:
        raise ConfigurationError(
            f"no worker says that it makes the environment {env_id!r}; family= names the worker to make it"
        )
    return max(matches)[1]


def families() -> dict[str, tuple[str, ...]]:
    """The globs of every worker that declares environments: ours, and those installed or registered."""
    shims = bundled_shims()
    for record in workers_home().glob(f"*/{RECORD}"):
        name = record.parent.name
        environment = read_environment(name) if name not in shims else None
        shim = environment.shim() if environment is not None else None
        if shim is not None:
            shims[name] = shim
    return {name: shim.environments for name, shim in shims.items() if shim.environments}


def _weight(glob: str) -> int:
    """How much a glob says: the characters that it fixes."""
    return len(re.sub(r"\[[^]]*\]|[*?]", "", glob))
