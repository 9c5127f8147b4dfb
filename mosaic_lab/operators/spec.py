"""`OperatorSpec`, the specification of an operator before it runs, and `Algorithm`, several of one algorithm.

Settings must be JSON-compatible and contain no secrets. This is checked here, before an arena is started.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from mosaic_contract import ConfigError
from mosaic_contract.gymnasium_wrappers import in_short
from mosaic_contract.user_policy import UserPolicy

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.validation import Problems

Category = Literal["human", "llm", "vlm", "rl", "random", "passive", "python", "engine"]
Fallback = Literal["wait", "default", "forfeit"]

Need = Literal["frame", "teammates", "description"]

CATEGORIES: tuple[Category, ...] = get_args(Category)
"""The kinds of operators; "python" is any callable of the user's, "engine" a program that plays a game."""

FALLBACKS: tuple[Fallback, ...] = get_args(Fallback)
"""The reactions to an operator that does not answer in time; see `OperatorSpec`."""

NEEDS: tuple[Need, ...] = get_args(Need)
"""The data that an operator may be sent beside the observation; see `OperatorSpec`."""

CODE = ("describe", "strategy")
"""The settings of a language model that may be the user's code."""

DEADLINE = 60.0

Space = Mapping[str, Any]

_SECRET = re.compile(r"(.*[_-])?(api_?key|secret|password|credentials?|(access|auth|bearer)_?token)", re.I)


class PythonPolicy(UserPolicy):
    """A function or object of the user's, called in the kernel from any thread.

    Several lanes may share it; only the thread that holds its ``turn`` calls it. Raises ConfigurationError
    if it cannot be called.
    """

    def __init__(self, policy: Any) -> None:
        try:
            super().__init__(policy)
        except ConfigError as error:
            raise ConfigurationError(str(error)) from None
        self.turn = threading.Lock()


@dataclass(frozen=True, eq=False, repr=False)
class OperatorSpec:
    """The specification of an operator for an arena. Two are equal only if they are the same object.

    ``worker`` runs it; without a worker it answers in the kernel, by ``function`` if there is one, else
    through a person. ``deadline`` is the number of seconds it may take for an action (None: unlimited) and
    ``fallback`` what happens then: "wait" keeps waiting, "default" plays a default action, "forfeit" ends the
    episode.

    Trained policies have ``trained_on`` (environment id), ``env_settings`` (the environment's keywords),
    ``wrappers`` (of that environment, applied by the worker), and ``observation_space`` and ``action_space``
    (before wrappers) or, for several policies in one checkpoint, the spaces of each agent in ``agents``.

    ``pass_env_vars`` names environment variables to pass to the worker, whose values are not stored.
    ``needs`` names what the arena sends besides the observation: "frame", "teammates" and "description".
    """

    category: Category
    name: str
    worker: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    function: PythonPolicy | None = None
    deadline: float | None = DEADLINE
    fallback: Fallback = "wait"
    observation_space: Space | None = None
    action_space: Space | None = None
    agents: Mapping[str, tuple[Space, Space]] | None = None
    trained_on: str | None = None
    env_settings: Mapping[str, Any] = field(default_factory=dict)
    wrappers: Sequence[Any] = ()
    pass_env_vars: Sequence[str] = ()
    needs: Sequence[Need] = ()

    def __post_init__(self) -> None:
        if self.category not in CATEGORIES:
            raise ConfigurationError(f"category={self.category!r}: must be one of {', '.join(CATEGORIES)}")
        if self.fallback not in FALLBACKS:
            raise ConfigurationError(f"fallback={self.fallback!r}: must be one of {', '.join(FALLBACKS)}")
        if self.deadline is not None and not _is_duration(self.deadline):
            raise ConfigurationError(
                f"deadline={self.deadline!r}: must be a number of seconds > 0, or None for no limit"
            )
        if unknown := [need for need in self.needs if need not in NEEDS]:
            raise ConfigurationError(f"needs={unknown!r}: must be among {', '.join(NEEDS)}")
        object.__setattr__(self, "needs", tuple(self.needs))
        object.__setattr__(self, "settings", as_json(self.name, self.settings))
        object.__setattr__(self, "pass_env_vars", _names(self.pass_env_vars))

    def with_(self, **changes: Any) -> OperatorSpec:
        """Return a copy with ``changes`` (``deadline``, ``fallback``, ``name`` …), which is another
        operator."""
        return replace(self, **changes)

    @property
    def is_language_model(self) -> bool:
        """Whether the worker calls a language model, whose exchanges are recorded."""
        return self.category in ("llm", "vlm")

    @property
    def is_recorded(self) -> bool:
        """Whether answers are recorded and can be replayed: those of a language model or an engine."""
        return self.is_language_model or self.category == "engine"

    @property
    def files(self) -> dict[str, Path]:
        """The files that determine how it acts, by setting: checkpoint, code, demonstrations."""
        if "checkpoint" in self.settings:
            return {str(self.settings["checkpoint"]): Path(str(self.settings["checkpoint"]))}
        if self.code:
            return {
                name: Path(code["folder"], name)
                for code in self.code.values()
                for name in [code["file"], *code["files"]]
            }
        if "demonstrations" in self.settings:
            return {"demonstrations": Path(self.settings["demonstrations"])}
        return {}

    @property
    def code(self) -> Mapping[str, Mapping[str, Any]]:
        """The user's code that its process imports, by argument: the "policy", or a language model's
        "describe" and "strategy". Each has "folder", the same for all, "file", "attribute" and "files"."""
        if self.category == "python" and self.worker is not None:
            return {"policy": self.settings}
        if not self.is_language_model:
            return {}
        return {name: code for name in CODE if isinstance(code := self.settings.get(name), Mapping)}

    def spaces_for(self, agent: str) -> tuple[Space, Space] | None:
        """Return the observation and action space that the operator was trained for as ``agent``; None if
        they are unknown or do not matter. Raises KeyError if it has policies for other agents only."""
        if self.agents is not None:
            return self.agents[agent]
        if self.observation_space is None or self.action_space is None:
            return None
        return self.observation_space, self.action_space

    def __repr__(self) -> str:
        facts = [self.name, *(f"{name}={value!r:.200}" for name, value in self.settings.items())]
        if self.wrappers:
            facts.append(f"wrappers {', '.join(map(in_short, self.wrappers))}")
        facts.append("no deadline" if self.deadline is None else f"deadline {self.deadline:g} s")
        if self.deadline is not None and self.fallback != "wait":
            facts.append(f"then {self.fallback}")
        if self.pass_env_vars:
            facts.append(f"given {', '.join(self.pass_env_vars)}")
        return f"<{self.category} operator {', '.join(facts)}>"


def function_name(value: Callable[..., Any]) -> str:
    """Return the name of a callable, or of its type if it has none."""
    return str(getattr(value, "__name__", type(value).__name__)).strip("<>")  # "<lambda>"


def _names(pass_env_vars: Any) -> tuple[str, ...]:
    """Return the variables' names. Raises ConfigurationError for other strings, such as their values."""
    if isinstance(pass_env_vars, str) or not isinstance(pass_env_vars, Iterable):
        raise ConfigurationError("pass_env_vars: must be a list of names of environment variables")
    names = tuple(pass_env_vars)
    if not all(isinstance(name, str) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) for name in names):
        raise ConfigurationError(
            f"pass_env_vars: not all of these {len(names)} are names of environment variables, such as "
            "OPENAI_API_KEY; their values are taken from this process"
        )
    return names


def _is_duration(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value > 0


def as_json(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON-compatible copy of the settings of ``name``: paths become strings, NumPy's numbers and
    arrays Python's numbers and lists. Raises ConfigurationError for any other value, and for secrets."""
    try:
        copied = json.loads(json.dumps(dict(settings), default=_plain, allow_nan=False))
        _refuse_secrets(name, copied)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"the settings of {name} cannot be written as JSON: {error}") from None
    return dict(copied)


def _refuse_secrets(name: str, value: Any) -> None:
    """Raise ConfigurationError for settings with secrets: settings are displayed, and written to files."""
    parts = value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
    for key, part in parts:
        by_variable = isinstance(part, str) and "${" in part
        if isinstance(key, str) and part and not by_variable and _SECRET.fullmatch(key):
            raise ConfigurationError(
                f"the setting {key!r} of {name} looks like a secret, and settings are written to folders "
                "and notebooks: leave it out, and keep it in an environment variable (an operator is given "
                'it with pass_env_vars=["NAME"])'
            )
        _refuse_secrets(name, part)


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} {value!r} is not a JSON value")


Rule = type[bool] | range | tuple[Any, ...]
"""Valid values of an argument: True and False, the integers of a range, or one of several."""


def check_arguments(
    problems: Problems, optional: Container[str] = (), **arguments: tuple[Any, Rule]
) -> dict[str, Any]:
    """Return the arguments, each given with its rule, and record violations as problems. Arguments in
    ``optional`` may be None."""
    for name, (value, rule) in arguments.items():
        if isinstance(rule, range):
            valid = type(value) is int and value in rule
            expected = f"an integer from {rule.start} to {rule.stop - 1:,}"
        elif isinstance(rule, tuple):
            valid, expected = value in rule, f"one of {', '.join(map(repr, rule))}"
        else:
            valid, expected = isinstance(value, bool), "True or False"
        if not valid and not (value is None and name in optional):
            problems.add("", f"{name}={value!r}: must be {expected}")
    return {name: value for name, (value, _) in arguments.items()}


@dataclass(frozen=True, eq=False, repr=False)
class Algorithm:
    """An algorithm, represented by the policies of several trainings that differ in their seed.

    ``trainings`` maps the names of trainings to their policies, ``{"s1": rl(run), "s2": rl(other)}``; `rl`
    makes one from a group. `mosaic_lab.Lab.evaluate` plays all policies, and its intervals are over
    trainings. Comparisons and policy mappings need a single policy. Raises ConfigurationError if there are no
    trainings, or for anything but operators.
    """

    trainings: Mapping[str, OperatorSpec]

    def __post_init__(self) -> None:
        if not isinstance(self.trainings, Mapping) or not self.trainings:
            raise ConfigurationError(
                f"trainings={self.trainings!r:.100}: must map names of trainings to operators, such as "
                '{"s1": operators.rl(run)}'
            )
        for name, spec in self.trainings.items():
            if not isinstance(name, str) or not name.strip() or not isinstance(spec, OperatorSpec):
                raise ConfigurationError(
                    f"training {name!r:.100}: {spec!r:.100}: must be a non-empty name and an operator"
                )

    def with_(self, **changes: Any) -> Algorithm:
        """Return a copy with ``changes`` to each policy; see `OperatorSpec.with_`."""
        return Algorithm({name: spec.with_(**changes) for name, spec in self.trainings.items()})

    def __repr__(self) -> str:
        first = next(iter(self.trainings.values()))
        return f"<algorithm {first.name}: {len(self.trainings)} trainings, {', '.join(self.trainings)}>"
