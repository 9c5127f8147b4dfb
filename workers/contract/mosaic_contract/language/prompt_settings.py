"""The settings of prompts of language and vision models, and their checks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Sequence

from mosaic_contract.config import nearest
from mosaic_contract.errors import ConfigError
from mosaic_contract.language.strategies import STRATEGIES, strategy_of

COORDINATION = ("rules", "advice", "roles")
PLACEHOLDERS = ("advice", "agent", "answering", "game", "others", "role", "rules", "teammates")
"""The names that a user's system prompt may contain in braces."""
MAX_STEPS = 256
"""Maximum number of latest turns in a prompt."""
_MAX_TOKENS = 1_000_000
_MAX_SYSTEM_CHARS = 100_000
_MAX_EXAMPLES = 50  # episodes
_MAX_EXAMPLES_CHARS = 400_000
PLACEHOLDER = re.compile(r"\{\{([a-z_]+)\}\}|\{([a-z_]+)\}")
_MAX_IMAGES = 16
_SIDES = 16, 8192  # pixels


@dataclass(frozen=True)
class PromptSettings:
    """The contents of a prompt; see `mosaic_lab.operators.llm`, which has the same keywords.

    `history` is a number of turns, or limits {"steps": …, "tokens": …}. `strategy` is a name, or the settings
    of a function (`mosaic_contract.user_code`).
    """

    coordination: str = "rules"
    theory_of_mind: bool = False
    messages: bool = False
    history: int | Mapping[str, int] = 0
    structured: bool | None = None
    system: str | None = None
    strategy: str | Mapping[str, Any] | None = None
    examples: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def read(cls, settings: Mapping[str, Any]) -> PromptSettings:
        """Read the prompt settings from an agent's settings. Raises `ConfigError` with every problem."""
        values = {name: settings[name] for name in cls.__dataclass_fields__ if settings.get(name) is not None}
        problems = [
            *_wrong_choices(values, coordination=COORDINATION),
            *_wrong_switches(values, "theory_of_mind", "messages", "structured"),
            *_wrong_history(values.get("history", 0)),
            *_wrong_system(values.get("system")),
            *_wrong_examples(values.get("examples", ())),
        ]
        if not isinstance(values.get("strategy"), Mapping):
            problems += _wrong_choices(values, strategy=tuple(STRATEGIES))
        problems += _conflicts(values)
        if problems:
            raise ConfigError(problems)
        return cls(**values)

    @property
    def limits(self) -> tuple[int, int | None]:
        """The maximum length of the history, in turns and in tokens."""
        if not isinstance(self.history, Mapping):
            return self.history, None
        return self.history.get("steps", MAX_STEPS), self.history.get("tokens")


@dataclass(frozen=True)
class VisionSettings:
    """The images of a prompt, and whether it has the observation in words too; see
    `mosaic_lab.operators.vlm`, which has the same keywords."""

    text: bool = False
    images: int = 1
    max_side: int | None = None

    @classmethod
    def read(cls, settings: Mapping[str, Any]) -> VisionSettings:
        """Read the settings of images from an agent's settings. Raises `ConfigError` with every problem."""
        values = {name: settings[name] for name in cls.__dataclass_fields__ if settings.get(name) is not None}
        problems = [
            *_wrong_switches(values, "text"),
            *_wrong_number("images", values.get("images", 1), 1, _MAX_IMAGES),
            *_wrong_number("max_side", values.get("max_side", _SIDES[0]), *_SIDES),
        ]
        if settings.get("provider") == "local":
            problems.append(
                f"model={settings.get('model')!r:.200}: the local model reads text and sees no images; give "
                'a vision model of an endpoint, such as vlm("gpt-5-mini") or '
                'vlm("qwen3-vl", base_url="http://localhost:8000/v1")'
            )
        if problems:
            raise ConfigError(problems)
        return cls(**values)


def _wrong_choices(values: Mapping[str, Any], **choices: Sequence[str]) -> Iterator[str]:
    for name, allowed in choices.items():
        value = values.get(name, allowed[0])
        if value not in allowed:
            near = nearest(value, allowed, listed=True) if isinstance(value, str) else ""
            yield f"{name}={value!r:.100}: must be one of {', '.join(map(repr, allowed))}{near}"


def _wrong_switches(values: Mapping[str, Any], *names: str) -> Iterator[str]:
    for name in names:
        if not isinstance(values.get(name, False), bool):
            yield f"{name}={values[name]!r:.100}: must be True or False"


def _wrong_number(name: str, value: Any, low: int, high: int) -> Iterator[str]:
    if type(value) is not int or not low <= value <= high:
        yield f"{name}={value!r:.100}: must be an integer from {low} to {high:,}"


def _wrong_history(history: Any) -> Iterator[str]:
    if not isinstance(history, Mapping):
        yield from _wrong_number("history", history, 0, MAX_STEPS)
        return
    if not history or not history.keys() <= {"steps", "tokens"}:
        yield f'history={dict(history)!r:.100}: must be {{"steps": …}}, {{"tokens": …}} or both'
    for name, maximum in (("steps", MAX_STEPS), ("tokens", _MAX_TOKENS)):
        yield from _wrong_number(f"history[{name!r}]", history.get(name, 0), 0, maximum)


def _wrong_system(text: Any) -> Iterator[str]:
    if text is None:
        return
    if not isinstance(text, str) or not text.strip() or len(text) > _MAX_SYSTEM_CHARS:
        yield f"system={text!r:.100}: must be a string of 1 to {_MAX_SYSTEM_CHARS:,} characters"
        return
    for name in dict.fromkeys(match[2] for match in PLACEHOLDER.finditer(text) if match[2]):
        if name not in PLACEHOLDERS:
            yield (
                f"system: there is no placeholder {{{name}}}{nearest(name, PLACEHOLDERS, listed=True)}; "
                f"known: {', '.join(f'{{{placeholder}}}' for placeholder in PLACEHOLDERS)}. "
                f"{{{{{name}}}}} gives the text itself"
            )


def _wrong_examples(examples: Any) -> Iterator[str]:
    if not isinstance(examples, (list, tuple)) or len(examples) > _MAX_EXAMPLES:
        yield f"examples={examples!r:.100}: must be a list of at most {_MAX_EXAMPLES} episodes"
        return
    length = 0
    for number, episode in enumerate(examples):
        parts = episode if isinstance(episode, Mapping) else {}
        observations, actions = _texts(parts.get("observations")), _texts(parts.get("actions"))
        if observations is None or actions is None:
            yield f'examples[{number}]: must be {{"observations": [text, …], "actions": [text, …]}}'
        elif len(observations) - len(actions) not in (0, 1):
            yield f"examples[{number}] has {len(observations)} observations and {len(actions)} actions"
        else:
            length += sum(map(len, (*observations, *actions)))
    if length > _MAX_EXAMPLES_CHARS:
        yield f"examples have {length:,} characters: the maximum is {_MAX_EXAMPLES_CHARS:,}"


def _texts(value: Any) -> Sequence[str] | None:
    """Return a list of strings; None for other values."""
    valid = isinstance(value, (list, tuple)) and all(isinstance(text, str) for text in value)
    return value if valid else None


def _conflicts(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield a problem for each pair of settings that exclude each other."""
    name = values.get("strategy")
    strategy = strategy_of(name if name in tuple(STRATEGIES) else None)
    if values.get("messages") and (values.get("structured") or strategy.bare):
        setting = "structured=True" if values.get("structured") else f"strategy={name!r}"
        yield f"{setting} leaves no room for messages in an answer: use one of the two"
    if values.get("structured") and (strategy.reasons or strategy.marked):
        yield (
            f"structured=True leaves no room for the reasoning of strategy={name!r}: use one of the two, or "
            'strategy="naive"'
        )
    if name == "few_shot" and not values.get("examples"):
        yield 'strategy="few_shot" needs examples=, such as mosaic.operators.examples(ev)'
