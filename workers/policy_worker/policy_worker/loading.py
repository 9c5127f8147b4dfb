"""Load a policy from the user's file, imported as Python would import it from the folder it was written for.

`load` makes a `Policy` of an agent's settings; `error_text` describes an error in the user's code.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from pathlib import Path
from typing import Any, Mapping

from mosaic_contract import ConfigError
from mosaic_contract.policies import Policy

TROUBLE = (Exception, SystemExit)
"""What the user's code may raise; the signals that end this process are none of it."""


def load(settings: Mapping[str, Any]) -> Policy:
    """The policy that ``settings`` name: {"folder", "file" (below the folder), "attribute", "keywords"}.

    The process works in ``folder`` from now on. Raises `ConfigError` with the line in the user's file.
    """
    try:
        folder, file = Path(settings["folder"]), Path(settings["folder"], settings["file"])
        attribute, keywords = settings["attribute"], dict(settings.get("keywords") or {})
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(
            f"a policy needs folder, file and attribute among its settings: {error!r}"
        ) from None
    try:
        os.chdir(folder)
        module = _imported(file)
    except TROUBLE as error:
        raise ConfigError(f"{file.name} cannot be imported: {error_text(error, file)}") from error
    if not hasattr(module, attribute):
        raise ConfigError(f"{file} has no {attribute!r}")
    found = getattr(module, attribute)
    try:
        acts = found(**keywords) if _makes(found, keywords) else found
    except TROUBLE as error:
        raise ConfigError(f"{attribute} of {file.name} cannot be made: {error_text(error, file)}") from error
    try:
        return Policy(acts)
    except ConfigError as error:
        raise ConfigError(f"{attribute} of {file.name}: {error}") from None


def error_text(error: BaseException, file: Path) -> str:
    """An error in a line, with the last line of ``file`` that it went through. The log gets all of it."""
    frames = error.__traceback__
    while frames is not None and Path(frames.tb_frame.f_code.co_filename) != file:
        frames = frames.tb_next  # it begins with our own
    traceback.print_exception(type(error), error, frames or error.__traceback__)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    lines = [one for one in traceback.extract_tb(frames) if Path(one.filename) == file]
    if not lines:
        return text
    inside = "" if lines[-1].name == "<module>" else f", in {lines[-1].name}"
    return f"{text} (line {lines[-1].lineno} of {file.name}{inside})"


def _imported(file: Path) -> Any:
    """The module of a file, imported from the folder above the packages that it lies in."""
    base, parts = file.parent, [file.stem]
    while (base / "__init__.py").is_file():
        base, parts = base.parent, [base.name, *parts]
    if str(base) not in sys.path:
        sys.path.insert(0, str(base))
    if len(parts) > 1:
        return importlib.import_module(".".join(parts))
    known = sys.modules.get(file.stem)
    if getattr(known, "__file__", None) == str(file):  # for another agent of this process
        return known
    spec = importlib.util.spec_from_file_location(file.stem, file)  # its name may be no identifier
    assert spec is not None and spec.loader is not None, "it ends with .py"
    module = sys.modules[file.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _makes(found: Any, keywords: Mapping[str, Any]) -> bool:
    """Whether it makes what acts: a class, what is given keywords, a function that needs no argument."""
    if isinstance(found, type) or keywords:
        return True
    if hasattr(found, "select_action") or hasattr(found, "predict") or not callable(found):
        return False
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(one.default is not one.empty or one.kind is one.VAR_KEYWORD for one in parameters)
