"""From a prompt to a legal action: one request, one repair turn, then the passive default action."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Callable, Iterator, Mapping, Sequence

from mosaic_contract.errors import ConfigError
from mosaic_contract.language.endpoint import chosen
from mosaic_contract.language.exchange import Choices, Exchange, Parsed, Turn
from mosaic_contract.language.model import LanguageModel
from mosaic_contract.language.parsing import Actions, action_text, reasoning_in
from mosaic_contract.language.settings import BUNDLED, LOCAL
from mosaic_contract.language.strategies import DEFAULT, Ask, OwnStrategy, Strategy
from mosaic_contract.noop import first_legal, noop_action
from mosaic_contract.operators import AgentSetup, Decision

_LONGEST_ANSWER = 2_000  # characters of an answer repeated in later prompts
_LONGEST_REASONING = 20_000  # characters
_MOST_LISTED = 100  # legal actions that a prompt lists
_TYPED = {chr(code) for code in range(32, 127)}
_NAMES = {" ": "space", "\n": "new line", "\t": "tab", ",": "comma", "-": "hyphen"}
_WRONG = {
    "empty": "It was empty.",
    "truncated": "It was cut off at the limit of its length: be brief.",
    "too_long": "It was far too long: be brief.",
    "cut": "It broke off.",
    "refused": "It was withheld by a content filter.",
    "tool_call": "It called a tool; there are none here.",
    "ambiguous": "It named several actions; name one.",
    "illegal": "{action} is not one of the legal actions.",
}


@dataclass(frozen=True)
class Options:
    """An agent's choices at one step: its actions with their current names, the legal actions of a Discrete
    space or the known ones of a Text space, the default action played without a valid answer, and the
    prompt's text about them."""

    actions: Actions
    legal: Sequence[Any]
    default: Any
    text: str

    @property
    def names(self) -> list[str]:
        """The names of the legal actions of a Discrete space."""
        return self.actions.names(self.legal) if self.actions.discrete else []

    @property
    def choices(self) -> Choices | None:
        """The answers from which a model chooses, or the form of a free answer; None if there is neither."""
        return self.names if self.actions.discrete else list(self.legal) or self.actions.form


@dataclass(frozen=True)
class ChosenAction:
    """An action, its name, and the exchanges that led to it. `is_default`: no answer contained a legal
    action. `answer` is the last one, `remembered` its form in later prompts."""

    action: Any
    name: str
    is_default: bool
    exchanges: Sequence[Exchange]
    answer: str
    remembered: str

    @property
    def note(self) -> str:
        """The next prompt's remark on this choice; empty unless the default action was played."""
        return f"Your last answer had no legal action, and {self.name} was played." if self.is_default else ""

    def decision(self, messages: Sequence[Mapping[str, str]] = ()) -> Decision:
        """Return the operator's decision; `messages` are addressed to other agents."""
        exchanges = self.exchanges
        return Decision(
            self.action,
            action_str=f"default: {self.name}" if self.is_default else self.name,
            reasoning=_reasoning(exchanges),
            input_tokens=sum(exchange.input_tokens or 0 for exchange in exchanges),
            output_tokens=sum(exchange.output_tokens or 0 for exchange in exchanges),
            exchanges=[exchange.to_dict() for exchange in exchanges],
            messages=messages,
        )


class ActionChooser:
    """The action selection of one agent.

    `names` are the names of the actions of a Discrete space, None if unknown. `structured`: the endpoint
    restricts answers to the legal actions; None: only for the bundled model, which otherwise rarely names an
    action. In a Text space, an answer is one of the step's legal moves, without these any string of the space
    (local models only), and the prompt stays the same. `strategy` is how the model answers otherwise. Raises
    `ConfigError` for spaces of another type.
    """

    def __init__(
        self,
        setup: AgentSetup,
        names: Sequence[str] | None,
        structured: bool | None,
        strategy: Strategy = DEFAULT,
    ) -> None:
        if setup.action_space is None:
            raise ConfigError("a language model needs the action space of its agent in init_agent")
        self.strategy = strategy
        self._space = setup.action_space
        self._actions = Actions(setup.action_space, names)
        listable = self._actions.discrete or self._space.get("type") == "Text"
        if structured and not listable:
            raise ConfigError(
                f"structured restricts the answer to a list of actions, and a {self._space.get('type')} "
                f"space has none"
            )
        game = str(setup.settings.get("env_id") or setup.game_name)
        self._noop = noop_action(setup.action_space, setup.settings.get("action_meanings"), game).action
        bundled = setup.settings.get("provider") == LOCAL and setup.settings.get("model") == BUNDLED
        self._restricts = listable and bundled if structured is None else structured
        self.structured = self._restricts and self._actions.discrete
        # Whether an answer is the name of an action and nothing else.
        self._is_name = self.structured or (strategy.bare and self._actions.discrete)

    @property
    def answering(self) -> str:
        """The required form of an answer, for the prompt."""
        strategy, discrete = self.strategy, self._actions.discrete
        if self._is_name:
            return "Answer with one of the legal actions, word for word, and with nothing else."
        action = "action" if discrete else _form(self._space)
        if strategy.bare:
            return f"Answer with one line, ACTION: and {action}, and with nothing else."
        line = strategy.form(action)
        legal = ", with one of the legal actions word for word" if discrete else ""
        if strategy.plans:
            return f'Answer in this form{legal}:\nPLAN: your plan, or "No changes."\n{line}'
        if discrete:
            return f"End your answer with one line of this form{legal}:\n{line}"
        return f"End your answer with one line: {line if strategy.marks else f'ACTION: and {action}.'}"

    @property
    def only_acts(self) -> bool:
        """Whether an answer has room for an action only."""
        return self.structured or self.strategy.bare

    def answer(self, name: str) -> str:
        """Return an answer with this action, in the required form."""
        if self._is_name:
            return name
        return (DEFAULT if self.strategy.bare else self.strategy).form(name)

    def options(
        self, mask: Any, info: Mapping[str, Any] | None, description: Mapping[str, Any] | None
    ) -> Options:
        """Return the choices left by a mask, or else by a list of legal moves."""
        moves = (info or {}).get("legal_moves")
        actions, legal = self._legal(mask, moves, description)
        default = self._noop
        if actions.discrete:
            default = first_legal(self._space, self._noop, mask, legal or moves)
        names = actions.names(legal) if actions.discrete else ()
        return Options(actions, legal, default, _choices_text(names, self._space))

    def choose(
        self,
        model: LanguageModel,
        turns: Sequence[Turn],
        options: Options,
        own: OwnStrategy | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> ChosenAction:
        """Send a dialog to a model, by the user's strategy if there is one, which is given the `context`.
        After an answer without a legal action, send it once more with the reason."""

        def parse(answer: str) -> Parsed:
            return self.strategy.parse(options.actions, answer, options.legal)

        choices = options.choices if self._restricts else None
        if own is None:
            first = model.ask(turns, parse, choices=choices)
            exchanges, answer, faults, action = [first], first.answer, first.faults, first.action
        else:
            answer, exchanges = own.answer(turns, self._free_ask(model, options, parse), **(context or {}))
            found = parse(chosen(answer))
            faults, action = found.faults, found.action
        if action is None:
            again = [
                *turns,
                Turn("assistant", shortened(answer) or "(no answer)"),
                Turn("user", self._repair_text(faults, answer, options.text)),
            ]
            second = model.ask(again, parse, choices=choices, repair=True, last=True)
            exchanges, answer, action = [*exchanges, second], second.answer, second.action
        is_default = action is None
        action = options.default if is_default else action
        name = options.actions.name(action)
        # The default form, as recorded by earlier versions, even where answers are restricted.
        remembered = self.strategy.form(name) if is_default else shortened(answer)
        return ChosenAction(action, name, is_default, exchanges, answer, remembered)

    def _free_ask(self, model: LanguageModel, options: Options, parse: Callable[[str], Parsed]) -> Ask:
        """Return a function that sends a dialog whose answer need not have an action."""

        def ask(turns: Sequence[Turn], structured: bool | None) -> Exchange:
            restricts = self._restricts if structured is None else structured
            choices = options.choices if restricts else None
            return model.ask(turns, lambda answer: replace(parse(answer), faults=()), choices=choices)

        return ask

    def _repair_text(self, faults: Sequence[str], answer: str, choices: str) -> str:
        """Return the request for another answer, after an answer without a legal action."""
        wrong = next((text for fault, text in _WRONG.items() if fault in faults), self.strategy.missing)
        wrong = wrong.format(action=action_text(answer) or "The action in it")
        if self._is_name:
            form = "one of these and nothing else, word for word"
        elif self.strategy.marks:
            form = f"one line, {self.strategy.form('action')}, and one of these word for word as the action"
        elif self._actions.discrete:
            form = "one line, ACTION: and one of these, word for word"
        else:
            form = "one line, ACTION: and an action of this form"
        return f"Your answer could not be used. {wrong}\n{choices}\nAnswer with {form}."

    def _legal(
        self, mask: Any, moves: Any, description: Mapping[str, Any] | None
    ) -> tuple[Actions, list[Any]]:
        """Return the actions under their current names, and the legal ones."""
        if not self._actions.discrete:
            return self._actions, self._actions.texts(moves)
        named = (description or {}).get("legal_moves")
        if isinstance(named, Mapping) and named:
            return self._actions.called(named), [int(action) for action in named.values()]
        return self._actions, self._actions.legal(mask, moves)


def shortened(answer: str) -> str:
    """Return an answer shortened for later prompts."""
    return answer[:_LONGEST_ANSWER].strip()


def _reasoning(exchanges: Sequence[Exchange]) -> str:
    """Return the model's text other than its action, with its thoughts if the endpoint sends them. Text that
    a repaired answer repeats from the previous answer appears once."""
    parts = [
        text
        for exchange in exchanges
        for text in (exchange.reasoning.strip(), reasoning_in(exchange.answer))
        if text
    ]
    return "\n\n".join(dict.fromkeys(parts))[:_LONGEST_REASONING]


def _choices_text(names: Sequence[str], space: Mapping[str, Any]) -> str:
    """Return the legal actions' names, or the form of an action if the space has no single actions."""
    if space.get("type") == "Discrete":
        shown = ", ".join(names[:_MOST_LISTED])
        more = len(names) - _MOST_LISTED
        return f"Legal actions: {shown}" + (f", and {more} more of the same form" if more > 0 else "")
    return f"Legal actions: {_form(space)}"


def _form(space: Mapping[str, Any]) -> str:
    """Describe the form of an action of a described space, for a prompt."""
    kind = space.get("type")
    if kind == "Box":
        shape = space.get("shape") or []
        bounds = ""
        if not isinstance(space.get("low"), list) and not isinstance(space.get("high"), list):
            bounds = f", each from {space.get('low')} to {space.get('high')}"
        if not shape:
            return f"a number{bounds}"
        nested = "" if len(shape) == 1 else f" in nested lists of the shape {list(shape)}"
        count = 1
        for length in shape:
            count *= length
        return f"a JSON list of {count} number{'s' if count != 1 else ''}{nested}{bounds}"
    if kind == "MultiDiscrete":
        starts = space.get("start", 0)
        tops = f"from {starts} up, of so many choices each: {space.get('nvec')}"
        return f"a JSON list of whole numbers, {tops}"
    if kind == "MultiBinary":
        return f"a JSON list of zeros and ones of the shape {list(space.get('shape') or [space.get('n')])}"
    if kind == "Discrete":
        start = int(space.get("start", 0))
        return f"a whole number from {start} to {start + int(space['n']) - 1}"
    if kind == "Text":
        return _text_form(space)
    parts = space.get("spaces")
    if kind == "Tuple" and isinstance(parts, Sequence):
        return "a JSON list of " + "; ".join(_form(part) for part in parts)
    if kind == "Dict" and isinstance(parts, Mapping):
        return "a JSON object with " + "; ".join(f"{name!r}: {_form(part)}" for name, part in parts.items())
    return f"an action of a space of the type {kind}"


def _text_form(space: Mapping[str, Any]) -> str:
    """Describe the form of an action of a described Text space, for a prompt. Its characters are listed
    unless they include every character that can be typed."""
    least, most = space.get("min_length", 0), space.get("max_length", "a few")
    length = f"at most {most}" if not least else f"exactly {most}" if least == most else f"{least} to {most}"
    characters = sorted(set(space.get("characters") or _TYPED))
    form = f"a text of one line, {length} characters"
    return form if set(characters) >= _TYPED else f"{form}, of these only: {', '.join(_runs(characters))}"


def _runs(characters: Sequence[str]) -> Iterator[str]:
    """Yield sorted characters, with runs of three and more as "a-z"."""
    first = 0
    for at in range(1, len(characters) + 1):
        if at < len(characters) and ord(characters[at]) == ord(characters[at - 1]) + 1:
            continue
        run = characters[first:at]
        names = [_NAMES.get(character, character) for character in run]
        yield from [f"{names[0]}-{names[-1]}"] if len(run) > 2 else names
        first = at
