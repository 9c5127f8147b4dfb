"""Curricula written down in TOML files, nothing of which is executed when it is read.

``mosaic-lab train --help`` shows one.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.runs.stages import Stage
from mosaic_lab.validation import Problems

TABLE = "curriculum"
_MOST_BYTES = 1 << 20


def read_curriculum(path: Path) -> list[Stage]:
    """Return the stages in a file, a table ``[[curriculum]]`` each; `Lab.train` checks them.

    Raises ConfigurationError for a file that has other content.
    """
    try:
        with path.open("rb") as file:
            given = tomllib.loads(file.read(_MOST_BYTES).decode())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{path.name} is not a curriculum that can be read: {error}") from None
    problems = Problems(path.name)
    tables = given.pop(TABLE, None)
    if not isinstance(tables, list) or not tables or not all(isinstance(one, dict) for one in tables):
        problems.add(TABLE, f"give a table [[{TABLE}]] for each stage, with its env and its steps or until")
    for name in given:
        problems.add(name, f"{name} is not a part of a stage: give it as an option of the command")
    problems.check()
    return [Stage(**{"env": "", **table}) for table in tables]
