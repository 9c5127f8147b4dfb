"""Operators: anything that answers ``select_action(observation)``, specified before any process starts.

Functions such as ``mosaic_lab.operators.random()`` return an `OperatorSpec`. Agents that share a spec share
one operator; each call makes another.
"""

from typing import Any

from mosaic_contract.config import nearest

from mosaic_lab.operators.balrog_agents import balrog
from mosaic_lab.operators.basic import as_operator, human, passive, random, worker
from mosaic_lab.operators.chess_players import chess, engine
from mosaic_lab.operators.examples import examples
from mosaic_lab.operators.language import llm, vlm
from mosaic_lab.operators.python_policy import importable, python
from mosaic_lab.operators.spec import CATEGORIES, FALLBACKS, Algorithm, OperatorSpec, PythonPolicy
from mosaic_lab.operators.trained import rl, sb3

__all__ = [
    "CATEGORIES",
    "FALLBACKS",
    "Algorithm",
    "OperatorSpec",
    "PythonPolicy",
    "as_operator",
    "balrog",
    "chess",
    "engine",
    "examples",
    "human",
    "importable",
    "llm",
    "passive",
    "python",
    "random",
    "rl",
    "sb3",
    "vlm",
    "worker",
]


def __getattr__(name: str) -> Any:
    text = f"module {__name__!r} has no attribute {name!r}{nearest(name, __all__)}"
    raise AttributeError(text, name=name, obj=None)  # of the module, Python would suggest again
