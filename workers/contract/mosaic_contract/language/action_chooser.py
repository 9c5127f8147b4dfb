"""From a prompt to a legal action: one request, one repair turn, then the passive default action."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Callable, Mapping, Sequence

from mosaic_contract.errors import ConfigError
from mosaic_contract.language.describers.spaces import form_of
from mosaic_contract.language.endpoint import choice_in
from mosaic_contract.language.exchange import Choices, Exchange, Parsed, Turn
from mosaic_contract.language.model import LanguageModel
from mosaic_contract.language.parsing import Actions, action_text, reasoning_in
from mosaic_contract.language.prompt_settings import PromptSettings
from mosaic_contract.language.settings import BUNDLED, LOCAL
from mosaic_contract.language.strategies import DEFAULT, Ask, UserStrategy, strategy_of
from mosaic_contract.noop import first_legal, noop_action
from mosaic_contract.operators import AgentSetup, Decision

_MAX_ANSWER_CHARS = 2_000  # of an answer repeated in later prompts
_MAX_REASONING_CHARS = 20_000
_MAX_LISTED = 100  # legal actions that a prompt lists
_FAULT_TEXTS = {
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
    """The action selection of one agent, by the `strategy` in its settings.

    `names` are the names of the actions of a Discrete space, None if unknown. If `settings.structured`, the
    endpoint restricts answers to the legal actions; None: only for the bundled model, which otherwise rarely
    names an action, and only if answers have nothing besides it. In a Text space, an answer is then one of
    the step's legal moves or, if there are none, any string of the space (local models only); the prompt
    stays the same. Raises `ConfigError` for spaces of another type.
    """

    def __init__(self, setup: AgentSetup, names: Sequence[str] | None, settings: PromptSettings) -> None:
        self.strategy = strategy_of(settings.strategy)
        self._custom = UserStrategy(settings.strategy) if isinstance(settings.strategy, Mapping) else None
        if setup.action_space is None:
            raise ConfigError("a language model needs the action space of its agent in init_agent")
        self._space = setup.action_space
        self._actions = Actions(setup.action_space, names)
        listable = self._actions.discrete or self._space.get("type") == "Text"
        structured = settings.structured
        if structured and not listable:
            raise ConfigError(
                f"structured restricts the answer to a list of actions, and a {self._space.get('type')} "
                f"space has none"
            )
        game = str(setup.settings.get("env_id") or setup.game_name)
        self._noop = noop_action(setup.action_space, setup.settings.get("action_meanings"), game).action
        bundled = setup.settings.get("provider") == LOCAL and setup.settings.get("model") == BUNDLED
        writes_more = settings.messages or settings.theory_of_mind or self.strategy.reasons
        self._restricts = listable and bundled and not writes_more if structured is None else structured
        self.structured = self._restricts and self._actions.discrete
        # Whether an answer is the name of an action and nothing else.
        self._is_name = self.structured or (self.strategy.bare and self._actions.discrete)

    @property
    def answering(self) -> str:
        """The required form of an answer, for the prompt."""
        strategy, discrete = self.strategy, self._actions.discrete
        if self._is_name:
            return "Answer with one of the legal actions, word for word, and with nothing else."
        action = "action" if discrete else form_of(self._space)
        if strategy.bare:
            return f"Answer with one line, ACTION: and {action}, and with nothing else."
        line = strategy.form(action)
        legal = ", with one of the legal actions word for word" if discrete else ""
        if strategy.plans:
            return f'Answer in this form{legal}:\nPLAN: your plan, or "No changes."\n{line}'
        if discrete:
            return f"End your answer with one line of this form{legal}:\n{line}"
        return f"End your answer with one line: {line if strategy.marked else f'ACTION: and {action}.'}"

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
        actions, legal = self._legal_actions(mask, moves, description)
        default = self._noop
        if actions.discrete:
            default = first_legal(self._space, self._noop, mask, legal or moves)
        names = actions.names(legal) if actions.discrete else ()
        return Options(actions, legal, default, _choices_text(names, self._space))

    def choose(
        self, model: LanguageModel, turns: Sequence[Turn], options: Options, context: Mapping[str, Any]
    ) -> ChosenAction:
        """Send a dialog to a model, through the user's strategy if there is one, which also receives the
        `context`. After an answer without a legal action, send it once more with the reason."""

        def parse(answer: str) -> Parsed:
            return self.strategy.parse(options.actions, answer, options.legal)

        choices = options.choices if self._restricts else None
        if self._custom is None:
            first = model.ask(turns, parse, choices=choices)
            exchanges, answer, faults, action = [first], first.answer, first.faults, first.action
        else:
            answer, exchanges = self._custom.answer(turns, self._free_ask(model, options, parse), **context)
            parsed = parse(choice_in(answer))
            faults, action = parsed.faults, parsed.action
        if action is None:
            repair_turns = [
                *turns,
                Turn("assistant", shortened(answer) or "(no answer)"),
                Turn("user", self._repair_text(faults, answer, options.text)),
            ]
            second = model.ask(repair_turns, parse, choices=choices, repair=True, last=True)
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
        texts = (text for fault, text in _FAULT_TEXTS.items() if fault in faults)
        problem = next(texts, self.strategy.missing)
        problem = problem.format(action=action_text(answer) or "The action in it")
        if self._is_name:
            form = "one of these and nothing else, word for word"
        elif self.strategy.marked:
            form = f"one line, {self.strategy.form('action')}, and one of these word for word as the action"
        elif self._actions.discrete:
            form = "one line, ACTION: and one of these, word for word"
        else:
            form = "one line, ACTION: and an action of this form"
        return f"Your answer could not be used. {problem}\n{choices}\nAnswer with {form}."

    def _legal_actions(
        self, mask: Any, moves: Any, description: Mapping[str, Any] | None
    ) -> tuple[Actions, list[Any]]:
        """Return the actions under their current names, and the legal ones."""
        if not self._actions.discrete:
            return self._actions, self._actions.texts(moves)
        names = (description or {}).get("legal_moves")
        if isinstance(names, Mapping) and names:
            return self._actions.renamed(names), [int(action) for action in names.values()]
        return self._actions, self._actions.legal(mask, moves)


def shortened(answer: str) -> str:
    """Return an answer shortened for later prompts."""
    return answer[:_MAX_ANSWER_CHARS].strip()


def _reasoning(exchanges: Sequence[Exchange]) -> str:
    """Return the model's text other than its action, with its thoughts if the endpoint sends them. Text that
    a repaired answer repeats from the previous answer appears once."""
    parts = [
        text
        for exchange in exchanges
        for text in (exchange.reasoning.strip(), reasoning_in(exchange.answer))
        if text
    ]
    return "\n\n".join(dict.fromkeys(parts))[:_MAX_REASONING_CHARS]


def _choices_text(names: Sequence[str], space: Mapping[str, Any]) -> str:
    """Return the legal actions' names, or the form of an action if the space has no single actions."""
    if space.get("type") == "Discrete":
        listed = ", ".join(names[:_MAX_LISTED])
        omitted = len(names) - _MAX_LISTED
        return f"Legal actions: {listed}" + (f", and {omitted} more of the same form" if omitted > 0 else "")
    return f"Legal actions: {form_of(space)}"
