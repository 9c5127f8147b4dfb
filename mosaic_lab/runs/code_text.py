"""Python code that reproduces a run: calls with the user's arguments.

The contents of a run's folder are untrusted, and users paste and execute the code. Values are therefore
rendered as literals only, and so are names that are not plain identifiers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from keyword import iskeyword
from typing import Any

from mosaic_lab.sanitize import escaped

_LINE = 88


class Code(str):
    """Code in place of a value."""


def call(function: str, positional: Sequence[str], keywords: Mapping[str, Any]) -> str:
    """Return a call in one line if it is short, otherwise with one argument per line. ``positional`` are
    code, ``named`` are values or `Code`."""
    plain = {name: value for name, value in keywords.items() if name.isidentifier() and not iskeyword(name)}
    other = {name: value for name, value in keywords.items() if name not in plain}
    arguments = [*positional, *(f"{name}={literal(value)}" for name, value in plain.items())]
    arguments += [f"**{literal(other)}"] if other else []
    line = f"{function}({', '.join(arguments)})"
    if len(line) <= _LINE and "\n" not in line:
        return line
    return f"{function}(\n" + "".join(f"    {indented(argument)},\n" for argument in arguments) + ")"


def literal(value: object) -> str:
    """Return a JSON value or a range as idiomatic Python, such as ``100_000`` or ``"CartPole-v1"``.
    Characters that would display the code in another order than Python reads it are escaped."""
    if isinstance(value, Code):
        return value
    if isinstance(value, range):
        return f"range({value.stop})" if (value.start, value.step) == (0, 1) else repr(value)
    if isinstance(value, str):
        return escaped(json.dumps(value, ensure_ascii=False))
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{literal(str(key))}: {literal(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10_000:
        return f"{value:_}"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def indented(code: str) -> str:
    """Return code indented as an argument of a call."""
    return code.replace("\n", "\n    ")
