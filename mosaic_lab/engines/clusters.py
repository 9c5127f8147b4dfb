"""Cluster profiles, stored in ``clusters.json`` in the user's data folder. A profile contains the source of a
token; the token itself is never stored."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keeper.environment_variables import USER_SITE
from mosaic_lab.keeper.run_store import write_json
from mosaic_lab.workers.home import home

_ADDRESS = re.compile(r"(ray://)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):(\d{1,5})")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_VERSION = re.compile(r"\d+\.\d+\.\d+\w*")
_OF_RAY = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
FOLDER = "~/.mosaic-lab"


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster.

    ``address`` is ``HOST:PORT`` of its head if this machine is one of its nodes, else ``ray://HOST:PORT`` of
    Ray's client server. The token is read from the variable ``token_env`` or the file ``token_file``, by
    default from Ray's own locations. Runs reserve ``cpus`` (default: their threads) and ``gpus`` unless they
    request others, on nodes with all ``labels``. ``folder`` is our folder on the nodes, ``wheels`` a folder
    with wheels there, for nodes without network access. ``ray_version`` and ``python`` are the cluster's
    versions, which are detected if Ray reports them.
    """

    name: str
    address: str
    token_env: str | None = None
    token_file: str | None = None
    cpus: float | None = None
    gpus: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    folder: str = FOLDER
    wheels: str | None = None
    ray_version: str | None = None
    python: str | None = None

    def __post_init__(self) -> None:
        match = _ADDRESS.fullmatch(self.address)
        if match is None or not 0 < int(match[3]) < 1 << 16:
            raise ConfigurationError(
                f"{self.address!r} is not an address of a Ray cluster: give HOST:PORT (usually port 6379) or "
                "ray://HOST:PORT (usually 10001)"
            )
        if self.token_env is not None and self.token_file is not None:
            raise ConfigurationError(f"cluster {self.name}: give either token_env or token_file")
        for name, version in (("ray_version", self.ray_version), ("python", self.python)):
            if version is not None and not _VERSION.fullmatch(version):
                raise ConfigurationError(
                    f"cluster {self.name}: {name}={version!r} is not a full version, such as "
                    f"{'2.60.0' if name == 'ray_version' else '3.11.7'}"
                )

    def token_variables(self) -> dict[str, str]:
        """Return the variables that pass the token to Ray. Raises ConfigurationError if it does not exist."""
        if self.token_env is not None:
            token = os.environ.get(self.token_env)
            if not token:
                raise ConfigurationError(
                    f"cluster {self.name}: the variable {self.token_env}, which holds its token, is not set"
                )
            return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
        if self.token_file is not None:
            path = Path(self.token_file).expanduser()
            if not path.is_file():
                raise ConfigurationError(
                    f"cluster {self.name} takes its token from {path}, which does not exist"
                )
            return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(path)}
        return {name: os.environ[name] for name in _OF_RAY if os.environ.get(name)}

    def token_sources(self) -> dict[str, str]:
        """Return this process's variables that `token_variables` reads, for another process that starts
        runs."""
        names = _OF_RAY if self.token_env is None else (self.token_env,)
        return {name: os.environ[name] for name in names if name in os.environ}

    @property
    def has_token(self) -> bool:
        """Whether a token is sent to the cluster."""
        return self.token_variables().get("RAY_AUTH_MODE") == "token"


def clusters() -> dict[str, Cluster]:
    """Return the profiles by name. Raises ConfigurationError if the file is damaged."""
    path = _path()
    try:
        content = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        names = {field.name for field in fields(Cluster)}
        return {
            name: Cluster(**{key: value for key, value in record.items() if key in names})
            for name, record in content.items()
        }
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ConfigurationError(f"{path} cannot be read ({error}): correct or delete it") from error


def add(cluster: Cluster) -> None:
    """Store a profile, replacing any of the same name. Raises ConfigurationError for an invalid name."""
    if not _NAME.fullmatch(cluster.name) or cluster.name == "ray":
        raise ConfigurationError(
            f"{cluster.name!r} is not a valid name of a cluster: use letters, digits, dots, dashes and "
            "underscores"
        )
    _write({**clusters(), cluster.name: cluster})


def process_variables(on: str | None) -> dict[str, str]:
    """Return the variables of this process that another of our processes needs to start runs: for the user's
    packages, our own folder and the token of the cluster ``on``, if any."""
    home = os.environ.get("MOSAIC_LAB_HOME")
    token = {} if on is None else find(on).token_sources()
    return {**USER_SITE, **({} if home is None else {"MOSAIC_LAB_HOME": home}), **token}


def remove(name: str) -> None:
    """Delete a profile. Runs on the cluster are not affected. Raises ConfigurationError if it does not
    exist."""
    profiles = clusters()
    _profile(name, profiles)
    _write({other: cluster for other, cluster in profiles.items() if other != name})


def find(on: Any) -> Cluster:
    """Return the cluster for a value of ``on=``: a profile, ``"ray:HOST:PORT"`` or ``"ray://HOST:PORT"``.
    Raises ConfigurationError."""
    if not isinstance(on, str):
        raise ConfigurationError(f'on={on!r}: must be the name of a cluster, or "ray:HOST:PORT"')
    if on.startswith("ray:"):
        return Cluster(on, on if on.startswith("ray://") else on.removeprefix("ray:"))
    return _profile(on, clusters())


def _profile(name: str, profiles: Mapping[str, Cluster]) -> Cluster:
    if name in profiles:
        return profiles[name]
    near = difflib.get_close_matches(name, profiles, 1)
    names = f"the clusters are {', '.join(profiles)}." if profiles else "no cluster has been added."
    hint = f"did you mean {near[0]!r}?" if near else names
    raise ConfigurationError(
        f"there is no cluster {name!r}; {hint} `mosaic-lab clusters add {name} --ray HOST:PORT` adds one"
    )


def _write(profiles: Mapping[str, Cluster]) -> None:
    path = _path()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {name: asdict(cluster) for name, cluster in profiles.items()})


def _path() -> Path:
    return home() / "clusters.json"
