"""The user's Python files, imported as if from their own folder, and only in operators' processes."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from pathlib import Path
from typing import Any, Mapping, Sequence

from mosaic_contract.errors import ConfigError, one_line

USER_ERRORS = (Exception, SystemExit)
"""Errors of the user's code, excluding signals that end this process."""


def attribute_of(settings: Mapping[str, Any]) -> tuple[Any, Path]:
    """Return the attribute named by ``settings``, {"folder", "file" (in it), "attribute"}, and its file.
    ``folder`` becomes the working directory. Raises `ConfigError` with the line in the user's file."""
    try:
        folder, file = Path(settings["folder"]), Path(settings["folder"], settings["file"])
        attribute = settings["attribute"]
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(
            f"code of your own needs folder, file and attribute among its settings: {error!r}"
        ) from None
    try:
        os.chdir(folder)
        module = _imported(file)
    except USER_ERRORS as error:
        raise ConfigError(f"{file.name} cannot be imported: {error_text(error, file)}") from error
    if not hasattr(module, attribute):
        raise ConfigError(f"{file} has no {attribute!r}")
    return getattr(module, attribute), file


def keywords_of(
    function: Any, file: Path, positional: Sequence[str], keywords: Sequence[str]
) -> Sequence[str]:
    """Return the `keywords` that the user's function accepts. Raises `ConfigError` if it is not a function,
    or cannot be called with the arguments that `positional` describes and these keywords."""
    name, arguments = getattr(function, "__name__", "it"), " and ".join(positional)
    if not callable(function) or isinstance(function, type):
        raise ConfigError(f"{name} of {file.name} is not a function of {arguments}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ()
    parameters = signature.parameters.values()
    any_keyword = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    accepted = tuple(keyword for keyword in keywords if any_keyword or keyword in signature.parameters)
    try:
        signature.bind(*(object() for _ in positional), **dict.fromkeys(accepted))
    except TypeError as error:
        raise ConfigError(
            f"{name} of {file.name} cannot be called with {arguments} ({error}); it may also take, by name: "
            f"{', '.join(keywords)}"
        ) from None
    return accepted


def error_text(error: BaseException, file: Path) -> str:
    """Return an error in one line, with the last line of ``file`` in its traceback; log the traceback."""
    frames = error.__traceback__
    while frames is not None and Path(frames.tb_frame.f_code.co_filename) != file:
        frames = frames.tb_next  # skip our own frames
    traceback.print_exception(type(error), error, frames or error.__traceback__)
    text = one_line(error)
    lines = [line for line in traceback.extract_tb(frames) if Path(line.filename) == file]
    if not lines:
        return text
    function = "" if lines[-1].name == "<module>" else f", in {lines[-1].name}"
    return f"{text} (line {lines[-1].lineno} of {file.name}{function})"


def _imported(file: Path) -> Any:
    """Import a file as a module, from the folder above its packages."""
    base, parts = file.parent, [file.stem]
    while (base / "__init__.py").is_file():
        base, parts = base.parent, [base.name, *parts]
    if str(base) not in sys.path:
        sys.path.insert(0, str(base))
    if len(parts) > 1:
        return importlib.import_module(".".join(parts))
    loaded = sys.modules.get(file.stem)
    if getattr(loaded, "__file__", None) == str(file):  # loaded for another agent of this process
        return loaded
    spec = importlib.util.spec_from_file_location(file.stem, file)  # its name may not be a valid identifier
    assert spec is not None and spec.loader is not None, "it ends with .py"
    module = sys.modules[file.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
