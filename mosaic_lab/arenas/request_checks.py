"""Validation of single arguments of a comparison or an evaluation. A function that takes `Problems` adds its
findings to them and returns a value that later checks can use."""

from __future__ import annotations

import operator
import os
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Any

from mosaic_contract import ConfigError
from mosaic_contract.arena.start import Start
from mosaic_contract.codec import with_tagged_tuples

from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.operators import passive
from mosaic_lab.operators.spec import as_json
from mosaic_lab.validation import Problems, no_seeds
from mosaic_lab.workers.families import family_of

MOST_EPISODES = 1_000_000
"""Maximum number of episodes, and so of seeds, of one evaluation or comparison."""
_LARGEST_SEED = 2**32 - 1
_NAMED = 10  # seeds in a message


def check_seed(seed: Any) -> int:
    """Return a seed that every library accepts. Raises ConfigurationError."""
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if isinstance(seed, bool) or not 0 <= number <= _LARGEST_SEED:
        raise ConfigurationError(f"seed {seed!r}: must be an integer from 0 to {_LARGEST_SEED}")
    return number


def check_seeds(seeds: Any, problems: Problems) -> list[int]:
    if isinstance(seeds, str | bytes) or not isinstance(seeds, Iterable):
        problems.add("seeds", no_seeds(seeds))
        return []
    numbers = []
    wrong = 0
    for seed in islice(seeds, MOST_EPISODES + 1):
        try:
            numbers.append(check_seed(seed))
        except ConfigurationError as error:
            problems.add("seeds", str(error))
            wrong += 1
            if wrong == _NAMED:
                return []
    if not numbers and not wrong:
        problems.add("seeds", "seeds is empty: give at least one")
    if len(numbers) > MOST_EPISODES:
        problems.add("seeds", f"seeds has more than {MOST_EPISODES:,} seeds, the maximum")
    elif twice := sorted(number for number, times in Counter(numbers).items() if times > 1):
        more = f" and {len(twice) - _NAMED:,} others" if len(twice) > _NAMED else ""
        problems.add(
            "seeds",
            f"seeds has duplicates: {', '.join(map(str, twice[:_NAMED]))}{more}. "
            "For several episodes per seed use lab.evaluate's episodes=; "
            'seed_sequence="fixed" repeats the same environment',
        )
    return numbers


def check_env_kwargs(env_kwargs: Any, problems: Problems) -> dict[str, Any]:
    try:
        return as_json("the environment", with_tagged_tuples(env_kwargs or {}))
    except ConfigurationError as error:
        problems.add("env_kwargs", str(error))
        return {}


def check_start(start: Any, problems: Problems) -> Any:
    """Return where episodes begin as JSON has it."""
    try:
        start = as_json("start", {"start": list(start) if isinstance(start, tuple) else start})["start"]
        Start.of(start)
        return start
    except (ConfigError, ConfigurationError) as error:
        problems.add("start", str(error))
        return None


def check_family(env: Any, family: Any, problems: Problems) -> str:
    if env is None and problems.found:
        return ""
    try:
        return family_of(env, family)
    except MosaicError as error:
        problems.add("env" if family is None else "family", str(error))
        return ""


def check_pass_env_vars(pass_env_vars: Any, problems: Problems) -> list[str]:
    """Return the names in ``pass_env_vars``; each must be set in this process."""
    try:
        names = passive().with_(pass_env_vars=pass_env_vars).pass_env_vars
        check_variables("the environment", names)
        return list(names)
    except ConfigurationError as error:
        problems.add("pass_env_vars", str(error))
        return []


def check_variables(whose: str, names: Iterable[str]) -> None:
    """Raise ConfigurationError if a variable is not set in this process."""
    if missing := [name for name in names if name not in os.environ]:
        are = "is" if len(missing) == 1 else "are"
        raise ConfigurationError(
            f"pass_env_vars of {whose} names {', '.join(missing)}, which {are} not set in this process"
        )
