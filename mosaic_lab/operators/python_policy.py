"""The user's own policies: functions and objects in this kernel, or code in files."""

from __future__ import annotations

import ast
import difflib
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.operators.spec import DEADLINE, Fallback, OperatorSpec, PythonPolicy, function_name
from mosaic_lab.validation import checked

WORKER = "policy"
"""The worker that runs policies in files."""
_LARGEST = 4 << 20  # bytes of source
_EXAMPLES = {
    "describe": '(observation):\n        return "what it shows"',
    "strategy": "(prompt, ask):\n        return ask(prompt)",
}
"""What follows the function's name in the suggested code, by argument."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@checked
def python(
    policy: Any,
    name: str | None = None,
    *,
    deadline: float | None = DEADLINE,
    fallback: Fallback = "wait",
    pass_env_vars: Sequence[str] = (),
    folder: str | Path | None = None,
    files: Iterable[str | Path] = (),
    **keywords: Any,
) -> OperatorSpec:
    """Your own policy: a function of the observation, or an object with ``select_action`` or ``predict``.

    ``"policy.py:act"`` (or ``"package.module:act"``) runs in its own process with this kernel's Python, in
    comparisons and evaluations; a function or an object runs in this kernel, in comparisons only. It returns
    an action, or an object with ``action``, ``action_str`` and ``reasoning``.

    It may accept the action mask as a second parameter, and ``agent``, ``action_mask``, ``info`` and
    ``step_index`` by name. ``predict`` (as in Stable-Baselines3's models) is called with
    ``deterministic=True`` and, for recurrent models, ``state`` and ``episode_start``. An object may have
    ``episode_begin(seed, episode_index)``, or ``reset()`` with or without ``seed``, and
    ``episode_end(total_reward, steps)``. A class in a file may also have ``select_actions(observations)``,
    which makes evaluations several times as fast: it returns an action for each row of observations, one row
    for each of up to 16 episodes. An action must depend on nothing but its row.

    Args:
        policy: ``"FILE:NAME"``, ``"MODULE:NAME"``, a function or an object. NAME may also be a class, or a
            function without required arguments; each agent then gets an object of its own.
        name: a display name; default: the function's name, or the object's class.
        deadline: seconds for an action, None for no limit.
        fallback: what happens at the deadline; see `OperatorSpec`.
        pass_env_vars: names of environment variables to pass to its process.
        folder: its working directory; default: the current one, or the file's folder if the file is
            elsewhere.
        files: other files that it reads or imports from its folder, such as weights. An evaluation cannot
            be resumed if they have changed, and a bundle contains them.
        keywords: JSON-compatible arguments for a class or a factory.

    Raises:
        ConfigurationError: the file or the name does not exist, or cannot be called this way.
    """
    if isinstance(policy, str | Path):
        return OperatorSpec(
            "python",
            name or str(policy).rpartition(":")[2],
            WORKER,
            settings=policy_settings(policy, folder, files, keywords),
            deadline=deadline,
            fallback=fallback,
            pass_env_vars=pass_env_vars,
        )
    wrapped = PythonPolicy(policy)
    of_files = {"folder": folder, "files": files, "pass_env_vars": pass_env_vars}
    if extra := [*keywords, *(option for option, value in of_files.items() if value)]:
        raise ConfigurationError(
            f'{", ".join(extra)}: only for a policy in a file, such as operators.python("policy.py:make", …)'
        )
    return OperatorSpec(
        "python", name or function_name(policy), function=wrapped, deadline=deadline, fallback=fallback
    )


def importable(spec: OperatorSpec) -> OperatorSpec:
    """Return the operator in a form that another process can run: a function in a module as its file's.

    An operator with its own process is returned unchanged. Raises ConfigurationError, with the lines to
    write, for objects that exist only in this kernel.
    """
    if spec.worker is not None:
        return spec
    if spec.function is None:
        raise ConfigurationError(
            f"{spec.name} answers in this kernel, and an evaluation runs outside of it, without people: "
            "use lab.compare(...)"
        )
    policy = spec.function.policy
    if reference := reference_of(policy):
        file = python(reference, spec.name)
        return spec.with_(worker=file.worker, settings=file.settings, function=None)
    raise ConfigurationError(
        f"{function_name(policy)} exists only in this kernel, and an evaluation is a separate process that "
        f"outlives it. {how_to_import(policy)}"
    )


def policy_settings(
    source: str | Path,
    folder: str | Path | None = None,
    files: Iterable[str | Path] = (),
    keywords: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the settings that specify a policy: {"folder", "file", "attribute", "keywords", "files"}, and
    "batched" for a class with ``select_actions``.

    ``folder`` is its working directory, to which ``file`` and ``files`` are relative; default: the current
    one if the file is below it, else the file's folder. Raises ConfigurationError if the file, the name in
    it or one of ``files`` does not exist, and for files outside of the folder.
    """
    file, attribute = _located(str(source))
    defined = _definition(file, attribute)
    if folder is None:
        folder = Path.cwd() if file.is_relative_to(Path.cwd().resolve()) else file.parent
    folder = Path(folder).expanduser().resolve()
    if not file.is_relative_to(folder):
        raise ConfigurationError(f"{file} is outside of folder={str(folder)!r}")
    others = []
    for listed in [files] if isinstance(files, str | Path) else files:
        other = (folder / Path(listed).expanduser()).resolve()
        if not other.is_file():
            raise ConfigurationError(f"files: there is no file {other}")
        if not other.is_relative_to(folder):
            raise ConfigurationError(
                f"files: {other} is outside of {folder}, the folder that {file.name} runs in"
            )
        others.append(other.relative_to(folder).as_posix())
    return {
        "folder": str(folder),
        "file": file.relative_to(folder).as_posix(),
        "attribute": attribute,
        "keywords": dict(keywords or {}),
        "files": sorted(others),
        **({"batched": True} if _has_method(defined, "select_actions") else {}),
    }


def user_code(function: Any, keyword: str) -> dict[str, Any]:
    """Return the `policy_settings` of a language model's argument ``keyword``: "FILE:NAME", "MODULE:NAME", a
    function that a module defines, or such settings.

    Raises ConfigurationError, with the lines to write, for a function defined in the notebook.
    """
    if isinstance(function, Mapping):
        return dict(function)
    if reference := function if isinstance(function, str | Path) else reference_of(function):
        return policy_settings(reference)
    if not callable(function):
        raise ConfigurationError(
            f'{function!r:.200}: must be "FILE:NAME", or a function that a module defines'
        )
    name = _function_name(function, keyword)
    raise ConfigurationError(
        f"{name} exists only in this kernel, and the operator is a separate process. "
        + _lines_to_write(f"{name}{_EXAMPLES[keyword]}", f"{keyword}.py", f'{keyword}="{keyword}.py:{name}"')
    )


def reference_of(policy: Any) -> str | None:
    """Return "FILE:NAME" for a function that a module defines; None for one in the notebook or an object."""
    module = sys.modules.get(getattr(policy, "__module__", None) or "")
    name, file = getattr(policy, "__qualname__", ""), getattr(module, "__file__", None) or ""
    if module is None or module.__name__ == "__main__" or not file.endswith(".py"):
        return None
    return f"{file}:{name}" if getattr(module, name, None) is policy else None


def how_to_import(policy: Any) -> str:
    """Return the lines to write so that a function or an object of the notebook can be imported."""
    cls = type(policy)
    if hasattr(policy, "predict") and hasattr(policy, "save") and hasattr(cls, "load"):
        package = cls.__module__.partition(".")[0]
        module = package if getattr(sys.modules[package], cls.__name__, None) is cls else cls.__module__
        return (
            'model.save("policy.zip"), then these lines in a file, policy.py:\n\n'
            f"    from {module} import {cls.__name__}\n"
            f'    policy = {cls.__name__}.load("policy.zip")\n\n'
            'and mosaic.operators.python("policy.py:policy", files=["policy.zip"]) in its place'
        )
    name = _function_name(policy, "act")
    code = f"{name}(observation):\n        return 0"
    return _lines_to_write(code, "policy.py", f'mosaic.operators.python("policy.py:{name}")')


def _function_name(policy: Any, default: str) -> str:
    name = str(getattr(policy, "__name__", ""))
    return name if name.isidentifier() else default


def _lines_to_write(code: str, file: str, argument: str) -> str:
    return (
        f"Write it to a file, {file}, with this cell:\n\n    %%writefile {file}\n"
        f"    def {code}\n\nand give {argument} in its place"
    )


def _located(source: str) -> tuple[Path, str]:
    module, _, attribute = source.rpartition(":")
    if not module or not attribute.isidentifier():
        raise ConfigurationError(
            f'{source!r}: must be a file or a module, and the name in it, such as "policy.py:act"'
        )
    if not module.endswith(".py"):
        return _file_of_module(module), attribute
    file = Path(module).expanduser().resolve()
    if not file.is_file():
        raise ConfigurationError(f"{source!r}: there is no file {file}")
    return file, attribute


def _file_of_module(module: str) -> Path:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError) as error:
        raise ConfigurationError(f"the module {module!r} cannot be found: {error}") from None
    if spec is None:
        raise ConfigurationError(
            f"there is no module {module!r} that can be imported here; the name of a file ends with .py"
        )
    if not spec.origin or not spec.origin.endswith(".py"):
        raise ConfigurationError(f"the module {module!r} is not a Python file: {spec.origin}")
    return Path(spec.origin).resolve()


def _definition(file: Path, attribute: str) -> ast.stmt | None:
    """Return the function or class with this name in a file; None if another statement defines the name.
    Raises ConfigurationError if none does."""
    try:
        if file.stat().st_size > _LARGEST:
            raise ValueError(f"it is larger than {_LARGEST >> 20} MiB")
        body = ast.parse(file.read_bytes(), str(file)).body
        names = set(_defined(body))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise ConfigurationError(f"{file} cannot be read as Python: {error}") from None
    if attribute in names or "*" in names:
        return next((node for node in body if getattr(node, "name", None) == attribute), None)
    near = difflib.get_close_matches(attribute, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(sorted(names)) or 'nothing'}"
    raise ConfigurationError(f"{file} defines no {attribute!r}: {hint}")


def _has_method(definition: ast.stmt | None, name: str) -> bool:
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    return any(isinstance(node, ast.FunctionDef) and node.name == name for node in body)


def _defined(body: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names defined at a module's top level; "*" for a star import."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        if not isinstance(node, _SCOPES):
            yield from _defined(ast.iter_child_nodes(node))
