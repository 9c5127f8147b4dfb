"""The installed library wrapped by a shim: its folder and source text, which is never executed."""

from __future__ import annotations

import ast
import importlib.util
import re
from functools import lru_cache
from pathlib import Path
from typing import Iterator

from mosaic_contract.errors import ConfigError


def upstream_folder(package: str, library: str = "") -> Path:
    """Return the folder of an installed package without importing it. Raises `ConfigError`, naming the
    `library` (default: the package), if it is not installed."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(
            f"{library or package} is not installed in this environment: install the worker again"
        )
    return Path(next(iter(spec.submodule_search_locations)))


@lru_cache(maxsize=None)
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def class_in(path: Path, name: str) -> ast.ClassDef:
    """Return a class of a file. Raises `StopIteration` if there is no class with this name."""
    return next(node for node in parsed(path).body if isinstance(node, ast.ClassDef) and node.name == name)


def method_of(node: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    """Return a method of a class, None if the class itself does not define it."""
    methods = (statement for statement in node.body if isinstance(statement, ast.FunctionDef))
    return next((method for method in methods if method.name == name), None)


def arguments_of(node: ast.ClassDef) -> Iterator[tuple[ast.arg, ast.expr]]:
    """Yield the arguments of a class's `__init__` that have defaults, with their defaults."""
    init = method_of(node, "__init__")
    if init is not None:
        arguments, defaults = init.args, init.args.defaults
        yield from zip(arguments.args[len(arguments.args) - len(defaults) :], defaults)
        pairs = zip(arguments.kwonlyargs, arguments.kw_defaults)
        yield from ((argument, default) for argument, default in pairs if default is not None)


def fields_of(node: ast.ClassDef) -> Iterator[tuple[str, ast.AnnAssign, str]]:
    """Yield the annotated fields of a class: the name, the statement and the string after it, or ""."""
    for field, following in zip(node.body, [*node.body[1:], None]):
        if isinstance(field, ast.AnnAssign):
            text = following.value if isinstance(following, ast.Expr) else None
            yield ast.unparse(field.target), field, str(text.value) if isinstance(text, ast.Constant) else ""


def meanings_of(docstring: str | None) -> dict[str, str]:
    """Return the first sentence of each parameter's description in a docstring (":param name: text")."""
    parts = re.split(r"^\s*:param (\w+):", docstring or "", flags=re.MULTILINE)
    return {name: first_sentence(text) for name, text in zip(parts[1::2], parts[2::2])}


def first_sentence(text: str) -> str:
    """Return the first sentence or paragraph of `text` as one line, without its full stop."""
    paragraph = re.split(r"\n\s*\n", text.strip(), maxsplit=1)[0]
    sentence_end = r"(?<=[^.]\.)(?<!i\.e\.)(?<!e\.g\.)\s"
    return re.split(sentence_end, " ".join(paragraph.split()), maxsplit=1)[0].rstrip(".")
