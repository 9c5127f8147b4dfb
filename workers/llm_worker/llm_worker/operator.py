"""A language model as an operator: observation → text → answer → legal action."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from mosaic_contract import AgentSetup, Decision
from mosaic_contract.language.action_chooser import ActionChooser
from mosaic_contract.language.describers import Describer
from mosaic_contract.language.exchange import Turn
from mosaic_contract.language.model import LanguageModel
from mosaic_contract.language.parsing import messages_in

from .prompts import PromptSettings, observation_text, system_text

_LONGEST_HISTORY = 200_000  # characters


class LanguageOperator:
    """Requests an action from its model. After an answer without a legal action it asks once more, explaining
    the error, then plays the no-op. Raises `ConfigError` for invalid settings.
    """

    def __init__(self, setup: AgentSetup) -> None:
        self._settings = PromptSettings.read(setup.settings)
        self._describer = Describer(setup)
        settings = self._settings
        writes = settings.messages or settings.theory_of_mind  # answers contain more than an action
        structured = False if settings.structured is None and writes else settings.structured
        self._chooser = ActionChooser(setup, self._describer.names, structured)
        game = str(setup.settings.get("env_id") or setup.game_name or "unnamed")
        self._others, mates = (
            [str(agent) for agent in setup.settings.get(name) or () if agent != setup.player_id]
            for name in ("agents", "teammates")
        )
        self._system = system_text(
            self._settings,
            self._describer,
            setup.player_id,
            game,
            self._others,
            mates if self._others else [],
            self._chooser,
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
        options = self._chooser.options(action_mask, info, description)
        text = self._describer.text(
            observation,
            info=info,
            step_index=step,
            legal_actions=options.names,
            teammates=teammates,
            description=description,
        )
        turn = observation_text(
            text,
            options.text,
            step_index=step,
            note=self._note,
            messages=messages or (),
            teammates=self._describer.of_others(teammates, description) if self._minds else {},
        )
        past = [
            Turn(role, text) for pair in self._recent() for role, text in zip(("user", "assistant"), pair)
        ]
        self._model.begin_step(step)
        turns = [Turn("system", self._system), *past, Turn("user", turn)]
        choice = self._chooser.choose(self._model, turns, options)
        self._note = choice.note
        self._past.append((turn, choice.remembered))
        sent: list[dict[str, str]] = []
        if self._settings.messages:
            for exchange in choice.exchanges:  # a repaired answer often repeats the messages of the first
                sent += [new for new in messages_in(exchange.answer, self._others) if new not in sent]
        return choice.decision(sent)

    def close(self) -> None:
        self._model.close()

    def _recent(self) -> list[tuple[str, str]]:
        """Return the latest turns, up to the maximum of a prompt."""
        kept, length = [], 0
        for pair in reversed(self._past):
            length += len(pair[0]) + len(pair[1])
            if length > _LONGEST_HISTORY:
                break
            kept.append(pair)
        return kept[::-1]
