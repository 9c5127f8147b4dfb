"""One agent that acts by a language model: observation → text → answer → a legal action."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from mosaic_contract import AgentSetup, ConfigError, Decision
from mosaic_contract.language.describing import Describer
from mosaic_contract.language.exchange import Exchange, Turn
from mosaic_contract.language.model import LanguageModel
from mosaic_contract.language.parsing import Actions, messages_in, reasoning_in
from mosaic_contract.still_actions import find_still, first_legal

from .config import PromptSettings
from .prompts import choices_text, observation_text, repair_text, system_text

_LONGEST_ANSWER = 2_000  # characters of an answer that come back in later prompts
_LONGEST_HISTORY = 200_000  # characters
_LONGEST_REASONING = 20_000  # characters


class LanguageOperator:
    """Asks its model for an action; after an answer without a legal one a second time, saying what was wrong;
    then plays the action that does nothing. Raises `ConfigError` for settings that cannot be."""

    def __init__(self, setup: AgentSetup) -> None:
        if setup.action_space is None:
            raise ConfigError("a language model needs the action space of its agent in init_agent")
        self._settings = PromptSettings.read(setup.settings)
        self._space = setup.action_space
        self._describer = Describer(setup)
        self._actions = Actions(setup.action_space, self._describer.names)
        if self._settings.structured and not self._actions.discrete:
            raise ConfigError(
                f"structured restricts the answer to a list of actions, and a {self._space.get('type')} "
                f"space has none"
            )
        game = str(setup.settings.get("env_id") or setup.game_name or "unnamed")
        self._still = find_still(setup.action_space, setup.settings.get("action_meanings"), game).action
        self._others, mates = (
            [str(one) for one in setup.settings.get(name) or () if one != setup.player_id]
            for name in ("agents", "teammates")
        )
        self._system = system_text(
            self._settings,
            self._describer,
            setup.player_id,
            game,
            self._others,
            mates if self._others else [],
        )
        self._minds = self._settings.theory_of_mind
        self._model = LanguageModel(setup)
        self._past: deque[tuple[str, str]] = deque(maxlen=self._settings.history)
        self._note = ""
        self._steps = 0

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        self._model.begin_episode(seed, episode_index)
        self._past.clear()
        self._note = ""
        self._steps = 0

    def select_action(
        self,
        observation: Any,
        *,
        action_mask: Any = None,
        info: Mapping[str, Any] | None = None,
        step_index: int | None = None,
        teammates: Mapping[str, Any] | None = None,
        description: Mapping[str, Any] | None = None,
        messages: Sequence[Mapping[str, Any]] = (),
    ) -> Decision:
        step = self._steps if step_index is None else step_index
        self._steps = step + 1
        actions, legal = self._legal(action_mask, info, description)
        names = actions.names(legal)
        choices = choices_text(names, self._space)
        text = self._describer.text(
            observation,
            info=info,
            step_index=step,
            legal_actions=names,
            teammates=teammates,
            description=description,
        )
        turn = observation_text(
            text,
            choices,
            step_index=step,
            note=self._note,
            messages=messages or (),
            teammates=self._describer.of_others(teammates, description) if self._minds else {},
        )
        self._model.begin_step(step)
        exchanges = self._ask(turn, actions, legal, choices)
        return self._decided(turn, exchanges, actions, action_mask, info, legal)

    def close(self) -> None:
        self._model.close()

    def _legal(
        self, mask: Any, info: Mapping[str, Any] | None, description: Mapping[str, Any] | None
    ) -> tuple[Actions, list[int]]:
        """The actions under the names that they have now, and which of them are legal."""
        if not self._actions.discrete:
            return self._actions, []
        moves = (description or {}).get("legal_moves")
        if isinstance(moves, Mapping) and moves:
            called = self._actions.called(moves)
            return called, [int(action) for action in moves.values()]
        return self._actions, self._actions.legal(mask, (info or {}).get("legal_moves"))

    def _ask(self, turn: str, actions: Actions, legal: Sequence[int], choices: str) -> list[Exchange]:
        """The exchanges of one step; the last one has the action, if any has."""
        past = [
            Turn(role, text) for pair in self._recent() for role, text in zip(("user", "assistant"), pair)
        ]
        turns = [Turn("system", self._system), *past, Turn("user", turn)]
        listed = actions.names(legal) if self._settings.structured else None
        first = self._model.ask(turns, lambda answer: actions.parse(answer, legal), choices=listed)
        if first.action is not None:
            return [first]
        turns += [
            Turn("assistant", first.answer[:_LONGEST_ANSWER].strip() or "(no answer)"),
            Turn("user", repair_text(first.faults, choices, self._settings.structured)),
        ]
        second = self._model.ask(
            turns, lambda answer: actions.parse(answer, legal), choices=listed, repair=True, last=True
        )
        return [first, second]

    def _decided(
        self,
        turn: str,
        exchanges: Sequence[Exchange],
        actions: Actions,
        mask: Any,
        info: Mapping[str, Any] | None,
        legal: Sequence[int],
    ) -> Decision:
        last = exchanges[-1]
        action, said = last.action, ""
        if action is None:
            action = self._still
            if actions.discrete:
                action = first_legal(self._space, action, mask, legal or (info or {}).get("legal_moves"))
            said = "default: "
        name = actions.name(action)
        self._note = "" if not said else f"Your last answer had no legal action, and {name} was played."
        self._past.append((turn, f"ACTION: {name}" if said else last.answer[:_LONGEST_ANSWER].strip()))
        sent = []
        if self._settings.messages:
            sent = [one for exchange in exchanges for one in messages_in(exchange.answer, self._others)]
        return Decision(
            action,
            action_str=f"{said}{name}",
            reasoning=_reasoning(exchanges),
            input_tokens=sum(one.input_tokens or 0 for one in exchanges),
            output_tokens=sum(one.output_tokens or 0 for one in exchanges),
            exchanges=[one.to_dict() for one in exchanges],
            messages=sent,
        )

    def _recent(self) -> list[tuple[str, str]]:
        """The latest turns, as many as a prompt may hold."""
        kept, length = [], 0
        for pair in reversed(self._past):
            length += len(pair[0]) + len(pair[1])
            if length > _LONGEST_HISTORY:
                break
            kept.append(pair)
        return kept[::-1]


def _reasoning(exchanges: Sequence[Exchange]) -> str:
    """What the model wrote beside its action, with what it thought where the endpoint shows that."""
    parts = [text for one in exchanges for text in (one.reasoning.strip(), reasoning_in(one.answer)) if text]
    return "\n\n".join(parts)[:_LONGEST_REASONING]
