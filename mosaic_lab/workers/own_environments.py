"""Advice for users' own environments when an object or an unknown id was given. No user code is imported."""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from mosaic_lab.errors import ConfigurationError

PASS_FOLDER = (
    "Put the folder that holds it in the variable PYTHONPATH, and pass that on with "
    'pass_env_vars=["PYTHONPATH"]'
)
_MAX_FILES, _LARGEST = 500, 1 << 20  # files of a folder to search, and bytes of each


def check_environment_id(env: Any) -> None:
    """Raise ConfigurationError if ``env`` is not an environment id."""
    if isinstance(env, str) and env.strip():
        return
    if isinstance(env, str | int | float | list | tuple | dict) or env is None:
        raise ConfigurationError(f"env={env!r:.200}: must be the id of an environment, such as 'CartPole-v1'")
    kind = "a class" if inspect.isclass(env) else "a function" if inspect.isroutine(env) else "an object"
    owner = env if inspect.isclass(env) or inspect.isroutine(env) else type(env)
    name, module = owner.__name__, owner.__module__
    name = name if name.isidentifier() else "make_env"  # a lambda
    refused = f"env={name}: give an id, not {kind}: a worker is another process, and "
    if env_id := _id_of(env):
        advice = own_id(env_id) or f' Give env="{env_id}"'
        raise ConfigurationError(f"{refused}makes the environment itself.{advice}")
    source = "my_env" if module == "__main__" else module
    advice = "Give" if _installed(module) else f"With it in a file {source.rpartition('.')[2]}.py, give"
    folder = "" if _installed(module) else f". {PASS_FOLDER}"
    raise ConfigurationError(
        f'{refused}imports the environment itself. {advice} env="{source}:{name}"{folder}'
    )


def _id_of(env: Any) -> str | None:
    """Return the id of an environment that Gymnasium or PettingZoo has made, or None."""
    metadata = getattr(env, "metadata", None)
    registered = getattr(getattr(env, "spec", None), "id", None)
    named = metadata.get("name") if isinstance(metadata, dict) and not inspect.isclass(env) else None
    return next((name for name in (registered, named) if isinstance(name, str) and name), None)


def own_id(env_id: str) -> str:
    """Return the correct form of an id registered by this process or a file in the working directory; empty
    for other ids.
    """
    if (module := _registering_module(env_id)) == "__main__":
        return (
            f" {env_id!r} is registered in this process alone, and a worker is another: put the class and "
            f'its gymnasium.register(...) into a file, such as my_env.py, and give env="my_env:{env_id}". '
            f"{PASS_FOLDER}"
        )
    module = module or _module_with(env_id)
    if module is None:
        return ""
    suggested = env_id if module == env_id else f"{module}:{env_id}"
    return f" {'' if module == env_id else f'Did you mean {suggested!r}? '}{PASS_FOLDER}"


def _registering_module(env_id: str) -> str | None:
    """Return the module of an environment in this process's Gymnasium registry, or None."""
    spec = getattr(sys.modules.get("gymnasium"), "registry", {}).get(env_id)
    entry = getattr(spec, "entry_point", None)
    while isinstance(entry, functools.partial):
        entry = entry.func
    if entry is None:
        return None
    name = entry.partition(":")[0] if isinstance(entry, str) else str(entry.__module__)
    return None if name != "__main__" and _installed(name) else name


def _installed(module: str) -> bool:
    """Return whether a module of this process belongs to an installed package."""
    return "site-packages" in (getattr(sys.modules.get(module), "__file__", None) or "")


def _module_with(env_id: str) -> str | None:
    """Return the module in the working directory or on PYTHONPATH that is or registers this environment."""
    registers = re.compile(rf"""\bregister\(.*?["']{re.escape(env_id)}["']""", re.DOTALL)
    for path in _sources():
        if path.stem == env_id or registers.search(_text(path)):
            return path.stem
    return None


def _sources() -> Iterator[Path]:
    folders = ["", *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    for folder in dict.fromkeys(Path(path).resolve() for path in folders):
        yield from islice(folder.glob("*.py"), _MAX_FILES)


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace") if path.stat().st_size <= _LARGEST else ""
    except OSError:
        return ""
