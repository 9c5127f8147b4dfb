"""Determine which worker provides an environment from the environment's id, before that worker is installed.

A shim declares its ids as globs: ``[tool.mosaic-lab] environments = ["MosaicMultiGrid-*"]``. If several globs
match, the most specific one counts. An id that is similar to a glob's prefix ("mosaic-multigrid-S-…") also
belongs to that worker, which knows the correct ids. This module installs and imports no worker.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from fnmatch import fnmatchcase

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.workers.catalog import unknown_worker, worker_name
from mosaic_lab.workers.discovery import kernel_workers
from mosaic_lab.workers.home import workers_home
from mosaic_lab.workers.own_environments import PASS_FOLDER, check_environment_id, own_id
from mosaic_lab.workers.shims import bundled_shims
from mosaic_lab.workers.worker_environment import RECORD, WorkerEnvironment, letters, read_environment

_LONG_ENOUGH = 6  # minimum length of a glob's prefix for similarity matches
_MIN_SIMILARITY = 0.85  # minimum similarity, of 1
_VERSION = re.compile(r"-v(\d+)$")
_TEAM = re.compile(r"([\w.]+:)?[\w./]*\w_v\d+")  # PettingZoo's ids
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_FAMILY = re.compile(r"(atari|classic|butterfly|sisl|mpe2?|jumanji)/")  # optional prefixes

_TEAMS = "Teams play in the workers multiagent, multigrid and procgen (Overcooked), as in rware-tiny-2ag-v2"
_UNAVAILABLE = {  # unavailable environments: pattern of the id's beginning, reason
    r"(dm_)?melting_?pot": (
        f"Melting Pot cannot be installed as a package: its build downloads files from elsewhere. {_TEAMS}"
    ),
    r"(smac(v2|lite)?|starcraft|sc2|pysc2)([^a-z]|$)": (
        f"SMAC needs the game StarCraft II, and smaclite is not published as a package. {_TEAMS}"
    ),
    r"(malmo|minerl)": (
        "Malmo and MineRL need the game Minecraft and a Java program beside it. Crafter has similar "
        "tasks in two dimensions ('CrafterReward-v1')"
    ),
    r"(gym_?pybullet_?drones|([a-z]+_)?aviary)": "gym-pybullet-drones is not published as a package",
    r"(gym_?)?baba": "baba-is-ai is not published as a package",
    r"g_?football|google_(research_)?football|academy_|11_vs_11": (
        "Google Research Football is published as source only, to be compiled against the system's SDL and "
        f"Boost, and has not been maintained since 2022. {_TEAMS}"
    ),
    r"hemac": f"HeMAC is not published as a package. {_TEAMS}",
    r"neural_?mmo|nmmo": (
        f"Neural MMO is published as source only and pins old versions of gym, NumPy and SciPy. {_TEAMS}"
    ),
    r"(jidi_?)?olympics|wrestling": (
        "the Olympics games, wrestling among them, are not published as a package. 'boxing_v2' is a match of "
        "two players"
    ),
    r"brax": "Brax is no longer maintained; MuJoCo's robots are here, such as 'Ant-v5'",
}


def family_of(env_id: str, family: str | None = None) -> str:
    """Return the name of the worker that makes the environment ``env_id``, or ``family`` if given.

    Raises ConfigurationError if no worker, or equally specific globs of two workers, match the id, or if the
    environment is unavailable; WorkerEnvironmentError if the chosen worker does not exist.
    """
    check_environment_id(env_id)
    if family is not None:
        family = worker_name(family)
        exists = family in bundled_shims() or read_environment(family) or kernel_workers(family)
        if not exists:
            raise unknown_worker(family)
        return family
    weights = _claims(env_id)
    if not any(weights.values()) and (reason := _unavailable(env_id)):
        raise ConfigurationError(reason)
    if not weights:
        raise ConfigurationError(
            f"no worker declares the environment {env_id!r}; name the worker that makes it by family="
        )
    best = sorted(name for name, weight in weights.items() if weight == max(weights.values()))
    if len(best) > 1:
        raise ConfigurationError(
            f"the workers {' and '.join(best)} both declare the environment {env_id!r}: "
            f'choose one, such as family="{best[0]}"'
        )
    return best[0]


def claims(family: str, env_id: str) -> bool:
    """Return whether a worker declares such ids, as opposed to accepting any id that no other worker
    declares."""
    return _weights(env_id, fnmatchcase).get(family, 0) > 0


def shown_as(env_id: str, family: str) -> str:
    """Return an environment's id, followed by its worker unless that is the usual one for the id."""
    weights = _weights(env_id, fnmatchcase)
    usual = not weights or weights.get(family) == max(weights.values())
    return env_id if usual else f"{env_id} (worker {family})"


def same_environment(first: str, second: str) -> bool:
    """Return whether two ids name the same environment: "simple_spread_v3" is "mpe2/simple_spread_v3"."""
    return _FAMILY.sub("", first, count=1) == _FAMILY.sub("", second, count=1)


def families() -> dict[str, tuple[str, ...]]:
    """Return the globs of each worker that declares environments: bundled, installed or registered."""
    shims = bundled_shims()
    for record in workers_home().glob(f"*/{RECORD}"):
        name = record.parent.name
        worker_environment = read_environment(name) if name not in shims else None
        shim = worker_environment.shim() if worker_environment is not None else None
        if shim is not None:
            shims[name] = shim
    return {name: shim.environments for name, shim in shims.items() if shim.environments}


def server_for(refusal: str, env_id: str | None, worker: WorkerEnvironment) -> str | None:
    """Return the worker that can serve an environment to a training of ``worker``, which lacks it according
    to the ``refusal``; None if there is none."""
    if env_id is None or not worker.capabilities.uses_environment_servers:
        return None
    provider = _other_provider(env_id, worker)
    misspelt = provider in worker.capabilities.env_families and "did you mean" in refusal.lower()
    return None if misspelt else provider


def server_of_processes(env_id: str | None, count: int, worker: WorkerEnvironment) -> str:
    """Return the worker that serves an environment to a training of ``worker`` in ``count`` processes. Raises
    ConfigurationError if the training cannot use them, and the errors of `family_of`."""
    argument = f"env_processes={count}"
    if env_id is None or not worker.capabilities.uses_environment_servers:
        raise ConfigurationError(f"{argument}: worker '{worker.name}' makes its environments itself")
    if count > 1 and not worker.capabilities.steps_together:
        raise ConfigurationError(
            f"{argument}: worker '{worker.name}' steps one environment after another in each of its "
            "processes; give num_env_runners, their number, or env_processes=1"
        )
    return family_of(env_id)


def remedy(refusal: str, env_id: str | None, worker: WorkerEnvironment) -> str:
    """Return advice to append to a worker's ``refusal`` to make an environment; empty if there is none.

    It says how to make a user's module importable ("module:Id"), which worker provides such ids, or why none
    does.
    """
    if env_id is None or f"{env_id!r} cannot be made" not in refusal:
        return ""
    missing = _NO_MODULE.search(refusal) if ":" in env_id else None
    reason = _unavailable(env_id)
    trains_teams = "parallel" in worker.capabilities.supported_paradigms
    no_teams = (
        f", and worker '{worker.name}' trains no teams: train them with worker 'xuance' or 'rllib', games in "
        "turns with 'rllib' or 'tianshou'"
    )
    if missing and missing[1] == "pettingzoo" and not trains_teams:
        return (
            f". PettingZoo's environments have several agents{no_teams}. If this one has a single agent: "
            f"mosaic-lab workers install {worker.name} --with pettingzoo"
        )
    if missing:
        lacks, env_module = missing[1].partition(".")[0], re.split(r"[.:]", env_id)[0]
        if lacks != env_module:
            install = f"mosaic-lab workers install {worker.name} --with {lacks}"
            return f". Install that module's package into the worker: {install}"
        return (
            f" The Python of the worker '{worker.name}', {worker.python}, has no module {missing[1]!r}. "
            f"{PASS_FOLDER}"
        )
    if _TEAM.fullmatch(env_id) and not reason and not trains_teams:
        return f". It is named like PettingZoo's environments{no_teams}"
    if advice := own_id(env_id):
        return f".{advice}"
    if (provider := _other_provider(env_id, worker)) is not None:
        return f"; lab.compare and lab.evaluate have it from worker '{provider}'"
    return f"; {reason}" if reason else ""


def _other_provider(env_id: str, worker: WorkerEnvironment) -> str | None:
    """Return a worker other than ``worker`` that declares the id or a similar one."""
    weights = _claims(env_id)
    return min((name for name, weight in weights.items() if weight and name != worker.name), default=None)


def _claims(env_id: str) -> dict[str, int]:
    """Return the workers that declare the id or, if none does, a similar one; see `_weights`."""
    weights = _weights(env_id, fnmatchcase)
    return weights if any(weights.values()) else weights | _weights(env_id, _nearly)


def _weights(env_id: str, matches: Callable[[str, str], bool]) -> dict[str, int]:
    """Return the workers with a matching glob, each with the specificity of its best one."""
    specificities: dict[str, int] = {}
    for name, globs in families().items():
        if weights := [_weight(glob) for glob in globs if matches(env_id, glob)]:
            specificities[name] = max(weights)
    return specificities


def _nearly(env_id: str, glob: str) -> bool:
    """Return whether an id begins similarly to a glob's prefix and names no other version. Case, punctuation
    and typos are ignored."""
    fixed = re.split(r"[*?\[]", glob)[0]
    begins = env_id[: len(fixed)]
    similarity = difflib.SequenceMatcher(None, letters(begins), letters(fixed)).ratio()
    versions = {match[1] for text in (env_id, glob) if (match := _VERSION.search(text))}
    return len(fixed) >= _LONG_ENOUGH and similarity >= _MIN_SIMILARITY and len(versions) < 2


def _weight(glob: str) -> int:
    """Return a glob's specificity: the number of characters that it fixes."""
    return len(re.sub(r"\[[^]]*\]|[*?]", "", glob))


def _unavailable(env_id: str) -> str | None:
    """Return why an environment is unavailable, or None if it may be available. None also for environments of
    users' modules ("module:Id")."""
    if ":" in env_id:
        return None
    plain = re.sub(r"[\s-]+", "_", env_id.lower())
    return next(
        (
            f"{env_id!r} is not available: {reason}"
            for pattern, reason in _UNAVAILABLE.items()
            if re.match(pattern, plain)
        ),
        None,
    )
