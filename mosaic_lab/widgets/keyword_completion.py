"""Tab completion of hyperparameters as keywords of ``lab.train(…)`` and ``lab.sweep(…)`` in IPython.

The names are those for the worker and algorithm given as literals in the call. They come from a worker
process, which takes longer than a page waits for completions. A thread therefore fetches them, once per
installation of a worker, and a later Tab uses the result.
"""

from __future__ import annotations

import ast
import io
import re
import threading
import tokenize
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mosaic_lab.errors import MosaicError
from mosaic_lab.overview.forms import worker_description
from mosaic_lab.runs.training import Trainer
from mosaic_lab.workers.catalog import find

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext

_NAME = "mosaic_lab.hyperparameters"
_WAIT_SECONDS = 0.7
_CALL = re.compile(r"([A-Za-z_]\w*(?:\.\w+)*)\.(?:train|sweep)\(")
_SKIPPED = (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)
_Installation = tuple[str, float]
_described: dict[_Installation, Mapping[str, Any]] = {}
_describing: dict[_Installation, threading.Thread] = {}


def register_completion(shell: Any) -> None:
    """Register the completions with IPython's ``shell``; further calls have no effect."""
    matchers = shell.Completer.custom_matchers
    if any(getattr(matcher, "matcher_identifier", None) == _NAME for matcher in matchers):
        return
    from IPython.core.completer import context_matcher

    @context_matcher(identifier=_NAME)
    def match(context: CompletionContext) -> dict[str, Any]:
        return {"completions": list(_completions(shell.user_ns, context))}

    matchers.append(match)


def _completions(variables: dict[str, Any], context: CompletionContext) -> Iterator[Any]:
    from IPython.core.completer import SimpleCompletion

    lines = context.full_text.split("\n")
    code_before = "\n".join([*lines[: context.cursor_line], context.text_until_cursor])
    calls = list(_CALL.finditer(code_before))
    if not calls or not (context.token == "" or context.token.isidentifier()):
        return
    name, *attributes = calls[-1][1].split(".")
    target = variables.get(name)
    for name in attributes:
        target = getattr(target, name, None)
    keywords = _given_keywords(code_before[calls[-1].end() :].removesuffix(context.token))
    if not isinstance(target, Trainer) or keywords is None:
        return
    for name in _hyperparameters(keywords.get("worker", ""), keywords.get("algorithm", "")):
        if name.startswith(context.token) and name not in keywords:
            yield SimpleCompletion(f"{name}=", type="param")


def _given_keywords(arguments: str) -> dict[str, str] | None:
    """Return the keywords in an incomplete call's arguments, with their values if these are strings. The
    first argument is the ``worker``. None if no further keyword can follow."""
    keywords: dict[str, str] = {}
    depth, keyword, last = 0, "worker", ""
    with suppress(tokenize.TokenError, SyntaxError):  # the call is incomplete
        for token in tokenize.generate_tokens(io.StringIO(arguments).readline):
            if token.type in _SKIPPED or token.type == tokenize.ENDMARKER:
                continue
            if token.type == tokenize.OP:
                depth += (token.string in "([{") - (token.string in ")]}")
            if depth == 0 and token.string == "=":
                keyword = last
                keywords[keyword] = ""
            elif depth == 0 and token.type == tokenize.STRING and last in ("", "="):
                keywords[keyword] = str(ast.literal_eval(token.string))
            last = token.string
    return keywords if depth == 0 and last == "," else None


def _hyperparameters(worker: str, algorithm: str) -> list[str]:
    """Return the names of an algorithm's hyperparameters that are available in time."""
    installed = find(worker) if worker and algorithm else None
    if installed is None:
        return []
    key = (installed.name, installed.created)
    if key not in _described:
        thread = _describing.get(key)
        if thread is None or not thread.is_alive():
            thread = _describing[key] = threading.Thread(target=_describe, args=key, daemon=True)
            thread.start()
        thread.join(_WAIT_SECONDS)
    rows = _described.get(key, {}).get(installed.algorithm(algorithm) or "", ())
    return [str(row["name"]) for row in rows]


def _describe(worker: str, created: float) -> None:
    with suppress(MosaicError):  # no completions
        _described[worker, created] = worker_description(worker)["hyperparameters"]
