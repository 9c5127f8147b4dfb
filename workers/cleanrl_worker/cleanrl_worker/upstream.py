"""The CleanRL installed in this Python environment, found without importing it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from mosaic_contract import ConfigError

from .algorithms import ALGORITHMS, BROKEN_IN_RELEASE, NO_GAMES_IN_RELEASE

_OLD_GYM = "import gym\n"


@dataclass(frozen=True)
class Upstream:
    """The installed CleanRL. `source` is "git", "path" or "registry"; `folder` contains its scripts."""

    version: str
    source: str
    folder: Path
    url: str = ""
    commit: str = ""

    def script(self, name: str) -> Path:
        """Return the file of `cleanrl.<name>`."""
        return self.folder / f"{name}.py"

    def has_script(self, name: str) -> bool:
        """Return whether a script `cleanrl.<name>` exists, used by this worker or not."""
        return re.fullmatch(r"[a-z]\w*", name) is not None and self.script(name).is_file()

    @property
    def legacy(self) -> bool:
        """Whether the scripts use the old gym API (`gym.make`, four values from `step`) and argparse."""
        return _OLD_GYM in self.script("ppo").read_text(encoding="utf-8")

    def unavailable(self) -> dict[str, str]:
        """The algorithms that cannot be trained with this source, each with the reason."""
        reasons = dict(BROKEN_IN_RELEASE) if self.legacy else {}
        for algorithm in ALGORITHMS.values():
            if self.legacy and algorithm.games:
                reasons[algorithm.name] = NO_GAMES_IN_RELEASE
            if not self.script(algorithm.script).exists():
                reasons.setdefault(algorithm.name, "it has no such script")
        return reasons

    def available(self) -> list[str]:
        """The algorithms that can be trained with this source."""
        missing = self.unavailable()
        return [name for name in ALGORITHMS if name not in missing]

    def describe(self, script: str) -> dict[str, Any]:
        """Return its identification for the records of a run, with the hash of the script that runs."""
        origin = {"source": self.source, "version": self.version, "url": self.url, "commit": self.commit}
        digest = hashlib.sha256(self.script(script).read_bytes()).hexdigest()
        return {**origin, "script": f"cleanrl.{script}", "script_sha256": digest}


def installed() -> Upstream | None:
    """Return the CleanRL of this Python environment, None if there is none."""
    spec = importlib.util.find_spec("cleanrl")  # finds the package without running it
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations)))
    try:
        distribution = metadata.distribution("cleanrl")
    except metadata.PackageNotFoundError:
        return Upstream(version="", source="path", folder=folder, url=str(folder))
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    version_control = origin.get("vcs_info", {})
    source = "registry" if not origin else "git" if version_control else "path"
    return Upstream(
        version=distribution.version,
        source=source,
        folder=folder,
        url=origin.get("url", ""),
        commit=version_control.get("commit_id", ""),
    )


def required() -> Upstream:
    """Return the CleanRL of this Python environment. Raises `ConfigError` if there is none."""
    upstream = installed()
    if upstream is None:
        raise ConfigError("CleanRL is not installed in this environment: install the worker again")
    return upstream
