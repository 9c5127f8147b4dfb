"""TOML and JSON files written by users. Reading a file executes no code."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from mosaic_lab.errors import ConfigurationError

_LARGEST = 16 << 20  # bytes
_HEADER = re.compile(r"\s*(\[[^\[\]].*\])\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_.-]|"[^"]*"|'[^']*')+)\s*=""")


def read_document(path: Path) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the content of a JSON file or, with any other suffix, of a TOML file, and for TOML the line of
    each key. Raises ConfigurationError if the file cannot be read or is not valid."""
    is_json = path.suffix.lower() == ".json"
    try:
        if path.stat().st_size > _LARGEST:
            raise OSError(f"it is larger than {_LARGEST >> 20} MiB")
        text = path.read_text(encoding="utf-8")
        document = json.loads(text, object_pairs_hook=_unique) if is_json else tomllib.loads(text)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"{path.name} is not valid {'JSON' if is_json else 'TOML'}: {error}"
        ) from None
    if not isinstance(document, dict):
        raise ConfigurationError(f"{path.name} is not an object with keys")
    return document, {} if is_json else _lines_of(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object. Raises ValueError for a duplicate key."""
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"it has a duplicate key {twice!r} in one object")
    return content


def _lines_of(text: str) -> dict[str, int]:
    """Return the line of each key of a TOML document that begins a line."""
    lines: dict[str, int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _path_of(header[1])
            lines.setdefault(".".join(table), number)
        elif key := _KEY.match(line):
            lines.setdefault(".".join((*table, *_path_of(f"{key[1]} = 0"))), number)
    return lines


def _path_of(line: str) -> tuple[str, ...]:
    """Return the keys of a table header or assignment; empty if the line is part of another value."""
    try:
        inner: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    path = []
    while isinstance(inner, dict) and inner:
        ((key, inner),) = inner.items()
        path.append(key)
    return tuple(path)
