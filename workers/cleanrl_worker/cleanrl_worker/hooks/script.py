"""The global variables of the running script, including its environments."""

from __future__ import annotations

import sys
from typing import Any, Iterator


def global_variables() -> dict[str, Any]:
    """Return the dictionary of the script's global variables itself."""
    return vars(sys.modules["__main__"])


def wrapped_environments() -> list[Any]:
    """Return the environments stepped by the script, each as its outermost wrapper, in order."""
    variables = global_variables()
    node: Any = variables.get("envs", variables.get("env"))
    while "venv" in vars(node):  # wrappers of a vector environment
        node = node.venv
    return list(vars(node).get("envs", [node]))


def wrappers(env: Any) -> Iterator[Any]:
    """Yield the wrappers of an environment, outermost first, down to the environment itself."""
    while env is not None:
        yield env
        env = vars(env).get("env")
