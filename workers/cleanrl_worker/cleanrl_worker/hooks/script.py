"""The global variables of the running script, and the environments among them."""

from __future__ import annotations

import sys
from typing import Any, Iterator


def global_variables() -> dict[str, Any]:
    """The global variables of the script, the dictionary itself."""
    return vars(sys.modules["__main__"])


def wrapped_environments() -> list[Any]:
    """The environments that the script steps, each as its outermost wrapper, in order."""
    variables = global_variables()
    node = variables.get("envs", variables.get("env"))
    while "venv" in vars(node):  # wrappers of a vector
        node = node.venv
    return list(vars(node).get("envs", [node]))


def wrappers(env: Any) -> Iterator[Any]:
    """The wrappers of an environment, outermost first, down to the environment itself."""
    while env is not None:
        yield env
        env = vars(env).get("env")
