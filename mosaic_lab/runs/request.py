"""Requests: the arguments of a method of `Lab` as one value, with their limits and descriptions.

Adding a keyword to such a method takes a parameter in its signature, a field in its request, and the place
that uses it. The checks, the command line and the page's forms read the field's `Meta`. A run stores its
request, with the arguments that were given, in ``request.json``.

A request can be written as the call that made it. The contents of a run's folder are untrusted, and users
paste and execute that code. Values are therefore rendered as literals only, and so are names that are not
plain identifiers.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from keyword import iskeyword
from types import NoneType
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Meta, Struct, structs

from mosaic_lab.sanitize import escaped
from mosaic_lab.validation import Problems

STEP_TIMEOUT = 300.0
"""Default seconds for one reset or step of an environment; the first one may compile for minutes."""


SECONDS = {"unit": "number of seconds"}
"""The ``extra`` of the `Meta` of a duration."""
_LIMITS = (("ge", "≥", operator.ge), ("gt", ">", operator.gt), ("le", "≤", operator.le))
_LINE = 88


class Argument(NamedTuple):
    """A keyword of a method of `Lab`. ``type`` excludes None; it is a union if several other types remain."""

    name: str
    default: Any
    type: Any
    meta: Meta

    @property
    def choices(self) -> tuple[str, ...]:
        """The valid values; empty if they are not listed."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    @property
    def requirement(self) -> str:
        """A description of the valid values: "an integer ≥ 1"."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        noun = "an integer" if self.type is int else f"a {(self.meta.extra or {}).get('unit', 'number')}"
        if self.meta.ge is not None and self.meta.le is not None:
            return f"{noun} from {self.meta.ge:,} to {self.meta.le:,}"
        bounds = ((sign, getattr(self.meta, name)) for name, sign, _ in _LIMITS)
        return " ".join([noun, *(f"{sign} {bound}" for sign, bound in bounds if bound is not None)])

    @property
    def help(self) -> str:
        """The description with the valid values and the default, in one line."""
        described, default = self.meta.description or "", self.default
        limited = bool(self.choices) or self.meta.ge is not None or self.meta.gt is not None
        text = f"{described}: {self.requirement}" if limited else described
        has_default = isinstance(default, str | int | float) and not isinstance(default, bool)
        return f"{text} (default: {default})" if has_default else text

    def checked(self, value: Any) -> Any:
        """Return a value of the declared type; whole floats and NumPy's numbers are converted. Raises
        ValueError if it is not valid, and TypeError for another type."""
        if self.choices:
            if value not in self.choices:
                raise ValueError(value)
            return value
        if isinstance(value, bool | str | bytes):
            raise TypeError(value)
        number: float
        if self.type is int:
            number = int(value) if isinstance(value, float) and value.is_integer() else operator.index(value)
        elif not math.isfinite(number := float(value)):
            raise ValueError(value)
        for name, _, holds in _LIMITS:
            bound = getattr(self.meta, name)
            if bound is not None and not holds(number, bound):
                raise ValueError(value)
        return number


class Request(Struct, kw_only=True, frozen=True):
    """The arguments of the method `METHOD` of `Lab`, as given."""

    METHOD: ClassVar[str]

    def given(self, *always: str) -> dict[str, Any]:
        """Return the arguments that differ from their defaults, plus those named in ``always``."""
        values = ((field, getattr(self, field.name)) for field in arguments_of(type(self)).values())
        return {
            field.name: value
            for field, value in values
            if field.name in always or type(value) is not type(field.default) or value != field.default
        }

    def checked(self, problems: Problems) -> Self:
        """Return the request with numbers of the declared types. An argument outside its limits is added to
        ``problems`` and replaced by its default."""
        changes = {}
        for name, value in self.given().items():
            argument = arguments_of(type(self))[name]
            if value is None or not (argument.type in (int, float) or argument.choices):
                continue
            try:
                changes[name] = argument.checked(value)
            except (ValueError, TypeError, OverflowError):
                problems.add(name, f"{name}={value!r}: must be {argument.requirement}")
                changes[name] = argument.default
        return structs.replace(self, **changes)

    def to_json(self) -> dict[str, Any]:
        """Return the given arguments as JSON-compatible data, without secrets."""
        content: dict[str, Any] = msgspec.to_builtins(self.given(), enc_hook=_plain, str_keys=True)
        return content

    def written(self) -> tuple[Sequence[str], Mapping[str, Any]]:
        """Return the positional arguments as code, and the keyword arguments as values or code."""
        raise NotImplementedError

    def code(self) -> str:
        """Return the call as Python code."""
        text = call(f"lab.{self.METHOD}", *self.written())
        return f"import mosaic_lab as mosaic\n\n{text}" if "mosaic." in text else text


@cache
def arguments_of(request: type[Request]) -> Mapping[str, Argument]:
    """Return the arguments of a kind of request by name."""
    hints = get_type_hints(request, include_extras=True)
    return {field.name: _argument(field, hints[field.name]) for field in structs.fields(request)}


def compact_seeds(seeds: Iterable[int]) -> range | list[int]:
    """Return seeds as a range if three or more are consecutive, else as a list."""
    listed = seeds if isinstance(seeds, range) else [operator.index(seed) for seed in seeds]
    consecutive = range(listed[0], listed[0] + len(listed)) if len(listed) > 2 else None
    return consecutive if consecutive is not None and list(listed) == list(consecutive) else list(listed)


def _argument(field: structs.FieldInfo, hint: Any) -> Argument:
    kind, meta = get_args(hint) if hasattr(hint, "__metadata__") else (hint, Meta())
    kinds = [member for member in get_args(kind) if member is not NoneType]
    optional = NoneType in get_args(kind)
    default = field.default if field.default_factory is NODEFAULT else field.default_factory()
    return Argument(field.name, default, kinds[0] if optional and len(kinds) == 1 else kind, meta)


def _plain(value: Any) -> Any:
    """Return a value that `msgspec.to_builtins` does not know as one that it does."""
    if isinstance(value, range):
        return {"first": value.start, "count": len(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "to_json"):
        return value.to_json()
    return value.tolist() if hasattr(value, "tolist") else str(value)


class Code(str):
    """Code in place of a value."""


def call(function: str, positional: Sequence[str], keywords: Mapping[str, Any]) -> str:
    """Return a call in one line if it is short, otherwise with one argument per line. ``positional`` are
    code, ``keywords`` are values or `Code`."""
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
    Characters that would make the code display in another order than Python reads it are escaped."""
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
